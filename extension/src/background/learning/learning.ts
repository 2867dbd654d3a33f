/**
 * Taking part: enrol, fetch the model, train, send. Run by an alarm. Every step leaves what it did on the disk, so a
 * worker that is killed goes on with the next alarm where it stopped; nothing is lost and nothing is sent twice.
 */

import { browser } from "../../browser";
import { type Round, readRound } from "../../core/manifest";
import { mayCollect } from "../../data_collection";
import type { LearningView } from "../../messages";
import type { Settings } from "../../settings";
import { readKept, writeKept } from "../database";
import { labelledPages } from "../labelled_pages";
import { model } from "../model";
import { readAllAgain } from "../navigation";
import { settings } from "../settings_store";
import { syncStudy } from "../study/study_sync";
import { refreshModel } from "./download_model";
import { sentenceOf, waitAfter } from "./failures";
import {
  dropUpdate,
  isDone,
  putInOutbox,
  sendUpdate,
  sentUpdates,
  settleUpdate,
  type Update,
  waitingUpdate,
} from "./outbox";
import { pageUses, usedUpAt } from "./page_uses";
import { enrolled, forgetParticipant, type Participant, participantAt } from "./participant";
import { refreshNews } from "./round_news";
import { json, Refused, Server } from "./server";
import { trainedUpdate } from "./train";

const ALARM = "learn";
const EVERY_MINUTES = 15;
const AWAKE_MS = 20_000;
const STATE = "learning";

/** How it went the last time: `last` is the key of a sentence. */
interface State {
  last: string;
  time: number;
  failures: number;
  notBefore: number;
}

const NEW: State = { last: "", time: 0, failures: 0, notBefore: 0 };

let running: Promise<void> | null = null;
let stop = new AbortController();

export function listenToAlarms(): void {
  browser.alarms.onAlarm.addListener((alarm) => {
    if (alarm.name !== ALARM) return;
    void learn(false);
    void syncStudy(false);
  });
}

/** Set the alarm for those who contribute or take part in studies, and clear it for all others. */
export async function syncAlarm(): Promise<void> {
  const { contributing, studies, server } = await settings();
  const present = await browser.alarms.get(ALARM);
  if (!(contributing || studies) || server === "") await browser.alarms.clear(ALARM);
  else if (present === undefined)
    await browser.alarms.create(ALARM, { delayInMinutes: 1, periodInMinutes: EVERY_MINUTES });
}

/** Take part once. `now`: the person asked for it, so do not wait because of earlier failures. */
export function learn(now: boolean): Promise<void> {
  running ??= run(now).finally(() => {
    running = null;
  });
  return running;
}

/** Stop at once, and return when nothing is running any more: the person withdrew their consent. */
export async function stopLearning(): Promise<void> {
  stop.abort(new Error("contributing was switched off"));
  await running?.catch(() => undefined);
}

/** Forget failures at the server before: another one starts without a waiting time. */
export async function forgetFailures(): Promise<void> {
  await writeKept(STATE, NEW);
}

export async function learningView(): Promise<LearningView> {
  const [{ last, time }, { server }, alarm] = await Promise.all([state(), settings(), browser.alarms.get(ALARM)]);
  const [pages, uses, usedUp] = await Promise.all([labelledPages(), pageUses(), usedUpAt(server)]);
  return {
    pages: pages.length,
    usedUp: pages.filter((page) => usedUp(page, uses.get(page.page) ?? 0)).length,
    enrolled: (await participantAt(server)) !== undefined,
    sent: (await sentUpdates()).filter(({ outcome }) => outcome === "taken").length,
    last,
    lastTime: time,
    nextTime: alarm?.scheduledTime ?? 0,
  };
}

async function run(now: boolean): Promise<void> {
  stop = new AbortController();
  const { signal } = stop;
  const choices = await settings();
  const { contributing, server } = choices;
  if (!contributing || server === "" || !(await mayCollect())) return;
  const before = await state();
  if (!now && Date.now() < before.notBefore) return;
  // A worker without events is stopped after half a minute; asking for anything counts as one.
  const awake = setInterval(() => void browser.runtime.getPlatformInfo(), AWAKE_MS);
  try {
    const last = await takePart(new Server(server, signal), choices);
    await writeKept(STATE, { last, time: Date.now(), failures: 0, notBefore: 0 } satisfies State);
  } catch (error) {
    if (signal.aborted) return;
    console.warn("Learning failed; the next alarm tries again.", error);
    const failures = before.failures + 1;
    const notBefore = Date.now() + waitAfter(failures, error);
    await writeKept(STATE, { last: sentenceOf(error), time: Date.now(), failures, notBefore } satisfies State);
  } finally {
    clearInterval(awake);
  }
}

/** One turn; returns the key of the sentence that says how it went. */
async function takePart(server: Server, { invitation, allLayers, threshold }: Settings): Promise<string> {
  const participant = await enrolled(server, invitation);
  const waiting = await waitingUpdate();
  if (waiting !== undefined && waiting.server !== server.address) await dropUpdate();
  else if (waiting !== undefined) return send(server, waiting, participant);
  if (await refreshModel(server)) await readAllAgain();
  await refreshNews(server, participant, threshold);
  const round = await openRound(server);
  if (round === undefined || Date.parse(round.deadline) < Date.now()) return "learning_no_round";
  if (await isDone(server.address, round.id)) return "learning_already_sent";
  const { method } = round.training;
  if (method === "paper" && !allLayers) return "learning_all_layers";
  const current = await model();
  // The server's hash vouches only for the model it announced.
  if (current.server !== server.address || current.version !== round.base) return "learning_other_model";
  const trained = await trainedUpdate(server, round, current);
  if (trained === undefined) return method === "paper" ? "learning_few_pages" : "learning_no_pages";
  // Training takes a while, in which the person may have changed their mind.
  server.stop.throwIfAborted();
  await putInOutbox(trained.update, trained.pages);
  return send(server, trained.update, participant);
}

async function send(server: Server, update: Update, participant: Participant): Promise<string> {
  try {
    await sendUpdate(server, update, participant);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) await forgetParticipant(participant);
    // Whatever else is the reason, the server would refuse the same bytes again.
    else await settleUpdate(update, "refused");
    throw error;
  }
  await settleUpdate(update, "taken");
  return "learning_sent";
}

async function openRound(server: Server): Promise<Round | undefined> {
  try {
    return readRound(json(await server.request("/api/v2/rounds/current")));
  } catch (error) {
    if (error instanceof Refused && error.slug === "no-round") return undefined;
    throw error;
  }
}

async function state(): Promise<State> {
  return (await readKept<State>(STATE)) ?? NEW;
}
