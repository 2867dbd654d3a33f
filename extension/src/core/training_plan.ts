/** How to train: the part of a round's instructions that says what the browser computes, and within which bounds. */

import { BadInput } from "./bad_input";
import type { JsonObject } from "./json";
import { asObject, isNumber, member } from "./json";

/** One step of the last layers that hides the pages it was done with (docs/page-to-prediction.md, section 9.1). */
export interface PrivatePlan {
  readonly method: "private";
  /** How many of the last layers are trained. */
  readonly layers: number;
  /** So many pages are drawn from the public pool and trained on beside the person's own. */
  readonly cover_pages: number;
  /** How much the own pages count, which are cut to the length of one page together, beside a cover page. */
  readonly own_weight: number;
  /** The longest gradient of a page, over the trained layers, and of all own pages together. */
  readonly clip: number;
  readonly learning_rate: number;
  /** Standard deviation of the noise, in multiples of the most that the own pages can move. */
  readonly noise: number;
}

/** Training of all layers, as in the paper. Its result gives the words of the pages away. */
export interface PaperPlan {
  readonly method: "paper";
  /** Passes over the pages, each in a new order. */
  readonly epochs: number;
  /** At most this many batches per epoch. */
  readonly max_batches: number;
  readonly batch_size: number;
  readonly learning_rate: number;
  readonly momentum: number;
  /** The share of hidden units silenced in each step. */
  readonly dropout: number;
}

export type TrainingPlan = PrivatePlan | PaperPlan;

/** A plan that is not followed: because a number is out of bounds, or because the method is not known. */
export class PlanRefused extends BadInput {
  constructor(
    message: string,
    readonly reason: "bounds" | "method",
  ) {
    super(message);
  }
}

/** With less noise, more could be told about a page than people were promised. */
export const LEAST_NOISE = 4;
const LARGEST = 1000;
const MOST_COVER_PAGES = 100_000;

/** Check a server's plan for a network of layers of these widths. */
export function readPlan(value: unknown, widths: readonly number[]): TrainingPlan {
  const plan = asObject(value, "The plan of training");
  const method = readMethod(plan);
  return method === "private" ? readPrivatePlan(plan, widths.length - 1) : readPaperPlan(plan);
}

/** Return by which method a server trains, as a plan or a manifest says; others are refused. */
export function readMethod(plan: JsonObject): TrainingPlan["method"] {
  const method = member(plan, "method");
  if (method === "private" || method === "paper") return method;
  throw new PlanRefused(
    "The server trains by a method that this version of EITR does not know. Update EITR.",
    "method",
  );
}

/** The bounds are those of section 9.1: a server must not learn more of a page than people were promised. */
function readPrivatePlan(plan: JsonObject, layers: number): PrivatePlan {
  const positive = (name: string) => number(plan, name, (n) => n > 0 && n <= LARGEST, `above 0, at most ${LARGEST}`);
  return {
    method: "private",
    // The first layer knows the words, so it is never trained.
    layers: whole(plan, "layers", 1, layers - 1),
    cover_pages: whole(plan, "cover_pages", 0, MOST_COVER_PAGES),
    own_weight: positive("own_weight"),
    clip: positive("clip"),
    learning_rate: positive("learning_rate"),
    noise: number(plan, "noise", (noise) => noise >= LEAST_NOISE && noise < Infinity, `at least ${LEAST_NOISE}`),
  };
}

/** The bounds are far beyond any use: a server must not make a browser compute for hours. */
function readPaperPlan(plan: JsonObject): PaperPlan {
  return {
    method: "paper",
    epochs: whole(plan, "epochs", 1, 100),
    max_batches: whole(plan, "max_batches", 1, 1000),
    batch_size: whole(plan, "batch_size", 1, 1024),
    learning_rate: number(plan, "learning_rate", (rate) => rate > 0 && rate <= 1, "above 0 and at most 1"),
    momentum: number(plan, "momentum", (momentum) => momentum >= 0 && momentum < 1, "at least 0 and below 1"),
    dropout: number(plan, "dropout", (dropout) => dropout >= 0 && dropout <= 0.9, "at least 0 and at most 0.9"),
  };
}

function whole(plan: JsonObject, name: string, least: number, most: number): number {
  const test = (value: number) => Number.isInteger(value) && value >= least && value <= most;
  return number(plan, name, test, `a whole number from ${least} to ${most}`);
}

function number(plan: JsonObject, name: string, test: (value: number) => boolean, bounds: string): number {
  const value = member(plan, name);
  if (!isNumber(value)) throw new BadInput(`${name} of the plan must be a number.`);
  if (!test(value)) throw new PlanRefused(`${name} of the plan must be ${bounds}.`, "bounds");
  return value;
}
