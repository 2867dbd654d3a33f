/** The question whether to take part at the server whose invitation page lies below the popup. */

import { browser } from "../../browser";
import { askToCollect } from "../../data_collection";
import { say } from "../../localise";
import { ask, type Offer } from "../../messages";
import { byId, showStatus, when } from "../shared/page";

let offer: Offer | null = null;

/** Ask the worker whether a tab shows an invitation, and put the question. */
export async function offerToJoin(tab: number): Promise<void> {
  offer = (await ask("offer", { tab })).offer;
  byId("join", HTMLElement).hidden = offer === null;
  if (offer === null) return;
  byId("join-question", HTMLElement).textContent = say("join_question", offer.server);
  const before = offer.before === "" ? "" : say("join_before", offer.before);
  byId("join-before", HTMLElement).textContent = before;
}

/** `joined` is called when the server is known from now on. */
export function listenToJoin(joined: () => Promise<void>): void {
  when("join-yes", "click", async () => {
    if (offer === null) return;
    const { server, invitation } = offer;
    // Firefox asks the person itself, and only in answer to a click.
    if (!(await askToCollect())) return showStatus(say("problem_collection"), true);
    const { settings, studyNote } = await ask("join", { server, invitation });
    close();
    if (settings.classifying && settings.studies) {
      if (studyNote !== "") showStatus(say(studyNote), true);
      return joined();
    }
    await browser.tabs.create({ url: browser.runtime.getURL("pages/welcome/welcome.html") });
  });
  when("join-no", "click", async () => close());
}

function close(): void {
  offer = null;
  byId("join", HTMLElement).hidden = true;
  // The button that was pressed is gone.
  byId("status", HTMLElement).focus();
}
