/** What a failure at the server means: what people are told, and how long to wait before the server is asked again. */

import { PlanRefused } from "../../core/training_plan";
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

/** The key of the sentence that says what went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof TryLater) return "learning_unreachable";
  if (error instanceof Refused && error.slug === "invitation-needed") return "learning_invitation_needed";
  if (error instanceof Refused && error.slug === "round-closed") return "learning_round_closed";
  if (error instanceof Refused && error.slug === "update-needed") return "learning_update_needed";
  if (error instanceof Refused) return "learning_refused";
  if (error instanceof PlanRefused) return error.reason === "method" ? "learning_update_needed" : "learning_asks_more";
  return "learning_not_understood";
}
