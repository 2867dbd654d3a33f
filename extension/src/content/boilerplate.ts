/**
 * Which elements hold navigation, banners and legal notices rather than what the page is about. `eitr.pages.structure`
 * has the same rules for Python.
 */

import {
  attribute,
  closest,
  contains,
  customElements,
  elements,
  firstChildOf,
  hasAttribute,
  inDocumentOrder,
  localNameOf,
  nextSiblingOf,
  parentOf,
  textContent,
} from "./dom";

/** An element that holds one of these is not boilerplate, whatever it is called. */
const CONTENT = words("h1 main article");
const MOST_CONTENT = 1000;
/** A block of at least so many links, so short on average, that have so much of its letters, is a menu. */
const MIN_LINKS = 5;
const MAX_LINK_LETTERS = 25;
const MIN_LINK_SHARE = 0.8;
/** An element that is only likely to be boilerplate stays if it has a larger share of the page's letters. */
const MAX_SHARE = 0.5;

/** A header or footer within these belongs to them and not to the page. */
const SECTIONS = "article, aside, main, nav, section";
/** Only these elements, and custom ones, can be boilerplate. */
const BLOCKS = words(
  "address aside blockquote center details dialog div dl fieldset figure footer form header menu nav ol p section " +
    "table tbody td th tr ul",
);
const LIKELY_ROLES = words("banner complementary");
const CERTAIN_ROLES = words("alertdialog contentinfo dialog menu menubar navigation search");
const LIKELY_NAMES = words("banner breadcrumb breadcrumbs footer menu nav navbar navigation sidebar");
const CERTAIN_NAMES = words("consent cookie cookies gdpr");
/** They name boilerplate beside such words only: `social-links` does, `social-services` does not. */
const NAMES_OF_WIDGETS = words("newsletter share sharing social");
const PARTS_OF_WIDGETS = words(
  "bar block box button buttons container follow form icon icons link links list media section signup widget",
);
/** A name with one of these says what an element has: `page-with-sidebar`. */
const DESCRIBING = words("has no not with without");
const WORD = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g;
/** Every name of boilerplate has one of these. */
const PARTS_OF_NAMES = "banner breadcrumb consent cookie footer gdpr menu nav newsletter shar sidebar social".split(
  " ",
);
/** What may be boilerplate by its name: the browser finds it much faster than a script does, which touches elements. */
const NAMED = [
  "aside,dialog,footer,header,nav",
  ...[...LIKELY_ROLES, ...CERTAIN_ROLES].map((role) => `[role=${role} i]`),
  `:is(${[...BLOCKS].join()}):is(${PARTS_OF_NAMES.map((part) => `[class*=${part} i],[id*=${part} i]`).join()})`,
].join();
/** So many links at most are looked at, and so many characters of the blocks that hold them. */
const MOST_LINKS = 5000;
const MOST_CHARACTERS = 2_000_000;

/** What never shows, or is replaced when it does; as `eitr.pages.extract` has it. */
const SILENT = words(
  "script style template noscript iframe object embed textarea video audio canvas svg datalist progress meter",
);
const HIDDEN_STYLE = /display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)/i;

const LONG_TEXT = 20_000;
/** The longest time to look at a page; what comes later is not looked at. */
const LONGEST_MS = 12;
const NODES_BETWEEN_LOOKS = 64;

/** How sure it is that an element is boilerplate. */
const NO = 0;
/** Unless it holds most of the page: names are given freely, and a page may be a list of links. */
export const LIKELY = 1;
const CERTAIN = 2;

/** An element that is boilerplate, or is unless it holds most of the page. */
export interface Candidate {
  readonly element: Element;
  readonly boilerplate: number;
}

/** Whether so much text is most of a page's. */
export const isMost = (length: number, ofPage: number): boolean => length > MAX_SHARE * ofPage;

/** The elements of a page of usual size that may be boilerplate, in document order, also within one another. */
export function candidates(): Candidate[] {
  const found = new Map<Element, number>();
  for (const element of [...elements(NAMED), ...customElements()]) {
    const boilerplate = namedBoilerplate(element, localNameOf(element));
    if (boilerplate !== NO) found.set(element, boilerplate);
  }
  for (const menu of menus()) if (!found.has(menu)) found.set(menu, LIKELY);
  const holders = withAncestors(elements([...CONTENT].join()));
  return [...found.keys()]
    .filter((element) => !holders.has(element))
    .sort(inDocumentOrder)
    .map((element) => ({ element, boilerplate: found.get(element)! }));
}

