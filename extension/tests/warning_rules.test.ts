/** The rules by which the browser asks before visits, while hosts are noted and forgotten at the same moment. */

import { beforeEach, expect, test, vi } from "vitest";
import type { LabelledWords } from "../src/background/labelled_pages";
import { NON_SENSITIVE } from "../src/core/taxonomy";
import { DEFAULTS } from "../src/settings";

type Values = Record<string, unknown>;
type Rule = chrome.declarativeNetRequest.Rule;

/** The browser and the database as far as the rules need them. What is in `held` is not done until it is let go. */
const fake = vi.hoisted(() => {
  const rules = new Map<number, Rule>();
  const exceptions = new Map<number, Rule>();
  const stores = new Map<string, Map<unknown, Values>>();
  const held = new Map<string, () => Promise<void>>();
  const done = async (name: string) => held.get(name)?.();
  const store = (name: string) => {
    if (!stores.has(name)) stores.set(name, new Map());
    const values = stores.get(name)!;
    return {
      put: (value: Values) => values.set(value[name === "pages" ? "page" : "host"], structuredClone(value)),
      delete: (key: unknown) => values.delete(key),
      get: (key: unknown) => structuredClone(values.get(key)),
      getAll: () => structuredClone([...values.values()]),
      getAllKeys: () => [...values.keys()],
      index: (_: string) => ({
        count: ([host, label]: unknown[]) =>
          [...values.values()].filter((value) => value["host"] === host && value["label"] === label).length,
      }),
      clear: () => values.clear(),
      count: () => values.size,
    };
  };
  const change =
    (present: Map<number, Rule>) =>
    async ({ addRules = [], removeRuleIds = [] }: { addRules?: Rule[]; removeRuleIds?: number[] }) => {
      for (const id of removeRuleIds) present.delete(id);
      for (const rule of addRules) present.set(rule.id, rule);
    };
  const browser = {
    alarms: { clear: async () => true, create: async () => undefined },
    storage: { session: { get: async () => ({}) } },
    tabs: { query: async (): Promise<{ url: string }[]> => [] },
    declarativeNetRequest: {
      isRegexSupported: async () => {
        await done("isRegexSupported");
        return { isSupported: true };
      },
      getDynamicRules: async () => {
        const present = [...rules.values()];
        await done("getDynamicRules");
        return present;
      },
      getSessionRules: async () => [...exceptions.values()],
      updateDynamicRules: change(rules),
      updateSessionRules: change(exceptions),
    },
  };
  return { browser, rules, exceptions, stores, held, done, store };
});

vi.mock("../src/browser", () => ({ browser: fake.browser }));
vi.mock("../src/background/database", () => ({
  read: async (name: string, ask: (store: unknown) => unknown) => ask(fake.store(name)),
  write: async (_: string[], change: (of: typeof fake.store) => void) => change(fake.store),
  readKept: async () => "salt",
}));
vi.mock("../src/background/settings_store", async () => {
  const { DEFAULTS } = await import("../src/settings");
  return { settings: async () => ({ ...DEFAULTS, classifying: true }) };
});

const TOPIC = DEFAULTS.warnedTopics[0]!;
const CLINIC = "https://clinic.test/";

let warnings: typeof import("../src/background/warnings");
let hosts: typeof import("../src/background/remembered_hosts");
let seen: typeof import("../src/background/seen_hosts");

beforeEach(async () => {
  for (const known of [fake.rules, fake.exceptions, fake.stores, fake.held]) known.clear();
  vi.stubGlobal("self", { location: { origin: "chrome-extension://eitr" } });
  vi.restoreAllMocks();
  await startWorker();
});

/** Begin with nothing in memory, as a worker does. */
async function startWorker(): Promise<void> {
  vi.resetModules();
  warnings = await import("../src/background/warnings");
  hosts = await import("../src/background/remembered_hosts");
  seen = await import("../src/background/seen_hosts");
}

/** Hold something back once it is `reached`, until it is let go. */
function hold(name: string): { reached: Promise<void>; letGo: () => void } {
  let letGo = () => {};
  const held = new Promise<void>((go) => (letGo = go));
  const reached = new Promise<void>((arrived) => {
    fake.held.set(name, () => {
      fake.held.delete(name);
      arrived();
      return held;
    });
  });
  return { reached, letGo };
}

async function remember(host: string): Promise<void> {
  await warnings.remember(host, TOPIC, await seen.notePage(`https://${host}/`, TOPIC, ["Google"]));
}

/** Say of a page that it is not sensitive. */
async function sayHarmless(url: string, study?: LabelledWords["study"]): Promise<void> {
  const { labelPage } = await import("../src/background/labelled_pages");
  await labelPage(url, { label: NON_SENSITIVE, words: [], agreed: false, ...(study && { study }) }, null);
  await warnings.updateHarmless(new URL(url).hostname);
}

