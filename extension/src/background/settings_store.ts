/** The settings, read from the database once and then cached: only the worker changes them. */

import { readSettings, type Settings } from "../settings";
import { readKept, writeKept } from "./database";

let held: Promise<Settings> | null = null;

export function settings(): Promise<Settings> {
  held ??= readKept("settings").then(
    (value) => readSettings(value),
    // Without a database nothing is known, not even consent: then everything is off.
    () => {
      held = null;
      return readSettings(undefined);
    },
  );
  return held;
}

/** New values, or a function that computes them from the present settings. */
export type Change = Partial<Settings> | ((before: Readonly<Settings>) => Partial<Settings>);

let queue: Promise<unknown> = Promise.resolve();

/** Return the settings before and after. One change after the other: each starts from what the last has left. */
export function changeSettings(change: Change): Promise<[before: Settings, after: Settings]> {
  const turn = queue.then(async (): Promise<[Settings, Settings]> => {
    const before = await settings();
    const after = readSettings(typeof change === "function" ? change(before) : change, before);
    await writeKept("settings", after);
    held = Promise.resolve(after);
    return [before, after];
  });
  queue = turn.catch(() => undefined);
  return turn;
}

/** Forget what is held, after the database was deleted. */
export function forgetSettings(): void {
  held = null;
}
