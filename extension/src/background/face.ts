/** What the toolbar shows for a tab: a letter, a colour, and a sentence for those who hear it. */

import { browser } from "../browser";
import { NON_SENSITIVE, TOPICS } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { aboutTopic, say } from "../localise";
import type { Settings } from "../settings";
import { settings } from "./choices";
import { currentDocument, openTabs, type SeenDocument } from "./documents";
import { companies, hostOf, knowledge, partiesOf } from "./parties";

interface Face {
  text: string;
  colour: string;
  title: string;
}

/**
 * The class that is shown for a document: the person's own word, else the model's if it is sure enough; null for none.
 */
export function shownTopic(seen: SeenDocument, { threshold }: Settings): number | null {
  if (seen.label !== null) return seen.label;
  if (seen.verdict === null || seen.verdict.confidence < threshold) return null;
  return seen.verdict.topic;
}

/** The latest wish to show each tab's face: one that took longer must not come after it with what was true before. */
const latest = new Map<number, symbol>();

/** Bring the toolbar of a tab up to date. */
export async function showFace(tab: number): Promise<void> {
  const wish = Symbol();
  latest.set(tab, wish);
  const { text, colour, title } = await faceOf(currentDocument(tab)).catch(() => blank("badge_unknown"));
  if (latest.get(tab) !== wish) return;
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

/** Bring all toolbars up to date: after the worker started, or settings changed. */
export async function showAllFaces(): Promise<void> {
  await Promise.all(openTabs().map(showFace));
}

async function faceOf(seen: SeenDocument | undefined): Promise<Face> {
  const choices = await settings();
  if (seen === undefined || !choices.classifying) return blank("badge_unknown");
  const host = hostOf(seen.url);
  if (host === "") return blank("badge_unknown");
  if (choices.offSites.includes(siteOf(host))) return blank("badge_off");
  const topic = shownTopic(seen, choices);
  if (topic === null || topic === NON_SENSITIVE) return blank(seen.judged ? "badge_nothing" : "badge_unknown");
  const { letter, colour } = TOPICS[topic]!;
  const count = await knowledge().then(
    (known) => companies(partiesOf(seen, known).trackers).length,
    // Better a letter without its mark than none.
    () => 0,
  );
  if (count === 0) return { text: letter, colour, title: say("badge_sensitive", aboutTopic(topic)) };
  const key = count === 1 ? "badge_tracked_one" : "badge_tracked";
  return { text: `${letter}!`, colour, title: say(key, aboutTopic(topic), String(count)) };
}

function blank(key: string): Face {
  return { text: "", colour: TOPICS[NON_SENSITIVE]!.colour, title: say(key) };
}
