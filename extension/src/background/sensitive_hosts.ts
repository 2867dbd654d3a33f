/** Notes what was seen of hosts, and keeps the list of those known as sensitive and everything that follows from it. */

import { NON_SENSITIVE } from "../core/taxonomy";
import { siteOf } from "../core/trackers";
import { mayRead, type Settings } from "../settings";
import { hostOf } from "./address";
import { syncSiteRules } from "./blocking/site_rules";
import { reachedHosts, type SeenDocument } from "./documents";
import { publishedTopic } from "./page_answer";
import { forgetHosts, rememberedHosts } from "./remembered_hosts";
import { forgetSeen, notePage, topicOfHost } from "./seen_hosts";
import { settings } from "./settings_store";
import { taskOf } from "./study/task_pages";
import { companies, thirdPartiesOf, trackerData } from "./third_parties";
import { dropRules, remember, updateHarmless } from "./warnings";

/** Note what a document is about. The person was asked to come to the pages of a study: they say nothing of a host. */
export async function noteDocument(seen: SeenDocument): Promise<void> {
  const choices = await settings();
  const { url } = seen;
  const [host, topic] = [hostOf(url), publishedTopic(seen, choices)];
  if (topic === null || !mayNote(choices, host) || (await taskOf(seen)) !== null) return;
  const noted = await notePage(url, topic, topic === NON_SENSITIVE ? [] : await companiesReached(seen));
  // What the person said may not be known of the host: nothing was noted then, the host was forgotten since, or the
  // worker was killed. Another page may be why nobody is asked.
  const isUpToDate = (noted.harmless === true) === (seen.label === NON_SENSITIVE);
  const known = isUpToDate ? noted : await updateHarmless(host);
  const about = topicOfHost(known);
  if (about !== null) await remember(host, about, known);
  else if ((await rememberedHosts()).has(host)) await dropRules(await forgetHosts((other) => other === host));
  await syncSiteRules();
}

/** The companies that something was sent to, as far as blocked requests were reported. */
async function companiesReached(seen: SeenDocument): Promise<string[]> {
  const data = await trackerData();
  return companies(thirdPartiesOf({ ...seen, hosts: reachedHosts(seen) }, data).trackers);
}

/** Nothing is noted that nothing is done with. */
function mayNote(choices: Settings, host: string): boolean {
  const { blocking, warnings, linkMarks, offSites } = choices;
  if (!mayRead(choices) || host === "" || offSites.includes(siteOf(host))) return false;
  return blocking || warnings || linkMarks;
}

/** Forget hosts, and all that was seen of them; `also` names one that may not be known as sensitive. */
export async function forget(which: (host: string) => boolean, also = ""): Promise<void> {
  const gone = await forgetHosts(which);
  await forgetSeen([also, ...gone.map(({ host }) => host)]);
  await dropRules(gone);
  await syncSiteRules();
}

/** Forget all that was seen of any host. */
export async function forgetEveryHost(): Promise<void> {
  await forget(() => true);
  await forgetSeen("all");
}
