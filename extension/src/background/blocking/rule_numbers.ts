/**
 * Numbers and priorities of the browser's rules for blocking. Those of warnings (`../warnings.ts`) are below 2000, and
 * their priorities above these: what is allowed here must not let a visit pass that the person wants to be asked about.
 */

/** How many companies there may be whose own pages are sensitive. */
export const MOST_OWNERS = 40;

/** Dynamic rules: on hosts known as sensitive. */
export const SITES = { block: 2001, elsewhere: 2002, owners: 2010, privacyControl: 2900 } as const;
/** Session rules: in tabs that show a sensitive page. */
export const TABS = { block: 3001, elsewhere: 3002, task: 3003, owners: 3010 } as const;

export const PRIORITIES = {
  site: 1,
  siteElsewhere: 2,
  siteOwner: 3,
  tab: 4,
  tabElsewhere: 5,
  tabOwner: 6,
  task: 7,
  privacyControl: 50,
} as const;

/** The numbers of rules that allow a company its own hosts on its own pages. */
export function ownerNumbers(first: number): number[] {
  return Array.from({ length: MOST_OWNERS }, (_, place) => first + place);
}
