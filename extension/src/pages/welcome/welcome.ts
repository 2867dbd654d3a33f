/**
 * The first page: three questions, each with its own box, none of them ticked. Until they are answered nothing happens.
 * Whoever was not invited sees one of them: EITR needs no server.
 */

import { BadInput } from "../../core/bad_input";
import { askToCollect } from "../../data_collection";
import { type Invitation, readJoinLink } from "../../join_link";
import { say } from "../../localise";
import { ask, Problem } from "../../messages";
import type { Settings } from "../../settings";
import { byId, putTexts, showingProblems, showStatus, when } from "../shared/page";

const box = (id: string) => byId(id, HTMLInputElement);

putTexts();
void showingProblems(showChoices).finally(() => {
  // Not before: what the worker answers would overwrite what the person has ticked in the meantime.
  byId("choices", HTMLFieldSetElement).disabled = false;
  byId("save", HTMLButtonElement).disabled = false;
});

when("link", "change", async () => {
  const text = box("link").value.trim();
  if (text === "") return;
  const { server, invitation } = linked(text);
  box("server").value = server;
  box("invitation").value = invitation;
  showStatus(say("welcome_linked", server));
});

when("save", "click", async () => {
  const [classifying, contributing, studies] = ["classifying", "contributing", "studies"].map((id) => box(id).checked);
  if ((contributing || studies) && !(await askToCollect())) return showStatus(say("problem_collection"), true);
  const { settings } = await ask("consent", {
    classifying: classifying!,
    contributing: contributing!,
    studies: studies!,
    server: box("server").value,
    invitation: box("invitation").value,
  });
  showStatus(say(savedText(settings)));
});

/** What happens from now on, and where to look. */
function savedText({ classifying, studies, invitation }: Settings): string {
  if (!classifying) return "welcome_saved_nothing";
  return studies && invitation !== "" ? "welcome_saved_study" : "welcome_saved";
}

/** Who comes back sees what they chose. The first time, that is nothing. */
async function showChoices(): Promise<void> {
  const { settings } = await ask("options", {});
  box("classifying").checked = settings.classifying;
  box("contributing").checked = settings.contributing;
  box("studies").checked = settings.studies;
  box("server").value = settings.server;
  box("invitation").value = settings.invitation;
  byId("invited", HTMLDetailsElement).open = settings.server !== "" || settings.contributing || settings.studies;
}

function linked(text: string): Invitation {
  try {
    return readJoinLink(text);
  } catch (error) {
    throw error instanceof BadInput ? new Problem(error.message) : error;
  }
}
