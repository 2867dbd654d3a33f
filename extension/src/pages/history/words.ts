/** Days and numbers of pages, in words. */

import { language, say } from "../../localise";

export function pagesText(pages: number): string {
  return pages === 1 ? say("history_page") : say("history_pages", new Intl.NumberFormat(language()).format(pages));
}

/** A day as people write it; `Date` takes days for those of UTC. */
export function dayText(day: string, style: Intl.DateTimeFormatOptions = { dateStyle: "medium" }): string {
  return new Intl.DateTimeFormat(language(), { ...style, timeZone: "UTC" }).format(new Date(day));
}
