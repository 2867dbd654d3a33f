/** The settings, read once and then held: only the worker changes them. */

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

export async function changeSettings(change: Partial<Settings>): Promise<Settings> {
  const changed = readSettings(change, await settings());
  await writeKept("settings", changed);
  held = Promise.resolve(changed);
  return changed;
}

/** Forget what is held, after the database was deleted. */
export function forgetChoices(): void {
  held = null;
}
