import { expect, test } from "vitest";
import { MAX_CHARACTERS, readPage } from "../src/core/page";
import { readBody, readWhole } from "../src/core/reading";

test("a character that stands for eighteen does not make a page longer than can be read at once", () => {
  const page = readPage({ text: "\ufdfa ".repeat(MAX_CHARACTERS / 2) });
  const one = readWhole(readPage({ text: "\ufdfa" })).tokens.length;
  const most = (one * MAX_CHARACTERS) / "\ufdfa".normalize("NFKC").length;
  for (const { tokens } of [readBody(page), readWhole(page)]) {
    expect(tokens.length).toBeGreaterThan(0);
    expect(tokens.length).toBeLessThanOrEqual(most);
  }
});
