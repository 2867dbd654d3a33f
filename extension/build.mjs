/**
 * Build the extension: `node extension/build.mjs [--chrome|--firefox|--all] [--watch] [--to FOLDER]`.
 *
 * Writes extension/dist/BROWSER, to be loaded unpacked, and dist/eitr-BROWSER.zip; with --to, both into FOLDER. Fails
 * when the scripts of a browser are larger than they may be.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { exit } from "node:process";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { bundleScripts } from "./packing/bundle.mjs";
import { writeData } from "./packing/data.mjs";
import { manifest } from "./packing/manifest.mjs";
import { PACKAGES, SOURCE, UNPACKED } from "./packing/paths.mjs";
import { zip } from "./packing/zip.mjs";

/** All scripts of one browser together, gzipped one by one; data is counted apart. */
const MAX_BYTES = 75_000;
const BROWSERS = ["chrome", "firefox"];
const STATIC = ["_locales", "icons", "pages"];

async function buildFor(browser, { unpacked, packages }) {
  const folder = join(unpacked, browser);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of STATIC) copy(join(SOURCE, name), join(folder, name));
  const text = manifest(browser);
  if (text !== null) writeFileSync(join(folder, "manifest.json"), text);
  writeData(folder);
  await bundleScripts(browser, folder);
  mkdirSync(packages, { recursive: true });
  const archive = zip(filesOf(folder).map((path) => [nameIn(folder, path), readFileSync(path)]));
  writeFileSync(join(packages, `eitr-${browser}.zip`), archive);
  return report(browser, folder, archive.length);
}

function copy(from, to) {
  if (existsSync(from)) cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".ts") });
}

function filesOf(folder) {
  const found = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  return found.filter((path) => statSync(path).isFile()).sort();
}

const nameIn = (folder, path) => relative(folder, path).split(sep).join("/");

/** Print what the scripts weigh; say whether that is little enough. */
function report(browser, folder, packed) {
  const scripts = filesOf(folder).filter((path) => path.endsWith(".js") && !nameIn(folder, path).startsWith("data/"));
  const sizes = scripts.map((path) => [nameIn(folder, path), gzipSync(readFileSync(path), { level: 9 }).length]);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  for (const [name, size] of sizes) console.log(`${browser}: ${kilobytes(size)} ${name}`);
  console.log(`${browser}: ${kilobytes(total)} all scripts, gzipped, of at most ${kilobytes(MAX_BYTES).trim()}`);
  console.log(`${browser}: ${kilobytes(packed)} the package, with model and data`);
  if (total > MAX_BYTES) console.error(`${browser}: the scripts are too large`);
  return total <= MAX_BYTES;
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1).padStart(6)} kB`;

async function buildAll(browsers, folders) {
  let small = true;
  for (const browser of browsers) small = (await buildFor(browser, folders)) && small;
  return small;
}

/** Build again whenever a source changes, but not for each of the several events that one change makes. */
function keepBuilding(browsers, folders) {
  let timer;
  watch(SOURCE, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => void buildAll(browsers, folders).catch((error) => console.error(String(error))), 200);
  });
}

function wishes() {
  const flag = { type: "boolean", default: false };
  const options = { chrome: flag, firefox: flag, all: flag, watch: flag, to: { type: "string" } };
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(
      `${error.message}; known: ${Object.keys(options)
        .map((name) => `--${name}`)
        .join(" ")}`,
    );
    return exit(2);
  }
}

const wish = wishes();
const named = BROWSERS.filter((browser) => wish[browser]);
const browsers = named.length === 0 || wish.all ? BROWSERS : named;
const folders = wish.to
  ? { unpacked: resolve(wish.to), packages: resolve(wish.to) }
  : { unpacked: UNPACKED, packages: PACKAGES };
const small = await buildAll(browsers, folders);
if (wish.watch) keepBuilding(browsers, folders);
else if (!small) exit(1);
