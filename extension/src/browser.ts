/** The browser's interface for extensions: Firefox calls it `browser`, Chromium `chrome`; both answer with promises. */
export const browser: typeof chrome = (globalThis as { browser?: typeof chrome }).browser ?? chrome;
