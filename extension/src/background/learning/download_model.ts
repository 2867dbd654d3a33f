/** Fetch the server's model if it is newer. Everything is checked before anything is replaced. */

import { sha256 } from "../../core/hash";
import { readManifest } from "../../core/manifest";
import { replaceModel, storedModel } from "../model";
import { json, type Server } from "./server";

const LARGEST_VOCABULARY = 16 << 20;

/**
 * Return whether a newer model is in use now. Throws, and the old one stays, if anything about the new one is wrong.
 */
export async function refreshModel(server: Server): Promise<boolean> {
  const stored = await storedModel();
  const before = stored?.server === server.address ? stored : undefined;
  const known: Record<string, string> =
    before === undefined || before.etag === "" ? {} : { "If-None-Match": before.etag };
  const answer = await server.request("/api/v1/model", { headers: known });
  if (answer.status === 304) return false;
  const manifest = readManifest(json(answer));
  if (before !== undefined && manifest.version < before.version)
    throw new Error("the server offers an older model than it did");
  if (before !== undefined && manifest.version === before.version) return false;
  const weights = await file(server, manifest.weights.url, manifest.weights.sha256, manifest.weights.bytes);
  const vocabulary = await file(server, manifest.vocabulary.url, manifest.vocabulary.sha256, LARGEST_VOCABULARY);
  const { version, layers } = manifest;
  await replaceModel({ version, server: server.address, etag: answer.etag, layers: [...layers], weights, vocabulary });
  return true;
}

async function file(server: Server, path: string, hash: string, most: number): Promise<Uint8Array> {
  const { bytes } = await server.request(path, { most });
  if ((await sha256(bytes)) !== hash) throw new Error(`${path} is not what the server announced`);
  return bytes;
}
