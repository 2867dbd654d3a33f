/** How long to wait after a failure before the server is asked again. */

import { Refused, TryLater } from "./server";

const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 6 * 3600_000;

/** Twice as long after each failure in a row, and at least as long as the server asks for; in milliseconds. */
export function waitAfter(failures: number, error: unknown): number {
  const asked = error instanceof TryLater || error instanceof Refused ? error.seconds * 1000 : 0;
  // Not all at the same moment, when a server comes back.
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
  return Math.max(wait, asked);
}
