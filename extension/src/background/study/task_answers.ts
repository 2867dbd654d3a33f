/**
 * What the person did with tasks, and what the server was told of it. An answer is stored before it is sent, and listed
 * as sent before its first byte leaves. A worker that is killed at any point sends the same answer again, and the
 * server takes it once.
 */

import type { TaskEnd } from "../../core/study";
import type { SentAnswer } from "../../messages";
import { read, write } from "../database";

export interface TaskAnswer {
  server: string;
  task: number;
  /** The number that the person saw: "Task 7". */
  number: number;
  /** That a task was opened and how it ended are told apart, so that neither replaces the other. */
  step: "opened" | "ended";
  state: "opened" | TaskEnd;
  /** The class, only if it is to be sent. */
  label?: number;
  time: number;
  /** `waiting`: nothing was sent yet. `unknown`: sent, but no answer has come. */
  outcome: "waiting" | "unknown" | "taken" | "refused";
  /** The person left the study before an answer came: it is not sent again. */
  dropped?: true;
}

export type Outcome = TaskAnswer["outcome"];

/** All answers, the oldest first. */
export async function taskAnswers(): Promise<TaskAnswer[]> {
  const all = await read<TaskAnswer[]>("answers", (store) => store.getAll());
  return all.sort((one, other) => one.time - other.time);
}

/** What the server was told, the latest first. */
export async function sentAnswers(): Promise<SentAnswer[]> {
  return (await taskAnswers()).reverse().flatMap(({ time, server, number, state, label, outcome }) =>
    // What waits was never sent.
    outcome === "waiting" ? [] : [{ time, server, number, state, label: label ?? null, outcome }],
  );
}

/** The answer to a task; not one of a study that the person left, which may have had a task of the same number. */
export async function answerTo(
  server: string,
  task: number,
  step: TaskAnswer["step"],
): Promise<TaskAnswer | undefined> {
  const answer = await read<TaskAnswer | undefined>("answers", (store) => store.get([server, task, step]));
  return answer?.dropped === true ? undefined : answer;
}

export function storeAnswer(answer: TaskAnswer): Promise<void> {
  return write(["answers"], (of) => of("answers").put(answer));
}

/**
 * Record what became of an answer, unless the person has given another one meanwhile, or withdrawn. `without`: the
 * class is not to be sent.
 */
export async function settleAnswer(sent: TaskAnswer, outcome: Outcome, without = false): Promise<void> {
  await write(["answers"], (of) => {
    const request = of("answers").get([sent.server, sent.task, sent.step]);
    request.onsuccess = () => {
      const present = request.result as TaskAnswer | undefined;
      if (present === undefined || present.time !== sent.time || present.state !== sent.state) return;
      const { label, ...rest } = present;
      const kept = without || label === undefined ? rest : { ...rest, label };
      of("answers").put({ ...kept, outcome } satisfies TaskAnswer);
    };
  });
}
