/**
 * In how many rounds each page was used. What an update tells about a page adds up over rounds, so a page is used in
 * two at most, whatever servers they are of (docs/page-to-prediction.md, section 9.1). The task pages of a study are
 * used at its server as often as the study says. Counts are kept apart from the pages: a page that is judged anew, or
 * taken back and judged again, keeps its count.
 */

import { read } from "../database";
import type { LabelledWords } from "../labelled_pages";
import { knownStudy } from "../study/study_store";

export interface UsedPage {
  /** The salted hash of the address. */
  page: string;
  rounds: number;
}

export const MOST_ROUNDS = 2;

export async function pageUses(): Promise<ReadonlyMap<string, number>> {
  const used = await read<UsedPage[]>("uses", (store) => store.getAll());
  return new Map(used.map(({ page, rounds }) => [page, rounds]));
}

/** Return a function that says whether a page must not be used at a server again, after so many rounds. */
export async function usedUpAt(server: string): Promise<(page: LabelledWords, rounds: number) => boolean> {
  const known = await knownStudy();
  // Who left the study is no longer asked for more than everybody.
  const here = known?.server === server;
  return ({ study }, rounds) => rounds >= (here && study?.server === server ? study.uses : MOST_ROUNDS);
}

/** Return the counts after pages were used in one more round. */
export function countedUses(pages: readonly UsedPage[]): UsedPage[] {
  return pages.map(({ page, rounds }) => ({ page, rounds: rounds + 1 }));
}
