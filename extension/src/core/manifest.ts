/** What a server says of its model and round (docs/http-protocol.md, sections 3 and 4); unknown members are ignored. */

import { BadInput } from "./bad_input";
import type { JsonObject } from "./json";
import { asObject, isArrayOf, isNumber, isString, member, wholeNumber } from "./json";
import { sizeOf } from "./network";
import { TOPICS } from "./taxonomy";
import type { TrainingPlan } from "./training_plan";
import { readMethod, readPlan } from "./training_plan";

/** The only network of this version of the protocol: no server chooses what this browser computes. */
export const LAYERS: readonly number[] = [1000, 256, 32, 6];

/** A pool is about 130 kB; no server makes a browser fetch and keep much more. */
export const LARGEST_POOL = 1 << 20;

export interface PoolFile {
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface Manifest {
  readonly protocol: 2;
  readonly version: number;
  readonly created: string;
  readonly classes: readonly string[];
  readonly layers: readonly number[];
  readonly parameters: number;
  readonly weights: { readonly url: string; readonly sha256: string; readonly bytes: number };
  readonly vocabulary: { readonly url: string; readonly sha256: string };
  /** Null where the server trains as in the paper, without cover pages. */
  readonly pool: PoolFile | null;
}

export interface Round {
  readonly id: number;
  /** The version of the model to start from. */
  readonly base: number;
  readonly deadline: string;
  readonly training: TrainingPlan;
}

export function readManifest(value: unknown): Manifest {
  const manifest = asObject(value, "The manifest");
  if (member(manifest, "protocol") !== 2) throw new BadInput("The server speaks another protocol than version 2.");
  const classes = TOPICS.map(({ name }) => name);
  if (!sameList(member(manifest, "classes"), classes, isString))
    throw new BadInput("The server's model has other classes.");
  if (!sameList(member(manifest, "layers"), LAYERS, isNumber))
    throw new BadInput("The server's model has other layers.");
  const parameters = sizeOf(LAYERS);
  if (member(manifest, "parameters") !== parameters)
    throw new BadInput(`The server's model must have ${parameters} parameters.`);
  const weights = asObject(member(manifest, "weights"), "The weights of the manifest");
  if (member(weights, "bytes") !== 4 * parameters)
    throw new BadInput(`The weights must be ${4 * parameters} bytes long.`);
  const method = readMethod(asObject(member(manifest, "training"), "The training of the manifest"));
  return {
    protocol: 2,
    version: counted(manifest, "version"),
    created: moment(manifest, "created"),
    classes,
    layers: LAYERS,
    parameters,
    weights: { ...readFile(weights, "weights"), bytes: 4 * parameters },
    vocabulary: readFile(asObject(member(manifest, "vocabulary"), "The vocabulary of the manifest"), "vocabulary"),
    pool: method === "paper" ? null : readPoolFile(asObject(member(manifest, "pool"), "The pool of the manifest")),
  };
}

export function readRound(value: unknown): Round {
  const round = asObject(value, "The round");
  return {
    id: counted(round, "id"),
    base: counted(round, "base"),
    deadline: moment(round, "deadline"),
    training: readPlan(member(round, "training"), LAYERS),
  };
}

function sameList<T>(value: unknown, expected: readonly T[], test: (entry: unknown) => entry is T): boolean {
  return isArrayOf(value, test) && value.length === expected.length && value.every((entry, n) => entry === expected[n]);
}

/** A number that counts from 1. */
function counted(object: JsonObject, name: string): number {
  return wholeNumber(member(object, name), 1, Number.MAX_SAFE_INTEGER, `The ${name} that the server names`);
}

function moment(object: JsonObject, name: string): string {
  const value = member(object, name);
  if (!isString(value) || value.length > 40 || !/^\d{4}-\d\d-\d\dT/.test(value) || Number.isNaN(Date.parse(value)))
    throw new BadInput(`The ${name} that the server names is not a time.`);
  return value;
}

/**
 * A path on the server that sent it, with nothing a URL parser could read otherwise: no "//", no "..", no "%", no "\",
 * no query. A manifest must not make the browser fetch from another host or another place on this one.
 */
const PATH = /^\/api\/v2(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/;

function readPoolFile(pool: JsonObject): PoolFile {
  return {
    ...readFile(pool, "pool"),
    bytes: wholeNumber(member(pool, "bytes"), 1, LARGEST_POOL, "The bytes of the pool"),
  };
}

function readFile(file: JsonObject, what: string): { url: string; sha256: string } {
  const [url, sha256] = [member(file, "url"), member(file, "sha256")];
  if (!isString(url) || url.length > 200 || !PATH.test(url))
    throw new BadInput(`The address of the ${what} is not a path below /api/v2/.`);
  if (!isString(sha256) || !/^[0-9a-f]{64}$/.test(sha256))
    throw new BadInput(`The hash of the ${what} is not 64 hexadecimal digits.`);
  return { url, sha256 };
}
