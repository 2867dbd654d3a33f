/** From a page to its four strings (docs/page-to-prediction.md, section 1). */

import type { Page } from "../core/page";
import { attribute, elements, root } from "./dom";
import { visibleText } from "./visible_text";

const LONGEST_FIELD = 10_000;
const MOST_ELEMENTS = 500;

export function extract(): Page {
  const meta = metaFields();
  return {
    title: merged(title(), meta.get("og:title") ?? ""),
    description: merged(meta.get("description") ?? "", meta.get("og:description") ?? ""),
    keywords: meta.get("keywords") ?? "",
    text: visibleText(),
  };
}

/** The first `<title>` that is not empty and not in a drawing, where it is a tooltip. */
export function title(): string {
  for (const element of first(elements("title"))) {
    const text = element.namespaceURI === root()?.namespaceURI ? collapsed(element.textContent) : "";
    if (text !== "") return text;
  }
  return "";
}

/** The first non-empty content under each name, in lower case. */
function metaFields(): Map<string, string> {
  const fields = new Map<string, string>();
  for (const element of first(elements("meta[content]"))) {
    const content = collapsed(attribute(element, "content"));
    if (content === "") continue;
    const names = `${attribute(element, "name")} ${attribute(element, "property")}`.slice(0, LONGEST_FIELD);
    for (const name of names.toLowerCase().split(/\s+/))
      if (name !== "" && !fields.has(name)) fields.set(name, content);
  }
  return fields;
}

/** If one of two texts holds the other, the longer; else both, the second on a line of its own. */
function merged(one: string, other: string): string {
  if (one.includes(other)) return one;
  return other.includes(one) ? other : `${one}\n${other}`;
}

function collapsed(text: string | null): string {
  return (text ?? "").slice(0, LONGEST_FIELD).replace(/\s+/g, " ").trim();
}

function* first(all: Iterable<Element>): Generator<Element> {
  let count = 0;
  for (const element of all) {
    if (count++ >= MOST_ELEMENTS) return;
    yield element;
  }
}
