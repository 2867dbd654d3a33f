/**
 * Allows `most` calls at once, and then one every `everyMs`: a page that calls `pushState` all the time costs no more
 * than others.
 */
export class RateLimit {
  private left: number;
  private last = performance.now();

  constructor(
    private readonly most: number,
    private readonly everyMs: number,
  ) {
    this.left = most;
  }

  /** Milliseconds to wait until the next; 0 takes it. */
  take(): number {
    const now = performance.now();
    const grown = Math.floor((now - this.last) / this.everyMs);
    if (grown > 0) {
      this.left = Math.min(this.most, this.left + grown);
      this.last += grown * this.everyMs;
    }
    if (this.left === 0) return this.everyMs - (now - this.last);
    this.left -= 1;
    return 0;
  }
}
