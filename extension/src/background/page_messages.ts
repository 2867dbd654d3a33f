/** Handles messages from our own pages, one function per kind of message. Their contents are checked nevertheless. */

import { BadInput } from "../core/bad_input";
import { LEAST_KNOWN_WORDS } from "../core/local_copy";
import { NON_SENSITIVE, TOPICS } from "../core/taxonomy";
import { readHosts, siteOf } from "../core/trackers";
import {
  type Calls,
  type Kind,
  type OptionsView,
  type PopupView,
  Problem,
  type Quiet,
  type SiteList,
} from "../messages";
import { isResting, LONGEST_PAUSE_MS, readServer, type Settings } from "../settings";
import { hostOf } from "./address";
import { changeAndApply } from "./apply_settings";
import { showAllBadges } from "./badge";
import { blockingView } from "./blocking/blocked_requests";
import { syncSiteRules } from "./blocking/site_rules";
import { syncTabRules } from "./blocking/tab_rules";
import { effectsAreDue, updateEffects } from "./document_effects";
import {
  currentDocument,
  documentsLoaded,
  moved,
  type SeenDocument,
  saveDocuments,
  savedWords,
  shownDocument,
} from "./documents";
import { eraseEverything } from "./erase";
import { exportedData } from "./export";
import { type Forgotten, forgetVisits, historyView } from "./history";
import { judgeAgain, judgeAgainSoon } from "./judge_again";
import { labelPage, removeLabel, resetLabels } from "./labelled_pages";
import { learn, learningView } from "./learning/learning";
import { localView } from "./learning/local_learning";
import { sentUpdates } from "./learning/outbox";
import { hideNews, newsView } from "./learning/round_news";
import { model } from "./model";
import { stopReading } from "./navigation";
import { publishedAnswer, shownAnswer } from "./page_answer";
import { rememberedHosts } from "./remembered_hosts";
import { forget, forgetEveryHost } from "./sensitive_hosts";
import { settings } from "./settings_store";
import { answerOf, endTask, join, offerIn, openTask } from "./study/study_messages";
import { studyNote, syncStudy } from "./study/study_sync";
import { studyView } from "./study/study_view";
import { sentAnswers } from "./study/task_answers";
import { hidesPrediction, isOpening, taskOf } from "./study/task_pages";
import { sentTerms } from "./study/term_reports";
import { addHostList, hostLists, removeHostList, thirdPartiesOf, trackerData } from "./third_parties";
import { continueTo, updateHarmless, warningView } from "./warnings";

type Wish = Record<string, unknown>;
type Handlers = { [K in Kind]: (wish: Wish) => Promise<Calls[K][1]> };

const LONGEST_NAME = 100;
const QUIET: readonly Quiet[] = ["visit", "day", "always"];
const MINUTE_MS = 60_000;
const SITE_LISTS: readonly SiteList[] = ["offSites", "unwarnedSites", "unblockedSites"];