/** Blocks that are hardly anything but short links. Only links and what they stand in are looked at. */
function menus(): Element[] {
  const found: Element[] = [];
  const open: Links[] = [];
  let left = MOST_CHARACTERS;
  const close = () => {
    const closed = open.pop()!;
    const parent = open.at(-1);
    // What is known of its letters outside links may already be too much, and then too much for all around it.
    if (left > 0 && areShortLinks(closed)) {
      const text = textContent(closed.element);
      left -= text.length;
      // The beginning of a text often says that there is too much of it.
      const most = closed.linkLetters / MIN_LINK_SHARE;
      closed.letters = lettersOf(text.slice(0, 4 * most));
      if (closed.letters <= most) closed.letters = lettersOf(text);
      if (areShortLinks(closed)) found.push(closed.element);
    }
    if (parent === undefined) return;
    parent.links += closed.links;
    parent.linkLetters += closed.linkLetters;
    parent.letters += closed.letters;
  };
  let count = 0;
  // Those of a `<nav>` are left out with it, and on most pages they are most.
  for (const link of elements("a:not(nav a)")) {
    if (count++ >= MOST_LINKS) break;
    while (open.length > 0 && !contains(open.at(-1)!.element, link)) close();
    const innermost = open.at(-1)?.element;
    const entered: Links[] = [];
    for (let one = parentOf(link); one !== null && one !== innermost; one = parentOf(one))
      if (BLOCKS.has(localNameOf(one))) entered.push({ element: one, links: 0, linkLetters: 0, letters: 0 });
    open.push(...entered.reverse());
    const block = open.at(-1);
    if (block === undefined) continue;
    const letters = lettersOf(textContent(link));
    block.links += 1;
    block.linkLetters += letters;
    block.letters += letters;
  }
  while (open.length > 0) close();
  return found;
}

/** So many of the elements, and all that they stand in. */
function withAncestors(all: Iterable<Element>): Set<Element> {
  const found = new Set<Element>();
  let count = 0;
  for (const one of all) {
    if (count++ >= MOST_CONTENT) break;
    for (let element: Element | null = one; element !== null && !found.has(element); element = parentOf(element))
      found.add(element);
  }
  return found;
}

interface Links {
  readonly element: Element;
  /** How many letters it has, as far as it is known, and how many of them in links. */
  letters: number;
  linkLetters: number;
  links: number;
}

function areShortLinks({ links, linkLetters, letters }: Omit<Links, "element">): boolean {
  return links >= MIN_LINKS && linkLetters <= MAX_LINK_LETTERS * links && linkLetters >= MIN_LINK_SHARE * letters;
}

interface Block extends Links {
  readonly boilerplate: number;
  /** The place of its first text among the page's, and of the first one after it. */
  readonly first: number;
  end: number;
  holdsContent: boolean;
}

/**
 * The first text nodes of a large page that neither boilerplate nor anything on the way to them hides: go through the
 * elements below one once, until so many characters were found or the time is over.
 */
export function beginningWithout(root: Element, mostCharacters: number): string[] {
  const texts: string[] = [];
  const page = block(root, NO, 0);
  const open = [page];
  const blocks: Block[] = [];
  let current = page;
  let link: Node | null = null;
  let left = mostCharacters;
  const end = performance.now() + LONGEST_MS;

  /** Note an element or a text; return whether to go into it. */
  const enter = (node: Node): boolean => {
    if (node instanceof Text) {
      const text = node.substringData(0, left);
      left -= text.length + 1;
      const letters = lettersOf(text);
      if (letters === 0) return false;
      texts.push(text);
      current.letters += letters;
      if (link !== null) current.linkLetters += letters;
      return false;
    }
    if (!(node instanceof Element) || isSilent(node)) return false;
    const tag = localNameOf(node);
    if (tag === "a") {
      current.links += 1;
      link ??= node;
    } else if (CONTENT.has(tag)) current.holdsContent = true;
    else if (BLOCKS.has(tag) || tag.includes("-")) {
      current = block(node, namedBoilerplate(node, tag), texts.length);
      open.push(current);
      blocks.push(current);
    }
    return true;
  };
  const leave = (node: Node): void => {
    if (node === link) link = null;
    if (node !== current.element || node === root) return;
    const closed = current;
    open.pop();
    current = open.at(-1)!;
    close(closed, current, texts.length);
  };

  let node: Node | null = root;
  let goesIn = true;
  for (let count = 1; node !== null && left > 0; count += 1) {
    let next: Node | null = goesIn ? firstChildOf(node) : null;
    while (next === null && node !== null && node !== root) {
      leave(node);
      next = nextSiblingOf(node);
      if (next === null) node = parentOf(node);
    }
    node = next;
    if (node !== null) goesIn = enter(node);
    if (count % NODES_BETWEEN_LOOKS === 0 && performance.now() > end) break;
  }
  while (open.length > 1) close(open.pop()!, open.at(-1)!, texts.length);
  return outside(leftOut(blocks, page.letters), texts);
}

