/** Everything that can be set. A switch works at once; addresses are saved by their button. */

import { NON_SENSITIVE, TOPICS } from "../../core/taxonomy";
import { askToCollect } from "../../data_collection";
import { language, say, timeOfDay, topicTitle } from "../../localise";
import { ask, type OptionsView, Problem, type SiteList } from "../../messages";
import { isResting, type Settings } from "../../settings";
import { saveAsFile } from "../shared/download";
import { byId, dateAndTime, newElement, percent, putTexts, showingProblems, showStatus, when } from "../shared/page";
import { limitText, termsText } from "../shared/study_text";

const SWITCHES = [
  "classifying",
  "blocking",
  "privacyControl",
  "warnings",
  "linkMarks",
  "localLearning",
  "history",
  "contributing",
  "allLayers",
  "studies",
] as const;
type Switch = (typeof SWITCHES)[number];

/** Outcomes of taking part that are no problem. */
const FINE = ["learning_sent", "learning_already_sent", "learning_no_round"];

const ADDRESSES = ["server", "invitation"] as const;
const PAUSE_MS = 3_600_000;
/** For how many days the history may be kept. */
const DAYS = [7, 30, 90, 365];
/** What the person has typed and not saved yet: nothing else may overwrite it. */
const typed = new Set<string>();

/** How many changes were asked for. */
let changes = 0;

const input = (id: string) => byId(id, HTMLInputElement);

putTexts();
offerWarnedTopics();
void showingProblems(async () => show(await ask("options", {})));

// Other pages of ours change settings as well.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void showingProblems(async () => show(await ask("options", {})));
});

for (const name of SWITCHES) when(name, "change", () => turned(name));

when("threshold", "input", async () => showThreshold(input("threshold").valueAsNumber));
when("threshold", "change", () => change({ threshold: input("threshold").valueAsNumber }));
when("pause", "click", () => pauseUntil(Date.now() + PAUSE_MS, "resume"));
when("resume", "click", () => pauseUntil(0, "pause"));
when("warned-topics", "change", () => change({ warnedTopics: warnedTopics() }));
when("historyDays", "change", () => change({ historyDays: Number(byId("historyDays", HTMLSelectElement).value) }));
for (const name of ADDRESSES) when(name, "input", async () => void typed.add(name));
when("save-server", "click", () => change(addresses()));
when("forget", "click", async () => done(await ask("forget-hosts", {})));

when("reset-local", "click", async () => {
  show(await ask("reset-local", {}));
  showStatus(say("options_local_reset_done"));
});

when("learn", "click", async () => {
  showStatus(say("options_learning"));
  const view = await ask("learn", {});
  show(view);
  const { settings, studyNote } = view;
  const { last } = view.learning;
  if (settings.studies && !settings.contributing)
    showStatus(say(studyNote || "options_study_current"), studyNote !== "");
  else showStatus(say(last || "learning_not_contributing"), !FINE.includes(last));
});

when("list", "change", async () => {
  const file = input("list").files?.[0];
  if (file === undefined) return;
  const name = file.name;
  const text = await file.text();
  input("list").value = "";
  const { view, notUnderstood } = await ask("import-list", { name, text });
  done(view);
  if (notUnderstood > 0)
    showStatus(say("options_list_left_out", new Intl.NumberFormat(language()).format(notUnderstood)));
});

when("export", "click", async () => {
  const { data } = await ask("export", {});
  saveAsFile(`eitr-${new Date().toISOString().slice(0, 10)}.json`, JSON.stringify(data, null, 2));
});

when("erase", "click", async () => sure(true));
when("keep", "click", async () => sure(false));
when("erase-all", "click", () => erase(true));
when("erase-here", "click", () => erase(false));

