/**
 * In how many rounds each page was used. What an update tells about a page adds up over rounds, so a page is used in
 * two at most, whatever servers they are of (docs/page-to-prediction.md, section 9.1). Counts are kept apart from the
 * pages: a page that is judged anew, or taken back and judged again, keeps its count.
 */

import { read } from "../database";

export interface UsedPage {
  /** The salted hash of the address. */
  page: string;
  rounds: number;
}

const MOST_ROUNDS = 2;

export async function pageUses(): Promise<ReadonlyMap<string, number>> {
  const used = await read<UsedPage[]>("uses", (store) => store.getAll());
  return new Map(used.map(({ page, rounds }) => [page, rounds]));
}

/** Say whether a page that was used in so many rounds must not be used again. */
export function isUsedUp(rounds: number): boolean {
  return rounds >= MOST_ROUNDS;
}

/** Return the counts after pages were used in one more round. */
export function countedUses(pages: readonly UsedPage[]): UsedPage[] {
  return pages.map(({ page, rounds }) => ({ page, rounds: rounds + 1 }));
}
