/**
 * The visible text of a page without menus, banners and footers, read in bounded time. Pages of usual size are read with
 * `innerText`. Of a larger page only the beginning is read, node by node and without asking for styles, which could make
 * the browser lay out everything.
 */

import { beginningWithout, candidates, isMost, LIKELY } from "./boilerplate";
import { body, contains, hasMoreElementsThan, innerText, surface } from "./dom";

/** Pages with more elements than this, or sent in more bytes, are not laid out for us. */
const MOST_ELEMENTS = 12_000;
const MAX_BYTES = 4_000_000;
/** What four million letters cover when they stand close, in square pixels. Larger pages are not read as a whole. */
const MOST_SURFACE = 500_000_000;
/** The most characters that are read. */
const MOST_CHARACTERS = 300_000;
/** If `innerText` takes longer than this, the page counts as large from then on. */
const TOO_LONG_MS = 25;

/** So many elements at most are looked at: each costs a reading of its own. */
const MOST_LEFT_OUT = 300;
/** So often, at most, the lines of an element are looked for. */
const MOST_TRIES = 100;

let tooSlow = false;

export function visibleText(): string {
  const element = body();
  if (element === null) return "";
  if (tooSlow || isLarge()) {
    // Line feeds in the source are no lines of the page.
    return beginningWithout(element, MOST_CHARACTERS)
      .map((text) => text.replaceAll("\n", " "))
      .join("\n");
  }
  const began = performance.now();
  const text = withoutBoilerplate(innerText(element)).slice(0, MOST_CHARACTERS);
  tooSlow = performance.now() - began > TOO_LONG_MS;
  return text;
}

/**
 * The text of the page without the lines and table cells that boilerplate shows. This is much faster than reading all
 * other elements one by one. What an element shows within a line stays.
 */
function withoutBoilerplate(all: string): string {
  const text = `\n${all}\n`;
  const parts: string[] = [];
  let start = 1;
  let last: Element | null = null;
  for (const { element, boilerplate } of candidates().slice(0, MOST_LEFT_OUT)) {
    if (!(element instanceof HTMLElement) || (last !== null && contains(last, element))) continue;
    const lines = withoutOuterLineFeeds(innerText(element));
    if (lines === "" || (boilerplate === LIKELY && isMost(lines.length, all.length))) continue;
    last = element;
    const found = placeOf(lines, text, start);
    if (found < 0) continue;
    parts.push(text.slice(start, found));
    start = found + lines.length;
  }
  return [...parts, text.slice(start, -1)].join("");
}

/** Where a text has these lines, from a place on; -1 if it has not. */
function placeOf(lines: string, text: string, start: number): number {
  let found = start - 1;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    found = text.indexOf(lines, found + 1);
    if (found < 0 || (isSeparator(text[found - 1]) && isSeparator(text[found + lines.length]))) return found;
  }
  return -1;
}

/** Between lines, and between the cells of a table. */
const isSeparator = (character: string | undefined): boolean => character === "\n" || character === "\t";

/**
 * Not `trim`: the space between a logo and the words beside it is part of the line. Nor a regular expression: its time
 * would grow with the square of the line feeds.
 */
function withoutOuterLineFeeds(text: string): string {
  let start = 0;
  let end = text.length;
  while (text[start] === "\n") start += 1;
  while (end > start && text[end - 1] === "\n") end -= 1;
  return text.slice(start, end);
}

/** Whether the page is large, by measures that take no time: walking through it would take longer than reading it. */
function isLarge(): boolean {
  if (hasMoreElementsThan(MOST_ELEMENTS) || bytes() > MAX_BYTES) return true;
  const { width, height } = surface();
  return width * height > MOST_SURFACE;
}

/** The size of the page's source as it arrived. */
function bytes(): number {
  const [navigation] = performance.getEntriesByType("navigation");
  return navigation instanceof PerformanceNavigationTiming ? navigation.decodedBodySize : 0;
}
