/**
 * Talks to the server about the study: sends answers that wait, fetches the study and its tasks, and then, if the person
 * agreed to it, sends the words of the task pages. Every step is on the disk before the next begins; what could not be
 * sent is sent by a later turn.
 */

import { readStudy, readTasks } from "../../core/study";
import { TOPICS } from "../../core/taxonomy";
import { mayCollect } from "../../data_collection";
import { showAllBadges } from "../badge";
import { readKept, writeKept } from "../database";
import { sentenceOf, waitAfter } from "../learning/failures";
import { authorization, enrolled, forgetParticipant, type Participant } from "../learning/participant";
import { json, Refused, Server } from "../learning/server";
import { settings } from "../settings_store";
import { sendTerms } from "./send_terms";
import { dropStudy, type KnownStudy, knownStudy, leftServer, storeStudy } from "./study_store";
import { answerTo, settleAnswer, storeAnswer, type TaskAnswer, taskAnswers } from "./task_answers";

const LARGEST_LIST = 8 << 20;
/** If so many tasks of a server were reported as broken, only the person reports more. */
const MOST_BROKEN = 1000;
const CONTACT = "study contact";

/** How it went the last time: `last` is the key of a sentence, empty if there is a study. */
interface Contact {
  server: string;
  last: string;
  failures: number;
  notBefore: number;
}

let running: Promise<void> | null = null;
let again = false;
let stop = new AbortController();

/**
 * Bring the server and this browser up to date with each other. `now`: the person asked for it, so do not wait because
 * of earlier failures. A call during a turn makes another turn follow, so that what was just answered is sent.
 */
export function syncStudy(now: boolean): Promise<void> {
  if (running !== null) again = true;
  running ??= turns(now).finally(() => {
    running = null;
  });
  return running;
}

/** Stop at once, and return when nothing is running any more: the person withdrew their consent. */
export async function stopStudy(): Promise<void> {
  stop.abort(new Error("studies were switched off"));
  again = false;
  await running?.catch(() => undefined);
}

/** Why there is no study, as the key of a sentence; empty if nothing is known. */
export async function studyNote(): Promise<string> {
  const { studies, server } = await settings();
  const known = await readKept<Contact>(CONTACT);
  return studies && known?.server === server ? known.last : "";
}

async function turns(now: boolean): Promise<void> {
  do {
    again = false;
    await turn(now);
  } while (again);
}

async function turn(now: boolean): Promise<void> {
  stop = new AbortController();
  const { signal } = stop;
  const { studies, server: address, invitation } = await settings();
  if (!studies || address === "" || !(await mayCollect()) || (await leftServer()) === address) return;
  const known = await readKept<Contact>(CONTACT);
  const before = known?.server === address ? known : { server: address, last: "", failures: 0, notBefore: 0 };
  if (!now && Date.now() < before.notBefore) return;
  try {
    const server = new Server(address, signal);
    const last = await takePart(server, await enrolled(server, invitation));
    await writeKept(CONTACT, { server: address, last, failures: 0, notBefore: 0 } satisfies Contact);
  } catch (error) {
    if (signal.aborted) return;
    console.warn("The study could not be brought up to date; the next alarm tries again.", error);
    const failures = before.failures + 1;
    const notBefore = Date.now() + waitAfter(failures, error);
    const last = sentenceOf(error);
    await writeKept(CONTACT, { server: address, last, failures, notBefore } satisfies Contact);
  }
  await showAllBadges();
}

/** One turn; returns the key of the sentence that says why there is no study, if so. */
async function takePart(server: Server, participant: Participant): Promise<string> {
  try {
    await sendAnswers(server, participant);
    await sendTerms(server, participant, await fetchStudy(server, participant));
    return "";
  } catch (error) {
    if (!(error instanceof Refused) || server.stop.aborted) throw error;
    const gone = error.status === 401;
    if (gone) await forgetParticipant(participant);
    // Withdrawn, or deleted there. Who never had a study is asked for again: the consent on the site may come later.
    const over = gone || error.status === 404;
    if (!over) throw error;
    if ((await knownStudy()) === undefined) return "study_none";
    await dropStudy(server.address);
    return "study_left";
  }
}

async function sendAnswers(server: Server, participant: Participant): Promise<void> {
  const unsent = ({ server: to, outcome, dropped }: TaskAnswer) =>
    to === server.address && (outcome === "waiting" || outcome === "unknown") && dropped !== true;
  for (;;) {
    const waiting = (await taskAnswers()).filter(unsent);
    if (waiting.length === 0) return;
    for (const { server: to, task, step } of waiting) {
      server.stop.throwIfAborted();
      // The person may have given another answer while those before it were sent.
      const answer = await answerTo(to, task, step);
      if (answer !== undefined) await sendAnswer(server, participant, answer);
    }
  }
}

async function sendAnswer(server: Server, participant: Participant, answer: TaskAnswer): Promise<void> {
  const { task, state, label } = answer;
  await settleAnswer(answer, "unknown");
  try {
    await server.request(`/api/v2/tasks/${task}`, {
      method: "PUT",
      headers: { "Content-Type": "application/json", ...authorization(participant) },
      body: JSON.stringify(label === undefined ? { state } : { state, label: TOPICS[label]!.name }),
    });
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
    // The consent to collect was withdrawn on the site: the class stays here.
    if (error.slug === "consent-needed" && label !== undefined) return settleAnswer(answer, "waiting", true);
    if (error.slug === "no-study") throw error;
    // Whatever else is the reason, the server would refuse the same again.
    return settleAnswer(answer, "refused");
  }
  await settleAnswer(answer, "taken");
}

async function fetchStudy(server: Server, participant: Participant): Promise<KnownStudy> {
  const headers = authorization(participant);
  const study = readStudy(json(await server.request("/api/v2/study", { headers })));
  const listed = json(await server.request("/api/v2/tasks", { headers, most: LARGEST_LIST }));
  const tasks = readTasks(listed, server.address);
  server.stop.throwIfAborted();
  const known = { server: server.address, study, tasks };
  await storeStudy(known);
  await reportUnusable(known);
  return known;
}

/**
 * Tasks without a usable address are broken: the next turn says so to the server, which has others in their place. Not
 * without end, if all that it ever has are broken.
 */
async function reportUnusable({ server, study, tasks }: KnownStudy): Promise<void> {
  if (!study.open || tasks.every(({ url, state }) => url !== null || state !== "open")) return;
  let broken = (await taskAnswers()).filter((answer) => answer.server === server && answer.state === "broken").length;
  for (const [place, { id, url, state }] of tasks.entries()) {
    if (broken >= MOST_BROKEN) return;
    if (url !== null || state !== "open" || (await answerTo(server, id, "ended")) !== undefined) continue;
    const said = { server, task: id, number: place + 1, step: "ended", state: "broken" } as const;
    await storeAnswer({ ...said, time: Date.now(), outcome: "waiting" });
    broken += 1;
  }
}
