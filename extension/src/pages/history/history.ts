/** Which companies were present on sensitive pages, by topic and time. */

import { NON_SENSITIVE, TOPICS } from "../../core/taxonomy";
import { language, say, topicTitle } from "../../localise";
import { ask, type HistoryView } from "../../messages";
import { saveAsFile } from "../shared/download";
import { byId, newElement, percent, putTexts, showingProblems, showStatus, when } from "../shared/page";
import { letterOf } from "../shared/topics";
import { asCsv, behind, type CompanyRow, companyRows, periods, type SiteRow, siteRows } from "./picture";
import { showTimeline } from "./timeline";
import { dayText, pagesText } from "./words";

const SENSITIVE = [...TOPICS.keys()].filter((topic) => topic !== NON_SENSITIVE);
const DAYS = [7, 30, 90, 180, 365];
/** So many are shown at first; the others on demand. */
const FIRST_COMPANIES = 12;
const FIRST_SITES = 8;
/** How many shades a cell can have. */
const SHADES = 5;

const element = (id: string) => byId(id, HTMLElement);
const number = (value: number) => new Intl.NumberFormat(language()).format(value);

let view: HistoryView;
/** What the open dialog is about. */
let cell = { company: "", topic: NON_SENSITIVE };

putTexts();
for (const [topic, column] of [...document.querySelectorAll<SVGElement>(".sketch g")].entries()) {
  column.style.setProperty("--topic", TOPICS[topic]!.colour);
  column.querySelector("text")!.textContent = TOPICS[topic]!.letter;
}
void refresh();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh();
});

when("start", "click", async () => {
  show(await ask("set-history", { on: true }));
  showStatus(say("history_started"));
  // The button that was pressed is gone.
  element("status").focus();
});
when("on", "change", async () => {
  const { checked: on } = byId("on", HTMLInputElement);
  show(await ask("set-history", { on }));
  showStatus(say(on ? "history_started" : "options_saved"));
  // Switching off is one thing, deleting another.
  element("stopped").hidden = on || view.visits.length === 0;
});
when("stop-keep", "click", async () => hide("stopped", "on"));
when("stop-delete", "click", () => forget({}));
when("days", "change", async () => {
  show(await ask("set-history", { days: Number(byId("days", HTMLSelectElement).value) }));
  showStatus(say("options_saved"));
});
when("json", "click", async () => {
  const { days, visits } = view;
  const data = { format: "eitr-history", version: 1, created: new Date().toISOString(), days, visits };
  saveAsFile(fileName("json"), JSON.stringify(data, null, 2));
});
when("csv", "click", async () => saveAsFile(fileName("csv"), asCsv(view.visits), "text/csv"));
when("delete-all", "click", async () => {
  element("sure").hidden = false;
  element("keep").focus();
});
when("keep", "click", async () => hide("sure", "delete-all"));
when("delete-sure", "click", () => forget({}));
when("cell-close", "click", async () => byId("cell", HTMLDialogElement).close());
when("cell-delete", "click", () => forget(cell));
for (const what of ["companies", "sites"]) {
  when(`show-${what}`, "click", async () => {
    const more = element(`more-${what}`);
    more.hidden = !more.hidden;
    showFold(what);
  });
}

async function refresh(): Promise<void> {
  await showingProblems(async () => show(await ask("history", {})));
}

function fileName(ending: string): string {
  return `eitr-history-${new Date().toISOString().slice(0, 10)}.${ending}`;
}

function hide(id: string, next: string): void {
  element(id).hidden = true;
  element(next).focus();
}

/** Delete, and go where whoever pressed a button that is gone now is not lost. */
async function forget(which: { company?: string; topic?: number; site?: string }): Promise<void> {
  show(await ask("forget-visits", which));
  for (const id of ["stopped", "sure"]) element(id).hidden = true;
  byId("cell", HTMLDialogElement).close();
  showStatus(say("history_deleted"));
  element("status").focus();
}

function show(told: HistoryView): void {
  view = told;
  const { reading, on, days, visits } = told;
  const empty = visits.length === 0;
  element("not-reading").hidden = reading || !on;
  element("empty").hidden = !empty;
  element("picture").hidden = empty;
  element("keeping").hidden = empty && !on;
  element("with-visits").hidden = empty;
  element("start-line").hidden = on;
  element("empty-title").textContent = say(on ? "history_empty" : "history_off");
  element("empty-about").textContent = say(on ? "history_empty_about" : "history_off_about");
  byId("on", HTMLInputElement).checked = on;
  showDays(days);
  if (empty) return;
  const [companies, sites] = [companyRows(visits), siteRows(visits)];
  const [first] = companies;
  element("most").textContent = say("history_most", first!.company, percent(first!.pages / visits.length));
  element("total-pages").textContent = number(visits.length);
  element("total-companies").textContent = number(companies.length);
  element("total-sites").textContent = number(sites.length);
  showMatrix(companies);
  showTimeline(periods(visits, Date.now()), SENSITIVE);
  fill("sites", sites.map(siteLine), FIRST_SITES);
}

