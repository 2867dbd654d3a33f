/**
 * Notices that a page has changed, at little cost: at the first change the observer is removed, and only put
 * back after a pause, each pause longer than the last. A page that adds 100,000 nodes a second is looked at as often as
 * any other.
 */

import { root } from "./dom";

/** Pauses in milliseconds; after the last one the page is not read again until its address changes. */
const PAUSES = [1500, 4000, 10_000, 30_000];

export class ChangeObserver {
  private observer: MutationObserver | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private next = 0;

  constructor(private readonly changed: () => void) {}

  /** Watch from the beginning: the page is new, or its address is. */
  restart(): void {
    this.stop();
    this.next = 0;
    this.watch();
  }

  stop(): void {
    this.observer?.disconnect();
    this.observer = null;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private watch(): void {
    const pause = PAUSES[this.next];
    const target = root();
    if (pause === undefined || target === null) return;
    this.next += 1;
    this.observer = new MutationObserver(() => {
      this.stop();
      this.timer = setTimeout(() => {
        this.timer = null;
        this.changed();
        this.watch();
      }, pause);
    });
    this.observer.observe(target, { childList: true, characterData: true, subtree: true });
  }
}
