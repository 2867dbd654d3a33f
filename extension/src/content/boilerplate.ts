/**
 * Which elements hold navigation, banners and legal notices rather than what the page is about. `eitr.pages.structure`
 * has the same rules for Python.
 */

import { attribute, closest, contains, elements, linksIn, parentOf, textContent } from "./dom";

/** An element that holds one of these is not boilerplate, whatever it is called. */
const CONTENT = "h1, main, article";
const MOST_CONTENT = 1000;
const MOST_FOUND = 300;

const ELEMENTS = new Set(["aside", "dialog", "nav"]);
/** They belong to the whole page, unless they stand in a section of it. */
const LANDMARKS = new Set(["footer", "header"]);
const SECTIONS = "article, aside, main, nav, section";
const ROLES = new Set("alertdialog banner complementary contentinfo dialog menu menubar navigation search".split(" "));
const NAMED = new Set(["div", "footer", "form", "header", "ol", "section", "ul"]);
const NAMES = new Set(
  "banner breadcrumb breadcrumbs consent cookie cookies footer gdpr menu nav navbar navigation sidebar".split(" "),
);
/** They name boilerplate beside such words only: `social-links` does, `social-services` does not. */
const NAMES_OF_WIDGETS = new Set(["newsletter", "share", "sharing", "social"]);
const PARTS_OF_WIDGETS = new Set(
  "bar block box button buttons container follow form icon icons link links list media section signup widget".split(
    " ",
  ),
);
/** A name with one of these says what an element has: `page-with-sidebar`. */
const DESCRIBING = new Set(["has", "no", "not", "with", "without"]);
/**
 * What these rules may apply to. The browser finds it much faster than scripts do, which run in a page for the first
 * time: so it looks for parts of names, and only what it finds is looked at more closely.
 */
const PARTS = "banner breadcrumb consent cookie footer gdpr menu nav newsletter shar sidebar social".split(" ");
const CANDIDATES = [
  "aside,dialog,nav,footer,header,ol,ul,[role]",
  `:is(div,form,section):is(${PARTS.map((part) => `[class*=${part}],[id*=${part}]`).join()})`,
].join();

/** A list of at least so many links, so short on average, that have so much of its letters, is a menu. */
const MIN_LINKS = 5;
const MAX_LINK_LETTERS = 25;
const MIN_LINK_SHARE = 0.8;
/** Lists of more characters than this, all together, are not looked at: a list within lists is read once for each. */
const MOST_LIST_CHARACTERS = 200_000;

/** The elements that are boilerplate, but for those within another, in document order; not more than some hundreds. */
export function boilerplateElements(): Element[] {
  const isNamed = namedBoilerplate();
  const found: Element[] = [];
  let left = MOST_LIST_CHARACTERS;
  let last: Element | null = null;
  for (const element of elements(CANDIDATES)) {
    // In document order, what an element holds comes right after it.
    if (last !== null && contains(last, element)) continue;
    if (!isNamed(element)) {
      if (left <= 0 || (element.localName !== "ul" && element.localName !== "ol")) continue;
      const links = linksIn(element);
      if (links.length < MIN_LINKS) continue;
      const text = textContent(element);
      left -= text.length;
      if (!isMenu(links, text)) continue;
    }
    found.push(element);
    last = element;
    if (found.length === MOST_FOUND) break;
  }
  return found;
}

/** A test whether an element is boilerplate by its tag, its role, or a word of its id or class. */
export function namedBoilerplate(): (element: Element) => boolean {
  const holders = withAncestors(elements(CONTENT), MOST_CONTENT);
  return (element) => hasName(element) && !holders.has(element);
}

/** So many of the elements, and all that they stand in. */
function withAncestors(all: Iterable<Element>, most: number): Set<Element> {
  const found = new Set<Element>();
  let count = 0;
  for (const one of all) {
    if (count++ >= most) break;
    for (let element: Element | null = one; element !== null && !found.has(element); element = parentOf(element))
      found.add(element);
  }
  return found;
}

function hasName(element: Element): boolean {
  const tag = element.localName;
  if (ELEMENTS.has(tag)) return true;
  if (LANDMARKS.has(tag) && isOfWholePage(element)) return true;
  if (ROLES.has(attribute(element, "role").toLowerCase())) return true;
  if (!NAMED.has(tag)) return false;
  return `${attribute(element, "id")} ${attribute(element, "class")}`.split(/\s+/).some(namesBoilerplate);
}

function namesBoilerplate(name: string): boolean {
  const words = name.split(/[^a-z]+/).filter((word) => word !== "");
  if (words.some((word) => DESCRIBING.has(word))) return false;
  if (words.some((word) => NAMES.has(word))) return true;
  const ofWidget = (word: string) => NAMES_OF_WIDGETS.has(word) || PARTS_OF_WIDGETS.has(word);
  return words.some((word) => NAMES_OF_WIDGETS.has(word)) && words.every(ofWidget);
}

function isOfWholePage(element: Element): boolean {
  const parent = parentOf(element);
  return parent === null || closest(parent, SECTIONS) === null;
}

function isMenu(links: HTMLCollectionOf<Element>, text: string): boolean {
  let letters = 0;
  for (const link of links) letters += lettersOf(textContent(link));
  return letters <= MAX_LINK_LETTERS * links.length && letters >= MIN_LINK_SHARE * lettersOf(text);
}

const lettersOf = (text: string): number => text.replace(/\s+/g, "").length;
