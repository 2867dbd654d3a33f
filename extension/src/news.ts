/** What people are told when a round they took part in was published: keys of sentences, and what fills their gaps. */

export interface News {
  /** The version of the model that the round led to. */
  version: number;
  /** How many pages the person had corrected when the model in use was fetched. */
  corrected: number;
  /** How many of them this model judges as the person said. */
  right: number;
  /** How many of them the model before did. */
  before: number;
}

export type Sentence = readonly [key: string, ...gaps: number[]];

export function newsSentences({ version, corrected, right, before }: News): Sentence[] {
  const round: Sentence = ["news_round", version];
  if (corrected === 0) return [round];
  if (corrected === 1) return [round, [onePage(right, before)]];
  if (right < before) return [round, some(right, corrected), ["news_before", before]];
  if (right === 0) return [round, ["news_none", corrected]];
  return [round, right === corrected ? ["news_all", corrected] : some(right, corrected)];
}

function onePage(right: number, before: number): string {
  if (right === 1) return "news_only_right";
  return before === 1 ? "news_only_lost" : "news_only_wrong";
}

function some(right: number, corrected: number): Sentence {
  return right === 1 ? ["news_one", corrected] : ["news_some", right, corrected];
}
