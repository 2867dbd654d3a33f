// Keys for raters: digits choose a topic, Enter saves, O opens the page, B goes back, L decides later.
"use strict";

const form = document.getElementById("rating");

function act(key) {
  const topic = form.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (topic) {
    topic.checked = true;
    topic.focus();
    return true;
  }
  const target = { o: "open", b: "back", l: "later" }[key.toLowerCase()];
  const element = target && document.getElementById(target);
  if (element) element.click();
  return Boolean(element);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.key === "Enter") {
    // On a link, a button or a summary, Enter does what it always does.
    if (event.target.closest("a, button, summary")) return;
    event.preventDefault();
    document.getElementById("save")?.click();
  } else if (event.key.length === 1 && act(event.key)) {
    event.preventDefault();
  }
});
