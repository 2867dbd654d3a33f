/** How classes look on our pages. */

import { TOPICS } from "../../core/taxonomy";
import { topicTitle } from "../../localise";
import { newElement } from "./page";

/** The letter of a class on its colour; a dash for pages that are not sensitive. */
export function letterOf(topic: number): HTMLElement {
  const { letter, colour } = TOPICS[topic]!;
  const element = newElement("span", letter || "–", "letter");
  element.style.setProperty("--topic", colour);
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** A question mark in place of a letter: the class is not known. */
export function unknownLetter(): HTMLElement {
  const element = newElement("span", "?", "letter");
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Fill a drop-down with all classes. */
export function offerTopics(select: HTMLSelectElement): void {
  for (const topic of TOPICS.keys()) select.append(new Option(topicTitle(topic), String(topic)));
}
