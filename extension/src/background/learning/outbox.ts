/**
 * The update that is being sent. It is stored with its round and hash before it is sent, and removed in the same
 * transaction that records it as taken. A worker that is killed at any point therefore sends the same bytes again, and
 * the server gives the same answer. An update is listed as sent before its first byte leaves.
 */

import type { Sent } from "../../messages";
import { read, readKept, write } from "../database";
import { countedUses, type UsedPage } from "./page_uses";
import { authorization, type Participant } from "./participant";
import type { Server } from "./server";

export interface Update {
  server: string;
  round: number;
  base: number;
  /** How many of the person's pages it was learned from. */
  pages: number;
  /** How many public pages it was learned from besides; absent if all layers were trained, as in the paper. */
  cover?: number;
  sha256: string;
  /** The bytes that are sent. */
  body: Uint8Array;
}

const OUTBOX = "outbox";
/** The key of the last round that needs nothing more from us, taken or refused, by server. */
const done = (server: string) => `done ${server}`;

export function waitingUpdate(): Promise<Update | undefined> {
  return readKept<Update>(OUTBOX);
}

/** Store an update, and count the pages it was learned from: from now on its bytes may reach the server. */
export function putInOutbox(update: Update, pages: readonly UsedPage[]): Promise<void> {
  return write(["kept", "uses"], (of) => {
    of("kept").put(update, OUTBOX);
    for (const counted of countedUses(pages)) of("uses").put(counted);
  });
}

export async function isDone(server: string, round: number): Promise<boolean> {
  return ((await readKept<number>(done(server))) ?? -1) >= round;
}

/** Send an update; throws if it was not taken. */
export async function sendUpdate(server: Server, update: Update, participant: Participant): Promise<void> {
  const digest = btoa(String.fromCharCode(...update.sha256.match(/../g)!.map((pair) => parseInt(pair, 16))));
  await write(["sent"], (of) => of("sent").put(listed(update, "unknown")));
  await server.request(`/api/v2/rounds/${update.round}/update`, {
    method: "PUT",
    headers: {
      "Content-Type": "application/vnd.eitr.difference",
      "Content-Digest": `sha-256=:${digest}:`,
      ...authorization(participant),
    },
    body: update.body,
  });
}

/** Record the outcome and delete the bytes: the server has them, or will never take them in this round. */
export async function settleUpdate(update: Update, outcome: "taken" | "refused"): Promise<void> {
  await write(["kept", "sent"], (of) => {
    of("sent").put(listed(update, outcome));
    of("kept").put(update.round, done(update.server));
    of("kept").delete(OUTBOX);
  });
}

/** Delete the update without sending it. */
export function dropUpdate(): Promise<void> {
  return write(["kept"], (of) => of("kept").delete(OUTBOX));
}

function listed({ body, ...update }: Update, outcome: Sent["outcome"]): Sent {
  return { ...update, time: Date.now(), bytes: body.length, outcome };
}

/** Return every upload there was, latest first. */
export async function sentUpdates(): Promise<Sent[]> {
  const sent = await read<Sent[]>("sent", (store) => store.getAll());
  return sent.sort((one, other) => other.time - one.time);
}
