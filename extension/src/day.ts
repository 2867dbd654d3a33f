/** Calendar days, written as "2026-11-18". */

const DAY_MS = 86_400_000;

/** The day of a moment, where the person is. */
export function dayOf(time: number): string {
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

export function daysLater(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}
