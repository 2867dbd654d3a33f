import { getDomain } from "tldts";
import { expect, test } from "vitest";
import { suffixes } from "../packing/suffixes.mjs";
import { siteOf } from "../src/core/site";
import suffixList from "../src/core/suffixes.txt";

test("the list of suffixes is what the script makes of the installed Public Suffix List", () => {
  expect(suffixList).toBe(suffixes());
});

test.each([
  ["news.bbc.co.uk", "bbc.co.uk"],
  ["WWW.Example.COM.", "example.com"],
  ["a.b.example.org", "example.org"],
  ["me.github.io", "me.github.io"],
  ["x.me.github.io", "me.github.io"],
  ["a.b.c.ck", "b.c.ck"],
  ["a.www.ck", "www.ck"],
  ["co.uk", "co.uk"],
  ["localhost", "localhost"],
  ["127.0.0.1", "127.0.0.1"],
  ["[::1]", "[::1]"],
  ["", ""],
])("the site of %s is %s", (host, site) => {
  expect(siteOf(host)).toBe(site);
});

test("where we differ from the whole list, we take two sites for one, never one for two", () => {
  const lines = suffixList
    .split("\n")
    .slice(1)
    .map((line) => line.split(" "));
  const hosts = lines.flatMap(([ending, ...starts]) =>
    starts.map((start) => `a.b.${start.replace(/[*!]/g, "x")}.${ending}`),
  );
  hosts.push(
    "a.b.chiyoda.tokyo.jp",
    "a.b.oslo.no",
    "a.b.rm.it",
    "a.b.kobe.jp",
    "a.b.s3.amazonaws.com",
    "a.b.example.museum",
  );
  for (const host of hosts) {
    const full = getDomain(host, { allowPrivateDomains: true }) ?? host;
    expect(full.endsWith(siteOf(host)), `${host}: ${full}, ${siteOf(host)}`).toBe(true);
  }
});
