/**
 * The update on its way. The octets are on the disk, with their round and hash, before they are sent, and leave the
 * disk in the same transaction in which they are noted as sent: a worker that is killed anywhere sends the same octets
 * again, which the server answers as before.
 */

import type { Sent } from "../../messages";
import { read, readKept, write, writeKept } from "../database";
import { authorization, type Participant } from "./participant";
import { request } from "./server";

export interface Update {
  server: string;
  round: number;
  base: number;
  /** How many pages it was learned from. */
  pages: number;
  sha256: string;
  octets: Uint8Array;
}

/** The last round of a server that is over for us: sent, or refused. */
export interface DoneRound {
  server: string;
  round: number;
}

const OUTBOX = "outbox";
const DONE = "done";

export function waitingUpdate(): Promise<Update | undefined> {
  return readKept<Update>(OUTBOX);
}

export function putInOutbox(update: Update): Promise<void> {
  return writeKept(OUTBOX, update);
}

export async function isDone(server: string, round: number): Promise<boolean> {
  const done = await readKept<DoneRound>(DONE);
  return done?.server === server && done.round >= round;
}

/** Send an update; throws if it was not taken. */
export async function sendUpdate(update: Update, participant: Participant): Promise<void> {
  const digest = btoa(String.fromCharCode(...update.sha256.match(/../g)!.map((pair) => parseInt(pair, 16))));
  await request(update.server, `/api/v1/rounds/${update.round}/update`, {
    method: "PUT",
    headers: {
      "Content-Type": "application/vnd.eitr.difference",
      "Content-Digest": `sha-256=:${digest}:`,
      ...authorization(participant),
    },
    body: update.octets,
  });
}

/** Note that an update was received, and let go of its octets. */
export async function noteSent({ server, round, base, pages, sha256, octets }: Update): Promise<void> {
  const sent: Sent = { time: Date.now(), server, round, base, bytes: octets.length, sha256, pages };
  await write(["kept", "sent"], (of) => {
    of("sent").put(sent);
    of("kept").put({ server, round } satisfies DoneRound, DONE);
    of("kept").delete(OUTBOX);
  });
}

/** The server will never take this one: let go of it. `done`: nor another in this round. */
export async function dropUpdate({ server, round }: Update, done: boolean): Promise<void> {
  await write(["kept"], (of) => {
    if (done) of("kept").put({ server, round } satisfies DoneRound, DONE);
    of("kept").delete(OUTBOX);
  });
}

/** Everything that was ever sent, latest first. */
export async function sentUpdates(): Promise<Sent[]> {
  const sent = await read<Sent[]>("sent", (store) => store.getAll());
  return sent.sort((one, other) => other.time - one.time);
}