export const HANDLERS: Handlers = {
  popup: (wish) => popupOfTab(wish),

  async label(wish) {
    const seen = await openPage(wish);
    const label = wish["label"];
    if (typeof label !== "number" || !Number.isInteger(label) || TOPICS[label] === undefined)
      throw new Problem("problem_failed");
    const words = await savedWords(seen);
    if (words === undefined) throw new Problem("problem_page_gone");
    // To agree with what the local copy says is to correct the published model once more.
    const published = publishedAnswer(seen, await settings());
    const language = seen.verdict?.language ?? "unknown";
    const said = { label, words, language, agreed: label === published?.topic };
    const task = await taskOf(seen);
    if (task === null) await labelPage(seen.url, said, null);
    else {
      const { slug, usesPerPage } = task.study;
      const study = { server: task.server, slug, task: task.task.id, uses: usesPerPage };
      await labelPage(seen.url, { ...said, study }, answerOf(task, "labelled", label));
      void syncStudy(false);
    }
    const before = seen.label;
    seen.label = label;
    effectsAreDue(seen);
    await saveDocuments();
    // Nobody wants to be asked before a page that is about nothing sensitive to them. What is blocked stays the same.
    if (label === NON_SENSITIVE || before === NON_SENSITIVE) await updateHarmless(hostOf(seen.url));
    await updateEffects(seen);
    judgeAgainSoon();
    return popupView(seen);
  },

  async "take-back"(wish) {
    const seen = await openPage(wish);
    // An answer to a task can be changed, but is not taken back.
    if ((await taskOf(seen)) !== null) throw new Problem("problem_failed");
    await removeLabel(seen.url);
    const before = seen.label;
    seen.label = null;
    effectsAreDue(seen);
    await saveDocuments();
    if (before === NON_SENSITIVE) await updateHarmless(hostOf(seen.url));
    // Now: what is shown of this page follows from it.
    await judgeAgain();
    await updateEffects(seen);
    return popupView(seen);
  },

  async site(wish) {
    const seen = await openDocument(wish);
    const site = siteOf(hostOf(seen.url));
    const on = wish["on"] === true;
    await changeAndApply(({ offSites }) => {
      const others = offSites.filter((other) => other !== site);
      return { offSites: on ? others : [...others, site] };
    });
    if (!on) {
      moved(seen, seen.url);
      await stopReading([seen.tab]);
      await forget((host) => siteOf(host) === site, hostOf(seen.url));
    }
    await updateEffects(seen);
    return popupView(seen);
  },

  async "block-site"(wish) {
    const seen = await openDocument(wish);
    const site = siteOf(hostOf(seen.url));
    await changeAndApply(({ unblockedSites }) => {
      const others = unblockedSites.filter((other) => other !== site);
      return { unblockedSites: wish["on"] === true ? others : [...others, site] };
    });
    return popupView(seen);
  },

  async pause(wish) {
    const minutes = wish["minutes"];
    if (typeof minutes !== "number" || !(minutes >= 0 && minutes * MINUTE_MS <= LONGEST_PAUSE_MS))
      throw new Problem("problem_failed");
    await documentsLoaded();
    await changeAndApply({ pausedUntil: minutes === 0 ? 0 : Date.now() + minutes * MINUTE_MS });
    return popupOfTab(wish);
  },

  async "hide-news"(wish) {
    const version = wish["version"];
    if (typeof version !== "number" || !Number.isInteger(version)) throw new Problem("problem_failed");
    await hideNews(version);
    return popupOfTab(wish);
  },

  async offer(wish) {
    return { offer: await offerIn(Number(wish["tab"])) };
  },

  async join(wish) {
    await join({ server: wish["server"], invitation: wish["invitation"] });
    return { settings: await settings(), studyNote: await studyNote() };
  },

  async "open-task"(wish) {
    await documentsLoaded();
    await openTask(Number(wish["task"]), Number(wish["tab"]));
    return popupOfTab(wish);
  },

  async "end-task"(wish) {
    const { state } = wish;
    if (state !== "skipped" && state !== "broken") throw new Problem("problem_failed");
    await documentsLoaded();
    await endTask(Number(wish["task"]), Number(wish["tab"]), state);
    return popupOfTab(wish);
  },

  options: () => optionsView(),

  async change(wish) {
    const change = (wish["settings"] ?? {}) as Partial<Settings>;
    if (typeof change.server === "string" && change.server !== "") change.server = server(change.server);
    await changeAndApply(change);
    return optionsView();
  },

  async "unlist-site"(wish) {
    const without = (sites: string[]) => sites.filter((site) => site !== wish["site"]);
    const list = SITE_LISTS.find((name) => name === wish["list"]);
    if (list === undefined) throw new Problem("problem_failed");
    await changeAndApply((before) => ({ [list]: without(before[list]) }));
    return optionsView();
  },

  async "import-list"(wish) {
    const name = String(wish["name"]).slice(0, LONGEST_NAME);
    const { hosts, notUnderstood } = hostsOf(String(wish["text"]));
    if (hosts.length === 0) throw new Problem("problem_list_empty");
    await addHostList({ name, hosts });
    await Promise.all([showAllBadges(), syncSiteRules(), syncTabRules()]);
    return { view: await optionsView(), notUnderstood };
  },

  async "remove-list"(wish) {
    await removeHostList(String(wish["name"]));
    await Promise.all([showAllBadges(), syncSiteRules(), syncTabRules()]);
    return optionsView();
  },

  async "forget-host"(wish) {
    await forget((host) => host === wish["host"]);
    return optionsView();
  },

  async "forget-hosts"() {
    await forgetEveryHost();
    return optionsView();
  },

  async learn() {
    await Promise.all([learn(true), syncStudy(true)]);
    return optionsView();
  },

  async "reset-local"() {
    await documentsLoaded();
    await resetLabels();
    await judgeAgain();
    return optionsView();
  },

  async erase(wish) {
    await eraseEverything(wish["server"] === true);
    return { erased: true };
  },

  async export() {
    return { data: await exportedData() };
  },

  async consent(wish) {
    const [contributing, studies] = [wish["contributing"] === true, wish["studies"] === true];
    const address = typeof wish["server"] === "string" ? wish["server"].trim() : "";
    if (contributing && address === "") throw new Problem("problem_no_address");
    const named = address !== "" && (contributing || studies);
    const changed = await changeAndApply({
      asked: Date.now(),
      classifying: wish["classifying"] === true,
      contributing,
      studies,
      ...(named ? { server: server(address), invitation: String(wish["invitation"] ?? "") } : {}),
    });
    return { settings: changed };
  },

  async sent() {
    return {
      sent: await sentUpdates(),
      answers: await sentAnswers(),
      terms: await sentTerms(),
      news: await newsView(),
    };
  },

  async warning(wish) {
    return { view: await warningView(String(wish["target"])) };
  },

  async continue(wish) {
    const view = await warningView(String(wish["target"]));
    const quiet = QUIET.find((known) => known === wish["quiet"]);
    if (view === null || quiet === undefined) throw new Problem("problem_failed");
    await continueTo(view, quiet);
    const site = siteOf(view.host);
    if (quiet === "always") await changeAndApply(({ unwarnedSites }) => ({ unwarnedSites: [...unwarnedSites, site] }));
    return { target: view.target };
  },

  history: () => historyView(),

  async "set-history"({ on, days }) {
    if (typeof (on ?? true) !== "boolean" || !Number.isInteger(days ?? 1)) throw new Problem("problem_failed");
    await changeAndApply({
      ...(on === undefined ? {} : { history: on as boolean }),
      ...(days === undefined ? {} : { historyDays: days as number }),
    });
    return historyView();
  },

  async "forget-visits"({ company, topic, site }) {
    // What is not understood must not be taken for nothing: then everything would be deleted.
    const isText = (value: unknown) => value === undefined || typeof value === "string";
    if (
      !isText(company) ||
      !isText(site) ||
      (topic !== undefined && (typeof topic !== "number" || TOPICS[topic] === undefined))
    )
      throw new Problem("problem_failed");
    await forgetVisits({ company, topic, site } as Forgotten);
    return historyView();
  },
};