async function turned(name: Switch): Promise<void> {
  const on = input(name).checked;
  if (name === "studies" && on && !(await askToCollect())) {
    input(name).checked = false;
    throw new Problem("problem_collection");
  }
  if (name === "contributing" && on) {
    const problem =
      input("server").value.trim() === "" ? "problem_no_address" : (await askToCollect()) ? "" : "problem_collection";
    if (problem !== "") {
      input(name).checked = false;
      throw new Problem(problem);
    }
    return change({ contributing: true, ...addresses() });
  }
  return change({ [name]: on });
}

async function pauseUntil(pausedUntil: number, focused: string): Promise<void> {
  await change({ pausedUntil });
  // The button that was pressed is gone.
  byId(focused, HTMLElement).focus();
}

/** One box for each sensitive topic. */
function offerWarnedTopics(): void {
  for (const topic of TOPICS.keys()) {
    if (topic === NON_SENSITIVE) continue;
    const line = newElement("label", "", "check");
    const box = newElement("input");
    box.type = "checkbox";
    box.value = String(topic);
    line.append(box, newElement("span", topicTitle(topic)));
    byId("warned-topics", HTMLElement).append(line);
  }
}

function topicBoxes(): HTMLInputElement[] {
  return [...byId("warned-topics", HTMLElement).querySelectorAll("input")];
}

function warnedTopics(): number[] {
  return topicBoxes().flatMap((box) => (box.checked ? [Number(box.value)] : []));
}

function addresses(): Pick<Settings, "server" | "invitation"> {
  return { server: input("server").value.trim(), invitation: input("invitation").value };
}

async function change(settings: Partial<Settings>): Promise<void> {
  changes += 1;
  const mine = changes;
  const view = await ask("change", { settings });
  if (settings.server !== undefined) typed.clear();
  // An answer to an earlier change does not know this one, and would put its switch back.
  if (mine === changes) done(view);
}

function done(view: OptionsView): void {
  show(view);
  showStatus(say("options_saved"));
}

/** Deleting is asked for twice. */
function sure(asked: boolean): void {
  byId("sure", HTMLElement).hidden = !asked;
  byId("erase", HTMLElement).hidden = asked;
  byId(asked ? "keep" : "erase", HTMLElement).focus();
}

async function erase(server: boolean): Promise<void> {
  // Should the server be out of reach, the person decides whether that stops them.
  byId("erase-here", HTMLElement).hidden = !server;
  await ask("erase", { server });
  byId("erase-here", HTMLElement).hidden = true;
  sure(false);
  show(await ask("options", {}));
  showStatus(say("options_erased"));
}

function show(view: OptionsView): void {
  const { settings } = view;
  for (const name of SWITCHES) input(name).checked = settings[name];
  input("threshold").value = String(settings.threshold);
  showThreshold(settings.threshold);
  for (const name of ADDRESSES) if (!typed.has(name)) input(name).value = settings[name];
  showPause(settings);
  for (const box of topicBoxes()) box.checked = settings.warnedTopics.includes(Number(box.value));
  byId("warned-topics", HTMLFieldSetElement).disabled = !settings.warnings;
  showDays(settings.historyDays);
  showHosts(view);
  byId("learn", HTMLButtonElement).disabled = !settings.contributing && !settings.studies;
  showSites("off", "offSites", settings.offSites);
  showSites("unwarned", "unwarnedSites", settings.unwarnedSites);
  showSites("unblocked", "unblockedSites", settings.unblockedSites);
  showLearning(view);
  showStudy(view);
  showLists(view);
  showLocal(view);
}

function showLocal({ local: { corrections, possible } }: OptionsView): void {
  const key = possible
    ? corrections === 0
      ? "options_local_none"
      : "options_local_count"
    : "options_local_impossible";
  byId("local-state", HTMLElement).textContent = say(key, String(corrections));
  byId("reset-local", HTMLButtonElement).disabled = corrections === 0;
}

