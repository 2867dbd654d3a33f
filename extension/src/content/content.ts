/**
 * Runs in every web page that may be read, beside the page, in a world of its own. It reports what the page says and
 * learns nothing in return but whether links are to be marked. It leaves no trace in the page: no attributes, no
 * events, no messages.
 */

import { browser } from "../browser";
import type { ContentAnswer, ContentMessage } from "../messages";
import { Changes } from "./changes";
import { listen } from "./dom";
import { extract } from "./extract";
import { Marks } from "./marks";
import { Quota } from "./quota";

const SOON_MS = 250;
const LATER_MS = 1500;
const MOST_FAILURES = 3;
/** How different a text must be, as a share of its length, to be worth another look. */
const MUCH = 0.2;

/** Kept in our own world: a script that is put into a page twice works once. No element has a symbol for its name. */
const HERE = Symbol.for("eitr");
const world = globalThis as typeof globalThis & { [HERE]?: true };

class Reader {
  private readonly changes = new Changes(() => this.look(false));
  private readonly quota = new Quota(4, 2000);
  private readonly marks = new Marks((host) => this.send({ kind: "link", host }) as Promise<number | null | undefined>);
  private timer: ReturnType<typeof setTimeout> | null = null;
  private reported = { title: "", length: 0 };
  private failures = 0;

  start(): void {
    browser.runtime.onMessage.addListener((message: unknown) => {
      if ((message as { kind?: unknown } | null)?.kind === "look-again") this.lookSoon();
      return undefined;
    });
    // Back from the cache, or shown at last after it was prepared: what was reported may be forgotten.
    listen(window, "pageshow", (event) => {
      if (event.isTrusted && (event as PageTransitionEvent).persisted) this.lookSoon();
    });
    listen(document, "prerenderingchange", () => this.lookSoon());
    this.idle(() => this.look(true));
    this.changes.restart();
  }

  /** The address changed: look when the page has had a moment to change as well, and watch it anew. */
  private lookSoon(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.idle(() => this.look(true));
      this.changes.restart();
    }, SOON_MS);
  }

  /** `always`: report also if hardly anything changed. */
  private look(always: boolean): void {
    const wait = this.quota.take();
    if (wait > 0) {
      if (always) setTimeout(() => this.look(true), wait);
      return;
    }
    const page = extract();
    const { title, length } = this.reported;
    const grown = Math.abs(page.text.length - length) > MUCH * Math.max(length, 1);
    if (!always && page.title === title && !grown) return;
    this.reported = { title: page.title, length: page.text.length };
    void this.report({ kind: "page", page });
  }

  private async report(message: ContentMessage): Promise<void> {
    const answer = (await this.send(message)) as ContentAnswer | null | undefined;
    if (answer?.marks === true) this.marks.start();
    else this.marks.stop();
    // The worker was stopped over it, or something failed there: it may have more luck later.
    this.failures = answer ? 0 : this.failures + 1;
    if (this.failures > 0 && this.failures <= MOST_FAILURES)
      setTimeout(() => this.look(true), this.failures * LATER_MS);
  }

  /** When the extension was updated or removed, nobody answers any more, and we are done. */
  private async send(message: ContentMessage): Promise<unknown> {
    try {
      return await browser.runtime.sendMessage(message);
    } catch {
      if (browser.runtime?.id === undefined) {
        this.changes.stop();
        this.marks.stop();
        this.failures = MOST_FAILURES;
      }
      return undefined;
    }
  }

  /** When the browser has nothing better to do: then the page is laid out, and reading it costs little. */
  private idle(work: () => void): void {
    requestIdleCallback(() => work(), { timeout: 1000 });
  }
}

function mayRun(): boolean {
  // Twice in doubt: the manifest keeps us out of private windows, and so does this.
  return window === window.top && browser.extension.inIncognitoContext === false && world[HERE] === undefined;
}

if (mayRun()) {
  world[HERE] = true;
  new Reader().start();
}
