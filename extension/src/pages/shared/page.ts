/** What every page needs: its texts, its elements, and a place to say how things went. */

import { language, say } from "../../localise";
import { Problem } from "../../messages";

/** Put the texts of `_locales` where the page asks for them: `data-say`, and `data-say-ATTRIBUTE` for attributes. */
export function putTexts(): void {
  document.documentElement.lang = language();
  for (const element of document.querySelectorAll<HTMLElement>("[data-say]"))
    element.textContent = say(element.dataset["say"]!);
  for (const attribute of ["aria-label", "placeholder", "alt"]) {
    for (const element of document.querySelectorAll(`[data-say-${attribute}]`)) {
      element.setAttribute(attribute, say(element.getAttribute(`data-say-${attribute}`)!));
    }
  }
}

/** The element with this id, of this kind; a page without it is a mistake of ours. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} with the id ${id}`);
  return found;
}

/** A new element with a text, and a class if one is given. */
export function newElement<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  name = "",
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name !== "") element.className = name;
  return element;
}

/** Say how something went, where screen readers hear it. */
export function showStatus(text: string, problem = false): void {
  const status = byId("status", HTMLElement);
  status.textContent = text;
  status.classList.toggle("problem", problem);
}

/** Do something and say so if it fails. */
export async function showingProblems(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    showStatus(say(error instanceof Problem ? error.message : "problem_failed"), true);
    if (!(error instanceof Problem)) console.error(error);
  }
}

/** Call when an element is pressed, changed or sent off. */
export function when(id: string, event: "click" | "change" | "input" | "toggle", work: () => Promise<void>): void {
  byId(id, HTMLElement).addEventListener(event, () => void showingProblems(work));
}

export function percent(share: number): string {
  return new Intl.NumberFormat(language(), { style: "percent", maximumFractionDigits: 0 }).format(share);
}

export function dateAndTime(time: number): string {
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(time);
}
