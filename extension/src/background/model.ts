/**
 * The model in use: the last one from the server that passed every check, else the one in the package. Whatever is
 * wrong with a newer one, there is always a model to classify with.
 */

import { browser } from "../browser";
import type { PoolFile } from "../core/manifest";
import { type Network, readNetwork } from "../core/network";
import { readVocabulary, type Vocabulary } from "../core/vocabulary";
import { read, write } from "./database";

export interface Model {
  /** 0 for the one in the package. */
  version: number;
  /**
   * Where it came from; empty for the one in the package. Versions of two servers have nothing to do with each other.
   */
  server: string;
  network: Network;
  vocabulary: Vocabulary;
}

/** A model as it is kept: bytes, checked again by their readers whenever they are loaded. */
export interface StoredModel {
  version: number;
  server: string;
  etag: string;
  layers: number[];
  weights: Uint8Array;
  vocabulary: Uint8Array;
  /** The cover pages that the server announced with it; absent if it was stored by version 0.1. */
  pool?: PoolFile | null;
}

const CURRENT = "current";

let loaded: Promise<Model> | null = null;

export function model(): Promise<Model> {
  loaded ??= load().catch((error: unknown) => {
    loaded = null;
    throw error;
  });
  return loaded;
}

export function storedModel(): Promise<StoredModel | undefined> {
  return read<StoredModel | undefined>("model", (store) => store.get(CURRENT));
}

/** Use a newer model from now on. Throws, and changes nothing, if it cannot be read. */
export async function replaceModel(stored: StoredModel): Promise<void> {
  const fresh = readModel(stored);
  await write(["model"], (of) => of("model").put(stored, CURRENT));
  loaded = Promise.resolve(fresh);
}

/** Forget what is held, after the database was deleted. */
export function forgetModel(): void {
  loaded = null;
}

async function load(): Promise<Model> {
  try {
    const stored = await storedModel();
    if (stored !== undefined) return readModel(stored);
  } catch (error) {
    console.warn("The stored model cannot be used; the one in the package is.", error);
  }
  return readModel(await packaged());
}

function readModel(stored: StoredModel): Model {
  const vocabulary = readVocabulary(stored.vocabulary);
  const network = readNetwork(stored.weights, stored.layers);
  if (stored.layers[0] !== vocabulary.words.length) throw new Error("network and vocabulary do not fit");
  return { version: stored.version, server: stored.server, network, vocabulary };
}

async function packaged(): Promise<StoredModel> {
  const [about, weights, vocabulary] = await Promise.all(
    ["model.json", "weights.bin", "vocabulary.json"].map(packagedFile),
  );
  const { layers } = JSON.parse(new TextDecoder().decode(about)) as { layers: number[] };
  return { version: 0, server: "", etag: "", layers, weights: weights!, vocabulary: vocabulary! };
}

/** Return a file of the folder `data` of the package. */
export async function packagedFile(name: string): Promise<Uint8Array> {
  const answer = await fetch(browser.runtime.getURL(`data/${name}`));
  return new Uint8Array(await answer.arrayBuffer());
}
