/** What our pages are told about the study. */

import type { StudyView } from "../../messages";
import type { SeenDocument } from "../documents";
import { settings } from "../settings_store";
import { knownStudy } from "./study_store";
import { stateOf, taskOfTab } from "./task_pages";

/** The study with the task that a tab shows, if any; null if there is no study. */
export async function studyView(tab: number, seen: SeenDocument | undefined): Promise<StudyView | null> {
  const known = await knownStudy();
  if (known === undefined) return null;
  const { server, study, tasks } = known;
  const here = await taskOfTab(tab, seen);
  const states = await Promise.all(tasks.map((task) => stateOf(server, task)));
  // After the task that is shown, then from the beginning.
  const places = [...tasks.keys()];
  const order = here === null ? places : [...places.slice(here.number), ...places.slice(0, here.number - 1)];
  const next = study.open ? order.find((place) => states[place] === "open") : undefined;
  return {
    title: study.title,
    open: study.open,
    tasks: tasks.length,
    ended: states.filter((state) => state !== "open").length,
    here: here && { id: here.task.id, number: here.number, state: here.state },
    next: next === undefined ? null : { id: tasks[next]!.id, number: next + 1 },
    collect: study.collect,
    terms: study.terms,
    uses: study.usesPerPage,
    allLayers: (await settings()).allLayers,
    completionCode: study.completionCode,
    page: server + study.page,
  };
}
