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
  // One process is enough for a second's work. The machine may be busy, so no test fails for being slow: whoever runs
  // them all has a limit for the whole.
  test: { include: ["tests/**/*.test.ts"], fileParallelism: false, testTimeout: 0, hookTimeout: 0 },
});
