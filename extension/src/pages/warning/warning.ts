/**
 * The page that stands before a site known as sensitive and tracked. Where the person wanted to go is in the fragment,
 * put there by the browser's rule; the worker says whether it may be trusted, and only an address that the worker gave
 * back is ever opened.
 */

import { browser } from "../../browser";
import { aboutTopic, say } from "../../localise";
import { ask, type WarningView } from "../../messages";
import { byId, made, putTexts, trying, when } from "../shared/page";
import { letterOf } from "../shared/topics";

const MOST_COMPANIES = 8;
const wanted = location.hash.slice(1);

putTexts();
void trying(async () => {
  const { view } = await ask("warning", { target: wanted });
  if (view === null) byId("unknown", HTMLElement).hidden = false;
  else show(view);
});

addEventListener("hashchange", () => location.reload());

when("back", "click", async () => {
  if (history.length > 1) return history.back();
  const tab = await browser.tabs.getCurrent();
  if (tab?.id !== undefined) await browser.tabs.remove(tab.id);
});
when("continue", "click", async () => location.replace((await ask("continue", { target: wanted })).target));
when("never", "click", async () => location.replace((await ask("never", { target: wanted })).target));

function show({ target, host, topic, companies }: WarningView): void {
  byId("letter", HTMLElement).replaceChildren(letterOf(topic));
  byId("host", HTMLElement).textContent = host;
  byId("about", HTMLElement).textContent = say("warning_about", aboutTopic(topic));
  const key = companies.length === 1 ? "warning_followed_one" : "warning_followed";
  byId("followed", HTMLElement).textContent = say(key, String(companies.length));
  const named = companies.slice(0, MOST_COMPANIES).map((company) => made("li", company));
  const more = companies.length - named.length;
  if (more > 0) named.push(made("li", say("warning_more", String(more))));
  byId("companies", HTMLElement).replaceChildren(...named);
  byId("address", HTMLElement).textContent = say("warning_address", target);
  for (const id of ["known", "continue", "never", "address"]) byId(id, HTMLElement).hidden = false;
  byId("back", HTMLElement).focus();
}
