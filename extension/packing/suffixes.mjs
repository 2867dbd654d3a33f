/**
 * Write src/core/suffixes.txt from the Public Suffix List that comes with tldts: `node extension/packing/suffixes.mjs`.
 *
 * The whole list would take 37 kB of the 60 kB that all scripts may have, so these stay out: suffixes of one part
 * (every last label is one), the towns of Japan, Norway and Italy, and the names under which companies let others
 * publish, except the well-known. A test fails when the file is not what this writes.
 */
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { CORE } from "./paths.mjs";

const require = createRequire(import.meta.url);
const [ICANN, PRIVATE] = [1, 2];

/** Under these, anybody can have a site or an address of their own. */
const SHARED =
  `appspot.com azurewebsites.net blogspot.com cloudfront.net deno.dev firebaseapp.com fly.dev github.io gitlab.io
  herokuapp.com hf.space myshopify.com netlify.app ngrok.app ngrok.io notion.site onrender.com pages.dev readthedocs.io
  repl.co surge.sh vercel.app web.app webflow.io wixsite.com workers.dev`.split(/\s+/);

export function suffixes() {
  const { rules, exceptions } = publicSuffixes();
  const unknown = SHARED.filter((name) => !rules.some(([rule, kind]) => rule === name && kind & PRIVATE));
  if (unknown.length > 0) throw new Error(`the Public Suffix List no longer has ${unknown.join(", ")}`);
  const starts = new Map();
  const note = (rule, mark = "") => {
    const ending = rule.slice(rule.lastIndexOf(".") + 1);
    starts.set(ending, [...(starts.get(ending) ?? []), mark + rule.slice(0, -ending.length - 1)]);
  };
  for (const [rule, kind] of rules) if (kind & PRIVATE ? SHARED.includes(rule) : isKept(rule)) note(rule);
  for (const [rule] of exceptions)
    if (rules.some(([name]) => name === `*.${parent(rule)}` && isKept(name))) note(rule, "!");
  const lines = [...starts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([ending, found]) => [ending, ...found.sort()].join(" "));
  const { version } = require("tldts/package.json");
  const head = `# Part of the Public Suffix List, publicsuffix.org, Mozilla Public License 2.0; through tldts ${version}.`;
  return [head, ...lines, ""].join("\n");
}

function isKept(rule) {
  const labels = rule.split(".");
  if (labels.length === 1) return false;
  if (rule.endsWith(".jp")) return labels.length === 2;
  if (rule.endsWith(".no")) return false;
  return !rule.endsWith(".it") || rule === "gov.it" || rule === "edu.it";
}

const parent = (rule) => rule.slice(rule.indexOf(".") + 1);

/** All rules of the list with their kind; tldts keeps them as a trie. */
function publicSuffixes() {
  const trie = require("tldts/dist/cjs/src/data/trie.js");
  const offsets = [0];
  for (const length of trie.edgeLength) offsets.push(offsets.at(-1) + length);
  function* below(node, suffix) {
    for (let edge = trie.edgeStart[node]; edge < trie.edgeStart[node + 1]; edge += 1) {
      const label = trie.labelText.slice(offsets[edge], offsets[edge + 1]);
      const name = suffix ? `${label}.${suffix}` : label;
      const child = trie.edgeChild[edge];
      if (trie.nodeFlags[child] & (ICANN | PRIVATE)) yield [name, trie.nodeFlags[child]];
      yield* below(child, name);
    }
  }
  return { rules: [...below(trie.rulesRoot, "")], exceptions: [...below(trie.exceptionsRoot, "")] };
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(join(CORE, "suffixes.txt"), suffixes());
