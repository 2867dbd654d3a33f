/** A browser's manifest.json: what the template says for all and for this one, and the Python package's version. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, SOURCE } from "./paths.mjs";

/** The manifest's text; null as long as there is no template. */
export function manifest(browser) {
  const path = join(SOURCE, "manifest.json");
  if (!existsSync(path)) return null;
  const template = JSON.parse(readFileSync(path, "utf8"));
  return `${JSON.stringify({ ...merged(template.common, template[browser]), version: version() }, null, 2)}\n`;
}

/** Objects are merged member by member; of anything else the second stands. */
function merged(first, second) {
  if (!isObject(first) || !isObject(second)) return second ?? first;
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  return Object.fromEntries([...names].map((name) => [name, merged(first[name], second[name])]));
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** pyproject.toml takes it from the same line. */
function version() {
  const text = readFileSync(join(ROOT, "src/eitr/__init__.py"), "utf8");
  const [, found] = /^__version__ = "(\d+(?:\.\d+){1,3})"$/m.exec(text) ?? [];
  if (!found) throw new Error("src/eitr/__init__.py names no version that a browser takes");
  return found;
}
