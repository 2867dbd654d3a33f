/** Handles what our pages ask about studies. Their contents are checked nevertheless. */

import { browser } from "../../browser";
import { BadInput } from "../../core/bad_input";
import type { TaskEnd } from "../../core/study";
import { type Invitation, readCode, readJoinLink } from "../../join_link";
import { type Offer, Problem } from "../../messages";
import { readServer } from "../../settings";
import { changeAndApply } from "../apply_settings";
import { currentDocument } from "../documents";
import { useInvitation } from "../learning/participant";
import { settings } from "../settings_store";
import { allowTab } from "../warnings";
import { dropStudy, knownStudy } from "./study_store";
import { syncStudy } from "./study_sync";
import { answerTo, storeAnswer, type TaskAnswer } from "./task_answers";
import { type ShownTask, stateOf, tabOpens, taskOfTab } from "./task_pages";

/** The invitation that the page in a tab is, by its address; null if it is none, or if the person has it already. */
export async function offerIn(tab: number): Promise<Offer | null> {
  const address = await addressOf(tab);
  const { server: before, invitation: known, asked } = await settings();
  try {
    const offer = readJoinLink(address);
    if (offer.server === before && offer.invitation === known) return null;
    return { ...offer, before: asked === 0 || before === offer.server ? "" : before };
  } catch (error) {
    if (error instanceof BadInput) return null;
    throw error;
  }
}

/** The address in a tab, fragment included; empty if there is no such tab. */
async function addressOf(tab: number): Promise<string> {
  try {
    return (await browser.tabs.get(tab)).url ?? "";
  } catch {
    return "";
  }
}

/** Use a server and a code from now on. The person was shown both, and said yes. */
export async function join(wish: { server: unknown; invitation: unknown }): Promise<void> {
  const { server, invitation } = checked(wish);
  await useInvitation(server, invitation);
  await dropStudy();
  await changeAndApply({ server, invitation });
  await syncStudy(true);
}

function checked({ server, invitation }: { server: unknown; invitation: unknown }): Invitation {
  try {
    return { server: readServer(String(server)), invitation: readCode(invitation) };
  } catch (error) {
    throw error instanceof BadInput ? new Problem(error.message) : error;
  }
}

/** Show the page of a task: in the tab below the popup if that shows a task, else in a new one. */
export async function openTask(task: number, from: number): Promise<void> {
  const known = await knownStudy();
  const found = known?.tasks.find(({ id }) => id === task);
  if (known === undefined || !found?.url || !known.study.open) throw new Problem("problem_task_gone");
  const shown = await taskOfTab(from, currentDocument(from));
  if ((await stateOf(known.server, found)) === "open") {
    const number = known.tasks.indexOf(found) + 1;
    await noteOpened({ server: known.server, task, number, step: "opened", state: "opened" });
  }
  await allowTab(shown === null ? null : from);
  if (shown !== null) {
    await tabOpens(from, task);
    await browser.tabs.update(from, { url: found.url });
  } else {
    const { id } = await browser.tabs.create({ url: found.url });
    if (id !== undefined) await tabOpens(id, task);
  }
  void syncStudy(false);
}

async function noteOpened(opened: Omit<TaskAnswer, "time" | "outcome">): Promise<void> {
  if ((await answerTo(opened.server, opened.task, "opened")) !== undefined) return;
  await storeAnswer({ ...opened, time: Date.now(), outcome: "waiting" });
}

/** End the task that a tab shows without a class. */
export async function endTask(task: number, tab: number, state: Exclude<TaskEnd, "labelled">): Promise<void> {
  const shown = await taskOfTab(tab, currentDocument(tab));
  if (shown === null || shown.task.id !== task || shown.state !== "open") throw new Problem("problem_task_gone");
  await storeAnswer(answerOf(shown, state));
  void syncStudy(false);
}

/** The person's answer to a task; with a class only if the server may have it. */
export function answerOf(shown: ShownTask, state: TaskEnd, label?: number): TaskAnswer {
  const { server, study, task, number } = shown;
  const sends = state === "labelled" && label !== undefined && study.collect;
  const said = { server, task: task.id, number, step: "ended" as const, state, ...(sends ? { label } : {}) };
  return { ...said, time: Date.now(), outcome: "waiting" };
}
