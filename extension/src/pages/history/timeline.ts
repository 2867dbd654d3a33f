/** When companies were present: for each topic a row of small bars, and the same as a table. */

import { TOPICS } from "../../core/taxonomy";
import { say, topicTitle } from "../../localise";
import { byId, newElement } from "../shared/page";
import { letterOf } from "../shared/topics";
import type { Period } from "./picture";
import { dayText, pagesText } from "./words";

export function showTimeline({ weeks, periods }: { weeks: boolean; periods: Period[] }, topics: number[]): void {
  const seen = topics
    .map((topic) => ({ topic, pages: periods.map(({ byTopic }) => byTopic[topic]!) }))
    .filter(({ pages }) => Math.max(...pages) > 0);
  const most = Math.max(...seen.flatMap(({ pages }) => pages));
  const name = ({ day }: Period) => (weeks ? say("history_week", dayText(day)) : dayText(day));
  byId("timeline-title", HTMLElement).textContent = say(weeks ? "history_by_week" : "history_by_day");
  const picture = byId("timeline", HTMLElement);
  const totals = seen.map(({ topic, pages }) => `${topicTitle(topic)}: ${pagesText(total(pages))}`);
  picture.setAttribute("aria-label", say("history_timeline", totals.join(", ")));
  picture.replaceChildren(
    ...seen.flatMap(({ topic, pages }) => {
      const label = newElement("span", "", "label");
      const words = newElement("span", topicTitle(topic));
      words.append(newElement("span", pagesText(total(pages)), "faint"));
      label.append(letterOf(topic), words);
      const bars = newElement("span", "", "bars");
      bars.style.setProperty("--topic", TOPICS[topic]!.colour);
      bars.append(...pages.map((count, place) => bar(count, most, `${name(periods[place]!)}: ${pagesText(count)}`)));
      return [label, bars];
    }),
    axis(periods),
  );
  showTable(seen, periods.map(name));
}

function bar(count: number, most: number, title: string): HTMLElement {
  const place = newElement("span");
  place.title = title;
  if (count === 0) return place;
  const full = newElement("span", "", "bar");
  full.style.setProperty("--height", `${(100 * count) / most}%`);
  if (count === most) full.append(newElement("span", String(count)));
  place.append(full);
  return place;
}

/** The first and the last day, below the bars. */
function axis(periods: Period[]): HTMLElement {
  const line = newElement("span", "", "axis faint");
  const style = { day: "numeric", month: "short" } as const;
  line.append(...[periods[0]!, periods.at(-1)!].map(({ day }) => newElement("span", dayText(day, style))));
  return line;
}

function showTable(seen: { topic: number; pages: number[] }[], names: string[]): void {
  const table = byId("periods", HTMLTableElement);
  const head = newElement("tr");
  head.append(newElement("td"), ...seen.map(({ topic }) => newElement("th", topicTitle(topic))));
  for (const one of head.querySelectorAll("th")) one.scope = "col";
  const lines = names.map((name, place) => {
    const line = newElement("tr");
    const first = newElement("th", name);
    first.scope = "row";
    line.append(first, ...seen.map(({ pages }) => newElement("td", String(pages[place]))));
    return line;
  });
  table.tHead!.replaceChildren(head);
  // Days without pages would only make it long.
  table.tBodies[0]!.replaceChildren(...lines.filter((_, place) => seen.some(({ pages }) => pages[place]! > 0)));
}

function total(pages: readonly number[]): number {
  return pages.reduce((sum, one) => sum + one, 0);
}
