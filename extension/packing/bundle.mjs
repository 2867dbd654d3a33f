/** Which scripts there are, and how esbuild makes them. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { SOURCE } from "./paths.mjs";

/** Text files are compiled in as strings, for tests. */
export const LOADERS = { ".txt": "text" };
const TARGETS = { chrome: "chrome116", firefox: "firefox128" };

/** Write a browser's scripts into a folder, each where its source lies below src. */
export async function bundleScripts(browser, folder) {
  const common = {
    outdir: folder,
    outbase: SOURCE,
    bundle: true,
    minify: true,
    legalComments: "none",
    charset: "utf8",
    target: TARGETS[browser],
    loader: LOADERS,
    logLevel: "warning",
    absWorkingDir: SOURCE,
  };
  const { workers, pages, contents } = entryPoints();
  const apart = { plugins: [suffixesApart] };
  if (workers.length > 0) await build({ ...common, ...apart, entryPoints: workers, format: "esm" });
  // What several pages need is in files of its own, once.
  const shared = { splitting: true, chunkNames: "pages/shared/[name]-[hash]" };
  if (pages.length > 0) await build({ ...common, ...shared, entryPoints: pages, format: "esm" });
  // A content script that is a module silently does nothing.
  if (contents.length > 0) await build({ ...common, entryPoints: contents, format: "iife" });
}

/** The list of suffixes is data: the worker imports it from where `writeData` puts it. */
const suffixesApart = {
  name: "suffixes apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/suffixes\.txt$/ }, () => ({ path: "../data/suffixes.js", external: true })),
};

/** The worker and the pages' scripts, and the content scripts; those that exist. */
function entryPoints() {
  const pages = pageNames().map((name) => `pages/${name}/${name}.ts`);
  const there = (path) => existsSync(join(SOURCE, path));
  return {
    workers: ["background/worker.ts"].filter(there),
    pages: pages.filter(there),
    contents: ["content/content.ts", "content/privacy_control.ts"].filter(there),
  };
}

/** The folders below src/pages that hold a page of the same name. */
function pageNames() {
  const folder = join(SOURCE, "pages");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, `${name}.html`)))
    .sort();
}
