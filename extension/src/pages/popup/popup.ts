/** The popup: what the page is about, which words led to that, its trackers, and a way to correct it. */

import { browser } from "../../browser";
import { NON_SENSITIVE } from "../../core/taxonomy";
import { aboutTopic, say, topicTitle } from "../../localise";
import { ask, type PopupView } from "../../messages";
import { newsText } from "../shared/news_text";
import { byId, newElement, percent, putTexts, showingProblems, showStatus, when } from "../shared/page";
import { letterOf, offerTopics } from "../shared/topics";
import { listenToJoin, offerToJoin } from "./join";
import { showStudy } from "./study";

const AGAIN_MS = 1000;
const MOST_SURE = 0.99;

let view: PopupView | null = null;

putTexts();
const choice = byId("topic", HTMLSelectElement);
choice.append(new Option(say("popup_choose_placeholder"), ""));
offerTopics(choice);

when("options", "click", () => browser.runtime.openOptionsPage());
when("welcome", "click", async () => {
  await browser.tabs.create({ url: browser.runtime.getURL("pages/welcome/welcome.html") });
});
when("agree", "click", () => label(view?.shown ?? undefined));
when("correct", "click", () => label(choice.value === "" ? undefined : Number(choice.value)));
when("take-back", "click", async () => {
  if (view === null) return;
  show(await ask("take-back", { document: view.document, url: view.url }));
  showStatus(say("popup_taken_back"));
  byId("status", HTMLElement).focus();
});
when("hide-news", "click", async () => {
  if (view?.news == null) return;
  show(await ask("hide-news", { tab: await shownTab(), version: view.news.version }));
  // The button that was pressed is gone.
  byId("status", HTMLElement).focus();
});
for (const id of ["task-open", "task-next"])
  when(id, "click", async () => {
    const next = view?.study?.next;
    if (next == null) return;
    show(await ask("open-task", { tab: await shownTab(), task: next.id }));
    // What was said of the task before does not hold for this one.
    showStatus("");
  });
for (const [id, state] of [
  ["task-skip", "skipped"],
  ["task-broken", "broken"],
] as const)
  when(id, "click", async () => {
    const here = view?.study?.here;
    if (here == null) return;
    show(await ask("end-task", { tab: await shownTab(), task: here.id, state }));
    // The button that was pressed is gone.
    byId("status", HTMLElement).focus();
  });
when("topic", "change", async () => {
  byId("correct", HTMLButtonElement).disabled = choice.value === "";
});
when("site-on", "change", async () => {
  if (view !== null)
    show(await ask("site", { document: view.document, on: byId("site-on", HTMLInputElement).checked }));
});

listenToJoin(refresh);
void showingProblems(async () => offerToJoin(await shownTab()));
void refresh();
setInterval(() => void refresh(), AGAIN_MS);

/** A page that still loads brings more trackers; what did not change is not drawn again. */
async function refresh(): Promise<void> {
  await showingProblems(async () => {
    const fresh = await ask("popup", { tab: await shownTab() });
    if (JSON.stringify(fresh) !== JSON.stringify(view)) show(fresh);
  });
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
  const task = view.study?.here != null;
  show(await ask("label", { document: view.document, url: view.url, label: topic }));
  choice.value = "";
  byId("correct", HTMLButtonElement).disabled = true;
  showStatus(say(task ? "study_thanks" : "popup_thanks"));
  // The button that was pressed may be gone.
  byId("status", HTMLElement).focus();
}

