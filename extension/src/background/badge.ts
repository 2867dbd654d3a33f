/** The badge of a tab in the toolbar: a letter, a colour, and a title for screen readers. */

import { browser } from "../browser";
import { type Answer, answerOf } from "../core/answer";
import { NON_SENSITIVE, TOPICS } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { aboutTopic, say } from "../localise";
import type { Settings } from "../settings";
import { hostOf } from "./address";
import { currentDocument, openTabs, type SeenDocument } from "./documents";
import { settings } from "./settings_store";
import { hidesPrediction, taskOf } from "./study/task_pages";
import { companies, thirdPartiesOf, trackerData } from "./third_parties";

interface Badge {
  text: string;
  colour: string;
  title: string;
}

/** What is said about a document: the person's own word, else what the model can tell; null if it was not read yet. */
export function shownAnswer({ label, verdict }: SeenDocument, { threshold }: Settings): Answer | null {
  if (label !== null) return { topic: label, cannotTell: null };
  return verdict && answerOf(verdict.probabilities, verdict.language, verdict.knownWords, threshold);
}

/** The latest update of each tab's badge: an older one that took longer must not overwrite it. */
const latest = new Map<number, symbol>();

/** Update the badge of a tab. */
export async function showBadge(tab: number): Promise<void> {
  const update = Symbol();
  latest.set(tab, update);
  const { text, colour, title } = await badgeOf(currentDocument(tab)).catch(() => blank("badge_unknown"));
  if (latest.get(tab) !== update) return;
  latest.delete(tab);
  try {
    await Promise.all([
      browser.action.setBadgeText({ tabId: tab, text }),
      browser.action.setBadgeBackgroundColor({ tabId: tab, color: colour }),
      browser.action.setBadgeTextColor({ tabId: tab, color: "#ffffff" }),
      browser.action.setTitle({ tabId: tab, title }),
    ]);
  } catch {
    // The tab was closed in the meantime.
  }
}

/** Update the badges of all tabs, after the worker started or settings changed. */
export async function showAllBadges(): Promise<void> {
  await Promise.all(openTabs().map(showBadge));
}

async function badgeOf(seen: SeenDocument | undefined): Promise<Badge> {
  const choices = await settings();
  if (seen === undefined || !choices.classifying) return blank("badge_unknown");
  const host = hostOf(seen.url);
  if (host === "") return blank("badge_unknown");
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
    // Better a letter without its mark than none.
    () => 0,
  );
  if (count === 0) return { text: letter, colour, title: say("badge_sensitive", aboutTopic(topic)) };
  const key = count === 1 ? "badge_tracked_one" : "badge_tracked";
  return { text: `${letter}!`, colour, title: say(key, aboutTopic(topic), String(count)) };
}

function blank(key: string, ...gaps: string[]): Badge {
  return { text: "", colour: TOPICS[NON_SENSITIVE]!.colour, title: say(key, ...gaps) };
}
