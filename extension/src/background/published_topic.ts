/**
 * What the published model says of a page. Everything that a site could notice follows this and never the person's
 * labels or what was learned from them in this browser: a hostile page could find those out otherwise.
 */

import { answerOf } from "../core/answer";
import { NON_SENSITIVE } from "../core/taxonomy";
import type { Settings } from "../settings";
import type { SeenDocument } from "./documents";

/** The topic of a page; not sensitive, too, where the model cannot tell; null if the page was not read yet. */
export function publishedTopic({ published }: SeenDocument, { threshold }: Settings): number | null {
  if (published === null) return null;
  return answerOf(published.probabilities, published.language, published.knownWords, threshold).topic ?? NON_SENSITIVE;
}
