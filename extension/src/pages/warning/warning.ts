/**
 * The page that stands before a site or a page known as sensitive and tracked. Somebody may look over the person's
 * shoulder: what the page is about is said only if they ask, and is neither in the title nor in the address. Where the person wanted to go is in the fragment,
 * put there by the browser's rule; the worker says whether it may be trusted, and only an address that the worker gave
 * back is ever opened.
 */

import { browser } from "../../browser";
import { aboutTopic, say } from "../../localise";
import { ask, type Quiet, type WarningView } from "../../messages";
import { byId, newElement, putTexts, showingProblems, when } from "../shared/page";
import { letterOf } from "../shared/topics";

const MOST_COMPANIES = 8;
/** How long the browser may take to begin to leave this page. */
const LEAVING_MS = 1500;
const wanted = location.hash.slice(1);
/** Whether the browser's rule was passed by, and the worker led here. */
const late = location.search === "?late";

putTexts();
void showingProblems(async () => {
  const { view } = await ask("warning", { target: wanted });
  if (view !== null) return show(view);
  byId("unknown", HTMLElement).hidden = false;
});

addEventListener("hashchange", () => location.reload());

when("back", "click", async () => {
  // If late, the page that this one stands before is the last in the tab's history.
  const steps = late ? 2 : 1;
  if (history.length > steps && (await leaves(() => history.go(-steps)))) return;
  // There was nothing to go back to.
  const tab = await browser.tabs.getCurrent();
  if (tab?.id !== undefined) await browser.tabs.remove(tab.id);
});
when("continue", "click", goOn);

/** Say whether the browser begins to leave this page; the page that it goes to may take as long as it likes. */
function leaves(go: () => void): Promise<boolean> {
  return new Promise((decide) => {
    addEventListener("beforeunload", () => decide(true), { once: true });
    setTimeout(() => decide(false), LEAVING_MS);
    go();
  });
}

/** Where this page was shown for: meanwhile the host may be forgotten, from another tab, and nothing is in the way. */
let given = "";

async function goOn(): Promise<void> {
  const quiet = byId("quiet", HTMLSelectElement).value as Quiet;
  try {
    location.replace((await ask("continue", { target: wanted, quiet })).target);
  } catch (error) {
    if (given === "") throw error;
    location.replace(given);
  }
}

function show({ target, host, topic, companies, blocks }: WarningView): void {
  given = target;
  byId("host", HTMLElement).textContent = host;
  const key = companies.length === 1 ? "warning_followed_one" : "warning_followed";
  byId("followed", HTMLElement).textContent = say(key, String(companies.length));
  const named = companies.slice(0, MOST_COMPANIES).map((company) => newElement("li", company));
  const more = companies.length - named.length;
  if (more > 0) named.push(newElement("li", say("warning_more", String(more))));
  byId("companies", HTMLElement).replaceChildren(...named);
  byId("left", HTMLElement).textContent = say(late ? "warning_begun" : "warning_nothing_left");
  byId("address", HTMLElement).textContent = say("warning_address", target);
  byId("blocks", HTMLElement).hidden = !blocks;
  when("why", "click", async () => {
    const about = byId("about", HTMLElement);
    about.hidden = !about.hidden;
    if (about.hidden) about.replaceChildren();
    else about.append(letterOf(topic), newElement("span", say("warning_about", aboutTopic(topic))));
    byId("why", HTMLElement).setAttribute("aria-expanded", String(!about.hidden));
  });
  for (const id of ["known", "continue", "quieter", "address"]) byId(id, HTMLElement).hidden = false;
  byId("back", HTMLElement).focus();
}
