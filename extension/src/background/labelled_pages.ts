/**
 * The pages that the person judged themselves: what the browser learns from. Of a page its words with their counts are
 * kept, and a salted hash of its address, so that a second opinion on the same page replaces the first; neither the
 * address nor the text.
 */

import { sha256 } from "../core/hash";
import type { WordCount } from "./classify";
import { read, readKept, write, writeKept } from "./database";
import type { TaskAnswer } from "./study/task_answers";

export interface LabelledWords {
  /** The salted hash of the address. */
  page: string;
  label: number;
  words: WordCount[];
  /** The language of the page, on which the answer depends; absent if it was stored by an earlier version. */
  language?: string;
  time: number;
  /** Whether the person agreed with what was shown, rather than corrected it. */
  agreed: boolean;
  /** If it is the page of a study's task: of which one at which server, and in how many rounds there it may be used. */
  study?: { server: string; task: number; uses: number };
}

const MOST_PAGES = 1000;

let salt: Promise<string> | null = null;

/** Store what the person said of a page and, if it is the page of a task, their answer to it: both or none. */
export async function labelPage(
  url: string,
  said: Omit<LabelledWords, "page" | "time">,
  answer: TaskAnswer | null,
): Promise<void> {
  const page = await keyOf(url);
  const oldest = (await labelledKeys()).length < MOST_PAGES ? [] : await pagesBeyond(page);
  await write(["pages", "answers"], (of) => {
    if (answer !== null) of("answers").put(answer);
    of("pages").put({ ...said, page, time: Date.now() } satisfies LabelledWords);
    for (const old of oldest) of("pages").delete(old.page);
  });
}

/** The person takes their word back. */
export async function removeLabel(url: string): Promise<void> {
  const page = await keyOf(url);
  await write(["pages"], (of) => of("pages").delete(page));
}

/** The oldest pages, without which this one has room. */
async function pagesBeyond(page: string): Promise<LabelledWords[]> {
  const others = (await labelledPages()).filter((other) => other.page !== page);
  return others.sort((one, other) => other.time - one.time).slice(MOST_PAGES - 1);
}

/** The class the person chose for an address, if they did. */
export async function labelOf(url: string): Promise<number | null> {
  const key = await keyOf(url);
  return (await read<LabelledWords | undefined>("pages", (store) => store.get(key)))?.label ?? null;
}

export function labelledPages(): Promise<LabelledWords[]> {
  return read<LabelledWords[]>("pages", (store) => store.getAll());
}

/** The salted hashes of the addresses of all pages. */
function labelledKeys(): Promise<string[]> {
  return read<string[]>("pages", (store) => store.getAllKeys());
}

/** Forget what is held, after the database was deleted. */
export function forgetSalt(): void {
  salt = null;
}

async function keyOf(url: string): Promise<string> {
  salt ??= ownSalt().catch((error: unknown) => {
    salt = null;
    throw error;
  });
  return sha256(new TextEncoder().encode(`${await salt}\n${url}`));
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
