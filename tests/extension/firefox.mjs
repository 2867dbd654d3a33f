/**
 * The smoke path in a real Firefox: `node firefox.mjs EXTENSION SENSITIVE PLAIN SERVER`, results as JSON.
 *
 * Installs the unpacked extension, agrees on the welcome page, visits a sensitive page twice and a plain one, corrects a
 * verdict in the popup, labels more pages, and takes part once at the server. Every host of the two addresses is this machine.
 */

import { argv } from "node:process";
import { askAs, open as openIn, PATIENCE_MS, placeOf, startFirefox, until, url, visit } from "./firefox_browser.mjs";

const [extension, sensitive, plain, server] = argv.slice(2);
const hosts = [sensitive, plain].map((address) => new URL(address).hostname);
const browser = await startFirefox([...hosts, ...hosts.map((host) => `tracker.${host}`), "www.google-analytics.com"]);
const open = (address) => openIn(browser, address);
const ask = (name, message) => askAs(browser, name, message);

try {
  await browser.installExtension(extension);
  const welcome = await open(url("welcome"));
  const boxes = await welcome.$$eval("input[type=checkbox]", (found) => found.map((box) => box.checked));
  await welcome.waitForSelector("fieldset:not([disabled])", { timeout: PATIENCE_MS });
  await welcome.click("#classifying");
  await welcome.click("#invited > summary");
  await welcome.click("#contributing");
  await welcome.click("#other > summary");
  await welcome.type("#server", server);
  await welcome.click("#save");
  const agreed = await until(
    () => welcome.$eval("#status", (status) => status.textContent),
    "an answer to the choices",
  );

  const desk = await open(url("sent"));
  // The alarm goes off after a minute, which may be in the middle of the test: the test says when to take part.
  await desk.evaluate(() => browser.alarms.create("learn", { delayInMinutes: 60 }));
  const tabOf = (address) =>
    until(
      () =>
        desk.evaluate(async (wanted) => (await browser.tabs.query({})).find((tab) => tab.url === wanted)?.id, address),
      address,
    );
  const badge = async (address) =>
    desk.evaluate((tabId) => browser.action.getBadgeText({ tabId }), await tabOf(address));
  const view = async (address) => ask("popup", { kind: "popup", tab: await tabOf(address) });

  const page = await open(sensitive);
  const letter = await until(async () => {
    const found = await badge(sensitive);
    return /^[A-Z]\d+$/.test(found) ? found : null;
  }, "a letter and the number of trackers");
  const title = async (address) => desk.evaluate((tabId) => browser.action.getTitle({ tabId }), await tabOf(address));
  const spoken = await until(async () => {
    const found = await title(sensitive);
    return found.includes("has trackers") ? found : null;
  }, "a title that names the trackers");
  const first = await view(sensitive);

  await ask("popup", { kind: "pause", tab: -1, minutes: 60 });
  const paused = {
    badge: await until(async () => ((await badge(sensitive)) === "II" ? "II" : null), "the sign of the pause"),
    scripts: (await desk.evaluate(() => browser.scripting.getRegisteredContentScripts())).length,
    alarm: await desk.evaluate(async () => (await browser.alarms.get("pause")) !== undefined),
    state: (await view(sensitive)).state,
  };
  await ask("popup", { kind: "pause", tab: -1, minutes: 0 });
  await until(async () => ((await badge(sensitive)) === letter[0] ? true : null), "the letter after the pause");

  // Within the page the address changes and the text with it. Firefox goes on naming the first address to scripts.
  const within = new URL("/within", sensitive).href;
  await page.evaluate(() => {
    history.pushState({}, "", "/within");
    for (const meta of document.querySelectorAll("meta")) meta.remove();
    document.title = "Football";
    document.body.textContent = "The match ended two to one. The team played well, and the fans sang in the stadium.";
  });
  await until(async () => (await view(within)).verdict !== null, "a verdict after navigation within the page");
  await until(async () => (await badge(within)) === "", "no letter any more");
  const moved = (await view(within)).verdict.topic;

  await visit(page, plain);
  await until(async () => (await view(plain)).state === "ready", "a verdict on the plain page");
  const nothing = await badge(plain);

  // The second visit is preceded by a warning.
  await visit(page, sensitive);
  await page.waitForSelector("#continue", { visible: true, timeout: PATIENCE_MS });
  const warned = await until(() => placeOf(page), "the address of the warning");
  const known = await page.$eval("#known", (found) => found.textContent);
  await page.click("#continue");
  await until(async () => (await placeOf(page)) === sensitive, "the page after Continue");
  await until(async () => (await badge(sensitive)) === letter, "the letter again");

  const popup = await open(url("popup", `?tab=${await tabOf(sensitive)}`));
  await popup.waitForSelector("#topic", { visible: true, timeout: PATIENCE_MS });
  await popup.select("#topic", "2");
  await popup.click("#correct");
  await until(async () => (await view(sensitive)).label === 2, "the correction");
  const corrected = await until(async () => {
    const found = await badge(sensitive);
    return found === letter ? null : found;
  }, "another letter");

  const labelled = [];
  for (const path of ["one", "two", "three", "four"]) {
    const address = new URL(path, plain).href;
    await visit(page, address);
    const here = await until(async () => {
      const found = await view(address);
      return found.state === "ready" ? found : null;
    }, "a verdict");
    labelled.push((await ask("popup", { kind: "label", document: here.document, url: here.url, label: 5 })).label);
  }
  const learned = await ask("options", { kind: "learn" });
  const renewed = await until(async () => {
    const found = await ask("options", { kind: "learn" });
    return found.model.version > learned.model.version ? found : null;
  }, "a new model");
  console.log(
    JSON.stringify({
      boxes,
      agreed,
      letter,
      spoken,
      trackers: first.trackers,
      paused,
      moved,
      nothing,
      warned,
      known,
      corrected,
      labelled,
      learned,
      renewed,
    }),
  );
} finally {
  await browser.close();
}
