// Shows the invitation code of the link, and copies it and the server's address. The fragment stays in the address bar:
// the extension reads it from there.
"use strict";

const given = new URLSearchParams(location.hash.slice(1));
const code = (given.get("invitation") ?? "").slice(0, 100);
const study = given.get("study") ?? "";

document.querySelector(code ? "[data-with-code]" : "[data-without-code]").hidden = false;
document.getElementById("invitation").value = code;
if (/^[a-z0-9-]{1,40}$/.test(study)) {
  const back = document.querySelector("[data-study]");
  back.hidden = false;
  back.querySelector("a").href = `/study/${study}/me`;
  document.querySelector("[data-no-study]").hidden = true;
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      return; // the text is selected: the person can copy it
    }
    button.textContent = button.dataset.copied;
  });
}

// The language links keep the fragment, so that the code is not lost.
for (const link of document.querySelectorAll("nav a[hreflang]")) link.hash = location.hash;
