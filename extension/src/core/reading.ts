/** What a page says to a model, as docs/page-to-prediction.md, section 3, specifies. */

import { type Segment, segmentsOf, withoutBoilerplate } from "./boilerplate";
import { isHomograph, languageOf } from "./language";
import { content, MAX_CHARACTERS, type Page } from "./page";
import { normalised, withoutStopWords, wordsOf } from "./tokens";

export interface Reading {
  /** One of en, de, es, fr, it and pt; or "other", "foreign" or "unknown". */
  readonly language: string;
  readonly tokens: string[];
}

/** The language of a page and the tokens of all its content. */
export function readWhole(page: Page): Reading {
  const words = wordsOf(bounded(content(page)));
  return { language: languageOf(words), tokens: withoutStopWords(words) };
}

/** The language of a page and its tokens, without boilerplate and words that are English only by accident. */
export function readBody(page: Page): Reading {
  const head = wordsOf(bounded([page.title, page.description, page.keywords].join("\n")));
  const segments = segmentsOf(bounded(page.text));
  const headTokens = withoutStopWords(head);
  const body = withoutBoilerplate(headTokens, segments);
  const [whole, outside] = [allWords(head, segments), allWords(head, body)];
  let language = languageOf(whole);
  // Pages in any language can have a menu and a cookie banner in English.
  if (language === "en" && outside.length > 0 && outside.length < whole.length) language = languageOf(outside);
  const found = [...headTokens, ...body.flatMap(({ tokens }) => tokens)];
  return { language, tokens: found.filter((word) => !isHomograph(word, language)) };
}

/** A text in normal form, of limited length: one character can become eighteen (U+FDFA). */
function bounded(text: string): string {
  return normalised(text).slice(0, MAX_CHARACTERS);
}

function allWords(head: readonly string[], segments: readonly Segment[]): string[] {
  return [...head, ...segments.flatMap(({ words }) => words)];
}