function showStudy({ study, studyNote }: OptionsView): void {
  byId("study-note", HTMLElement).textContent = studyNote === "" ? "" : say(studyNote);
  byId("study", HTMLElement).hidden = study === null;
  if (study === null) return;
  byId("study-title", HTMLElement).textContent = say("options_study", study.title);
  byId("study-progress", HTMLElement).textContent = study.open
    ? say("options_study_progress", String(study.ended), String(study.tasks))
    : say("study_closed");
  byId("study-answers", HTMLElement).textContent = say(study.collect ? "study_sent" : "study_kept");
  byId("study-terms", HTMLElement).textContent = termsText(study);
  byId("study-limit", HTMLElement).textContent = limitText(study);
}

function showThreshold(value: number): void {
  byId("threshold-value", HTMLOutputElement).value = percent(value);
}

function showPause(settings: Settings): void {
  const paused = isResting(settings);
  byId("pause", HTMLButtonElement).hidden = paused;
  byId("pause", HTMLButtonElement).disabled = !settings.classifying;
  byId("resume", HTMLElement).hidden = !paused;
  byId("paused", HTMLElement).textContent = paused ? say("options_paused", timeOfDay(settings.pausedUntil)) : "";
}

function showDays(days: number): void {
  const offered = [...new Set([...DAYS, days])].sort((one, other) => one - other);
  const choice = byId("historyDays", HTMLSelectElement);
  choice.replaceChildren(...offered.map((many) => new Option(say("options_days", String(many)), String(many))));
  choice.value = String(days);
}

/** Each host can be forgotten by itself. */
function showHosts({ hosts }: OptionsView): void {
  const date = new Intl.DateTimeFormat(language(), { dateStyle: "medium" });
  byId("remembered-count", HTMLElement).textContent = say("options_remembered", String(hosts.length));
  byId("remembered-hosts", HTMLElement).replaceChildren(
    ...hosts.map(({ host, topic, time }) =>
      entry(
        say("options_remembered_entry", host, topicTitle(topic), date.format(time)),
        async () => done(await ask("forget-host", { host })),
        host,
      ),
    ),
  );
  byId("forget", HTMLButtonElement).disabled = hosts.length === 0;
}

function showSites(id: "off" | "unwarned" | "unblocked", list: SiteList, sites: string[]): void {
  byId(id, HTMLElement).hidden = sites.length === 0;
  const entries = sites.map((site) => entry(site, async () => done(await ask("unlist-site", { list, site }))));
  byId(`${id}-sites`, HTMLElement).replaceChildren(...entries);
}

function showLists({ lists }: OptionsView): void {
  const number = new Intl.NumberFormat(language());
  byId("host-lists", HTMLElement).replaceChildren(
    ...lists.map(({ name, entries }) =>
      entry(say("options_list_entry", name, number.format(entries)), async () =>
        done(await ask("remove-list", { name })),
      ),
    ),
  );
}

/** A line with a button that removes it. */
function entry(text: string, remove: () => Promise<void>, name = text): HTMLElement {
  const line = newElement("li");
  const button = newElement("button", say("options_remove"));
  button.setAttribute("aria-label", say("options_remove_named", name));
  button.addEventListener("click", () => {
    // The button goes with its line; whoever is on it must not be lost.
    byId("status", HTMLElement).focus();
    void showingProblems(remove);
  });
  line.append(newElement("span", text), button);
  return line;
}

function showLearning({ model, learning }: OptionsView): void {
  const facts: [string, string][] = [
    [
      "learning_model",
      model.version === 0
        ? say("learning_model_packaged")
        : say("learning_model_version", String(model.version), model.server),
    ],
    [
      "learning_pages",
      learning.usedUp === 0
        ? String(learning.pages)
        : say("learning_pages_used", String(learning.pages), String(learning.usedUp)),
    ],
    ["learning_uploads", String(learning.sent)],
  ];
  if (learning.last !== "") facts.push(["learning_last", `${dateAndTime(learning.lastTime)}: ${say(learning.last)}`]);
  if (learning.nextTime > 0) facts.push(["learning_next", dateAndTime(learning.nextTime)]);
  byId("learning", HTMLElement).replaceChildren(
    ...facts.flatMap(([name, value]) => [newElement("dt", say(name)), newElement("dd", value)]),
  );
}
