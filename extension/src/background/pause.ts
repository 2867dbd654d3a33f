/** Ends a pause when its time is over: by an alarm, or when the worker starts and finds that it is over. */

import { browser } from "../browser";
import { isResting } from "../settings";
import { changeAndApply } from "./apply_settings";
import { PAUSE_ALARM } from "./pause_alarm";
import { settings } from "./settings_store";

export function listenToPauseAlarm(): void {
  browser.alarms.onAlarm.addListener(({ name }) => {
    if (name === PAUSE_ALARM) void endPauseIfOver();
  });
}

/** The alarm may have gone off while the browser was closed, or for a pause that was changed since. */
export async function endPauseIfOver(): Promise<void> {
  const choices = await settings();
  if (choices.pausedUntil > 0 && !isResting(choices)) await changeAndApply({ pausedUntil: 0 });
}
