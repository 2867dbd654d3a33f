/** Who tracks people on the page, in one line that unfolds, and what is done about it. */

import { NON_SENSITIVE } from "../../core/taxonomy";
import { language, say } from "../../localise";
import type { PopupView, ThirdParty } from "../../messages";
import { byId, newElement } from "../shared/page";

export function showTrackers(view: PopupView): void {
  const { state, trackers, others, remembered, shown, study } = view;
  byId("trackers", HTMLElement).hidden = (state !== "ready" && state !== "waiting") || study?.here != null;
  const companies = Map.groupBy(trackers, ({ company }) => company);
  const unfolds = companies.size > 0 || others.length > 0;
  byId("no-trackers", HTMLElement).hidden = unfolds;
  byId("who", HTMLElement).hidden = !unfolds;
  put("tracker-count", count("popup_trackers", companies.size));
  byId("companies", HTMLElement).replaceChildren(
    ...[...companies].map(([company, parties]) => entry(company, parties, view.blocking.companies.includes(company))),
  );
  put("others", others.length === 0 ? "" : say("popup_others", others.join(", ")));
  byId("next-visit", HTMLElement).hidden = !remembered || !isSensitive(shown);
  showBlocking(view, companies.size);
}

/** A company with what it does. */
function entry(company: string, parties: ThirdParty[], blocked: boolean): HTMLElement {
  const line = newElement("li", `${company} `);
  const categories = new Set(parties.map(({ category }) => say(`category_${category.replaceAll("-", "_")}`)));
  line.append(newElement("span", [...categories].join(", "), "faint"));
  if (blocked) line.append(newElement("span", say("popup_blocked_tag"), "tag"));
  return line;
}

/** The switch is shown where blocking is at stake: on sensitive pages, and on sites that were allowed. */
function showBlocking({ blocking, shown, state }: PopupView, trackers: number): void {
  const { on, siteAllowed, active, blocked } = blocking;
  const concerned = on && state === "ready" && (active || siteAllowed || isSensitive(shown));
  byId("blocking", HTMLElement).hidden = !concerned;
  byId("block-on", HTMLInputElement).checked = !siteAllowed;
  byId("allow", HTMLElement).hidden = !(concerned && active && !siteAllowed);
  put("blocked", explanation());

  function explanation(): string {
    if (state !== "ready") return "";
    if (!on) return isSensitive(shown) ? say("popup_block_off") : "";
    if (!concerned) return trackers > 0 && shown !== null ? say("popup_block_elsewhere") : "";
    if (siteAllowed) return say("popup_block_allowed");
    // Only the person, or what was learned from them, says that the page is sensitive.
    return active ? count("popup_blocked", blocked) : say("popup_block_corrected");
  }
}

function isSensitive(topic: number | null): boolean {
  return topic !== null && topic !== NON_SENSITIVE;
}

/** The sentence for none, for one, or for many. */
function count(key: "popup_trackers" | "popup_blocked", many: number): string {
  return say([`${key}_none`, `${key}_one`][many] ?? key, new Intl.NumberFormat(language()).format(many));
}

/** Nothing is drawn again that did not change: a screen reader would read it again. */
function put(id: string, text: string): void {
  const element = byId(id, HTMLElement);
  if (element.textContent !== text) element.textContent = text;
}
