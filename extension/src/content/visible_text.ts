/**
 * The visible text of a page without menus, banners and footers, read in bounded time. Pages of usual size are read with
 * `innerText`. Of a larger page only the beginning is read, node by node and without asking for styles, which could make
 * the browser lay out everything.
 */

import { boilerplateElements, namedBoilerplate } from "./boilerplate";
import { attribute, body, hasMoreElementsThan, innerText, surface, walker } from "./dom";

/** Pages with more elements than this, or sent in more bytes, are not laid out for us. */
const MOST_ELEMENTS = 12_000;
const MAX_BYTES = 4_000_000;
/** What four million letters cover when they stand close, in square pixels. Larger pages are not read as a whole. */
const MOST_SURFACE = 500_000_000;
/** The most characters that are read. */
const MOST_CHARACTERS = 300_000;
/** The longest time to read a large page. */
const LONGEST_MS = 12;
const NODES_BETWEEN_LOOKS = 64;
/** If `innerText` takes longer than this, the page counts as large from then on. */
const TOO_LONG_MS = 25;

/** If only so few words are left without boilerplate, or few and so small a share of all, all are kept. */
const MIN_WORDS = 20;
const FEW_WORDS = 100;
const MIN_SHARE = 0.1;

/** What never shows, or is replaced when it does; as `eitr.pages.extract` has it. */
const SILENT = new Set(
  "script style template noscript iframe object embed textarea video audio canvas svg datalist progress meter".split(
    " ",
  ),
);
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)/i;

let tooSlow = false;

export function visibleText(): string {
  const element = body();
  if (element === null) return "";
  if (tooSlow || isLarge()) return beginningOf(element);
  const began = performance.now();
  const text = wholeText(element).slice(0, MOST_CHARACTERS);
  tooSlow = performance.now() - began > TOO_LONG_MS;
  return text;
}

function wholeText(element: HTMLElement): string {
  const all = innerText(element);
  const text = textWithout(all, boilerplateElements());
  const left = countWords(text, FEW_WORDS);
  if (left >= FEW_WORDS) return text;
  return left >= MIN_WORDS && countWords(all, left / MIN_SHARE + 1) <= left / MIN_SHARE ? text : all;
}

/**
 * A text without the lines that some elements show, which are given in their order. This is much faster than reading all
 * other elements one by one. What an element shows within a line stays.
 */
function textWithout(all: string, boilerplate: readonly Element[]): string {
  const text = `\n${all}\n`;
  const parts: string[] = [];
  let start = 0;
  for (const element of boilerplate) {
    const lines = element instanceof HTMLElement ? withoutOuterLineFeeds(innerText(element)) : "";
    const found = lines === "" ? -1 : text.indexOf(`\n${lines}\n`, start);
    if (found < 0) continue;
    parts.push(text.slice(start, found));
    start = found + 1 + lines.length;
  }
  return [...parts, text.slice(start)].join("").slice(1, -1);
}

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

/** How many words a text has; no more than so many are counted. */
function countWords(text: string, most: number): number {
  let count = 0;
  const words = text.matchAll(/\S+/g);
  while (count < most && !words.next().done) count += 1;
  return count;
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

function beginningOf(element: HTMLElement): string {
  const isBoilerplate = namedBoilerplate();
  const text = beginning(element, (child) => isSilent(child) || isBoilerplate(child));
  return countWords(text, MIN_WORDS) < MIN_WORDS ? beginning(element, isSilent) : text;
}

/** The first text nodes that nothing on the way to them hides. */
function beginning(element: HTMLElement, leftOut: (element: Element) => boolean): string {
  const nodes = walker(element, leftOut);
  const end = performance.now() + LONGEST_MS;
  const parts: string[] = [];
  let left = MOST_CHARACTERS;
  for (let count = 1; nodes.nextNode() !== null && left > 0; count += 1) {
    const node = nodes.currentNode;
    if (node instanceof Text) {
      const part = node.substringData(0, left);
      // Line feeds in the source are no lines of the page.
      parts.push(part.replaceAll("\n", " "));
      left -= part.length + 1;
    }
    if (count % NODES_BETWEEN_LOOKS === 0 && performance.now() > end) break;
  }
  return parts.join("\n");
}

function isSilent(element: Element): boolean {
  if (SILENT.has(element.localName)) return true;
  if (Element.prototype.hasAttribute.call(element, "hidden")) return true;
  return HIDDEN_STYLE.test(attribute(element, "style"));
}
