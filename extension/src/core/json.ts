/** Reading JSON of unknown origin, one member at a time. */

import { BadInput } from "./bad_input";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Parse bytes that must be UTF-8 and JSON; `what` begins the sentence if they are not. */
export function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    // A byte order mark is kept, and is then no JSON: the Python reader refuses it too.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new BadInput(`${what} is not JSON in UTF-8.`);
  }
}

export function asObject(value: unknown, what: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BadInput(`${what} must be an object.`);
  return value as JsonObject;
}

/** A member that the object has itself: every object inherits one named "constructor". */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function isArrayOf<T>(value: unknown, test: (entry: unknown) => entry is T): value is T[] {
  return Array.isArray(value) && value.every(test);
}

export const isString = (value: unknown): value is string => typeof value === "string";
export const isNumber = (value: unknown): value is number => typeof value === "number";

/** A whole number between two bounds, both included. */
export function wholeNumber(value: unknown, least: number, most: number, what: string): number {
  if (!isNumber(value) || !Number.isInteger(value) || value < least || value > most)
    throw new BadInput(`${what} must be a whole number from ${least} to ${most}.`);
  return value;
}
