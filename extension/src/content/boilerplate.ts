/**
 * Which elements hold navigation, banners and legal notices rather than what the page is about. `eitr.pages.structure`
 * has the same rules for Python.
 */

import { attribute, closest, contains, elements, linksIn, parentOf, textContent } from "./dom";

/** An element that holds one of these is not boilerplate, whatever it is called. */
const CONTENT = "h1, main, article";
const MOST_CONTENT = 1000;

const ELEMENTS = new Set(["aside", "dialog", "nav"]);
/** They belong to the whole page, unless they stand in a section of it. */
const LANDMARKS = new Set(["footer", "header"]);
const SECTIONS = "article, aside, main, nav, section";
const ROLES = new Set("alertdialog banner complementary contentinfo dialog menu menubar navigation search".split(" "));
const NAMED = new Set(["div", "footer", "form", "header", "ol", "section", "ul"]);
const NAME =
  /(?:^|[^a-z])(?:banner|breadcrumbs?|consent|cookies?|footer|gdpr|menu|nav|navbar|navigation|newsletter|share|sharing|sidebar|social)(?:$|[^a-z])/i;
/** All that these rules may apply to. */
const CANDIDATES =
  "aside,dialog,nav,footer,header,[role],ol,ul,div[id],div[class],form[id],form[class],section[id],section[class]";

/** A list of at least so many links, so short on average, that have so much of its letters, is a menu. */
const MIN_LINKS = 5;
const MAX_LINK_LETTERS = 25;
const MIN_LINK_SHARE = 0.8;
/** Lists of more characters than this, all together, are not looked at: a list within lists is read once for each. */
const MOST_LIST_CHARACTERS = 200_000;

/** All elements that are boilerplate, but for those within another. */
export function boilerplateElements(): Set<Element> {
  const isNamed = namedBoilerplate();
  const found = new Set<Element>();
  let left = MOST_LIST_CHARACTERS;
  let last: Element | null = null;
  for (const element of elements(CANDIDATES)) {
    // In document order, what an element holds comes right after it.
    if (last !== null && contains(last, element)) continue;
    if (!isNamed(element)) {
      if (left <= 0 || (element.localName !== "ul" && element.localName !== "ol")) continue;
      const text = textContent(element);
      left -= text.length;
      if (!isMenu(element, lettersOf(text))) continue;
    }
    found.add(element);
    last = element;
  }
  return found;
}

/** A test whether an element is boilerplate by its tag, its role, or a word of its id or class. */
export function namedBoilerplate(): (element: Element) => boolean {
  const holders = withAncestors(elements(CONTENT), MOST_CONTENT);
  return (element) => hasName(element) && !holders.has(element);
}

/** So many of the elements, and all that they stand in. */
export function withAncestors(all: Iterable<Element>, most = Number.POSITIVE_INFINITY): Set<Element> {
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
  if (ROLES.has(attribute(element, "role").trim().toLowerCase())) return true;
  return NAMED.has(tag) && NAME.test(`${attribute(element, "id")} ${attribute(element, "class")}`);
}

function isOfWholePage(element: Element): boolean {
  const parent = parentOf(element);
  return parent === null || closest(parent, SECTIONS) === null;
}

function isMenu(list: Element, letters: number): boolean {
  const links = [...linksIn(list)];
  if (links.length < MIN_LINKS) return false;
  const linkLetters = links.reduce((sum, link) => sum + lettersOf(textContent(link)), 0);
  return linkLetters <= MAX_LINK_LETTERS * links.length && linkLetters >= MIN_LINK_SHARE * letters;
}

const lettersOf = (text: string): number => text.replace(/\s+/g, "").length;
