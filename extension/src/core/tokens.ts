/** From text to words, as docs/page-to-prediction.md, section 3, specifies; cases in `tests/golden/tokens.json`. */

import stopWordList from "../../../src/eitr/assets/stopwords.txt";

const MIN_LENGTH = 2;
/** In code points. Longer runs are no words: identifiers, encoded data, scripts written without spaces. */
const MAX_LENGTH = 40;

const STOP_WORDS: ReadonlySet<string> = new Set(stopWordList.split("\n").filter(Boolean));

const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is meant by itself, not joined to the one before.
  /[\u{ad}\u{34f}\u{61c}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{fe00}-\u{fe0f}\u{feff}\u{e0100}-\u{e01ef}]/gu;
/** Cut to 64 marks: normalisation sorts them, which takes quadratic time. */
const TOO_MANY_MARKS = /([\p{M}\u{ff9e}\u{ff9f}]{64})[\p{M}\u{ff9e}\u{ff9f}]+/gu;
const WORD = /\p{L}[\p{L}\p{M}]*/gu;

/** The words of a text in their order, lower-case, without stop words. */
export function tokens(text: string): string[] {
  return withoutStopWords(wordsOf(normalised(text)));
}

/** The words of a text that is normalised already, stop words included. */
export function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).filter(hasLengthOfWord);
}

export function withoutStopWords(words: readonly string[]): string[] {
  return words.filter((word) => !STOP_WORDS.has(word));
}

/** A text as it is before it is split: lower-case, in normal form, without invisible characters. */
export function normalised(text: string): string {
  return (
    text
      // First of all: an invisible character between two halves of a pair must not join them by going away.
      .toWellFormed()
      .replace(INVISIBLE, "")
      .replace(TOO_MANY_MARKS, "$1")
      .normalize("NFKC")
      .toLowerCase()
      // Lower case can put marks out of order: once more.
      .normalize("NFKC")
      .replaceAll("ς", "σ")
  );
}

function hasLengthOfWord(word: string): boolean {
  if (word.length < MIN_LENGTH || word.length > 2 * MAX_LENGTH) return false;
  let length = 0;
  for (const _ of word) length += 1;
  return length >= MIN_LENGTH && length <= MAX_LENGTH;
}
