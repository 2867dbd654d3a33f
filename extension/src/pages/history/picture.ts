/** The numbers of the picture, counted from visits. A visit is one page that was seen once. */

import { TOPICS } from "../../core/taxonomy";
import { dayOf, daysLater } from "../../day";
import type { Visit } from "../../messages";

/** A company, and on how many pages about each topic it was present. */
export interface CompanyRow {
  company: string;
  categories: string[];
  pages: number;
  byTopic: number[];
}

/** A site, and what was seen there. */
export interface SiteRow {
  site: string;
  pages: number;
  byTopic: number[];
  companies: number;
  lastDay: string;
}

/** A day, or a week that begins with it, and on how many pages about each topic anybody was present. */
export interface Period {
  day: string;
  byTopic: number[];
}

/** At most so many days are shown one by one, and at least so many are shown at all. */
const MOST_SINGLE_DAYS = 35;
const LEAST_DAYS = 14;

const noPages = () => TOPICS.map(() => 0);
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Who was present on most pages comes first; of equals, who knows more topics. */
export function companyRows(visits: readonly Visit[]): CompanyRow[] {
  const rows = new Map<string, { categories: Set<string>; byTopic: number[] }>();
  for (const { topic, companies } of visits) {
    const counted = new Set<string>();
    for (const { company, category } of companies) {
      const row = rows.get(company) ?? { categories: new Set(), byTopic: noPages() };
      rows.set(company, row);
      row.categories.add(category);
      if (!counted.has(company)) row.byTopic[topic]! += 1;
      counted.add(company);
    }
  }
  const topics = ({ byTopic }: CompanyRow) => byTopic.filter((pages) => pages > 0).length;
  return [...rows]
    .map(([company, { categories, byTopic }]) => ({
      company,
      categories: [...categories].sort(),
      pages: sum(byTopic),
      byTopic,
    }))
    .sort((a, b) => b.pages - a.pages || topics(b) - topics(a) || a.company.localeCompare(b.company));
}

/** The sites with most pages come first. */
export function siteRows(visits: readonly Visit[]): SiteRow[] {
  const rows = new Map<string, { byTopic: number[]; companies: Set<string>; lastDay: string }>();
  for (const { site, topic, companies, day } of visits) {
    const row = rows.get(site) ?? { byTopic: noPages(), companies: new Set(), lastDay: day };
    rows.set(site, row);
    row.byTopic[topic]! += 1;
    for (const { company } of companies) row.companies.add(company);
    if (day > row.lastDay) row.lastDay = day;
  }
  return [...rows]
    .map(([site, { byTopic, companies, lastDay }]) => ({
      site,
      pages: sum(byTopic),
      byTopic,
      companies: companies.size,
      lastDay,
    }))
    .sort((a, b) => b.pages - a.pages || a.site.localeCompare(b.site));
}

/** The visits behind a part of the matrix. */
export function behind(visits: readonly Visit[], company: string, topic: number): Visit[] {
  return visits.filter((visit) => visit.topic === topic && visit.companies.some((one) => one.company === company));
}

/**
 * All days from the first visit until now, or until the last visit where the clock was wrong; weeks, which begin on
 * Monday, if that would be too many.
 */
export function periods(visits: readonly Visit[], now: number): { weeks: boolean; periods: Period[] } {
  const today = dayOf(now);
  let [first, last] = [daysLater(today, 1 - LEAST_DAYS), today];
  for (const { day } of visits) {
    if (day < first) first = day;
    if (day > last) last = day;
  }
  const weeks = first <= daysLater(last, -MOST_SINGLE_DAYS);
  const firstOf = (day: string) => (weeks ? daysLater(day, -((new Date(day).getUTCDay() + 6) % 7)) : day);
  const found = new Map<string, number[]>();
  for (let day = firstOf(first); day <= last; day = daysLater(day, weeks ? 7 : 1)) found.set(day, noPages());
  for (const { day, topic } of visits) {
    const byTopic = found.get(firstOf(day));
    if (byTopic !== undefined) byTopic[topic]! += 1;
  }
  return { weeks, periods: [...found].map(([day, byTopic]) => ({ day, byTopic })) };
}

/** A table for spreadsheets: one line for each company on each page. */
export function asCsv(visits: readonly Visit[]): string {
  const lines = visits.flatMap(({ day, site, topic, companies }, number) =>
    companies.map(({ company, category }) => [number + 1, day, site, TOPICS[topic]!.name, company, category]),
  );
  return [["page", "day", "site", "topic", "company", "category"], ...lines].map(csvLine).join("");
}

function csvLine(fields: readonly (string | number)[]): string {
  // A spreadsheet takes a text that begins like a formula for one.
  const safe = (text: string) => text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""');
  return `${fields.map((field) => (typeof field === "number" ? field : `"${safe(field)}"`)).join(",")}\r\n`;
}
