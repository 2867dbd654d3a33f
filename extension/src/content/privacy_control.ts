/**
 * `navigator.globalPrivacyControl`, which scripts of pages ask for; the header says the same to servers. Runs in the
 * world of the page, and only if the person switched the signal on.
 */

Object.defineProperty(Navigator.prototype, "globalPrivacyControl", {
  get: () => true,
  configurable: true,
  enumerable: true,
});
