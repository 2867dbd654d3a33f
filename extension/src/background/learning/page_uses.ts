/**
 * In how many rounds each page was used. What an update tells about a page adds up over rounds, so a page is used in
 * two at most, whatever servers they are of (docs/page-to-prediction.md, section 9.1). The task pages of the study that
 * the person is in are used at its server as often as the study says. Counts are kept apart from the pages: a page that is judged anew, or
 * taken back and judged again, keeps its count.
 */

import { read } from "../database";
import type { LabelledWords } from "../labelled_pages";
import { type KnownStudy, knownStudy } from "../study/study_store";

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
  return ({ study }, rounds) => rounds >= mostRounds(study, known?.server === server ? known : undefined);
}

/** In how many rounds a page of this task may be used at the server of the study that the person is in, if they are. */
function mostRounds(task: LabelledWords["study"], known: KnownStudy | undefined): number {
  // Who left the study is no longer asked for more than everybody.
  if (task === undefined || task.server !== known?.server || task.slug !== known.study.slug) return MOST_ROUNDS;
  // A study may lower the number later, and everybody is told the lower one; raising it would break the promise.
  return Math.min(task.uses, known.study.usesPerPage);
}

/** Return the counts after pages were used in one more round. */
export function countedUses(pages: readonly UsedPage[]): UsedPage[] {
  return pages.map(({ page, rounds }) => ({ page, rounds: rounds + 1 }));
}
