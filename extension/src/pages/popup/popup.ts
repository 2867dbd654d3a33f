/** The popup: what the page is about, a way to correct that, its trackers, and what is done about them. */

import { browser } from "../../browser";
import { say, topicTitle } from "../../localise";
import { ask, type PopupView } from "../../messages";
import { newsText } from "../shared/news_text";
import { byId, putTexts, showingProblems, showStatus, when } from "../shared/page";
import { offerTopics } from "../shared/topics";
import { listenToJoin, offerToJoin } from "./join";
import { showStudy } from "./study";
import { showTrackers } from "./trackers";
import { showVerdict } from "./verdict";

const AGAIN_MS = 1000;
const PAUSE_MINUTES = 60;

let view: PopupView | null = null;
/** How many answers to clicks are waited for. */
let waiting = 0;
/** Counts clicks: what was asked before the latest one is out of date when it is answered. */
let clicks = 0;

putTexts();
const choice = byId("topic", HTMLSelectElement);
choice.append(new Option(say("popup_choose"), ""));
offerTopics(choice);

when("options", "click", () => browser.runtime.openOptionsPage());
when("welcome", "click", async () => {
  await browser.tabs.create({ url: browser.runtime.getURL("pages/welcome/welcome.html") });
});
when("agree", "click", () => label(view?.shown ?? undefined));
when("correct", "click", () => label(choice.value === "" ? undefined : Number(choice.value)));
when("take-back", "click", async () => {
  if (view === null) return;
  const { document, url } = view;
  await change(() => ask("take-back", { document, url }));
  focusStatus("popup_taken_back");
});
when("who", "toggle", async () => {
  // There is no room for both, and the thanks were read.
  if (byId("who", HTMLDetailsElement).open) showStatus("");
});
when("hide-news", "click", async () => {
  const version = view?.news?.version;
  if (version === undefined) return;
  await change(async () => ask("hide-news", { tab: await shownTab(), version }));
  // The button that was pressed is gone.
  byId("options", HTMLElement).focus();
});
for (const id of ["task-open", "task-next"])
  when(id, "click", async () => {
    const task = view?.study?.next?.id;
    if (task === undefined) return;
    await change(async () => ask("open-task", { tab: await shownTab(), task }));
    // What was said of the task before does not hold for this one.
    showStatus("");
  });
for (const [id, state] of [
  ["task-skip", "skipped"],
  ["task-broken", "broken"],
] as const)
  when(id, "click", async () => {
    const task = view?.study?.here?.id;
    if (task === undefined) return;
    await change(async () => ask("end-task", { tab: await shownTab(), task, state }));
    // The button that was pressed is gone.
    byId("status", HTMLElement).focus();
  });
when("topic", "change", async () => {
  byId("correct", HTMLButtonElement).disabled = choice.value === "";
});
for (const [id, kind] of [
  ["site-on", "site"],
  ["block-on", "block-site"],
] as const)
  when(id, "change", async () => {
    if (view === null) return;
    const { document } = view;
    const on = byId(id, HTMLInputElement).checked;
    await change(() => ask(kind, { document, on }));
  });
when("allow", "click", async () => {
  if (view === null) return;
  const { document } = view;
  await change(() => ask("block-site", { document, on: false }));
  focusStatus("popup_allowed");
  // What was blocked is asked for again.
  await browser.tabs.reload(await shownTab());
});
for (const [id, minutes] of [
  ["pause", PAUSE_MINUTES],
  ["resume", 0],
] as const)
  when(id, "click", async () => {
    await change(async () => ask("pause", { tab: await shownTab(), minutes }));
    showStatus("");
    // The button that was pressed is gone.
    byId(id === "pause" ? "resume" : "pause", HTMLElement).focus();
  });

listenToJoin(refresh);
void showingProblems(async () => offerToJoin(await shownTab()));
void refresh();
setInterval(() => void refresh(), AGAIN_MS);

