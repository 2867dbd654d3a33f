/** Train on the person's labelled pages. */

import { difference16 } from "../../core/float16";
import { sha256 } from "../../core/hash";
import type { Round } from "../../core/manifest";
import { drawnPages } from "../../core/pool";
import { privateTraining, trainedFrom } from "../../core/private_training";
import { secretDraw } from "../../core/secret_random";
import { type LabelledPage, training } from "../../core/training";
import type { PaperPlan, PrivatePlan } from "../../core/training_plan";
import { vector } from "../../core/vector";
import type { Vocabulary } from "../../core/vocabulary";
import { readKept, writeKept } from "../database";
import { type LabelledWords, labelledPages } from "../labelled_pages";
import type { Model } from "../model";
import { repeatedWords } from "../word_counts";
import { coverPages } from "./download_model";
import type { Update } from "./outbox";
import { pageUses, type UsedPage, usedUpAt } from "./page_uses";
import type { Server } from "./server";
import { sliced } from "./sliced";

/** Training all layers with fewer pages hardly learns anything, and the update would say much about each. */
const FEWEST_PAGES = 4;
/** What many pages of one topic have in common adds up in an update (docs/page-to-prediction.md, section 9.1). */
const MOST_OWN_PAGES = 4;
const seedAt = (server: string) => `seed ${server}`;

interface Seed {
  round: number;
  seed: number;
}

/** A page as the network reads it, and in how many rounds it was used before. */
type OwnPage = LabelledPage & UsedPage;

export interface Trained {
  update: Update;
  /** The pages it was learned from, and in how many rounds each was used before. */
  pages: readonly UsedPage[];
}

/** Train for a round as its plan says, and return the update; undefined if there are too few pages. */
export async function trainedUpdate(server: Server, round: Round, model: Model): Promise<Trained | undefined> {
  const { id, base, training: plan } = round;
  const hiding = plan.method === "private";
  // Counted and drawn before the vocabulary is looked at, which the server chooses: whether there is an update, and
  // which pages it uses up, must not depend on their words.
  const usable = await usablePages(server.address);
  if (usable.length < (hiding ? 1 : FEWEST_PAGES)) return undefined;
  const drawn = hiding ? secretDraw(usable, MOST_OWN_PAGES) : usable;
  const pages = await sliced(vectors(drawn, model.vocabulary));
  const body = hiding
    ? await privateDifference(server, model, pages, plan)
    : await paperDifference(model, pages, plan, await seedOf(server.address, id));
  const facts = { server: server.address, round: id, base, pages: pages.length, sha256: await sha256(body), body };
  return { update: hiding ? { ...facts, cover: plan.cover_pages } : facts, pages };
}

/** Return what a step that hides its pages changes, in the last layers alone. Its noise is never the same again. */
async function privateDifference(
  server: Server,
  { network }: Model,
  pages: readonly OwnPage[],
  plan: PrivatePlan,
): Promise<Uint8Array> {
  const cover = await sliced(drawnPages(await coverPages(server), plan.cover_pages));
  const trained = await sliced(privateTraining(network, pages, cover, plan));
  return difference16(network.parameters.subarray(trainedFrom(network.layers, plan.layers)), trained);
}

async function paperDifference(
  { network }: Model,
  pages: readonly OwnPage[],
  plan: PaperPlan,
  seed: number,
): Promise<Uint8Array> {
  return difference16(network.parameters, await sliced(training(network, pages, plan, seed)));
}

/** The pages that may be used at a server once more, and in how many rounds each was used before. */
async function usablePages(server: string): Promise<[LabelledWords, number][]> {
  const [pages, uses, usedUp] = await Promise.all([labelledPages(), pageUses(), usedUpAt(server)]);
  const counted = pages.map((page): [LabelledWords, number] => [page, uses.get(page.page) ?? 0]);
  return counted.filter(([page, rounds]) => !usedUp(page, rounds));
}

/** The pages as the network reads them; one of which it knows no word is the zero vector. */
function* vectors(pages: [LabelledWords, number][], vocabulary: Vocabulary): Generator<void, OwnPage[], void> {
  const found: OwnPage[] = [];
  for (const [{ page, words, label }, rounds] of pages) {
    found.push({ page, rounds, vector: vector(repeatedWords(words), vocabulary), label });
    yield;
  }
  return found;
}

/** One seed a round, kept: training that was cut short starts again as it began. */
async function seedOf(server: string, round: number): Promise<number> {
  const known = await readKept<Seed>(seedAt(server));
  if (known?.round === round) return known.seed;
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  await writeKept(seedAt(server), { round, seed } satisfies Seed);
  return seed;
}
