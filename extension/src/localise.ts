/** The words people read, from `_locales`. */

import { browser } from "./browser";
import { TOPICS } from "./core/taxonomy";

/** The sentence with this key; the key itself where there is none, so that a gap is seen. */
export function say(key: string, ...substitutions: string[]): string {
  return browser.i18n.getMessage(key, substitutions) || key;
}

export function topicTitle(topic: number): string {
  return say(`topic_${keyOf(topic)}`);
}

/** Completes the sentence "This page is about ...". */
export function aboutTopic(topic: number): string {
  return say(`about_${keyOf(topic)}`);
}

/** Completes the sentence "Very likely about ...", in a word or two. */
export function topicInShort(topic: number): string {
  return say(`brief_${keyOf(topic)}`);
}

/** The language of the sentences, which need not be the browser's. */
export function language(): string {
  return say("language");
}

/** A time of today, as on a clock. */
export function timeOfDay(time: number): string {
  return new Intl.DateTimeFormat(language(), { timeStyle: "short" }).format(time);
}

function keyOf(topic: number): string {
  return TOPICS[topic]!.name.replaceAll("-", "_");
}
