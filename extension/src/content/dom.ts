/**
 * Getters of the page's document that the page cannot replace by elements: a form named "body" or an image named
 * "title" hides `document.body` or `document.title`, but not the getter on the prototype. (Scripts of the page cannot
 * reach our world at all.)
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
const innerTextOf = getter<string>(HTMLElement.prototype, "innerText");

export const body = (): HTMLElement | null => bodyOf(document);
export const root = (): Element | null => rootOf(document);
export const innerText = (element: HTMLElement): string => innerTextOf(element);

export function numberOfElements(): number {
  return Document.prototype.getElementsByTagName.call(document, "*").length;
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

/** An attribute, also of a form that has a field named "getAttribute". */
export function attribute(element: Element, name: string): string {
  return Element.prototype.getAttribute.call(element, name) ?? "";
}
