/** The words a model knows and what each weighs (docs/page-to-prediction.md, section 4). */

import { BadInput } from "./bad_input";
import { asObject, isArrayOf, isNumber, isString, type JsonObject, parseJson } from "./json";
import type { Page } from "./page";
import { type Reading, readBody, readWhole } from "./reading";
import { tokens } from "./tokens";

export interface Vocabulary {
  /** How pages are read: with all their words (1), or without boilerplate and words of another meaning (2). */
  readonly version: number;
  /** In the order of a model's inputs. */
  readonly words: readonly string[];
  /** The inverse document frequency of each word. */
  readonly idf: Float64Array;
  /** Where each word and each further form of a word counts. */
  readonly places: ReadonlyMap<string, number>;
  /** Those forms that are no English words. */
  readonly foreign: ReadonlySet<string>;
}

const WITH_BOILERPLATE = 1;
const WITHOUT_BOILERPLATE = 2;

const KEYS = "format,forms,idf,version,words";
const MAX_BYTES = 16 * 2 ** 20;
const MAX_WORDS = 100_000;
const MAX_FORMS = 50_000;
/**
 * The square of a tiny one would be 0, so that a page with this word alone could not be trained on: its missing update
 * would tell the word.
 */
const MIN_IDF = 1e-3;
const MAX_IDF = 100;

/** Read the file of a vocabulary; whatever section 4 does not allow is refused. */
export function readVocabulary(bytes: Uint8Array): Vocabulary {
  if (bytes.length > MAX_BYTES) throw new BadInput("The vocabulary is longer than 16 MiB.");
  const file = asObject(parseJson(bytes, "The vocabulary"), "The vocabulary");
  const keys = Object.keys(file).filter((key) => key !== "foreign");
  if (keys.sort().join() !== KEYS)
    throw new BadInput(`The vocabulary must have exactly the keys ${KEYS} and perhaps foreign.`);
  const version = file["version"];
  if (file["format"] !== "eitr-vocabulary" || (version !== WITH_BOILERPLATE && version !== WITHOUT_BOILERPLATE))
    throw new BadInput("The vocabulary is not of format eitr-vocabulary, version 1 or 2.");
  const words = readWords(file["words"]);
  const idf = readIdf(file["idf"], words.length);
  const forms = asObject(file["forms"], "The forms of the vocabulary");
  const foreign = asObject("foreign" in file ? file["foreign"] : {}, "The foreign words of the vocabulary");
  // Listed once: with twenty thousand of them it takes as long as everything else.
  const [inflected, abroad] = [Object.keys(forms), Object.keys(foreign)];
  mustBeTokens([...words, ...inflected, ...abroad]);
  refuseFractions(bytes);
  if (inflected.length + abroad.length > MAX_FORMS) throw new BadInput(`A vocabulary has at most ${MAX_FORMS} forms.`);
  const places = new Map(words.map((word, place) => [word, place]));
  if (places.size !== words.length) throw new BadInput("A word occurs twice in the vocabulary.");
  addForms(places, inflected, forms, words.length);
  addForms(places, abroad, foreign, words.length);
  return { version, words, idf, places, foreign: new Set(abroad) };
}

/**
 * The language and the tokens of a page as models with this vocabulary read it. A page that is too short to tell its
 * language is not English if one of its words is known and foreign.
 */
export function readingOf(page: Page, vocabulary: Vocabulary): Reading {
  const found = vocabulary.version === WITH_BOILERPLATE ? readWhole(page) : readBody(page);
  const isForeign = found.language === "unknown" && found.tokens.some((word) => vocabulary.foreign.has(word));
  return isForeign ? { ...found, language: "foreign" } : found;
}

function readWords(value: unknown): readonly string[] {
  if (!isArrayOf(value, isString)) throw new BadInput("The words of the vocabulary must be a list of strings.");
  if (value.length < 1 || value.length > MAX_WORDS) throw new BadInput(`A vocabulary has 1 to ${MAX_WORDS} words.`);
  return value;
}

function readIdf(value: unknown, length: number): Float64Array {
  if (!isArrayOf(value, isNumber)) throw new BadInput("The idf of the vocabulary must be a list of numbers.");
  if (value.length !== length)
    throw new BadInput(`A vocabulary of ${length} words needs as many idf, not ${value.length}.`);
  if (!value.every((idf) => idf >= MIN_IDF && idf <= MAX_IDF))
    throw new BadInput(`Every idf must be at least ${MIN_IDF} and at most ${MAX_IDF}.`);
  return Float64Array.from(value);
}

function addForms(places: Map<string, number>, forms: readonly string[], object: JsonObject, words: number): void {
  for (const form of forms) {
    const place = object[form];
    if (!isNumber(place) || !Number.isInteger(place) || place < 0 || place >= words)
      throw new BadInput(`The form ${shown(form)} of the vocabulary counts as no word of it.`);
    if (places.has(form)) throw new BadInput(`${shown(form)} in the vocabulary is both a word and a form, or foreign.`);
    places.set(form, place);
  }
}

/**
 * Refuse words that are not tokens. All are split as one text, a line each, because twenty thousand calls would block
 * the worker for longer. A word that is no token changes its line, so that the lists differ there or before.
 */
function mustBeTokens(words: readonly string[]): void {
  const found = tokens(words.join("\n"));
  const wrong = words.findIndex((word, place) => word !== found[place]);
  if (wrong >= 0) throw new BadInput(`${shown(words[wrong]!)} in the vocabulary is not a token.`);
  if (found.length !== words.length) throw new BadInput("A word of the vocabulary is not a token.");
}

/**
 * Refuse `{"votes": 17.0}`, which JSON.parse cannot tell from 17 but other readers do. The words are tokens, checked
 * before: braces and colons in the file are those of JSON, and the objects within it are those of the forms.
 */
function refuseFractions(bytes: Uint8Array): void {
  const text = new TextDecoder().decode(bytes);
  const forms = text.slice(text.indexOf("{") + 1).match(/\{[^{}]*\}/g) ?? [];
  if (forms.some((object) => /:\s*-?\d+[.eE]/.test(object)))
    throw new BadInput("The forms of the vocabulary must be whole numbers, written without a fraction.");
}

function shown(word: string): string {
  return JSON.stringify(word.slice(0, 50));
}
