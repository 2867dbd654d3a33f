/** Train on the person's labelled pages, in slices of a few milliseconds, so that the browser stays responsive. */

import { difference16 } from "../../core/float16";
import { sha256 } from "../../core/hash";
import type { Round } from "../../core/manifest";
import { type LabelledPage, training } from "../../core/training";
import { vector } from "../../core/vector";
import type { Vocabulary } from "../../core/vocabulary";
import { repeatedWords } from "../classify";
import { readKept, writeKept } from "../database";
import { type LabelledWords, labelledPages } from "../labelled_pages";
import type { Model } from "../model";
import type { Update } from "./outbox";

/** With fewer pages there is hardly anything to learn, and the update would say much about each. */
export const FEWEST_PAGES = 4;
const SLICE_MS = 8;
const seedAt = (server: string) => `seed ${server}`;

interface Seed {
  round: number;
  seed: number;
}

/** Train for a round, and return the update; undefined if there are too few pages. */
export async function trainedUpdate(
  server: string,
  round: Round,
  { network, vocabulary }: Model,
): Promise<Update | undefined> {
  const pages = await sliced(vectors(await labelledPages(), vocabulary));
  if (pages.length < FEWEST_PAGES) return undefined;
  const parameters = await sliced(training(network, pages, round.training, await seedOf(server, round.id)));
  const octets = difference16(network.parameters, parameters);
  return { server, round: round.id, base: round.base, pages: pages.length, sha256: await sha256(octets), octets };
}

/** The pages as the network reads them. One without a single known word says nothing and is left out. */
function* vectors(pages: LabelledWords[], vocabulary: Vocabulary): Generator<void, LabelledPage[], void> {
  const found: LabelledPage[] = [];
  for (const { words, label } of pages) {
    const row = vector(repeatedWords(words), vocabulary);
    if (row.indices.length > 0) found.push({ vector: row, label });
    yield;
  }
  return found;
}

/** Let work go on for some milliseconds at a time, and return its result. */
async function sliced<T>(work: Generator<unknown, T, void>): Promise<T> {
  let step = work.next();
  for (let end = performance.now() + SLICE_MS; !step.done; step = work.next()) {
    if (performance.now() < end) continue;
    await yieldToOthers();
    end = performance.now() + SLICE_MS;
  }
  return step.value;
}

/** One seed a round, kept: training that was cut short starts again as it began. */
async function seedOf(server: string, round: number): Promise<number> {
  const known = await readKept<Seed>(seedAt(server));
  if (known?.round === round) return known.seed;
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  await writeKept(seedAt(server), { round, seed } satisfies Seed);
  return seed;
}

/** Wait until everything else that is due has run. Faster than a timer, which the browser slows down. */
function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