function server(text: string): string {
  try {
    return readServer(text);
  } catch (error) {
    throw error instanceof BadInput ? new Problem(error.message) : error;
  }
}

function hostsOf(text: string): ReturnType<typeof readHosts> {
  try {
    return readHosts(text);
  } catch (error) {
    throw error instanceof BadInput ? new Problem("problem_list_size") : error;
  }
}

async function openDocument(wish: Wish): Promise<SeenDocument> {
  await documentsLoaded();
  const seen = shownDocument(String(wish["document"]));
  if (seen === undefined) throw new Problem("problem_page_gone");
  return seen;
}

/** The document, if it still shows what the popup showed: it may have moved on to another page within itself. */
async function openPage(wish: Wish): Promise<SeenDocument> {
  const seen = await openDocument(wish);
  if (seen.verdict === null || seen.url !== wish["url"] || (await isOpening(seen.tab)))
    throw new Problem("problem_page_gone");
  return seen;
}

async function popupOfTab(wish: Wish): Promise<PopupView> {
  await documentsLoaded();
  const tab = typeof wish["tab"] === "number" ? wish["tab"] : -1;
  // The page that the tab still shows is not the task that it was told to open.
  return popupView((await isOpening(tab)) ? undefined : currentDocument(tab), tab);
}

async function popupView(seen: SeenDocument | undefined, tab = seen?.tab ?? -1): Promise<PopupView> {
  const [choices, news, study, note] = await Promise.all([settings(), newsView(), studyView(tab, seen), studyNote()]);
  const host = hostOf(seen?.url ?? "");
  const site = host === "" ? "" : siteOf(host);
  const empty: PopupView = {
    state: !choices.classifying ? "no-consent" : isResting(choices) ? "paused" : "not-a-page",
    pausedUntil: isResting(choices) ? choices.pausedUntil : 0,
    document: seen?.id ?? "",
    url: seen?.url ?? "",
    site,
    host,
    verdict: null,
    label: null,
    shown: null,
    cannotTell: null,
    local: false,
    learns: { local: false, contributing: false },
    trackers: [],
    others: [],
    blocking: await blockingView(seen, choices),
    remembered: false,
    news: news === null || news.hidden ? null : news,
    study,
    studyLeft: note === "study_left",
    hidden: false,
  };
  if (empty.state !== "not-a-page" || seen === undefined || host === "") return empty;
  if (choices.offSites.includes(site)) return { ...empty, state: "off" };
  const parties = thirdPartiesOf(seen, await trackerData());
  const remembered = (await warningView(seen.url)) !== null;
  const { verdict } = seen;
  const learns = {
    local: choices.localLearning && (verdict?.knownWords ?? 0) >= LEAST_KNOWN_WORDS,
    contributing: choices.contributing,
  };
  // What was said of the page before it was a task is no answer to the task.
  const label = study?.here != null && study.here.state !== "labelled" ? null : seen.label;
  const answer = shownAnswer({ ...seen, label }, choices);
  if (answer === null) return { ...empty, state: "waiting", ...parties, remembered };
  if (hidesPrediction(await taskOf(seen))) return { ...empty, state: "ready", hidden: true };
  const { topic: shown, cannotTell } = answer;
  const local = label === null && shown !== publishedAnswer(seen, choices)?.topic;
  return { ...empty, state: "ready", verdict, label, shown, cannotTell, learns, ...parties, remembered, local };
}

async function optionsView(): Promise<OptionsView> {
  const hosts = [...(await rememberedHosts()).values()].sort((one, other) => other.time - one.time);
  const [{ version, server: from, vocabulary }, lists] = await Promise.all([model(), hostLists()]);
  return {
    settings: await settings(),
    model: { version, server: from, words: vocabulary.words.length },
    learning: await learningView(),
    lists: lists.map(({ name, hosts }) => ({ name, entries: hosts.length })),
    rememberedHosts: hosts.length,
    hosts: hosts.map(({ host, topic, time }) => ({ host, topic, time })),
    study: await studyView(-1, undefined),
    studyNote: await studyNote(),
    local: await localView(),
  };
}
