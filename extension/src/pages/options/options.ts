/** Everything that can be set. A switch works at once; addresses are saved by their button. */

import { askToCollect } from "../../data_collection";
import { language, say } from "../../localise";
import { ask, type OptionsView, Problem } from "../../messages";
import type { Settings } from "../../settings";
import { byId, dateAndTime, newElement, percent, putTexts, showingProblems, showStatus, when } from "../shared/page";
import { limitText, termsText } from "../shared/study_text";
import { saveAsFile } from "./download";

const SWITCHES = ["classifying", "warnings", "linkMarks", "contributing", "allLayers", "studies"] as const;
type Switch = (typeof SWITCHES)[number];

/** Outcomes of taking part that are no problem. */
const FINE = ["learning_sent", "learning_already_sent", "learning_no_round"];

const ADDRESSES = ["server", "invitation"] as const;
/** What the person has typed and not saved yet: nothing else may overwrite it. */
const typed = new Set<string>();

const input = (id: string) => byId(id, HTMLInputElement);

putTexts();
void showingProblems(async () => show(await ask("options", {})));

// Other pages of ours change settings as well.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void showingProblems(async () => show(await ask("options", {})));
});

for (const name of SWITCHES) when(name, "change", () => turned(name));

when("threshold", "input", async () => showThreshold(input("threshold").valueAsNumber));
when("threshold", "change", () => change({ threshold: input("threshold").valueAsNumber }));
for (const name of ADDRESSES) when(name, "input", async () => void typed.add(name));
when("save-server", "click", () => change(addresses()));
when("forget", "click", async () => done(await ask("forget-hosts", {})));

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

function addresses(): Pick<Settings, "server" | "invitation"> {
  return { server: input("server").value.trim(), invitation: input("invitation").value };
}

async function change(settings: Partial<Settings>): Promise<void> {
  const view = await ask("change", { settings });
  if (settings.server !== undefined) typed.clear();
  done(view);
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
  byId("remembered", HTMLElement).textContent = say("options_remembered", String(view.rememberedHosts));
  byId("forget", HTMLButtonElement).disabled = view.rememberedHosts === 0;
  byId("learn", HTMLButtonElement).disabled = !settings.contributing && !settings.studies;
  showSites("off", "offSites", settings.offSites);
  showSites("unwarned", "unwarnedSites", settings.unwarnedSites);
  showLearning(view);
  showStudy(view);
  showLists(view);
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

function showSites(id: "off" | "unwarned", list: "offSites" | "unwarnedSites", sites: string[]): void {
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
function entry(text: string, remove: () => Promise<void>): HTMLElement {
  const line = newElement("li");
  const button = newElement("button", say("options_remove"));
  button.setAttribute("aria-label", say("options_remove_named", text));
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
