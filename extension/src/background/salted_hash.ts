/**
 * Hashes of addresses and hosts with a salt of this browser's own: what was noted can be found again, but not listed,
 * and nobody without the salt can test what was noted.
 */

import { sha256 } from "../core/hash";
import { readKept, writeKept } from "./database";

let salt: Promise<string> | null = null;

/** Forget what is held, after the database was deleted. */
export function forgetSalt(): void {
  salt = null;
}

export async function saltedHash(text: string): Promise<string> {
  salt ??= ownSalt().catch((error: unknown) => {
    salt = null;
    throw error;
  });
  return sha256(new TextEncoder().encode(`${await salt}\n${text}`));
}

async function ownSalt(): Promise<string> {
  const known = await readKept<string>("salt");
  if (known !== undefined) return known;
  const fresh = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  await writeKept("salt", fresh);
  return fresh;
}
