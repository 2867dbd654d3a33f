/**
 * Which hosts belong together: the registrable domain, "bbc.co.uk" of "news.bbc.co.uk".
 *
 * `suffixes.txt` holds what the Public Suffix List knows of suffixes with more than one part, less what would make all
 * scripts half as large again: it does not know the towns of Japan, Norway and Italy (a.chiyoda.tokyo.jp and
 * b.chiyoda.tokyo.jp are one site to us), and of the companies that let anybody publish under their name it knows only
 * the well-known. So two sites may be taken for one; one site is never taken for two.
 */

import suffixList from "./suffixes.txt";

const [SUFFIXES, EXCEPTIONS] = readSuffixes(suffixList);

/** The registrable domain of a host; the host itself where it is an address, a single name or a suffix. */
export function siteOf(hostname: string): string {
  const host = normalHost(hostname);
  const labels = host.split(".");
  if (isAddress(host) || labels.length < 2) return host;
  return labels.slice(-Math.min(labels.length, suffixLength(labels) + 1)).join(".");
}

/** Lower case, without the dot that may end a full name. */
export function normalHost(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, "");
}

/** How many labels the longest known suffix of a host has; a top-level domain that is not listed is one. */
function suffixLength(labels: readonly string[]): number {
  for (let start = 0; start < labels.length - 1; start += 1) {
    const name = labels.slice(start).join(".");
    if (EXCEPTIONS.has(name)) return labels.length - start - 1;
    const under = labels.slice(start + 1).join(".");
    if (SUFFIXES.has(name) || SUFFIXES.has(`*.${under}`)) return labels.length - start;
  }
  return 1;
}

function isAddress(host: string): boolean {
  return host.includes(":") || host.startsWith("[") || /^\d+(\.\d+){3}$/.test(host);
}

/** Each line: an ending, then what stands before it in suffixes; "!" marks what is none although a "*" says so. */
function readSuffixes(text: string): [Set<string>, Set<string>] {
  const [suffixes, exceptions] = [new Set<string>(), new Set<string>()];
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const [ending, ...starts] = line.split(" ");
    for (const start of starts) {
      if (start.startsWith("!")) exceptions.add(`${start.slice(1)}.${ending}`);
      else suffixes.add(`${start}.${ending}`);
    }
  }
  return [suffixes, exceptions];
}
