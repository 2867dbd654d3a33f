/**
 * Everything that is kept about the person, here and at the server, for them to take away. The secret stays where it
 * is.
 */

import { visits } from "./history";
import { labelledPages } from "./labelled_pages";
import { storedCopy } from "./learning/local_learning";
import { sentUpdates } from "./learning/outbox";
import { pageUses } from "./learning/page_uses";
import { exportAt, type Participant, participants } from "./learning/participant";
import { newsView } from "./learning/round_news";
import { model } from "./model";
import { rememberedHosts } from "./remembered_hosts";
import { seenHosts } from "./seen_hosts";
import { settings } from "./settings_store";
import { knownStudy } from "./study/study_store";
import { taskAnswers } from "./study/task_answers";
import { termReports } from "./study/term_reports";
import { hostLists } from "./third_parties";

export async function exportedData(): Promise<object> {
  const choices = await settings();
  const known = await participants();
  const { version, server } = await model();
  return {
    format: "eitr-export",
    version: 1,
    created: new Date().toISOString(),
    settings: choices,
    model: { version, server },
    local_copy: (await storedCopy())?.trained ?? null,
    labelled_pages: await labelledPages(),
    used_pages: Object.fromEntries(await pageUses()),
    seen_hosts: await seenHosts(),
    sensitive_hosts: [...(await rememberedHosts()).values()],
    history: await visits(),
    lists: await hostLists(),
    sent: await sentUpdates(),
    news: await newsView(),
    study: (await knownStudy()) ?? null,
    task_answers: await taskAnswers(),
    term_reports: await termReports(),
    servers: await Promise.all(known.map((one) => told(one, choices.contributing || choices.studies))),
  };
}

/** What a server keeps about us, asked only if we may still talk to servers; it may be out of reach. */
async function told(participant: Participant, asking: boolean): Promise<object> {
  const { server, id } = participant;
  const keeps = asking ? await exportAt(participant).catch((error: unknown) => String(error)) : null;
  return { server, participant: id, keeps };
}
