/**
 * The first page: three questions, each with its own box, none of them ticked. Until they are answered nothing happens.
 */

import { askToCollect } from "../../data_collection";
import { say } from "../../localise";
import { ask } from "../../messages";
import { byId, putTexts, showingProblems, showStatus, when } from "../shared/page";

const box = (id: string) => byId(id, HTMLInputElement);

putTexts();
void showingProblems(showChoices).finally(() => {
  // Not before: what the worker answers would overwrite what the person has ticked in the meantime.
  byId("choices", HTMLFieldSetElement).disabled = false;
  byId("save", HTMLButtonElement).disabled = false;
});

when("contributing", "change", async () => {
  byId("where", HTMLElement).hidden = !box("contributing").checked;
});

when("save", "click", async () => {
  const [classifying, contributing, studies] = ["classifying", "contributing", "studies"].map((id) => box(id).checked);
  if (contributing && !(await askToCollect())) return showStatus(say("problem_collection"), true);
  await ask("consent", {
    classifying: classifying!,
    contributing: contributing!,
    studies: studies!,
    server: box("server").value,
    invitation: box("invitation").value,
  });
  showStatus(say(classifying ? "welcome_saved" : "welcome_saved_nothing"));
});

/** Who comes back sees what they chose. The first time, that is nothing. */
async function showChoices(): Promise<void> {
  const { settings } = await ask("options", {});
  box("classifying").checked = settings.classifying;
  box("contributing").checked = settings.contributing;
  box("studies").checked = settings.studies;
  box("server").value = settings.server;
  box("invitation").value = settings.invitation;
  byId("where", HTMLElement).hidden = !settings.contributing;
}
