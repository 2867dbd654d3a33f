import { normalHost } from "../core/site";

/**
 * What makes two addresses the same page: everything but the fragment, unless the fragment is a route ("#/news",
 * "#!news").
 */
export function pageAddress(url: string): string {
  const hash = url.indexOf("#");
  return hash === -1 || /^[/!]/.test(url.slice(hash + 1)) ? url : url.slice(0, hash);
}

/** Return the host of a web page, without the dot that may end a full name; empty for every other address. */
export function hostOf(url: string): string {
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "http:" || protocol === "https:" ? normalHost(hostname) : "";
  } catch {
    return "";
  }
}
