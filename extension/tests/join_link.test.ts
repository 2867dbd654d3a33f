import { expect, test } from "vitest";
import { readCode, readJoinLink } from "../src/join_link";

test.each([
  ["https://eitr.example.org/join#invitation=abc-DEF_1&study=covid-19", "https://eitr.example.org", "abc-DEF_1"],
  ["  https://example.org/base/join#study=x&invitation=abc  ", "https://example.org/base", "abc"],
  ["http://127.0.0.1:8000/join#invitation=abc", "http://127.0.0.1:8000", "abc"],
  ["http://localhost/join#invitation=abc", "http://localhost", "abc"],
])("%s is an invitation", (link, server, invitation) => {
  expect(readJoinLink(link)).toEqual({ server, invitation });
});

test.each([
  ["http://eitr.example.org/join#invitation=abc", "problem_address_scheme"],
  ["javascript://eitr.example.org/join#invitation=abc", "problem_address_scheme"],
  ["https://user:secret@eitr.example.org/join#invitation=abc", "problem_address"],
  ["https://eitr.example.org/join?x=1#invitation=abc", "problem_address"],
  ["https://eitr.example.org/joining#invitation=abc", "problem_link"],
  ["https://eitr.example.org/#invitation=abc", "problem_link"],
  ["https://eitr.example.org/join", "problem_link"],
  ["https://eitr.example.org/join#invitation=", "problem_link"],
  ["https://eitr.example.org/join?invitation=abc", "problem_link"],
  ["https://eitr.example.org/join#invitation=a%20b", "problem_link"],
  ["https://eitr.example.org/join#invitation=%3Cb%3E", "problem_link"],
  [`https://eitr.example.org/join#invitation=${"a".repeat(201)}`, "problem_link"],
  [`https://eitr.example.org/${"a/".repeat(1000)}join#invitation=abc`, "problem_link"],
  ["join#invitation=abc", "problem_link"],
  ["", "problem_link"],
])("%s is none", (link, problem) => {
  expect(() => readJoinLink(link)).toThrow(problem);
});

test.each([null, 7, "", {}, ["abc"], "a\nb"])("a code is letters and digits", (code) => {
  expect(() => readCode(code)).toThrow("problem_link");
});
