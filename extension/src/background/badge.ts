/** The badge of a tab in the toolbar: a letter with the number of trackers, a colour, and a title for screen readers. */

import { browser } from "../browser";
import { NON_SENSITIVE, TOPICS } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { aboutTopic, say, timeOfDay } from "../localise";
import { isResting } from "../settings";
import { hostOf } from "./address";
import { currentDocument, openTabs, type SeenDocument } from "./documents";
import { shownAnswer } from "./page_answer";
import { settings } from "./settings_store";
import { hidesPrediction, taskOf } from "./study/task_pages";
import { companies, thirdPartiesOf, trackerData } from "./third_parties";

interface Badge {
  text: string;
  colour: string;
  title: string;
}

/** Browsers show four characters: a letter, and up to three for the number. */
const MOST_SHOWN = 99;
/** Two bars, as on the button of a player; the character for it is a coloured picture in some fonts. */
const PAUSE_SIGN = "II";

/** The latest update of each tab's badge: an older one that took longer must not overwrite it. */
const latest = new Map<number, symbol>();

/** Update the badge of a tab. */
export async function showBadge(tab: number): Promise<void> {
  const update = Symbol();
  latest.set(tab, update);
  const badge = await badgeOf(currentDocument(tab)).catch(() => blank("badge_unknown"));
  if (latest.get(tab) !== update) return;
  latest.delete(tab);
  // Otherwise the tab was closed in the meantime.
  await put(badge, { tabId: tab }).catch(() => undefined);
}

/** Update the badges of all tabs whose pages are known, after the worker started or settings changed. */
export async function showAllBadges(): Promise<void> {
  await showDefault();
  await Promise.all(openTabs().map(showBadge));
}

/** Update the badges of all tabs, also of those with pages that EITR does not read, because a pause began or ended. */
export async function showEveryBadge(): Promise<void> {
  await showDefault();
  const tabs = await browser.tabs.query({});
  await Promise.all(tabs.flatMap(({ id }) => (id === undefined ? [] : [showBadge(id)])));
}

/** What tabs show that have no badge of their own: nothing, or that EITR is paused. */
async function showDefault(): Promise<void> {
  await put(await badgeOf(undefined), {});
}

async function put({ text, colour, title }: Badge, where: { tabId?: number }): Promise<void> {
  await Promise.all([
    browser.action.setBadgeText({ ...where, text }),
    browser.action.setBadgeBackgroundColor({ ...where, color: colour }),
    browser.action.setBadgeTextColor({ ...where, color: "#ffffff" }),
    browser.action.setTitle({ ...where, title }),
  ]);
}

async function badgeOf(seen: SeenDocument | undefined): Promise<Badge> {
  const choices = await settings();
  if (!choices.classifying) return blank("badge_unknown");
  if (isResting(choices)) return { ...blank("badge_paused", timeOfDay(choices.pausedUntil)), text: PAUSE_SIGN };
  const host = hostOf(seen?.url ?? "");
  if (seen === undefined || host === "") return blank("badge_unknown");
  if (choices.offSites.includes(siteOf(host))) return blank("badge_off");
  const task = await taskOf(seen);
  if (task !== null && hidesPrediction(task)) return blank("badge_task", String(task.number), String(task.of));
  const answer = shownAnswer(seen, choices);
  if (answer === null) return blank("badge_unknown");
  if (answer.topic === null) return blank("badge_cannot_tell");
  if (answer.topic === NON_SENSITIVE) return blank("badge_nothing");
  const { topic } = answer;
  const { letter, colour } = TOPICS[topic]!;
  const count = await trackerData().then(
    (known) => companies(thirdPartiesOf(seen, known).trackers).length,
    // Better a letter without its number than none.
    () => 0,
  );
  if (count === 0) return { text: letter, colour, title: say("badge_sensitive", aboutTopic(topic)) };
  const key = count === 1 ? "badge_tracked_one" : "badge_tracked";
  const number = count > MOST_SHOWN ? `${MOST_SHOWN}+` : String(count);
  return { text: letter + number, colour, title: say(key, aboutTopic(topic), String(count)) };
}

function blank(key: string, ...gaps: string[]): Badge {
  return { text: "", colour: TOPICS[NON_SENSITIVE]!.colour, title: say(key, ...gaps) };
}
