import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import { MOST_TASKS, readStudy, readTasks } from "../src/core/study";

const SERVER = "https://eitr.example.org/base";
const study = {
  study: "covid-19",
  title: "Pages about COVID-19",
  status: "open",
  hide_prediction: true,
  uses_per_page: 2,
  collect: false,
  terms: false,
  tasks: 20,
  done: 3,
  completion_code: null,
  page: "/study/covid-19/me",
};
const task = { id: 7, position: 1, url: "https://example.org/page", state: "open" };
const tasks = (...list: unknown[]) => readTasks({ tasks: list }, SERVER);

test("a study is read, and members that are not known are ignored", () => {
  expect(readStudy({ ...study, later: [] })).toEqual({
    slug: "covid-19",
    title: "Pages about COVID-19",
    open: true,
    hidePrediction: true,
    usesPerPage: 2,
    collect: false,
    terms: false,
    completionCode: null,
    page: "/study/covid-19/me",
  });
  expect(readStudy({ ...study, status: "closed", completion_code: "AB-12_x" })).toMatchObject({
    open: false,
    completionCode: "AB-12_x",
  });
});

test.each([
  ["study", ["", "../x", "A", "x".repeat(41), 7, null]],
  ["title", ["", "   ", "\u202e", "x".repeat(201), 7, null, ["a"]]],
  ["status", ["draft", "", true, null]],
  ["hide_prediction", ["true", 1, null]],
  ["uses_per_page", [0, 41, 1.5, "2", NaN, null]],
  ["collect", ["yes", 1, null]],
  ["terms", ["yes", 1, null]],
  ["completion_code", ["", "<b>", "a b", "x".repeat(101), 7, {}]],
  ["page", ["javascript:alert(1)", "//evil.test/study/covid-19/me", "/study/other/me", "https://evil.test", 7, null]],
])("a study with a wrong %s is refused", (name, wrong) => {
  for (const value of wrong) expect(() => readStudy({ ...study, [name]: value }), String(value)).toThrow(BadInput);
  const { [name as "study"]: _, ...without } = study;
  expect(() => readStudy(without)).toThrow(BadInput);
});

test.each([null, 7, "study", [], [study]])("what is no object is no study and no list of tasks", (value) => {
  expect(() => readStudy(value)).toThrow(BadInput);
  expect(() => readTasks(value, SERVER)).toThrow(BadInput);
});

test("a title cannot turn the text around it", () => {
  expect(readStudy({ ...study, title: "a\u202eb\u0000c\nd" }).title).toBe("a b c d");
});

test("tasks are read in the order of their positions, without fragments", () => {
  const second = { id: 3, position: 2, url: "http://example.org/b?x=1#part", state: "skipped" };
  expect(tasks(second, task)).toEqual([task, { ...second, url: "http://example.org/b?x=1" }]);
});

test("a path is a copy on the server itself, wherever that is", () => {
  expect(tasks({ ...task, url: "/study/covid-19/copies/12" })[0]!.url).toBe(`${SERVER}/study/covid-19/copies/12`);
});

test.each([
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "file:///etc/passwd",
  "chrome://settings",
  "chrome-extension://hgbjgnhphodgchohddgfggiinedpkmdf/pages/options/options.html",
  "about:blank",
  "view-source:https://example.org",
  "ftp://example.org/",
  "blob:https://example.org/1",
  "https://user:secret@example.org/",
  "//example.org/page",
  "/study/covid-19/copies/../../api/v2/me",
  "/study/covid-19/copies/1?x",
  "example.org",
  "",
  `https://example.org/${"x".repeat(4000)}`,
  7,
  null,
  {},
  ["https://example.org"],
  "https://www.example.org%20/b",
  "http://256.256.256.256/",
  "http://a|b.org/",
  "http://xn--a/",
])("a task leads to a web page, not to %s, and the others stay usable", (url) => {
  const other = { ...task, id: 8, position: 2 };
  expect(tasks({ ...task, url }, other)).toEqual([{ ...task, url: null }, other]);
});

test.each([
  { ...task, id: 0 },
  { ...task, id: "7" },
  { ...task, id: 2 ** 60 },
  { ...task, position: 0.5 },
  { ...task, position: null },
  { ...task, state: "opened" },
  { ...task, state: "replaced" },
  { ...task, state: ["open"] },
  null,
  [],
])("a task of wrong types is refused", (wrong) => {
  expect(() => tasks(wrong)).toThrow(BadInput);
});

test("too many tasks, and two with one number, are refused", () => {
  const many = Array.from({ length: MOST_TASKS }, (_, n) => ({ ...task, id: n + 1 }));
  expect(tasks(...many)).toHaveLength(MOST_TASKS);
  expect(() => tasks(...many, { ...task, id: MOST_TASKS + 1 })).toThrow(BadInput);
  expect(() => tasks(task, task)).toThrow(BadInput);
});
