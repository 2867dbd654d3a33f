/**
 * Receives every message to the worker and passes it on by its sender, as the browser names it, never by its content.
 * A content script may report its page and ask about links. A page of ours may ask what `ALLOWED` lists for it.
 * Everybody else gets no answer.
 */

import { browser } from "../browser";
import { BadInput } from "../core/bad_input";
import { ALLOWED, type Kind, type PageName, Problem } from "../messages";
import { linked, reported } from "./content_messages";
import { HANDLERS } from "./page_messages";

type Sender = chrome.runtime.MessageSender;

export function listenToMessages(): void {
  browser.runtime.onMessage.addListener((message: unknown, sender, respond) => {
    const work = received(message, sender);
    if (work === undefined) return undefined;
    work.then(respond, (error: unknown) => {
      console.error("A message could not be dealt with:", error);
      respond(undefined);
    });
    return true;
  });
}

function received(message: unknown, sender: Sender): Promise<unknown> | undefined {
  if (sender.id !== browser.runtime.id || typeof message !== "object" || message === null || !("kind" in message))
    return undefined;
  const page = pageOf(sender);
  if (page !== undefined) return answered(page, message);
  if (!isContentScript(sender)) return undefined;
  if (message.kind === "page") return reported(message, sender);
  if (message.kind === "link") return linked(message);
  return undefined;
}

/** The page of ours that sent it, by the address the browser gives. */
function pageOf({ url }: Sender): PageName | undefined {
  if (url === undefined || !url.startsWith(`${self.location.origin}/pages/`)) return undefined;
  const [, , name, file] = new URL(url).pathname.split("/");
  return name !== undefined && Object.hasOwn(ALLOWED, name) && file === `${name}.html` ? (name as PageName) : undefined;
}

/** The top frame of a web page, in a window that is not private. */
function isContentScript({ tab, frameId, url }: Sender): boolean {
  return tab?.id !== undefined && tab.incognito === false && frameId === 0 && /^https?:/.test(url ?? "");
}

async function answered(page: PageName, message: { kind: unknown }): Promise<unknown> {
  const kind = message.kind as Kind;
  if (!ALLOWED[page].includes(kind)) return { ok: false, problem: "problem_failed" };
  try {
    return { ok: true, answer: await HANDLERS[kind](message as unknown as Record<string, unknown>) };
  } catch (error) {
    if (!(error instanceof Problem) && !(error instanceof BadInput)) console.error(`"${kind}" failed:`, error);
    return { ok: false, problem: error instanceof Problem ? error.message : "problem_failed" };
  }
}
