import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Text files are strings, as they are to esbuild. */
const text = {
  name: "text",
  enforce: "pre",
  load: (id) => (id.endsWith(".txt") ? `export default ${JSON.stringify(readFileSync(id, "utf8"))};` : undefined),
};

export default defineConfig({
  plugins: [text],
  // One process is enough for a second's work, and the machine may be busy.
  test: { include: ["tests/**/*.test.ts"], fileParallelism: false },
});
