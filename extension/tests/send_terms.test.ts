import { expect, test, vi } from "vitest";
import type { Participant } from "../src/background/learning/participant";
import type { Server } from "../src/background/learning/server";
import type { KnownStudy } from "../src/background/study/study_store";

const SERVER = "https://eitr.example";
const TASK = { server: SERVER, slug: "covid", task: 1, uses: 2 };

/** Two pages of this study, one of another study at the same server whose task has the same number, one of no study. */
const PAGES = [
  { page: "a", label: 0, words: [["fever", 2]], time: 2, agreed: false, study: TASK },
  { page: "b", label: 0, words: [["cough", 1]], time: 3, agreed: false, study: { ...TASK, task: 2 } },
  { page: "c", label: 0, words: [["divorce", 1]], time: 4, agreed: false, study: { ...TASK, slug: "law" } },
  { page: "d", label: 0, words: [["football", 1]], time: 5, agreed: false },
];

vi.mock("../src/background/labelled_pages", () => ({ labelledPages: async () => [...PAGES] }));
vi.mock("../src/background/study/term_reports", () => ({
  reportOf: async () => undefined,
  storeReport: async () => {},
  settleReport: async () => {},
}));
vi.mock("../src/background/learning/participant", () => ({ authorization: () => ({}) }));

test("words of another study's pages are not sent, though its tasks have the same numbers", async () => {
  const { sendTerms } = await import("../src/background/study/send_terms");
  const request = vi.fn(async (_path: string, _init: { body: Uint8Array }) => {});
  const server = { address: SERVER, stop: new AbortController().signal, request } as unknown as Server;
  const tasks = [1, 2].map((id) => ({ id, state: "labelled" }));
  const known = { server: SERVER, study: { slug: "covid", terms: true, open: true }, tasks } as unknown as KnownStudy;
  await sendTerms(server, {} as Participant, known);
  const sent = JSON.parse(new TextDecoder().decode(request.mock.calls[0]![1].body));
  expect(Object.keys(sent.weights).sort()).toEqual(["cough", "fever"]);
});
