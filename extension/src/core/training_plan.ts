/** How long and how fast to train: the part of a round's instructions that concerns the optimiser. */

import { BadInput } from "./bad_input";
import type { JsonObject } from "./json";
import { asObject, isNumber, member, wholeNumber } from "./json";

export interface TrainingPlan {
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

/** Check a server's plan. The bounds are far beyond any use: a server must not make a browser compute for hours. */
export function readPlan(value: unknown): TrainingPlan {
  const plan = asObject(value, "The plan of training");
  const whole = (name: string, most: number) => wholeNumber(member(plan, name), 1, most, `${name} of the plan`);
  return {
    epochs: whole("epochs", 100),
    max_batches: whole("max_batches", 1000),
    batch_size: whole("batch_size", 1024),
    learning_rate: number(plan, "learning_rate", (rate) => rate > 0 && rate <= 1, "above 0 and at most 1"),
    momentum: number(plan, "momentum", (momentum) => momentum >= 0 && momentum < 1, "at least 0 and below 1"),
    dropout: number(plan, "dropout", (dropout) => dropout >= 0 && dropout <= 0.9, "at least 0 and at most 0.9"),
  };
}

function number(plan: JsonObject, name: string, within: (value: number) => boolean, bounds: string): number {
  const value = member(plan, name);
  if (!isNumber(value) || !within(value)) throw new BadInput(`${name} of the plan must be a number, ${bounds}.`);
  return value;
}
