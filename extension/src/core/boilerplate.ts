/**
 * Leave out what a page says in menus, cookie banners and legal notices, as docs/page-to-prediction.md, section 3.1,
 * specifies; cases in `tests/golden/boilerplate.json`.
 */

import list from "../../../src/eitr/assets/boilerplate.txt";
import { withoutStopWords, wordsOf } from "./tokens";

/** So many navigation words in a row are a menu, wherever they stand. */
const MIN_NAVIGATION = 4;
/** A segment of more tokens is not one sentence of a notice, but text without line feeds and full stops. */
const MAX_NOTICE = 40;
/** A menu item has at most so many tokens and no full stop. */
const MAX_ITEM = 4;
/** So many menu items in a row are a menu, whatever they say. */
const MIN_MENU = 5;
/** If fewer tokens are left outside menus, and menus have more than half of all, the page is a list: they count. */
const ENOUGH = 50;

const SEGMENT_END = /[\n|•·»›]|(?<=[.!?]) /;
const SENTENCE = /[.!?] *$/;

const NAVIGATION = new Set<string>();
/** What follows in each phrase, by the phrase's first word. */
const PHRASES = new Map<string, string[][]>();
for (const line of list.split("\n")) {
  if (line === "" || line.startsWith("#")) continue;
  const [first, ...others] = line.split(" ") as [string, ...string[]];
  if (others.length === 0) NAVIGATION.add(first);
  else PHRASES.set(first, [...(PHRASES.get(first) ?? []), others]);
}

/** A part of a page's text: a line, a sentence or an item of a list. */
export interface Segment {
  readonly isSentence: boolean;
  /** All of them, stop words included. */
  readonly words: readonly string[];
  readonly tokens: string[];
}

/** The segments of a normalised text that have words. */
export function segmentsOf(text: string): Segment[] {
  return text
    .split(SEGMENT_END)
    .map((segment) => ({ segment, words: wordsOf(segment) }))
    .filter(({ words }) => words.length > 0)
    .map(({ segment, words }) => ({ isSentence: SENTENCE.test(segment), words, tokens: withoutStopWords(words) }));
}

/**
 * The segments of a page outside menus, banners and notices, each with the tokens that are left of it. `head` holds the
 * tokens of its title, description and keywords, which count when a menu is told from a list.
 */
export function withoutBoilerplate(head: readonly string[], all: readonly Segment[]): Segment[] {
  const segments = all.filter(({ tokens }) => tokens.length > 0);
  const kept = segments.map((segment) => ({ ...segment, tokens: keptOf(segment.tokens) }));
  const isOutside = outsideMenus(segments);
  const outside = kept.filter((_, place) => isOutside[place]);
  const count = (parts: readonly Segment[]) => parts.reduce((sum, { tokens }) => sum + tokens.length, head.length);
  const isList = count(outside) < ENOUGH && 2 * count(outside) < count(kept);
  return (isList ? kept : outside).filter(({ tokens }) => tokens.length > 0);
}

/** The tokens of a segment without navigation words that make a menu; none of a segment of a notice. */
function keptOf(words: string[]): string[] {
  if (words.every((word) => NAVIGATION.has(word))) return [];
  if (words.length <= MAX_NOTICE && words.some((_, place) => isPhraseAt(words, place))) return [];
  return words.length <= MIN_NAVIGATION ? words : withoutRuns(words);
}

function isPhraseAt(words: readonly string[], place: number): boolean {
  const phrases = PHRASES.get(words[place]!);
  return phrases?.some((others) => others.every((other, n) => words[place + 1 + n] === other)) ?? false;
}

function withoutRuns(words: readonly string[]): string[] {
  const kept: string[] = [];
  let run: string[] = [];
  const endRun = () => {
    if (run.length < MIN_NAVIGATION) kept.push(...run);
    run = [];
  };
  for (const word of words) {
    if (NAVIGATION.has(word)) run.push(word);
    else {
      endRun();
      kept.push(word);
    }
  }
  endRun();
  return kept;
}

/** Of each segment, whether it stands outside a run of menu items. */
function outsideMenus(segments: readonly Segment[]): boolean[] {
  const outside = segments.map(({ isSentence, tokens }) => tokens.length > MAX_ITEM || isSentence);
  let start = 0;
  for (let place = 0; place <= outside.length; place++) {
    if (outside[place] === false) continue;
    if (place - start < MIN_MENU) outside.fill(true, start, place);
    start = place + 1;
  }
  return outside;
}