function showDays(days: number): void {
  const offered = DAYS.includes(days) ? DAYS : [...DAYS, days].sort((one, other) => one - other);
  const select = byId("days", HTMLSelectElement);
  select.replaceChildren(...offered.map((some) => new Option(say("history_days_value", number(some)), String(some))));
  select.value = String(days);
}

function showMatrix(rows: CompanyRow[]): void {
  const most = Math.max(...rows.flatMap(({ byTopic }) => byTopic));
  const head = newElement("tr");
  head.append(newElement("th", say("history_company")), ...SENSITIVE.map(topicHead));
  for (const one of head.children) one.setAttribute("scope", "col");
  element("matrix").querySelector("thead")!.replaceChildren(head);
  fill(
    "companies",
    rows.map((row) => companyLine(row, most)),
    FIRST_COMPANIES,
  );
}

function topicHead(topic: number): HTMLElement {
  const head = newElement("th");
  head.append(letterOf(topic), newElement("span", topicTitle(topic)));
  return head;
}

function companyLine({ company, categories, pages, byTopic }: CompanyRow, most: number): HTMLElement {
  const line = newElement("tr");
  const head = newElement("th", company);
  head.scope = "row";
  const kinds = categories.map((category) => say(`category_${category.replaceAll("-", "_")}`)).join(", ");
  head.append(newElement("span", `${pagesText(pages)} · ${kinds}`, "faint"));
  line.append(head, ...SENSITIVE.map((topic) => matrixCell(company, topic, byTopic[topic]!, most)));
  return line;
}

function matrixCell(company: string, topic: number, pages: number, most: number): HTMLElement {
  const place = newElement("td");
  if (pages === 0) {
    place.append(newElement("span", "0", "none"));
    return place;
  }
  // The root, because one large number would make all others pale.
  const button = newElement("button", number(pages), `shade${Math.ceil(SHADES * Math.sqrt(pages / most))}`);
  button.style.setProperty("--topic", TOPICS[topic]!.colour);
  button.setAttribute("aria-label", say("history_cell", company, topicTitle(topic), pagesText(pages)));
  button.setAttribute("aria-haspopup", "dialog");
  button.addEventListener("click", () => openCell(company, topic));
  place.append(button);
  return place;
}

function openCell(company: string, topic: number): void {
  cell = { company, topic };
  const found = behind(view.visits, company, topic);
  element("cell-title").replaceChildren(letterOf(topic), `${company}: ${topicTitle(topic)}`);
  element("cell-about").textContent = say("history_cell_about", company, pagesText(found.length));
  element("cell-sites").replaceChildren(...siteRows(found).map((row) => siteLine({ ...row, byTopic: [] })));
  byId("cell", HTMLDialogElement).showModal();
}

/** A site with a button that deletes everything about it. */
function siteLine({ site, pages, byTopic, lastDay }: SiteRow): HTMLElement {
  const line = newElement("li");
  const name = newElement("strong", site);
  const about = newElement("span", `${pagesText(pages)} · ${say("history_last", dayText(lastDay))}`, "faint");
  const letters = newElement("span", "", "letters");
  for (const topic of SENSITIVE) {
    if (!byTopic[topic]) continue;
    const letter = letterOf(topic);
    letter.removeAttribute("aria-hidden");
    letter.setAttribute("role", "img");
    letter.setAttribute("aria-label", topicTitle(topic));
    letters.append(letter);
  }
  const button = newElement("button", say("history_site_delete"));
  button.setAttribute("aria-label", say("history_site_delete_named", site));
  button.addEventListener("click", () => void showingProblems(() => forget({ site })));
  line.append(name, letters, about, button);
  return line;
}

/** Put the first lines where they are seen, and the others where they can be unfolded. */
function fill(what: string, lines: HTMLElement[], first: number): void {
  // One more line takes no more room than the button that would show it.
  const shown = lines.length === first + 1 ? lines.length : first;
  element(what).replaceChildren(...lines.slice(0, shown));
  element(`more-${what}`).replaceChildren(...lines.slice(shown));
  showFold(what);
}

function showFold(what: string): void {
  const more = element(`more-${what}`);
  const button = element(`show-${what}`);
  const count = more.children.length;
  button.hidden = count === 0;
  button.textContent = more.hidden ? say(`history_more_${what}`, number(count)) : say("history_fewer");
  button.setAttribute("aria-expanded", String(!more.hidden));
}
