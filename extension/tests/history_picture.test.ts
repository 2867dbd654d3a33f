import { expect, test } from "vitest";
import { dayOf, daysLater } from "../src/day";
import type { Visit } from "../src/messages";
import { asCsv, behind, companyRows, periods, siteRows } from "../src/pages/history/picture";

const GOOGLE = { company: "Google", category: "ad" };
const GOOGLE_TOO = { company: "Google", category: "analytics" };
const CRITEO = { company: "Criteo", category: "ad" };

function visit(day: string, site: string, topic: number, ...companies: Visit["companies"]): Visit {
  return { day, site, topic, companies };
}

const VISITS = [
  visit("2026-11-16", "clinic.test", 0, GOOGLE, GOOGLE_TOO, CRITEO),
  visit("2026-11-17", "clinic.test", 0, GOOGLE),
  visit("2026-11-18", "parish.test", 2, GOOGLE_TOO),
];
const NOW = new Date(2026, 10, 18, 12).getTime();

test("a company is counted once a page, whatever it does there, and who was on most pages comes first", () => {
  expect(companyRows(VISITS)).toEqual([
    { company: "Google", categories: ["ad", "analytics"], pages: 3, byTopic: [2, 0, 1, 0, 0, 0] },
    { company: "Criteo", categories: ["ad"], pages: 1, byTopic: [1, 0, 0, 0, 0, 0] },
  ]);
});

test("of companies on as many pages, the one with more topics comes first", () => {
  const visits = [visit("2026-11-18", "a.test", 0, CRITEO), visit("2026-11-18", "a.test", 0, CRITEO, GOOGLE)];
  const rows = companyRows([...visits, visit("2026-11-18", "b.test", 1, GOOGLE)]);
  expect(rows.map(({ company }) => company)).toEqual(["Google", "Criteo"]);
});

test("sites have their pages, topics, companies and last day", () => {
  expect(siteRows(VISITS)[0]).toEqual({
    site: "clinic.test",
    pages: 2,
    byTopic: [2, 0, 0, 0, 0, 0],
    companies: 2,
    lastDay: "2026-11-17",
  });
  expect(behind(VISITS, "Google", 0).length).toBe(2);
  expect(behind(VISITS, "Criteo", 2)).toEqual([]);
});

test("short times are shown by day, at least a fortnight", () => {
  const { weeks, periods: days } = periods(VISITS, NOW);
  expect(weeks).toBe(false);
  expect(days.map(({ day }) => day)).toEqual(Array.from({ length: 14 }, (_, place) => daysLater("2026-11-05", place)));
  expect(days.at(-1)!.byTopic).toEqual([0, 0, 1, 0, 0, 0]);
  expect(days.at(-2)!.byTopic).toEqual([1, 0, 0, 0, 0, 0]);
});

test("long times are shown by weeks that begin on Monday, and no visit is lost", () => {
  const sunday = visit("2026-09-27", "a.test", 1, GOOGLE);
  const { weeks, periods: found } = periods([sunday, ...VISITS], NOW);
  expect(weeks).toBe(true);
  expect(found[0]).toEqual({ day: "2026-09-21", byTopic: [0, 1, 0, 0, 0, 0] });
  expect(found.at(-1)).toEqual({ day: "2026-11-16", byTopic: [2, 0, 1, 0, 0, 0] });
});

test("35 days are shown one by one, 36 are not", () => {
  const first = (days: number) => [visit(daysLater("2026-11-18", 1 - days), "a.test", 0, GOOGLE)];
  expect(periods(first(35), NOW)).toMatchObject({ weeks: false, periods: { length: 35 } });
  expect(periods(first(36), NOW).weeks).toBe(true);
});

test("what was noted while the clock was wrong is shown with the rest", () => {
  const ahead = visit("2026-12-02", "a.test", 1, GOOGLE);
  const { weeks, periods: days } = periods([...VISITS, ahead], NOW);
  expect(weeks).toBe(false);
  expect(days.at(-1)).toEqual({ day: "2026-12-02", byTopic: [0, 1, 0, 0, 0, 0] });
  const farAhead = visit("2027-11-18", "a.test", 1, GOOGLE);
  const { weeks: byWeek, periods: found } = periods([...VISITS, farAhead], NOW);
  expect(byWeek).toBe(true);
  expect(found.flatMap(({ byTopic }) => byTopic).reduce((sum, one) => sum + one, 0)).toBe(4);
});

test("a table for spreadsheets holds no formulas", () => {
  const lines = asCsv([visit("2026-11-18", "a.test", 0, { company: '=cmd("x")', category: "list" })]).split("\r\n");
  expect(lines[1]).toBe(`1,"2026-11-18","a.test","health","'=cmd(""x"")","list"`);
});

test("a day is the one where the person is", () => {
  expect(dayOf(new Date(2026, 0, 1, 0, 0, 1).getTime())).toBe("2026-01-01");
  expect(dayOf(new Date(2026, 6, 1, 23, 59, 59).getTime())).toBe("2026-07-01");
  expect(daysLater("2026-03-01", -1)).toBe("2026-02-28");
});
