import { expect, test } from "vitest";
import { BadInput } from "../src/core/bad_input";
import { content, MAX_CHARACTERS, readPage } from "../src/core/page";

test("the fields of a page are joined in their order, empty ones too", () => {
  expect(content({ title: "Hay fever", description: "", keywords: "", text: "Itchy eyes" })).toBe(
    "Hay fever\n\n\nItchy eyes",
  );
});

test("absent and null fields are empty, and others are left alone", () => {
  expect(readPage({ title: "a", keywords: null, extra: 1 })).toEqual({
    title: "a",
    description: "",
    keywords: "",
    text: "",
  });
});

test("inherited fields are none of the page's", () => {
  expect(readPage(Object.create({ title: "inherited" })).title).toBe("");
});

test.each([null, undefined, 7, "page", { title: 1 }, { text: ["a"] }, { description: {} }])(
  "%j is no page",
  (value) => {
    expect(() => readPage(value)).toThrow(BadInput);
  },
);

test("20 MB of text are cut to what can be read at once, and the title stays", () => {
  const page = readPage({ title: "title", text: "fever ".repeat(3_500_000) });
  expect(page.title).toBe("title");
  expect(page.title.length + page.text.length).toBe(MAX_CHARACTERS);
});
