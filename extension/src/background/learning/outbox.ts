/**
 * The update on its way. The octets are on the disk, with their round and hash, before they are sent, and leave the
 * disk in the same transaction in which they are noted as taken: a worker that is killed anywhere sends the same octets
 * again, which the server answers as before. Each is listed before its first octet leaves.
 */

import type { Sent } from "../../messages";
import { read, readKept, write, writeKept } from "../database";
import { authorization, type Participant } from "./participant";
import type { Server } from "./server";

export interface Update {
  server: string;
  round: number;
  base: number;
  /** How many pages it was learned from. */
  pages: number;
  sha256: string;
  octets: Uint8Array;
}

const OUTBOX = "outbox";
/** By server: the last round that is over for us, taken or refused. */
const done = (server: string) => `done ${server}`;

export function waitingUpdate(): Promise<Update | undefined> {
  return readKept<Update>(OUTBOX);
}

export function putInOutbox(update: Update): Promise<void> {
  return writeKept(OUTBOX, update);
}

export async function isDone(server: string, round: number): Promise<boolean> {
  return ((await readKept<number>(done(server))) ?? -1) >= round;
}

/** Send an update; throws if it was not taken. */
export async function sendUpdate(server: Server, update: Update, participant: Participant): Promise<void> {
  const digest = btoa(String.fromCharCode(...update.sha256.match(/../g)!.map((pair) => parseInt(pair, 16))));
  await write(["sent"], (of) => of("sent").put(listed(update, "unknown")));
  await server.request(`/api/v1/rounds/${update.round}/update`, {
    method: "PUT",
    headers: {
      "Content-Type": "application/vnd.eitr.difference",
      "Content-Digest": `sha-256=:${digest}:`,
      ...authorization(participant),
    },
    body: update.octets,
  });
}

/** Note how it went, and let go of the octets: the server has them, or will never take them in this round. */
export async function settleUpdate(update: Update, outcome: "taken" | "refused"): Promise<void> {
  await write(["kept", "sent"], (of) => {
    of("sent").put(listed(update, outcome));
    of("kept").put(update.round, done(update.server));
    of("kept").delete(OUTBOX);
  });
}

/** Nobody is to have it any more. */
export function dropUpdate(): Promise<void> {
  return write(["kept"], (of) => of("kept").delete(OUTBOX));
}

function listed({ server, round, base, pages, sha256, octets }: Update, outcome: Sent["outcome"]): Sent {
  return { time: Date.now(), server, round, base, bytes: octets.length, sha256, pages, outcome };
}

/** Everything that was ever sent, latest first. */
export async function sentUpdates(): Promise<Sent[]> {
  const sent = await read<Sent[]>("sent", (store) => store.getAll());
  return sent.sort((one, other) => other.time - one.time);
}
