/**
 * The browser's interface for extensions. Firefox has it under this name, too, and with promises since Manifest V3. Its
 * other name, `browser`, is not asked for: where there is none, an element or a frame of a page that is called so is.
 */
export const browser: typeof chrome = chrome;
