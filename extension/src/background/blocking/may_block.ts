/** Where the person lets trackers be blocked, and where the page or its host is known as sensitive. */

import { NON_SENSITIVE } from "../../core/taxonomy";
import { siteOf } from "../../core/trackers";
import { mayRead, type Settings } from "../../settings";
import { hostOf } from "../address";
import type { SeenDocument } from "../documents";
import { publishedTopic } from "../page_answer";
import { rememberedHosts } from "../remembered_hosts";
import { knownPage } from "../seen_hosts";
import { taskOf } from "../study/task_pages";

/** Whether trackers may be blocked on the sensitive pages of a host. */
export function mayBlock(choices: Settings, host: string): boolean {
  const { blocking, offSites, unblockedSites } = choices;
  if (!mayRead(choices) || !blocking || host === "") return false;
  const site = siteOf(host);
  return !offSites.includes(site) && !unblockedSites.includes(site);
}

/** Whether a page that begins to load is known as sensitive. */
export async function isKnown(url: string): Promise<boolean> {
  return (await rememberedHosts()).has(hostOf(url)) || (await knownPage(url)) !== null;
}

/** Whether the trackers of a document are to be blocked: never on the pages of a study. */
export async function isToBeBlocked(seen: SeenDocument, choices: Settings): Promise<boolean> {
  const host = hostOf(seen.url);
  if (!mayBlock(choices, host) || (await taskOf(seen)) !== null) return false;
  const topic = publishedTopic(seen, choices);
  if (topic === null) return isKnown(seen.url);
  return topic !== NON_SENSITIVE || (await rememberedHosts()).has(host);
}
