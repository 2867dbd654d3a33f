// Puts a code from the fragment of the address into its field. Fragments are not sent to servers, so the code is in no log.
"use strict";

const form = document.querySelector("[data-fragment]");
if (form) {
  const given = new URLSearchParams(location.hash.slice(1)).get(form.dataset.fragment);
  if (given) {
    document.getElementById(form.dataset.into).value = given.slice(0, 100);
    // The code need not stay in the address bar, where others may see it, nor in the history.
    history.replaceState(null, "", location.pathname + location.search);
    if ("send" in form.dataset) form.requestSubmit();
  }
}
