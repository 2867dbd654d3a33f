/** What the popup says of the page: in words, and with figures only for who unfolds them. */

import { NON_SENSITIVE } from "../../core/taxonomy";
import { say, timeOfDay, topicInShort, topicTitle } from "../../localise";
import type { PopupView } from "../../messages";
import { byId, newElement, percent } from "../shared/page";
import { letterOf, unknownLetter } from "../shared/topics";

const VERY_LIKELY = 0.9;
const LIKELY = 0.7;
/** No model is ever quite sure. */
const MOST_SURE = 0.99;

export function showVerdict(view: PopupView): void {
  const { shown, state, hidden } = view;
  const letter = shown !== null ? [letterOf(shown)] : state === "ready" && !hidden ? [unknownLetter()] : [];
  byId("letter", HTMLElement).replaceChildren(...letter);
  byId("sentence", HTMLElement).textContent = sentence(view);
  byId("note", HTMLElement).textContent = note(view);
  showWhy(view);
}

/** The probability of the class, and the words that led to it. */
function showWhy(view: PopupView): void {
  const { verdict } = view;
  const told = verdict !== null && tellsChance(view, verdict.topic);
  byId("why", HTMLElement).hidden = !told || view.study?.here != null;
  if (!told) return;
  const chance = confidence(verdict.probabilities[verdict.topic]!);
  byId("sure", HTMLElement).textContent = say("popup_sure", topicTitle(verdict.topic), chance);
  byId("leading", HTMLElement).hidden = verdict.words.length === 0;
  byId("words", HTMLElement).replaceChildren(
    ...verdict.words.map(({ word, share }) => {
      const entry = newElement("li", `${word} `);
      entry.append(newElement("span", percent(share), "faint"));
      return entry;
    }),
  );
}

/**
 * Whether the most probable class is named with its probability: the model's answer, and a topic that is not probable
 * enough. Where EITR cannot tell, it never says "not sensitive".
 */
function tellsChance({ label, cannotTell }: PopupView, topic: number): boolean {
  if (label !== null) return false;
  return cannotTell === null || (cannotTell === "close" && topic !== NON_SENSITIVE);
}

function confidence(share: number): string {
  return share > MOST_SURE ? say("popup_over", percent(MOST_SURE)) : percent(share);
}

function sentence(view: PopupView): string {
  const { state, shown, label, verdict } = view;
  if (state === "no-consent") return say("popup_no_consent");
  if (state === "paused") return say("popup_paused", timeOfDay(view.pausedUntil));
  if (state === "not-a-page") return say("popup_not_a_page");
  if (state === "off") return say("popup_off");
  if (state === "waiting") return say("popup_waiting");
  if (shown === null) return say("popup_cannot_tell");
  if (label !== null)
    return label === NON_SENSITIVE ? say("popup_own_nothing") : say("popup_about", topicInShort(label));
  const share = verdict?.probabilities[shown] ?? 0;
  const likelihood = share >= VERY_LIKELY ? "very_likely" : share >= LIKELY ? "likely" : "possibly";
  if (shown === NON_SENSITIVE) return say(`popup_nothing_${likelihood}`);
  return say(`popup_about_${likelihood}`, topicInShort(shown));
}

/** What has to be known about the sentence above. */
function note({ state, shown, cannotTell, hidden }: PopupView): string {
  if (state === "paused") return say("popup_paused_about");
  if (state !== "ready" || hidden) return "";
  return shown === null ? say(`popup_cannot_tell_${cannotTell}`) : "";
}
