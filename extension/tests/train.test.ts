import { beforeEach, expect, test, vi } from "vitest";
import type { LabelledWords } from "../src/background/labelled_pages";
import { countedUses, type UsedPage } from "../src/background/learning/page_uses";
import { Server } from "../src/background/learning/server";
import { type Trained, trainedUpdate } from "../src/background/learning/train";
import type { Model } from "../src/background/model";
import type { Round } from "../src/core/manifest";
import { readPool } from "../src/core/pool";
import { readVocabulary } from "../src/core/vocabulary";
import { bytes } from "./bytes";

const stored = vi.hoisted(() => ({ pages: [] as unknown[], uses: [] as unknown[], pool: null as unknown }));

vi.mock("../src/background/database", () => ({
  read: async (store: "pages" | "uses") => stored[store],
}));
vi.mock("../src/background/study/study_store", () => ({ knownStudy: async () => undefined }));
vi.mock("../src/background/learning/download_model", () => ({ coverPages: async () => stored.pool }));

const ROUND: Round = {
  id: 1,
  base: 1,
  deadline: "2030-01-01T00:00:00Z",
  training: {
    method: "private",
    layers: 1,
    cover_pages: 2,
    own_weight: 4,
    clip: 0.2,
    learning_rate: 0.1,
    noise: 4,
  },
};
const PAGES = ["hiv clinic", "mosque", "snow", "xyzzy", "plugh"];

/** A model of one server, which knows these two words and no other. */
function modelOf(...words: [string, string]): Model {
  const file = { format: "eitr-vocabulary", version: 2, words, idf: [1, 1], forms: {} };
  const network = { layers: [2, 3, 6], parameters: new Float32Array(2 * 3 + 3 + 3 * 6 + 6).fill(0.1) };
  return {
    version: 1,
    server: "https://eitr.example",
    network,
    vocabulary: readVocabulary(bytes(JSON.stringify(file))),
  };
}

/** Three cover pages of one word each. */
function pool(): Uint8Array {
  const file = new Uint8Array(44 + 3 * 3 + 3 * 3);
  file.set(bytes("EPL1"));
  file.set([3, 0, 0, 0, 3, 0, 0, 0], 4);
  file.set([0, 1, 2, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255], 44);
  return file;
}

function keep(pages: readonly string[]): void {
  stored.pages = pages.map((words, label): LabelledWords => {
    const counts = words.split(" ").map((word): [string, number] => [word, 2]);
    return { page: words, label, words: counts, time: label, agreed: false };
  });
}

function train(...words: [string, string]): Promise<Trained | undefined> {
  return trainedUpdate(new Server("https://eitr.example"), ROUND, modelOf(...words));
}

function used(trained: Trained | undefined): unknown {
  return trained?.pages.map(({ page, rounds }) => [page, rounds]);
}

beforeEach(() => {
  stored.uses = [];
  stored.pool = readPool(pool(), 2);
  // The same draw every time: of the pages and of the cover pages.
  vi.spyOn(crypto, "getRandomValues").mockImplementation((words) => {
    (words as Uint32Array).fill(7);
    return words;
  });
});

test("no vocabulary changes whether there is an update, and which pages it uses up", async () => {
  for (const count of [1, 4, 5]) {
    keep(PAGES.slice(0, count));
    const [first, ...others] = [
      await train("hiv", "clinic"),
      await train("mosque", "plugh"),
      await train("unheard", "unseen"), // no word of any page
    ];
    expect(first?.pages).toHaveLength(Math.min(count, 4));
    for (const other of others) expect(used(other)).toEqual(used(first));
    for (const one of [first, ...others]) expect(one?.update.body).toHaveLength(2 * (3 * 6 + 6));
  }
});

test("pages that were used twice are left out, and without others there is no update", async () => {
  keep(PAGES.slice(0, 2));
  stored.uses = [{ page: "mosque", rounds: 2 }];
  expect((await train("mosque", "snow"))?.pages.map(({ page }) => page)).toEqual(["hiv clinic"]);
  stored.uses = PAGES.map((page) => ({ page, rounds: 2 }));
  expect(await train("mosque", "snow")).toBeUndefined();
});

test("a plan whose steps are beyond half precision gets its update, too", async () => {
  keep(PAGES.slice(0, 1));
  const training = { ...ROUND.training, own_weight: 1000, clip: 1000, learning_rate: 1000 };
  const server = new Server("https://eitr.example");
  const trained = await trainedUpdate(server, { ...ROUND, training }, modelOf("mosque", "snow"));
  expect(trained?.pages).toHaveLength(1);
});

// docs/privacy.md, "What the limit does not cover", says these numbers.
test("with four pages there are two updates, with five three or four", async () => {
  const updates = async (pages: number) => {
    keep(PAGES.slice(0, pages));
    stored.uses = [];
    for (let count = 0; ; count += 1) {
      const trained = await train("mosque", "snow");
      if (trained === undefined) return count;
      const uses = new Map((stored.uses as UsedPage[]).map((used) => [used.page, used]));
      for (const counted of countedUses(trained.pages)) uses.set(counted.page, counted);
      stored.uses = [...uses.values()];
    }
  };
  expect(await updates(4)).toBe(2);
  expect([3, 4]).toContain(await updates(5));
});
