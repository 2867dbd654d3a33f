/**
 * `navigator.globalPrivacyControl`, which scripts of pages ask for; the header says the same to servers. Runs in the
 * world of the page, and only if the person switched the signal on.
 *
 * The getter is a function of the browser's own. One of ours would be named in the traces of errors, with the address of
 * the extension, when a page calls it with no room left on the stack.
 */

Object.defineProperty(Navigator.prototype, "globalPrivacyControl", {
  get: Boolean.bind(null, true),
  configurable: true,
  enumerable: true,
});