function show(fresh: PopupView): void {
  view = fresh;
  const ready = fresh.state === "ready";
  // On the page of a task there is only what the task needs, so that all of it can be seen at once.
  const task = fresh.study?.here != null;
  byId("news", HTMLElement).hidden = fresh.news === null || task;
  byId("news-text", HTMLElement).textContent = fresh.news === null ? "" : newsText(fresh.news);
  showStudy(fresh);
  showVerdict(fresh);
  byId("verdict", HTMLElement).hidden = task && (fresh.hidden || fresh.label !== null || !ready);
  showTrackers(fresh);
  byId("welcome", HTMLElement).hidden = fresh.state !== "no-consent";
  byId("opinion", HTMLElement).hidden = !ready;
  // Where nothing was said there is nothing to agree to: a guess would become a label.
  byId("agreeing", HTMLElement).hidden = fresh.shown === null || fresh.label !== null;
  // What was said of a task can be changed, but not taken back.
  byId("own", HTMLElement).hidden = fresh.label === null || task;
  byId("question", HTMLElement).textContent = question(fresh);
  byId("site", HTMLElement).hidden = fresh.site === "" || fresh.state === "no-consent" || (task && ready);
  byId("site-on", HTMLInputElement).checked = fresh.state !== "off";
  byId("site-text", HTMLElement).textContent = say("popup_site", fresh.site);
}

/** What stands above the ways to answer. */
function question(view: PopupView): string {
  if (view.label !== null) return say("popup_own", topicTitle(view.label));
  return say(view.shown === null ? "popup_what" : "popup_right");
}

function showVerdict(view: PopupView): void {
  const { shown, verdict } = view;
  byId("letter", HTMLElement).replaceChildren(...(shown === null ? [] : [letterOf(shown)]));
  byId("sentence", HTMLElement).textContent = sentence(view);
  const told = verdict !== null && tellsChance(view, verdict.topic);
  byId("sure", HTMLElement).textContent = told
    ? say("popup_sure", topicTitle(verdict.topic), confidence(verdict.probabilities[verdict.topic]!))
    : "";
  const words = told && view.study?.here == null ? verdict.words : [];
  byId("leading", HTMLElement).hidden = words.length === 0;
  byId("words", HTMLElement).replaceChildren(
    ...words.map(({ word, share }) => {
      const entry = newElement("li", `${word} `);
      entry.append(newElement("span", percent(share), "faint"));
      return entry;
    }),
  );
}

/**
 * Whether the most probable class is named with its probability: the model's answer, and a topic that is not probable
 * enough. Where EITR cannot tell, it never says "not sensitive".
 */
function tellsChance({ label, cannotTell }: PopupView, topic: number): boolean {
  if (label !== null) return false;
  return cannotTell === null || (cannotTell === "close" && topic !== NON_SENSITIVE);
}

/** No model is ever quite sure. */
function confidence(share: number): string {
  return share > MOST_SURE ? `> ${percent(MOST_SURE)}` : percent(share);
}

function sentence({ state, shown, cannotTell }: PopupView): string {
  if (state === "no-consent") return say("popup_no_consent");
  if (state === "not-a-page") return say("popup_not_a_page");
  if (state === "off") return say("popup_off");
  if (state === "waiting") return say("popup_waiting");
  if (shown === null) return say(`popup_cannot_tell_${cannotTell}`);
  return shown === NON_SENSITIVE ? say("popup_not_sensitive") : say("popup_about", aboutTopic(shown));
}

function showTrackers({ state, trackers, others, remembered, shown, study }: PopupView): void {
  byId("trackers", HTMLElement).hidden = (state !== "ready" && state !== "waiting") || study?.here != null;
  const companies = new Set(trackers.map(({ company }) => company)).size;
  const key = ["popup_trackers_none", "popup_trackers_one"][companies] ?? "popup_trackers";
  byId("tracker-count", HTMLElement).textContent = say(key, String(companies));
  byId("next-visit", HTMLElement).hidden = !remembered || shown === null || shown === NON_SENSITIVE;
  const categories = Map.groupBy(trackers, ({ category }) => category);
  byId("companies", HTMLElement).replaceChildren(
    ...[...categories].flatMap(([category, parties]) => [
      newElement("dt", say(`category_${category.replaceAll("-", "_")}`)),
      newElement("dd", parties.map(({ company }) => company).join(", ")),
    ]),
  );
  byId("others", HTMLElement).textContent = others.length === 0 ? "" : say("popup_others", others.join(", "));
}
