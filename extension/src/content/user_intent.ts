/**
 * Whether a person is behind an event, and not the page: browsers trust also what follows from `focus()`, and from a
 * link that the page moves under a pointer at rest. A pointer has moved, or the Tab key was pressed, once for each.
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
