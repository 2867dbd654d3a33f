// Fetches the part of the page that changes, every two seconds while somebody looks. Without scripts: reload the page.
"use strict";

const EVERY = 2000;
const SLOWEST = 60000;
const part = document.querySelector("[data-live]");
const said = document.querySelector("[data-live-said]");
let shown = "";
let wait = EVERY;
let timer = 0;

async function refresh() {
  const answer = await fetch(part.dataset.live, { cache: "no-store", credentials: "same-origin" });
  if (answer.redirected) {
    // The session has ended: the page itself leads to the sign-in form.
    location.reload();
    return;
  }
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const text = await answer.text();
  if (text !== shown) {
    if (shown) show(text);
    shown = text;
  }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").body;
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const before = part.firstElementChild.dataset.state;
  part.replaceChildren(...fresh.childNodes);
  // Keep the keyboard focus when the round closes meanwhile.
  if (focused) (document.getElementById(focused) ?? document.getElementById("content")).focus();
  const after = part.firstElementChild.dataset.state;
  if (after !== before) said.textContent = after;
}

async function tick() {
  try {
    await refresh();
    wait = EVERY;
  } catch {
    wait = Math.min(2 * wait, SLOWEST); // the server may be restarting: ask less and less often
  }
  plan();
}

function plan() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(tick, wait);
}

document.addEventListener("visibilitychange", plan);
plan();
