/**
 * The visible text of a page, read in bounded time. Pages of usual size are read with `innerText`. Of a larger page
 * only the beginning is read, node by node and without asking for styles, which could make the browser lay out
 * everything.
 */

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
  if (tooSlow || isLarge()) return beginning(element);
  const began = performance.now();
  const text = innerText(element).slice(0, MOST_CHARACTERS);
  tooSlow = performance.now() - began > TOO_LONG_MS;
  return text;
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

/** The first text nodes that nothing on the way to them hides. */
function beginning(element: HTMLElement): string {
  const nodes = walker(element, isSilent);
  const end = performance.now() + LONGEST_MS;
  const parts: string[] = [];
  let left = MOST_CHARACTERS;
  for (let count = 1; nodes.nextNode() !== null && left > 0; count += 1) {
    const node = nodes.currentNode;
    if (node instanceof Text) {
      const part = node.substringData(0, left);
      parts.push(part);
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
