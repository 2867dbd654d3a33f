/** Lists of tracking hosts that a user imports, in the forms that such lists come in. */

import { BadInput } from "./bad_input";
import { normalHost } from "./site";

const MAX_CHARACTERS = 5_000_000;
const MAX_HOSTS = 200_000;

/** A name of at least two labels, each as DNS has them; other alphabets come as "xn--". */
const HOST = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;
/** The address that a hosts file sends a name to, to be rid of it. */
const HOSTS_FILE = /^(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S+)(?:\s+#.*)?$/;
/** "||host^" of Adblock Plus, with options or without: the whole host is meant. */
const ADBLOCK = /^\|\|([^\s/^$*|]+)\^(?:\$[\w,~=.|-]*)?$/;
const PLAIN = /^(\S+)(?:\s+#.*)?$/;
const COMMENT = /^(?:[#!;]|\[Adblock)/i;
/** What every hosts file says of the machine itself. */
const OWN = /^(?:localhost|local|broadcasthost|ip6-\w+|localhost\.localdomain)$/;

/** The hosts of a list, each once, in their order, and how many of its lines were neither a host nor a comment. */
export function readHosts(text: string): { hosts: string[]; notUnderstood: number } {
  if (text.length > MAX_CHARACTERS) throw new BadInput("The list is longer than 5 MB.");
  const hosts = new Set<string>();
  let notUnderstood = 0;
  for (const raw of text.split(/\r?\n|\r/)) {
    const line = raw.trim();
    if (line === "" || COMMENT.test(line)) continue;
    const host = hostOf(line);
    if (HOST.test(host)) hosts.add(host);
    else if (!OWN.test(host)) notUnderstood += 1;
    if (hosts.size > MAX_HOSTS) throw new BadInput(`The list has more than ${MAX_HOSTS} hosts.`);
  }
  return { hosts: [...hosts], notUnderstood };
}

function hostOf(line: string): string {
  const found = HOSTS_FILE.exec(line) ?? ADBLOCK.exec(line) ?? PLAIN.exec(line);
  return normalHost(found?.[1] ?? "");
}