/** The texts that are in none of the blocks, which are in order and not within one another. */
function outside(blocks: readonly Block[], texts: readonly string[]): string[] {
  const starts = [0, ...blocks.map(({ end }) => end)];
  const ends = [...blocks.map(({ first }) => first), texts.length];
  return starts.flatMap((start, place) => texts.slice(start, ends[place]));
}

function block(element: Element, boilerplate: number, first: number): Block {
  return { element, boilerplate, first, end: first, letters: 0, linkLetters: 0, links: 0, holdsContent: false };
}

function close(closed: Block, parent: Block, end: number): void {
  closed.end = end;
  parent.letters += closed.letters;
  if (localNameOf(closed.element) !== "nav") {
    parent.linkLetters += closed.linkLetters;
    parent.links += closed.links;
  }
  parent.holdsContent ||= closed.holdsContent;
}

function leftOut(blocks: readonly Block[], letters: number): Block[] {
  let end = 0;
  return blocks.filter((one) => {
    const isMenu = areShortLinks(one) && BLOCKS.has(localNameOf(one.element));
    const boilerplate = Math.max(one.boilerplate, isMenu ? LIKELY : NO);
    if (boilerplate === NO || one.holdsContent || one.letters === 0 || one.first < end) return false;
    if (boilerplate === LIKELY && isMost(one.letters, letters)) return false;
    end = one.end;
    return true;
  });
}

/** Whether an element is boilerplate by its tag, its role, or a word of its id, its class or its own name. */
function namedBoilerplate(element: Element, tag: string): number {
  if (!BLOCKS.has(tag) && !tag.includes("-")) return NO;
  const role = attribute(element, "role").toLowerCase();
  if (tag === "nav" || tag === "dialog" || CERTAIN_ROLES.has(role)) return CERTAIN;
  const ofPage = (tag === "header" || tag === "footer") && isOfWholePage(element);
  if (ofPage && tag === "footer") return CERTAIN;
  const names = `${attribute(element, "id")} ${attribute(element, "class")} ${tag.includes("-") ? tag : ""}`;
  // Not `Math.max(...)`: a page may give an element more classes than a function takes arguments.
  const found = names.split(/\s+/).reduce((most, name) => Math.max(most, byName(name)), NO);
  return ofPage || tag === "aside" || LIKELY_ROLES.has(role) ? Math.max(found, LIKELY) : found;
}

function byName(name: string): number {
  const found = (name.match(WORD) ?? []).map((word) => word.toLowerCase());
  const hasOf = (listed: ReadonlySet<string>) => found.some((word) => listed.has(word));
  if (hasOf(DESCRIBING)) return NO;
  if (hasOf(CERTAIN_NAMES)) return CERTAIN;
  const ofWidget = (word: string) => NAMES_OF_WIDGETS.has(word) || PARTS_OF_WIDGETS.has(word);
  return hasOf(LIKELY_NAMES) || (hasOf(NAMES_OF_WIDGETS) && found.every(ofWidget)) ? LIKELY : NO;
}

function isOfWholePage(element: Element): boolean {
  const parent = parentOf(element);
  return parent === null || closest(parent, SECTIONS) === null;
}

function isSilent(element: Element): boolean {
  if (SILENT.has(localNameOf(element)) || hasAttribute(element, "hidden")) return true;
  return HIDDEN_STYLE.test(attribute(element, "style"));
}

/** Of a very long text, spaces count, too: looking for them would take longer than all else. */
const lettersOf = (text: string): number => (text.length > LONG_TEXT ? text.length : text.replace(/\s+/g, "").length);

function words(listed: string): ReadonlySet<string> {
  return new Set(listed.split(" "));
}
