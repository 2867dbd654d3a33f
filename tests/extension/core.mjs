// The extension's core as one module that Node.js can import, bundled by esbuild as the build does it.
import { readdirSync } from "node:fs";
import { build } from "esbuild";
import { LOADERS } from "../../extension/packing/bundle.mjs";
import { CORE } from "../../extension/packing/paths.mjs";

export async function loadCore() {
  const files = readdirSync(CORE).filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"));
  const { outputFiles } = await build({
    stdin: { contents: files.map((name) => `export * from "./${name.slice(0, -3)}";`).join("\n"), resolveDir: CORE },
    bundle: true,
    write: false,
    format: "esm",
    target: "node20",
    loader: LOADERS,
    logLevel: "error",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
