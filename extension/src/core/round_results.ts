/** What a server says became of the rounds we sent to (docs/http-protocol.md, section 4). */

import { BadInput } from "./bad_input";
import { asObject, member, wholeNumber } from "./json";

/** The end of a round. `rolled-back`: it was published, but the current version does not build on it. */
export type RoundResult =
  | { readonly outcome: "published" | "rolled-back"; readonly version: number }
  | { readonly outcome: "not-published" };

/** Read the results by round. Rounds that have not ended, and outcomes that are not known here, are left out. */
export function readRoundResults(value: unknown): Map<number, RoundResult> {
  const rounds = member(asObject(value, "The server's answer"), "rounds");
  if (!Array.isArray(rounds)) throw new BadInput("The rounds that the server names must be a list.");
  const results = new Map<number, RoundResult>();
  for (const entry of rounds) {
    const told = asObject(entry, "A round that the server names");
    const counted = (name: string) =>
      wholeNumber(member(told, name), 1, Number.MAX_SAFE_INTEGER, `The ${name} that the server names`);
    const outcome = member(told, "outcome");
    if (outcome === "not-published") results.set(counted("round"), { outcome });
    else if (outcome === "published" || outcome === "rolled-back")
      results.set(counted("round"), { outcome, version: counted("version") });
  }
  return results;
}