/** A page that still loads brings more trackers; what did not change is not drawn again. */
async function refresh(): Promise<void> {
  await showingProblems(async () => {
    const before = clicks;
    const fresh = await ask("popup", { tab: await shownTab() });
    // Otherwise a switch would spring back until the answer to the click comes.
    if (waiting > 0 || clicks !== before) return;
    if (JSON.stringify(fresh) !== JSON.stringify(view)) show(fresh);
  });
}

/** Do what a click asks for, and show what became of it. */
async function change(work: () => Promise<PopupView>): Promise<void> {
  clicks += 1;
  waiting += 1;
  const mine = clicks;
  try {
    const fresh = await work();
    if (mine === clicks) show(fresh);
  } catch (error) {
    // A switch that had no effect goes back to what holds.
    if (view !== null && mine === clicks) show(view);
    throw error;
  } finally {
    waiting -= 1;
  }
}

/** The button that was pressed may be gone: the focus goes where the outcome is said. */
function focusStatus(key: string): void {
  // What is said takes the place of what was unfolded.
  byId("who", HTMLDetailsElement).open = false;
  showStatus(say(key));
  byId("status", HTMLElement).focus();
}

/** The tab below the popup; a test names it, for it opens the popup in a tab of its own. */
async function shownTab(): Promise<number> {
  const named = new URLSearchParams(location.search).get("tab");
  if (named !== null) return Number(named);
  const [tab] = await browser.tabs.query({ active: true, currentWindow: true });
  return tab?.id ?? -1;
}

async function label(topic: number | undefined): Promise<void> {
  if (view === null || topic === undefined) return;
  const { document, url, study } = view;
  await change(() => ask("label", { document, url, label: topic }));
  choice.value = "";
  byId("correct", HTMLButtonElement).disabled = true;
  focusStatus(study?.here != null ? "study_thanks" : thanks(view));
}

function show(fresh: PopupView): void {
  view = fresh;
  const { state } = fresh;
  const ready = state === "ready";
  // On the page of a task there is only what the task needs, so that all of it can be seen at once.
  const task = fresh.study?.here != null;
  byId("news", HTMLElement).hidden = fresh.news === null || task;
  byId("news-text", HTMLElement).textContent = fresh.news === null ? "" : newsText(fresh.news);
  showStudy(fresh);
  showVerdict(fresh);
  byId("verdict", HTMLElement).hidden = task && (fresh.hidden || fresh.label !== null || !ready);
  showOpinion(fresh, task);
  showTrackers(fresh);
  byId("welcome", HTMLElement).hidden = state !== "no-consent";
  byId("resume", HTMLElement).hidden = state !== "paused";
  const active = state !== "no-consent" && state !== "paused";
  byId("footer", HTMLElement).hidden = state === "no-consent" || (task && ready);
  byId("site", HTMLElement).hidden = fresh.site === "" || !active;
  byId("site-on", HTMLInputElement).checked = state !== "off";
  byId("site-text", HTMLElement).textContent = say("popup_site", fresh.site);
  byId("local", HTMLElement).hidden = !fresh.local;
  byId("pause", HTMLElement).hidden = !active || task;
  byId("history", HTMLElement).hidden = task;
}

/** The ways to say what the page is about. */
function showOpinion(fresh: PopupView, task: boolean): void {
  byId("opinion", HTMLElement).hidden = fresh.state !== "ready";
  // Where nothing was said there is nothing to agree to: a guess would become a label.
  byId("agree", HTMLElement).hidden = fresh.shown === null || fresh.label !== null;
  // What was said of a task can be changed, but not taken back.
  byId("take-back", HTMLElement).hidden = fresh.label === null || task;
  byId("question", HTMLElement).textContent = question(fresh);
}

/** What stands above the ways to answer. */
function question(view: PopupView): string {
  if (view.label !== null) return say("popup_own", topicTitle(view.label));
  return say(view.shown === null ? "popup_what" : "popup_right");
}

/** Where something is learned from the person's word, which depends on what they allow. */
function thanks({ learns: { local, contributing } }: PopupView): string {
  if (local) return contributing ? "popup_thanks_both" : "popup_thanks_local";
  return contributing ? "popup_thanks_shared" : "popup_thanks";
}
