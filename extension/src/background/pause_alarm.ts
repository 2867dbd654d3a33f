/** The alarm that wakes the worker when a pause is over. */

import { browser } from "../browser";
import { isResting } from "../settings";
import { settings } from "./settings_store";

export const PAUSE_ALARM = "pause";

/** Set the alarm while EITR rests, and clear it otherwise: browsers may forget alarms when they are closed. */
export async function syncPauseAlarm(): Promise<void> {
  const choices = await settings();
  if (isResting(choices)) await browser.alarms.create(PAUSE_ALARM, { when: choices.pausedUntil });
  else await browser.alarms.clear(PAUSE_ALARM);
}
