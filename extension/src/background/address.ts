/**
 * What makes two addresses the same page: everything but the fragment, unless the fragment is a route ("#/news",
 * "#!news").
 */
export function pageAddress(url: string): string {
  const hash = url.indexOf("#");
  return hash === -1 || /^[/!]/.test(url.slice(hash + 1)) ? url : url.slice(0, hash);
}