/** Look at other pages of the clinic. */
async function seeOthers(count: number): Promise<void> {
  for (let place = 0; place < count; place += 1) {
    const noted = await seen.notePage(`${CLINIC}${place}`, TOPIC, ["Google"]);
    const known = noted.harmless === true ? await warnings.updateHarmless("clinic.test") : noted;
    await warnings.remember("clinic.test", TOPIC, known);
  }
}

async function knownHosts(): Promise<string[]> {
  return [...(await hosts.rememberedHosts()).keys()];
}

test("a host that is forgotten while rules are made has no rule", async () => {
  const { reached, letGo } = hold("getDynamicRules");
  const remembering = remember("clinic.test");
  await reached;
  const dropping = warnings.dropRules(await hosts.forgetHosts((host) => host === "clinic.test"));
  letGo();
  await Promise.all([remembering, dropping]);
  expect(await knownHosts()).toEqual([]);
  expect(fake.rules.size).toBe(0);
});

test("a host that is noted while another is forgotten keeps its rule, which may have the number of the other's", async () => {
  await remember("old.test");
  const gone = await hosts.forgetHosts((host) => host === "old.test");
  await remember("new.test");
  await warnings.dropRules(gone);
  expect(await knownHosts()).toEqual(["new.test"]);
  expect([...fake.rules.values()].map(({ condition }) => condition.regexFilter)).toEqual([
    expect.stringContaining("new\\.test"),
  ]);
});

test("what the person says while a host is noted counts from the next note on", async () => {
  const { reached, letGo } = hold("isRegexSupported");
  const remembering = remember("clinic.test");
  await reached;
  const { saltedHash } = await import("../src/background/salted_hash");
  fake.store("pages").put({ page: await saltedHash(CLINIC), label: NON_SENSITIVE });
  await warnings.updateHarmless("clinic.test");
  letGo();
  await remembering;
  await remember("clinic.test");
  expect((await hosts.rememberedHosts()).get("clinic.test")?.harmless).toBe(true);
  expect(fake.rules.size).toBe(0);
});

test("what the person says of a page counts, however many other pages of its host they see", async () => {
  await remember("clinic.test");
  await sayHarmless(CLINIC);
  await seeOthers(60);
  expect(await seen.seenOf("clinic.test", [...fake.stores.get("pages")!.keys()] as string[])).toEqual([]);
  expect(fake.rules.size).toBe(0);
});

test("what the person says of a page counts also if they remove its host", async () => {
  await remember("clinic.test");
  await sayHarmless(CLINIC);
  await warnings.dropRules(await hosts.forgetHosts(() => true));
  await seen.forgetSeen("all");
  await seeOthers(3);
  expect(fake.rules.size).toBe(0);
});

test("what the person says of the page of a task does not count for its host", async () => {
  await sayHarmless(CLINIC, { server: "https://server.test", slug: "study", task: 1, uses: 2 });
  await seeOthers(3);
  expect(fake.rules.size).toBe(1);
});

test("a rule that the browser refuses does not keep another from being removed", async () => {
  await remember("clinic.test");
  const { updateDynamicRules: update } = fake.browser.declarativeNetRequest;
  vi.spyOn(fake.browser.declarativeNetRequest, "updateDynamicRules").mockImplementation(async (change) => {
    if (change.addRules?.length) throw new Error("refused");
    await update(change);
  });
  await expect(remember("hospital.test")).rejects.toThrow("refused");
  await expect(sayHarmless(CLINIC)).rejects.toThrow("refused");
  expect(fake.rules.size).toBe(0);
});

test("who does not want to be asked for a day is not, also if the worker was killed when half of it was noted", async () => {
  await remember("clinic.test");
  await seen.noteSeen("clinic.test", { quietUntil: Date.now() + 60_000 });
  await startWorker();
  await remember("clinic.test");
  expect(fake.rules.size).toBe(0);
});

test("the exception of a host that is forgotten ends, also if another host has got its number", async () => {
  vi.spyOn(fake.browser.tabs, "query").mockResolvedValue([{ url: CLINIC }]);
  await remember("clinic.test");
  const gone = await hosts.forgetHosts(() => true);
  // A host without a rule: nobody tracks people there.
  await warnings.remember("new.test", TOPIC, await seen.notePage("https://new.test/", TOPIC, []));
  expect((await hosts.rememberedHosts()).get("new.test")?.rule).toBe(gone[0]!.rule);
  expect(fake.exceptions.size).toBe(1);
  await warnings.dropRules(gone);
  expect(fake.exceptions.size).toBe(0);
});

test("rules for tabs, which have no pattern, stay when hosts are forgotten", async () => {
  const tabRule = { id: 3001, priority: 4, action: { type: "block" }, condition: { tabIds: [1] } };
  await fake.browser.declarativeNetRequest.updateSessionRules({ addRules: [tabRule] } as never);
  await warnings.dropRules([]);
  await remember("clinic.test");
  await warnings.dropRules(await hosts.forgetHosts(() => true));
  expect([...fake.exceptions.keys()]).toEqual([3001]);
});
