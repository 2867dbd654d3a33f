/** The news about a round in the words of `_locales`. */

import { language, say } from "../../localise";
import { type News, newsSentences } from "../../news";

export function newsText(news: News): string {
  const number = new Intl.NumberFormat(language());
  return newsSentences(news)
    .map(([key, ...gaps]) => say(key, ...gaps.map((gap) => number.format(gap))))
    .join(" ");
}
