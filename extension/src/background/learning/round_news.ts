/**
 * What became of the rounds we took part in, and what it changed for the pages that the person corrected.
 *
 * The server is asked once for each new version of the model, and only if we sent something before:
 * nothing but a new version can change the answer to "was it published?", and the question tells who asks.
 */

import { BadInput } from "../../core/bad_input";
import { type RoundResult, readRoundResults } from "../../core/round_results";
import type { Sent } from "../../messages";
import type { News } from "../../news";
import { readKept, write, writeKept } from "../database";
import { type LabelledWords, labelledPages } from "../labelled_pages";
import { model } from "../model";
import { settings } from "../settings_store";
import { judgedAsSaid } from "./judged_pages";
import { sentUpdates } from "./outbox";
import { authorization, type Participant } from "./participant";
import { json, Refused, type Server } from "./server";
import { sliced } from "./sliced";

/** What is kept about the model in use, by server. */
interface StoredNews {
  /** The version of the model. */
  model: number;
  /** The corrected pages that it judges as the person said. */
  right: string[];
  /** Null if no round we took part in was published, or if all were rolled back. */
  news: News | null;
}

const newsAt = (server: string) => `news ${server}`;
const hiddenAt = (server: string) => `hidden news ${server}`;
/** A page and what was said of it: another class is another correction. */
const correction = ({ page, label }: LabelledWords) => `${page} ${label}`;

/** Bring the news up to date with the model in use. If the server cannot be asked now, the next turn does so. */
export async function refreshNews(server: Server, participant: Participant, threshold: number): Promise<void> {
  const current = await model();
  const stored = await readKept<StoredNews>(newsAt(server.address));
  if (current.server !== server.address || stored?.model === current.version) return;
  const sent = (await sentUpdates()).filter((one) => one.server === server.address);
  const asks = sent.some(({ outcome }) => outcome !== "refused");
  const results = asks ? await askedResults(server, participant) : new Map<number, RoundResult>();
  if (results === undefined) return;
  const known = sent.map((one): Sent => {
    const result = results.get(one.round) ?? one.result;
    return result === undefined ? one : { ...one, result };
  });
  const pages = (await labelledPages()).filter(({ agreed }) => !agreed);
  const right = (await sliced(judgedAsSaid(pages, current, threshold))).map(correction);
  const corrected = new Set(pages.map(correction));
  const before = stored?.right.filter((one) => corrected.has(one)).length ?? 0;
  const version = newestVersion(known, current.version);
  const news = version === 0 ? null : { version, corrected: pages.length, right: right.length, before };
  server.stop.throwIfAborted();
  await write(["kept", "sent"], (of) => {
    for (const one of known) of("sent").put(one);
    of("kept").put({ model: current.version, right, news } satisfies StoredNews, newsAt(server.address));
  });
}

/** What the person is told now, and whether they have hidden it in the popup; null if there is nothing to tell. */
export async function newsView(): Promise<(News & { hidden: boolean }) | null> {
  const { contributing, server } = await settings();
  if (!contributing || server === "") return null;
  const news = (await readKept<StoredNews>(newsAt(server)))?.news;
  if (news == null) return null;
  return { ...news, hidden: ((await readKept<number>(hiddenAt(server))) ?? 0) >= news.version };
}

/** Do not show the news of this version in the popup any more, nor that of an earlier one. */
export async function hideNews(version: number): Promise<void> {
  await writeKept(hiddenAt((await settings()).server), version);
}

/** The newest version that a round of ours led to and the model in use includes; 0 if there is none. */
function newestVersion(sent: readonly Sent[], inUse: number): number {
  const versions = sent.map(({ result }) => (result?.outcome === "published" ? result.version : 0));
  return Math.max(0, ...versions.filter((version) => version <= inUse));
}

/** Ask what became of rounds. Undefined if the server cannot answer now; nothing if it does not know the question. */
async function askedResults(server: Server, participant: Participant): Promise<Map<number, RoundResult> | undefined> {
  try {
    return readRoundResults(json(await server.request("/api/v2/me/rounds", { headers: authorization(participant) })));
  } catch (error) {
    console.warn("The server did not say what became of rounds.", error);
    // Taking part goes on without it. Who is no longer known there is enrolled anew with the next update.
    return error instanceof Refused || error instanceof BadInput ? new Map() : undefined;
  }
}
