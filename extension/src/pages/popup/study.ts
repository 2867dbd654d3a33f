/** The study in the popup: which task this is, and the ways to go on. */

import { say } from "../../localise";
import type { PopupView, StudyView } from "../../messages";
import { byId } from "../shared/page";
import { limitText, placeText, termsText } from "../shared/study_text";

const BUTTONS = ["task-open", "task-next", "task-skip", "task-broken"] as const;

export function showStudy(view: PopupView): void {
  const { study } = view;
  const shown = study !== null && view.state !== "no-consent";
  byId("study-left", HTMLElement).hidden = !view.studyLeft || study !== null;
  byId("study", HTMLElement).hidden = !shown;
  if (!shown) return;
  const { here, next } = study;
  put("study-title", study.title);
  put("study-place", placeText(study));
  put("study-hint", hint(view, study));
  const visible = new Set<string>();
  if (next !== null) visible.add(here === null ? "task-open" : "task-next");
  if (here?.state === "open") visible.add("task-skip").add("task-broken");
  // Before there is an answer, answering is the main thing to do.
  byId("task-next", HTMLElement).classList.toggle("main", here !== null && here.state !== "open");
  for (const id of BUTTONS) byId(id, HTMLElement).hidden = !visible.has(id);
  byId("study-buttons", HTMLElement).hidden = visible.size === 0;
  showEnd(study);
  const goesOn = here !== null || next !== null;
  put("study-answers", goesOn ? say(study.collect ? "study_sent" : "study_kept") : "");
  put("study-terms", termsText(study));
  put("study-limit", limitText(study));
  byId("study-more", HTMLElement).hidden = !goesOn;
}

function showEnd({ completionCode, page }: StudyView): void {
  byId("study-end", HTMLElement).hidden = completionCode === null;
  put("study-code", completionCode ?? "");
  const link = byId("study-page", HTMLAnchorElement);
  link.href = page;
}

function hint({ state, hidden }: PopupView, { here, next, open, completionCode }: StudyView): string {
  if (!open) return "";
  if (here === null) {
    if (next !== null) return say("study_hint_begin");
    return completionCode === null ? say("study_hint_code_later") : "";
  }
  if (here.state === "labelled") return say("study_hint_answered");
  if (here.state === "skipped") return say("study_hint_skipped");
  if (here.state === "broken") return say("study_hint_broken");
  if (state !== "ready") return say("study_hint_unread");
  // Where the prediction is shown, the question below it says what to do.
  return hidden ? say("study_hint_hidden") : "";
}

/** Nothing is drawn again that did not change: a screen reader would read it again. */
function put(id: string, text: string): void {
  const element = byId(id, HTMLElement);
  if (element.textContent !== text) element.textContent = text;
}
