import { beforeEach, expect, test, vi } from "vitest";
import type { LabelledWords } from "../src/background/labelled_pages";
import { usedUpAt } from "../src/background/learning/page_uses";

const SERVER = "https://eitr.example";
const PAGE: LabelledWords = { page: "page", label: 0, words: [["fever", 1]], time: 0, agreed: false };
const TASK = { server: SERVER, slug: "covid", task: 101, uses: 10 };

/** The study that the person is in. */
const known = vi.hoisted(() => ({ study: undefined as unknown }));

vi.mock("../src/background/study/study_store", () => ({ knownStudy: async () => known.study }));

function isIn(slug: string, usesPerPage: number): void {
  known.study = { server: SERVER, study: { slug, usesPerPage }, tasks: [] };
}

/** In how many rounds of a server a page is used. */
async function uses(study: LabelledWords["study"], server = SERVER): Promise<number> {
  const usedUp = await usedUpAt(server);
  let rounds = 0;
  while (!usedUp(study === undefined ? PAGE : { ...PAGE, study }, rounds)) rounds += 1;
  return rounds;
}

beforeEach(() => {
  known.study = undefined;
});

test("a task page is used as often as its study says, at its server, and every other page twice", async () => {
  isIn("covid", 10);
  expect(await uses(TASK)).toBe(10);
  expect(await uses(undefined)).toBe(2);
  expect(await uses({ ...TASK, server: "https://other.example" })).toBe(2);
  expect(await uses(TASK, "https://other.example")).toBe(2);
});

test("a study that lowers the number is followed at once, and one that raises it is not", async () => {
  isIn("covid", 3);
  expect(await uses(TASK)).toBe(3);
  isIn("covid", 40);
  expect(await uses(TASK)).toBe(10);
});

test("who left a study uses its pages twice, in another study at the same server, too", async () => {
  expect(await uses(TASK)).toBe(2);
  isIn("flu", 10);
  expect(await uses(TASK)).toBe(2);
});

test("a task page of which no study is stored is used twice", async () => {
  isIn("covid", 10);
  const { slug: _, ...task } = TASK;
  expect(await uses(task)).toBe(2);
});
