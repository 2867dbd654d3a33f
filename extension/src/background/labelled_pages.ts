/**
 * The pages that the person judged themselves: what the browser learns from, here and, if the person contributes, for
 * the server. Of a page its words with their counts are
 * kept, and salted hashes of its address and its host: a second opinion on the same page replaces the first, and what
 * was said of a page counts for warnings of its host. Neither the address nor the text is kept.
 */

import { hostOf } from "./address";
import { read, readKept, write } from "./database";
import { saltedHash } from "./salted_hash";
import type { TaskAnswer } from "./study/task_answers";
import type { WordCount } from "./word_counts";

export interface LabelledWords {
  /** The salted hash of the address. */
  page: string;
  /** The salted hash of its host; absent if it was stored by an earlier version, and of the page of a study's task. */
  host?: string;
  label: number;
  words: WordCount[];
  /** The language of the page, on which the answer depends; absent if it was stored by an earlier version. */
  language?: string;
  time: number;
  /** Whether the person agreed with what was shown, rather than corrected it. */
  agreed: boolean;
  /**
   * If it is the page of a study's task: of which study at which server, and in how many rounds there it may be used.
   * `slug` is absent if it was stored by an earlier version.
   */
  study?: { server: string; slug?: string; task: number; uses: number };
  /** Set when the person undid what their corrections so far had changed: this one changes other pages no more. */
  reset?: true;
}

const MOST_PAGES = 1000;
/** A random text that is another one after every change of the pages. */
const REVISION = "labels revision";

/** Store what the person said of a page and, if it is the page of a task, their answer to it: both or none. */
export async function labelPage(
  url: string,
  said: Omit<LabelledWords, "page" | "host" | "time">,
  answer: TaskAnswer | null,
): Promise<void> {
  const page = await saltedHash(url);
  // The person was asked to come to the page of a task: what they say of it says nothing of its host.
  const host = said.study === undefined ? { host: await saltedHash(hostOf(url)) } : {};
  const oldest = (await labelledKeys()).length < MOST_PAGES ? [] : await pagesBeyond(page);
  await write(["pages", "answers", "kept"], (of) => {
    of("kept").put(crypto.randomUUID(), REVISION);
    if (answer !== null) of("answers").put(answer);
    of("pages").put({ ...said, ...host, page, time: Date.now() } satisfies LabelledWords);
    for (const old of oldest) of("pages").delete(old.page);
  });
}

/** The person takes their word back. */
export async function removeLabel(url: string): Promise<void> {
  const page = await saltedHash(url);
  await write(["pages", "kept"], (of) => {
    of("kept").put(crypto.randomUUID(), REVISION);
    of("pages").delete(page);
  });
}

/** Let no page that was judged so far change the verdicts on others. What was said of each page itself stays. */
export function resetLabels(): Promise<void> {
  return write(["pages", "kept"], (of) => {
    of("kept").put(crypto.randomUUID(), REVISION);
    const each = of("pages").openCursor();
    each.onsuccess = () => {
      const { result: place } = each;
      if (place === null) return;
      place.update({ ...(place.value as LabelledWords), reset: true } satisfies LabelledWords);
      place.continue();
    };
  });
}

/** Another text after every change of the pages; empty if an earlier version of EITR stored them. */
export async function labelsRevision(): Promise<string> {
  return (await readKept<string>(REVISION)) ?? "";
}

/** The oldest pages, without which this one has room. */
async function pagesBeyond(page: string): Promise<LabelledWords[]> {
  const others = (await labelledPages()).filter((other) => other.page !== page);
  return others.sort((one, other) => other.time - one.time).slice(MOST_PAGES - 1);
}

/** The class the person chose for an address, if they did. */
export async function labelOf(url: string): Promise<number | null> {
  return labelAt(await saltedHash(url));
}

/** The same for the salted hash of an address. */
export async function labelAt(page: string): Promise<number | null> {
  return (await read<LabelledWords | undefined>("pages", (store) => store.get(page)))?.label ?? null;
}

/** Whether the person chose a class for any page of a host, by the salted hash of its name. */
export async function isLabelledOn(host: string, label: number): Promise<boolean> {
  return (await read<number>("pages", (store) => store.index("host").count([host, label]))) > 0;
}

export function labelledPages(): Promise<LabelledWords[]> {
  return read<LabelledWords[]>("pages", (store) => store.getAll());
}

/** The salted hashes of the addresses of all pages. */
export function labelledKeys(): Promise<string[]> {
  return read<string[]>("pages", (store) => store.getAllKeys());
}
