/**
 * Tells whether an event comes from the user and not from the page. `isTrusted` is not enough: it is also true for
 * what follows from `focus()`, or from a link that the page moves under a resting pointer. So each event needs a
 * pointer that moved, or a press of the Tab key.
 */

import { listen, unlisten } from "./dom";

export class UserIntent {
  private tab = false;
  private place = "";

  start(): void {
    listen(window, "keydown", this.pressed, true);
  }

  stop(): void {
    unlisten(window, "keydown", this.pressed, true);
  }

  isBehind(event: Event): boolean {
    if (!event.isTrusted) return false;
    if (event instanceof PointerEvent) {
      const place = `${event.screenX} ${event.screenY}`;
      const moved = place !== this.place;
      this.place = place;
      return moved;
    }
    const pressed = this.tab;
    this.tab = false;
    return pressed;
  }

  private readonly pressed = (event: Event): void => {
    if (event.isTrusted) this.tab = event instanceof KeyboardEvent && event.key === "Tab";
  };
}
