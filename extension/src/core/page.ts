/** What is left of a web page once its markup is gone: four strings (docs/page-to-prediction.md, section 2). */

import { BadInput } from "./bad_input";

export interface Page {
  title: string;
  description: string;
  keywords: string;
  text: string;
}

/** In the order in which they are joined; the order is part of the protocol. */
const FIELDS = ["title", "description", "keywords", "text"] as const;

/**
 * How much of a page is read, in UTF-16 units, all fields together. A page may be as long as it likes, and time grows
 * with it: 20 MB of text would keep the worker busy for a second. No article is longer than this.
 */
export const MAX_CHARACTERS = 1_000_000;

/** What is split into tokens: all four fields, empty ones too, joined by line feeds. */
export function content(page: Page): string {
  return FIELDS.map((field) => page[field]).join("\n");
}

/**
 * Check what a content script sent. It speaks for a page that may be hostile, so nothing about the message is taken on
 * trust; an absent or null field is empty, and what is beyond MAX_CHARACTERS is cut off, the last fields first.
 */
export function readPage(value: unknown): Page {
  if (typeof value !== "object" || value === null) throw new BadInput("A page must be an object.");
  let left = MAX_CHARACTERS;
  const read = (field: (typeof FIELDS)[number]): string => {
    const found = own(value, field) ?? "";
    if (typeof found !== "string") throw new BadInput(`The ${field} of a page must be a string.`);
    const kept = found.slice(0, left);
    left -= kept.length;
    return kept;
  };
  // One after the other, because each takes from what is left for the next.
  const [title, description, keywords, text] = [read("title"), read("description"), read("keywords"), read("text")];
  return { title, description, keywords, text };
}

function own(value: object, field: string): unknown {
  return Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined;
}
