/** Requests to the server (docs/http-protocol.md, sections 1 to 6). It may be down, slow, or not what it says it is. */

import { parseJson } from "../../core/json";

const ANSWER_MS = 30_000;
const FILE_MS = 120_000;
const LONGEST_ANSWER = 64 << 10;
const LONGEST_WAIT_S = 24 * 3600;
/** Answers after which the same request may succeed later, besides all that say the server is at fault. */
const AGAIN = new Set([408, 425, 429]);

/** Nothing can be done now; the same may work later. */
export class TryLater extends Error {
  override readonly name = "TryLater";
  constructor(
    message: string,
    /** The least wait in seconds that the server asked for. */
    readonly seconds = 0,
  ) {
    super(message);
  }
}

/** The server refused; `slug` is the last part of the problem's type, such as "round-closed". */
export class Refused extends Error {
  override readonly name = "Refused";
  constructor(
    readonly status: number,
    readonly slug: string,
    readonly seconds: number,
  ) {
    super(`the server answered ${status} ${slug}`);
  }
}

export interface Answered {
  status: number;
  etag: string;
  bytes: Uint8Array;
}

interface Options {
  method?: string;
  headers?: Record<string, string>;
  body?: Uint8Array | string;
  /** For files: the most bytes that are read. */
  most?: number;
}

/** A server, for as long as the signal allows: once it is given, requests end, and no more are sent. */
export class Server {
  constructor(
    readonly address: string,
    readonly stop: AbortSignal = new AbortController().signal,
  ) {}

  /** Send a request and return its answer; 304 is one, every other that is no success is thrown. */
  async request(path: string, options: Options = {}): Promise<Answered> {
    const { method = "GET", headers = {}, body, most } = options;
    const longest = AbortSignal.timeout(most === undefined && body === undefined ? ANSWER_MS : FILE_MS);
    try {
      const answer = await fetch(this.address + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: body as BodyInit }),
        // Redirects are not followed, neither to another host nor on this one.
        redirect: "error",
        credentials: "omit",
        cache: "no-store",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.any([this.stop, longest]),
      });
      if (!answer.ok && answer.status !== 304) throw await refusal(answer);
      return {
        status: answer.status,
        etag: answer.headers.get("ETag") ?? "",
        bytes: await limited(answer, most ?? LONGEST_ANSWER),
      };
    } catch (error) {
      if (error instanceof Refused || error instanceof TryLater) throw error;
      throw new TryLater(`the server cannot be reached: ${String(error)}`);
    }
  }
}

/** The answer's body as JSON, checked by whoever asked. */
export function json({ bytes }: Answered): unknown {
  return parseJson(bytes, "The server's answer");
}

async function refusal(answer: Response): Promise<Error> {
  const told = Number(answer.headers.get("Retry-After") ?? "0");
  const seconds = Number.isFinite(told) ? Math.min(Math.max(0, told), LONGEST_WAIT_S) : 0;
  const later = new TryLater(`the server answered ${answer.status}`, seconds);
  if (answer.status >= 500 || AGAIN.has(answer.status)) return later;
  let slug = "";
  try {
    const problem = parseJson(await limited(answer, LONGEST_ANSWER), "The problem") as { type?: unknown } | null;
    if (typeof problem?.type === "string") slug = problem.type.slice(problem.type.lastIndexOf("/") + 1);
  } catch {
    // Not a problem document.
  }
  // Our server always sends a problem document. Without one, the answer is that of a proxy: try again later.
  return slug === "" && answer.status !== 401 ? later : new Refused(answer.status, slug, seconds);
}

/** Read a body, but never more than so many bytes. */
async function limited(answer: Response, most: number): Promise<Uint8Array> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new TryLater("the server's answer is longer than anything expected");
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    bytes.set(part, place);
    place += part.length;
  }
  return bytes;
}
