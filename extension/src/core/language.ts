/**
 * The language of a text, told by its function words, as docs/page-to-prediction.md, section 3, specifies; cases in
 * `tests/golden/language.json`.
 */

import functionWordList from "../../../src/eitr/assets/function_words.txt";
import homographList from "../../../src/eitr/assets/homographs.txt";

/** So many function words of a language must occur in a text of that language. */
const LEAST_FOUND = 2;
/** One word in so many must be a function word of the language, at least. */
const USUAL = 12;
/** Menus and lists of products have fewer: one word in so many, ... */
const SPARSE = 30;
/** ... if there are so many times as many as of any other language. */
const AHEAD = 3;
/** A text of so many words in which no language is found is in another language, a shorter one in an unknown one. */
const LONG = 60;
/** A word that begins after this and outside the next range, which Vietnamese needs, is in another script. */
const LAST_LATIN = 0x36f;
const LATIN_AGAIN = [0x1e00, 0x1eff] as const;
const NOT_ASCII = /[^a-z]/;

/** The words of each language in a file with one line per language. */
function lines(text: string): [language: string, words: string[]][] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [language = "", words = ""] = line.split(": ");
      return [language, words.split(" ")];
    });
}

const FUNCTION_WORDS = lines(functionWordList);
const HOMOGRAPHS = new Map(lines(homographList).map(([language, words]) => [language, new Set(words)]));
const IN_ANY = HOMOGRAPHS.get("any");

/** For each function word, the places of the languages that have it. */
const TABLES = new Map<string, number[]>();
for (const [place, [, words]] of FUNCTION_WORDS.entries())
  for (const word of words) TABLES.set(word, [...(TABLES.get(word) ?? []), place]);

const OTHER = FUNCTION_WORDS.findIndex(([language]) => language === "other");

/**
 * One of en, de, es, fr, it and pt; "other"; "foreign", not English and too short to tell which; or "unknown". The words
 * of a text include its stop words.
 */
export function languageOf(words: readonly string[]): string {
  const counts = FUNCTION_WORDS.map(() => 0);
  for (const word of words)
    for (const place of TABLES.get(word) ?? (isOfOtherScript(word) ? [OTHER] : []))
      counts[place] = (counts[place] ?? 0) + 1;
  const [most = 0, second = 0] = counts.slice(0, OTHER + 1).sort((a, b) => b - a);
  const related = Math.max(...counts.slice(OTHER + 1));
  if (related > most && related >= LEAST_FOUND && related * USUAL >= words.length) return "other";
  const usual = most > second && most * USUAL >= words.length;
  const sparse = most >= second * AHEAD && most * SPARSE >= words.length;
  if (most >= LEAST_FOUND && (usual || sparse)) return FUNCTION_WORDS[counts.indexOf(most)]?.[0] ?? "unknown";
  if (words.length >= LONG) return "other";
  const accented = words.filter((word) => NOT_ASCII.test(word)).length;
  const others = Math.max(most, related);
  return Math.max(accented, others >= LEAST_FOUND ? others : 0) > (counts[0] ?? 0) ? "foreign" : "unknown";
}

/** Whether a word of a text in this language is an English word by accident ("nun", "sin") and says nothing. */
export function isHomograph(word: string, language: string): boolean {
  const own = language === "any" ? undefined : HOMOGRAPHS.get(language);
  return own !== undefined && (own.has(word) || IN_ANY?.has(word) === true);
}

function isOfOtherScript(word: string): boolean {
  const first = word.charCodeAt(0);
  return first > LAST_LATIN && !(first >= LATIN_AGAIN[0] && first <= LATIN_AGAIN[1]);
}
