/** The link by which a study invites people: `SERVER/join#invitation=CODE&study=NAME`. */

import { BadInput } from "./core/bad_input";
import { readServer } from "./settings";

export interface Invitation {
  server: string;
  invitation: string;
}

/** Codes are random letters and digits; what else a link may carry is not taken for one. */
const CODE = /^[\w.~-]{1,200}$/;
const LONGEST_LINK = 2000;

/** Read a link; throws if it is none, or if its server is not one that could be entered in the options. */
export function readJoinLink(text: string): Invitation {
  const link = text.trim();
  const url = link.length <= LONGEST_LINK && URL.canParse(link) ? new URL(link) : null;
  if (url === null || !url.pathname.endsWith("/join")) throw new BadInput("problem_link");
  const invitation = readCode(new URLSearchParams(url.hash.slice(1)).get("invitation"));
  url.hash = "";
  url.pathname = url.pathname.slice(0, -"/join".length);
  return { server: readServer(url.href), invitation };
}

/** Check an invitation code. */
export function readCode(value: unknown): string {
  if (typeof value !== "string" || !CODE.test(value)) throw new BadInput("problem_link");
  return value;
}
