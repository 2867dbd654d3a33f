/**
 * A discreet mark near a link to a site known as sensitive, while the pointer or the focus is on it. Drawn in a
 * closed shadow root that is only in the page while a mark shows; see docs/extension.md for what a page can learn from
 * that.
 */

import { TOPICS } from "../core/taxonomy";
import { aboutTopic, say } from "../localise";
import { closest, listen, newElement, root, unlisten } from "./dom";
import { freePlace, MARK_SIZE } from "./free_place";
import { RateLimit } from "./rate_limit";
import { UserIntent } from "./user_intent";

const REST_MS = 200;
/** So many links are asked about at once, and then one every few seconds: a page that leads us on learns slowly. */
const MOST_AT_ONCE = 8;
const EVERY_MS = 5000;
const ARRIVING = ["pointerover", "focusin"];
const LEAVING = ["pointerout", "focusout", "pagehide"];

export class LinkMarks {
  private on = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private mark: HTMLElement | null = null;
  private link: Element | null = null;
  private readonly quota = new RateLimit(MOST_AT_ONCE, EVERY_MS);
  private readonly intent = new UserIntent();

  constructor(private readonly ask: (host: string) => Promise<number | null | undefined>) {}

  start(): void {
    if (this.on) return;
    this.on = true;
    this.intent.start();
    for (const name of ARRIVING) listen(document, name, this.over, true);
    for (const name of LEAVING) listen(document, name, this.out, true);
  }

  stop(): void {
    if (!this.on) return;
    this.on = false;
    this.intent.stop();
    for (const name of ARRIVING) unlisten(document, name, this.over, true);
    for (const name of LEAVING) unlisten(document, name, this.out, true);
    this.out();
  }

  private readonly over = (event: Event): void => {
    // Events that the page made up or brought about would tell it which hosts are known.
    const target = this.intent.isBehind(event) ? event.target : null;
    const link = target instanceof Element ? closest(target, "a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link === this.link) return;
    this.out();
    this.link = link;
    this.timer = setTimeout(() => void this.show(link), REST_MS);
  };

  private readonly out = (): void => {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.link = null;
    this.mark?.remove();
    this.mark = null;
  };

  private async show(link: HTMLAnchorElement): Promise<void> {
    if (!/^https?:$/.test(link.protocol) || link.hostname === location.hostname) return;
    if (this.quota.take() > 0) return;
    const topic = await this.ask(link.hostname);
    if (typeof topic !== "number" || TOPICS[topic] === undefined || this.link !== link) return;
    this.mark = drawn(freePlace(link), topic);
    root()?.append(this.mark);
  }
}

/** A small coloured letter, above everything, that takes no clicks. */
function drawn({ left, top }: { left: number; top: number }, topic: number): HTMLElement {
  const { letter, colour } = TOPICS[topic]!;
  const host = newElement("div");
  style(host, {
    display: "block",
    visibility: "visible",
    opacity: "1",
    margin: "0",
    padding: "0",
    border: "0",
    position: "fixed",
    "z-index": "2147483647",
    "pointer-events": "none",
    left: `${left}px`,
    top: `${top}px`,
  });
  const mark = newElement("span");
  mark.textContent = letter;
  mark.setAttribute("role", "note");
  mark.setAttribute("aria-label", say("mark_link", aboutTopic(topic)));
  style(mark, {
    display: "block",
    width: `${MARK_SIZE}px`,
    "border-radius": "4px",
    background: colour,
    color: "#ffffff",
    font: `bold 11px/${MARK_SIZE}px system-ui, sans-serif`,
    "text-align": "center",
  });
  host.attachShadow({ mode: "closed" }).append(mark);
  return host;
}

/** Property by property: a page's policy may forbid style sheets, but not this. */
function style(element: HTMLElement, properties: Record<string, string>): void {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value, "important");
}
