/** Who we are to the server: a random id and a secret, told once at enrolment. */

import { asObject, isString, member } from "../../core/json";
import { readKept, writeKept } from "../database";
import { json, Server } from "./server";

export interface Participant {
  server: string;
  id: string;
  secret: string;
  /** The code that was used to enrol; absent if none was, or if it was done by an earlier version. */
  invitation?: string;
  /** We enrolled again with another code: only kept so that what the server has can be deleted. */
  former?: true;
}

const KEY = "participants";

/** Who we are to every server we ever enrolled with: what it keeps can only be deleted with the secret. */
export async function participants(): Promise<Participant[]> {
  return (await readKept<Participant[]>(KEY)) ?? [];
}

/** Who we are to this server, if we enrolled. */
export async function participantAt(server: string): Promise<Participant | undefined> {
  return (await participants()).find((one) => one.server === server && one.former !== true);
}

/**
 * Enrol, unless that was done before. Killed between answer and disk, the next one enrols again and the first stays
 * unused.
 */
export function enrolled(server: Server, invitation: string): Promise<Participant> {
  // One after the other: rounds and studies may both be the first.
  const turn = queue.then(() => enrol(server, invitation));
  queue = turn.catch(() => undefined);
  return turn;
}

let queue: Promise<unknown> = Promise.resolve();

async function enrol(server: Server, invitation: string): Promise<Participant> {
  const known = await participantAt(server.address);
  if (known !== undefined) return known;
  const answer = await server.request("/api/v2/participants", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(invitation === "" ? {} : { invitation }),
  });
  const told = asObject(json(answer), "The server's answer");
  const [id, secret] = [member(told, "id"), member(told, "secret")];
  if (!isString(id) || !/^[0-9a-f]{32}$/.test(id) || !isString(secret) || !/^[\w.~+/=-]{1,500}$/.test(secret)) {
    throw new Error("the server's answer to enrolment is not understood");
  }
  const fresh = { server: server.address, id, secret, ...(invitation === "" ? {} : { invitation }) };
  // With the code of somebody who takes part already, it is their secret that changes.
  const others = (await participants()).filter((one) => one.server !== server.address || one.id !== id);
  await writeKept(KEY, [...others, fresh]);
  return fresh;
}

/** Enrol anew with the next turn if the server knows us by another code than this one. */
export async function useInvitation(server: string, invitation: string): Promise<void> {
  const all = await participants();
  if (!all.some((one) => one.server === server && one.former !== true && one.invitation !== invitation)) return;
  await writeKept(
    KEY,
    all.map((one): Participant => (one.server === server ? { ...one, former: true } : one)),
  );
}

/** The server no longer knows us. */
export async function forgetParticipant({ server, id }: Participant): Promise<void> {
  const others = (await participants()).filter((one) => one.server !== server || one.id !== id);
  await writeKept(KEY, others);
}

export function authorization({ id, secret }: Participant): Record<string, string> {
  return { Authorization: `Bearer ${id}.${secret}` };
}

/** Have everything about us deleted there. */
export async function eraseAt(participant: Participant): Promise<void> {
  await new Server(participant.server).request("/api/v2/me", {
    method: "DELETE",
    headers: authorization(participant),
  });
}

/** Everything the server keeps about us. */
export async function exportAt(participant: Participant): Promise<unknown> {
  return json(
    await new Server(participant.server).request("/api/v2/me/export", {
      headers: authorization(participant),
      most: 16 << 20,
    }),
  );
}
