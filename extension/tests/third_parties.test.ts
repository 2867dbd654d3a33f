import { beforeAll, expect, test, vi } from "vitest";
import { trackers } from "../packing/data.mjs";
import type { SeenDocument } from "../src/background/documents";
import type { thirdPartiesOf } from "../src/background/third_parties";
import { readTrackers } from "../src/core/trackers";
import { bytes } from "./bytes";

const table = readTrackers(bytes(trackers()));
let find: typeof thirdPartiesOf;

beforeAll(async () => {
  vi.stubGlobal("chrome", {}); // only looked up here, never called
  find = (await import("../src/background/third_parties")).thirdPartiesOf;
});

function page(url: string, ...hosts: string[]): SeenDocument {
  return { id: "1", tab: 1, url, verdict: null, published: null, label: null, hosts, time: 0 };
}

function named(url: string, hosts: string[], listed: string[] = []): string[] {
  return find(page(url, ...hosts), { table, listed: new Set(listed) }).trackers.map(({ company }) => company);
}

test("a company is a tracker on the pages of others, and none on its own", () => {
  expect(named("https://clinic.example/", ["stats.g.doubleclick.net"])).toEqual(["Google"]);
  expect(named("https://www.google.com/", ["stats.g.doubleclick.net"])).toEqual([]);
});

test("a site's own hosts are no third parties", () => {
  const found = find(page("https://clinic.example/", "static.clinic.example"), { table, listed: new Set() });
  expect(found).toEqual({ trackers: [], others: [] });
});

test("a list names a host and all below it, and nothing else", () => {
  const url = "https://clinic.example/";
  for (const host of ["watching.example", "a.watching.example", "b.a.watching.example"])
    expect(named(url, [host], ["watching.example"])).toEqual(["watching.example"]);
  for (const host of ["notwatching.example", "example", "other.example"])
    expect(named(url, [host], ["watching.example"])).toEqual([]);
});
