/** Fetch the server's model if it is newer, and its cover pages. Everything is checked before anything is replaced. */

import { sha256 } from "../../core/hash";
import { readManifest } from "../../core/manifest";
import { type Pool, readPool } from "../../core/pool";
import { read, write } from "../database";
import { replaceModel, storedModel } from "../model";
import { json, type Server } from "./server";

const LARGEST_VOCABULARY = 16 << 20;
const POOL = "pool";

/** The cover pages that were fetched last, as they are kept beside the model. */
interface StoredPool {
  sha256: string;
  bytes: Uint8Array;
}

/**
 * Return whether a newer model is in use now. Throws, and the old one stays, if anything about the new one is wrong.
 */
export async function refreshModel(server: Server): Promise<boolean> {
  const stored = await storedModel();
  const before = stored?.server === server.address ? stored : undefined;
  const known: Record<string, string> =
    before?.pool === undefined || before.etag === "" ? {} : { "If-None-Match": before.etag };
  const answer = await server.request("/api/v2/model", { headers: known });
  if (answer.status === 304) return false;
  const manifest = readManifest(json(answer));
  if (before !== undefined && manifest.version < before.version)
    throw new Error("the server offers an older model than it did");
  const { version, layers, pool } = manifest;
  if (before !== undefined && version === before.version) {
    const same = before.etag === answer.etag && before.pool?.sha256 === pool?.sha256;
    if (!same) await replaceModel({ ...before, etag: answer.etag, pool });
    return false;
  }
  const weights = await file(server, manifest.weights.url, manifest.weights.sha256, manifest.weights.bytes);
  const { url, sha256: hash } = manifest.vocabulary;
  // Most versions have the vocabulary of the one before.
  const kept = before !== undefined && (await sha256(before.vocabulary)) === hash;
  const vocabulary = kept ? before.vocabulary : await file(server, url, hash, LARGEST_VOCABULARY);
  const { address } = server;
  await replaceModel({ version, server: address, etag: answer.etag, layers: [...layers], weights, vocabulary, pool });
  return true;
}

/** Return the cover pages that belong to the server's model. They are fetched once, and replace those before. */
export async function coverPages(server: Server): Promise<Pool> {
  const stored = await storedModel();
  const announced = stored?.pool;
  if (stored?.server !== server.address || announced == null) throw new Error("the server announced no cover pages");
  const kept = await read<StoredPool | undefined>("model", (store) => store.get(POOL));
  const known = kept?.sha256 === announced.sha256;
  const bytes = known ? kept.bytes : await file(server, announced.url, announced.sha256, announced.bytes);
  const pool = readPool(bytes, stored.layers[0]!);
  if (pool.vocabulary !== (await sha256(stored.vocabulary)))
    throw new Error("the cover pages were made for another vocabulary than the model's");
  const fresh: StoredPool = { sha256: announced.sha256, bytes };
  if (!known) await write(["model"], (of) => of("model").put(fresh, POOL));
  return pool;
}

/** The cover pages that were fetched last, of whatever model. */
export async function keptPool(): Promise<Uint8Array | undefined> {
  return (await read<StoredPool | undefined>("model", (store) => store.get(POOL)))?.bytes;
}

async function file(server: Server, path: string, hash: string, most: number): Promise<Uint8Array> {
  const { bytes } = await server.request(path, { most });
  if ((await sha256(bytes)) !== hash) throw new Error(`${path} is not what the server announced`);
  return bytes;
}
