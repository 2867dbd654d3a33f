/**
 * The page's document by ways that the page cannot replace by elements: a form named "body" hides `document.body`, and
 * an image named "addEventListener" hides that, but neither hides what is on the prototypes. (Scripts of the page
 * cannot reach our world at all.) Nothing else in this folder takes anything from `document`, nor calls its methods.
 */

function getter<T>(prototype: object, name: string): (target: object) => T {
  const found = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (found === undefined) throw new Error(`no getter of ${name}`);
  return (target) => found.call(target) as T;
}

const bodyOf = getter<HTMLElement | null>(Document.prototype, "body");
const rootOf = getter<Element | null>(Document.prototype, "documentElement");
const widthOf = getter<number>(Element.prototype, "scrollWidth");
const heightOf = getter<number>(Element.prototype, "scrollHeight");
const textContentOf = getter<string | null>(Node.prototype, "textContent");
const innerTextOf = getter<string>(HTMLElement.prototype, "innerText");

export const body = (): HTMLElement | null => bodyOf(document);
export const root = (): Element | null => rootOf(document);
export const innerText = (element: HTMLElement): string => innerTextOf(element);
export const textContent = (element: Element): string => textContentOf(element) ?? "";
export const contains = (element: Element, other: Element): boolean => Node.prototype.contains.call(element, other);
export const parentOf = getter<Element | null>(Node.prototype, "parentElement");
export const firstChildOf = getter<Node | null>(Node.prototype, "firstChild");
export const nextSiblingOf = getter<Node | null>(Node.prototype, "nextSibling");
export const localNameOf = getter<string>(Element.prototype, "localName");

/** Whether the page has more elements than so many; no more than these are counted. */
export function hasMoreElementsThan(many: number): boolean {
  return Document.prototype.getElementsByTagName.call(document, "*").item(many) !== null;
}

/** How large the page is when it is unrolled. */
export function surface(): { width: number; height: number } {
  const element = rootOf(document);
  return element === null ? { width: 0, height: 0 } : { width: widthOf(element), height: heightOf(element) };
}

/** All elements that a selector finds, whatever the page named its elements. */
export function elements(selector: string): Iterable<Element> {
  return Document.prototype.querySelectorAll.call(document, selector);
}

/** All elements with a name of their own, such as `<cookie-banner>`, which no selector finds. */
export function* customElements(): Generator<Element> {
  const ordered = XPathResult.ORDERED_NODE_SNAPSHOT_TYPE;
  const found = Document.prototype.evaluate.call(document, "//*[contains(local-name(),'-')]", document, null, ordered);
  for (let place = 0; place < found.snapshotLength; place += 1) yield found.snapshotItem(place) as Element;
}

/** For sorting: which of two elements comes first. */
export function inDocumentOrder(one: Element, other: Element): number {
  const place = Node.prototype.compareDocumentPosition.call(one, other);
  return place & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

/** An attribute, also of a form that has a field named "getAttribute". */
export function attribute(element: Element, name: string): string {
  return Element.prototype.getAttribute.call(element, name) ?? "";
}

export function hasAttribute(element: Element, name: string): boolean {
  return Element.prototype.hasAttribute.call(element, name);
}

export function listen(target: EventTarget, name: string, listener: (event: Event) => void, capture = false): void {
  EventTarget.prototype.addEventListener.call(target, name, listener, { capture, passive: true });
}

export function unlisten(target: EventTarget, name: string, listener: (event: Event) => void, capture = false): void {
  EventTarget.prototype.removeEventListener.call(target, name, listener, { capture });
}

/** An ancestor, or the element itself, also if it is a form that has a field named "closest". */
export function closest(element: Element, selector: string): Element | null {
  return Element.prototype.closest.call(element, selector);
}

export function newElement<K extends keyof HTMLElementTagNameMap>(tag: K): HTMLElementTagNameMap[K] {
  return Document.prototype.createElement.call(document, tag) as HTMLElementTagNameMap[K];
}

export function elementAt(x: number, y: number): Element | null {
  return Document.prototype.elementFromPoint.call(document, x, y);
}

/** The boxes of the characters before and after the caret that a click at a point would set. */
export function textAt(x: number, y: number): DOMRect[] {
  const [node, offset] = caretAt(x, y);
  if (!(node instanceof Text)) return [];
  const range = Document.prototype.createRange.call(document);
  range.setStart(node, Math.max(0, offset - 1));
  range.setEnd(node, Math.min(node.length, offset + 1));
  return [...range.getClientRects()];
}

/** Chromium has the newer way since version 128 only, Firefox has it alone. */
function caretAt(x: number, y: number): [node: Node | null, offset: number] {
  const { caretPositionFromPoint, caretRangeFromPoint } = Document.prototype;
  if (caretPositionFromPoint !== undefined) {
    const caret = caretPositionFromPoint.call(document, x, y);
    return [caret?.offsetNode ?? null, caret?.offset ?? 0];
  }
  const caret = caretRangeFromPoint.call(document, x, y);
  return [caret?.startContainer ?? null, caret?.startOffset ?? 0];
}
