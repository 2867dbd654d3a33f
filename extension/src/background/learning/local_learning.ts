/**
 * The local copy: what corrections change in this browser, at once and without a server. It is always trained from the
 * published model, on the labelled pages and on cover pages, and stored; it is never sent, and nothing that is sent is
 * computed from it. It is made anew when the model or the labelled pages have changed since.
 */

import { BadInput } from "../../core/bad_input";
import { sha256 } from "../../core/hash";
import {
  type JudgedPage,
  LEAST_KNOWN_WORDS,
  LOCAL_METHOD,
  type LocalCopy,
  type LocalTraining,
  localCopyOf,
  localTraining,
} from "../../core/local_copy";
import { type Pool, readPool } from "../../core/pool";
import { vector } from "../../core/vector";
import type { Vocabulary } from "../../core/vocabulary";
import type { LocalView } from "../../messages";
import { read, write } from "../database";
import { type LabelledWords, labelledPages, labelsRevision } from "../labelled_pages";
import { type Model, model, packagedFile, storedModel } from "../model";
import { settings } from "../settings_store";
import { repeatedWords } from "../word_counts";
import { keptPool } from "./download_model";
import { sliced } from "./sliced";

/** Only the latest: what counts is what people say now, and training must not take long. */
const MOST_PAGES = 100;
const LOCAL = "local";

/** A copy as it is kept beside the model; `trained` is null if no page changes anything. */
export interface StoredCopy {
  /** From which model it was made, in which way, and from which revision of the labelled pages. */
  of: string;
  trained: LocalTraining | null;
}

interface Held {
  of: string;
  copy: Promise<LocalCopy | null>;
}

let held: Held | null = null;

/** The local copy that belongs to a model; null if there is none, and the published model alone judges. */
export async function localCopy(current: Model): Promise<LocalCopy | null> {
  if (!(await settings()).localLearning) return null;
  const of = JSON.stringify([LOCAL_METHOD, current.server, current.version, await labelsRevision()]);
  if (held?.of !== of) held = { of, copy: madeCopy(current, of) };
  try {
    return await held.copy;
  } catch (error) {
    console.warn("Nothing could be learned from corrections; the published model judges alone.", error);
    return null;
  }
}

/** What the options page tells about it. */
export async function localView(): Promise<LocalView> {
  const pages = (await labelledPages()).filter(changesOthers);
  const current = await model();
  return {
    corrections: pages.filter(({ agreed }) => !agreed).length,
    changed: (await localCopy(current)) !== null,
    possible: (await coverPool(current)) !== undefined,
  };
}

/** What is kept of it, for the export. */
export async function storedCopy(): Promise<StoredCopy | undefined> {
  return read<StoredCopy | undefined>("model", (store) => store.get(LOCAL));
}

/** Forget what is held, after the database was deleted. */
export function forgetLocalCopy(): void {
  held = null;
}

/** The copy that is kept, or a new one. Whoever kills the worker meanwhile only makes the next one begin again. */
async function madeCopy(current: Model, of: string): Promise<LocalCopy | null> {
  const kept = await storedCopy();
  if (kept?.of === of) return kept.trained && localCopyOf(current.network, kept.trained);
  const trained = await newlyTrained(current);
  // Without cover pages nothing can be learned now; once they are there, it can.
  if (trained === undefined) return null;
  await write(["model"], (store) => store("model").put({ of, trained } satisfies StoredCopy, LOCAL));
  return trained && localCopyOf(current.network, trained);
}

/** What the labelled pages lead to: null if they change nothing, undefined if there are no cover pages. */
async function newlyTrained(current: Model): Promise<LocalTraining | null | undefined> {
  const latest = (await labelledPages()).filter(changesOthers).sort((one, other) => other.time - one.time);
  if (latest.every(({ agreed }) => agreed)) return null;
  const pages = await sliced(judgedPages(latest.slice(0, MOST_PAGES), current.vocabulary));
  if (!pages.some(({ corrected }) => corrected)) return null;
  const pool = await coverPool(current);
  return pool && sliced(localTraining(current.network, pages, pool));
}

/** Answers to the tasks of a study are for the study. */
function changesOthers({ reset, study }: LabelledWords): boolean {
  return reset === undefined && study === undefined;
}

function* judgedPages(pages: readonly LabelledWords[], vocabulary: Vocabulary): Generator<void, JudgedPage[], void> {
  const found: JudgedPage[] = [];
  for (const { words, label, agreed } of pages) {
    const row = vector(repeatedWords(words), vocabulary);
    if (row.indices.length >= LEAST_KNOWN_WORDS) found.push({ vector: row, label, corrected: !agreed });
    yield;
  }
  return found;
}

/** Cover pages for the vocabulary of a model: those of the server, else those in the package; none if neither fits. */
async function coverPool({ server, version, network }: Model): Promise<Pool | undefined> {
  const stored = server === "" ? undefined : await storedModel();
  if (server !== "" && (stored?.server !== server || stored.version !== version)) return undefined;
  const wanted = await sha256(stored?.vocabulary ?? (await packagedFile("vocabulary.json")));
  for (const file of [keptPool, () => packagedFile("pool.bin")]) {
    const bytes = await file();
    const pool = bytes && readable(bytes, network.layers[0]!);
    if (pool?.vocabulary === wanted) return pool;
  }
  return undefined;
}

function readable(bytes: Uint8Array, width: number): Pool | undefined {
  try {
    return readPool(bytes, width);
  } catch (error) {
    if (error instanceof BadInput) return undefined;
    throw error;
  }
}
