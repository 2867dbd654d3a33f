/**
 * Runs in every web page that may be read, beside the page, in a world of its own. It reports what the page says and
 * learns nothing in return but whether links are to be marked, and whether to stop reading. It leaves no
 * trace in the page: no attributes, no events, no messages.
 */

import { browser } from "../browser";
import type { Page } from "../core/page";
import type { ContentAnswer, ContentMessage, WorkerMessage } from "../messages";
import { ChangeObserver } from "./change_observer";
import { listen } from "./dom";
import { extract } from "./extract";
import { LinkMarks } from "./link_marks";
import { RateLimit } from "./rate_limit";

const SOON_MS = 250;
const LATER_MS = 1500;
const MOST_FAILURES = 3;

class Reader {
  private readonly changes = new ChangeObserver(() => this.look(false));
  private readonly quota = new RateLimit(4, 2000);
  private readonly marks = new LinkMarks(
    (host) => this.send({ kind: "link", host }) as Promise<number | null | undefined>,
  );
  private soon: ReturnType<typeof setTimeout> | null = null;
  private later: ReturnType<typeof setTimeout> | null = null;
  private reported: Page | null = null;
  private failures = 0;

  start(): void {
    browser.runtime.onMessage.addListener((message: unknown) => {
      const { kind } = (message ?? {}) as Partial<WorkerMessage>;
      if (kind === "look-again") this.lookSoon();
      if (kind === "rest") this.rest();
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
  lookSoon(): void {
    if (this.soon !== null) clearTimeout(this.soon);
    this.soon = setTimeout(() => {
      this.soon = null;
      this.idle(() => this.look(true));
      this.changes.restart();
    }, SOON_MS);
  }

  /** The person does not want this page to be read any more; until they do again. */
  private rest(): void {
    for (const timer of [this.soon, this.later]) if (timer !== null) clearTimeout(timer);
    this.soon = this.later = null;
    this.changes.stop();
    this.marks.stop();
    this.reported = null;
  }

  /** `always`: report also what was reported before. */
  private look(always: boolean): void {
    const wait = this.quota.take();
    if (wait > 0) {
      if (always) this.lookLater(wait);
      return;
    }
    const page = extract();
    const before = this.reported;
    if (!always && page.title === before?.title && page.text === before.text) return;
    this.reported = page;
    void this.report({ kind: "page", url: location.href, page });
  }

  private lookLater(wait: number): void {
    if (this.later !== null) clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.later = null;
      this.look(true);
    }, wait);
  }

  private async report(message: ContentMessage): Promise<void> {
    const answer = (await this.send(message)) as ContentAnswer | null | undefined;
    if (answer?.off === true) return this.rest();
    if (answer?.marks === true) this.marks.start();
    else this.marks.stop();
    // The worker was stopped meanwhile, or failed: try again later.
    this.failures = answer ? 0 : this.failures + 1;
    if (this.failures > 0 && this.failures <= MOST_FAILURES) this.lookLater(this.failures * LATER_MS);
  }

  /** When the extension was updated or removed, nobody answers any more, and we are done. */
  private async send(message: ContentMessage): Promise<unknown> {
    try {
      return await browser.runtime.sendMessage(message);
    } catch {
      if (browser.runtime?.id === undefined) {
        this.rest();
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
  // The manifest already keeps us out of private windows; this check is a second protection.
  return window === window.top && browser.extension.inIncognitoContext === false;
}

/** Kept in our own world: a script that is put into a page twice reads once. No element has a symbol for its name. */
const HERE = Symbol.for("eitr");
const world = globalThis as typeof globalThis & { [HERE]?: Reader };

if (mayRun()) {
  // The script was injected again, because reading was switched off and on.
  if (world[HERE] !== undefined) world[HERE].lookSoon();
  else {
    world[HERE] = new Reader();
    world[HERE].start();
  }
}
