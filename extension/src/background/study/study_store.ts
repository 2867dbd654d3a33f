/** The study that the person takes part in, as the server described it last; kept on the disk, and cached. */

import type { Study, Task } from "../../core/study";
import { readKept, write } from "../database";
import { settings } from "../settings_store";
import type { TaskAnswer } from "./task_answers";
import { endReports } from "./term_reports";

export interface KnownStudy {
  server: string;
  study: Study;
  tasks: Task[];
}

const KEY = "study";
/** Where a study ended for us: nothing is asked there any more until the person joins anew. */
const LEFT = "study left";

let held: Promise<KnownStudy | undefined> | null = null;

/** The study, if there is one at the server in use and the person wants studies. */
export async function knownStudy(): Promise<KnownStudy | undefined> {
  const { studies, server } = await settings();
  if (!studies || server === "") return undefined;
  held ??= readKept<KnownStudy>(KEY).catch((error: unknown) => {
    held = null;
    throw error;
  });
  const known = await held;
  return known?.server === server ? known : undefined;
}

export async function storeStudy(known: KnownStudy): Promise<void> {
  await write(["kept"], (of) => {
    of("kept").put(known, KEY);
    of("kept").delete(LEFT);
  });
  held = Promise.resolve(known);
}

/**
 * Forget the study and the answers that were never sent, and send none again. `left`: the server says that it has ended
 * for us.
 */
export async function dropStudy(left: string | null = null): Promise<void> {
  await write(["kept", "answers"], (of) => {
    of("kept").delete(KEY);
    if (left === null) of("kept").delete(LEFT);
    else of("kept").put(left, LEFT);
    endReports(of("kept"));
    const cursor = of("answers").openCursor();
    cursor.onsuccess = () => {
      const found = cursor.result;
      if (found === null) return;
      const answer = found.value as TaskAnswer;
      if (answer.outcome === "waiting") found.delete();
      else if (answer.dropped !== true) found.update({ ...answer, dropped: true } satisfies TaskAnswer);
      found.continue();
    };
  });
  held = Promise.resolve(undefined);
}

/** The server at which the study ended for us, if one did since the person last joined. */
export function leftServer(): Promise<string | undefined> {
  return readKept<string>(LEFT);
}

/** Forget what is held, after the database was deleted. */
export function forgetStudy(): void {
  held = null;
}
