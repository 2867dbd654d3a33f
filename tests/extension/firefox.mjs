/**
 * The smoke path in a real Firefox: `node firefox.mjs EXTENSION SENSITIVE PLAIN SERVER`, results as JSON.
 *
 * Installs the unpacked extension, agrees on the welcome page, visits a sensitive page twice and a plain one, corrects a
 * verdict in the popup, labels more pages, and takes part once at the server. Every host of the two addresses is this machine.
 */

import { argv, env } from "node:process";
import puppeteer from "puppeteer-core";

const [extension, sensitive, plain, server] = argv.slice(2);
const ID = "{7b5f0758-472c-45fe-9fd8-aaba42e3b0b1}";
const UUID = "6f1a1c1e-0000-4000-8000-0000000e1742";
const PATIENCE_MS = 180_000;
const hosts = [sensitive, plain].map((address) => new URL(address).hostname);

const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: env.FIREFOX,
  headless: true,
  timeout: PATIENCE_MS,
  protocolTimeout: PATIENCE_MS,
  // Without it, Firefox from 153 on refuses to show pages of an extension to whoever controls it from outside.
  args: ["--remote-allow-system-access"],
  extraPrefsFirefox: {
    // Our pages have an address that is known beforehand, and the hosts of the test are here.
    "extensions.webextensions.uuids": JSON.stringify({ [ID]: UUID }),
    // Firefox asks whether data may be sent; here the answer is yes.
    "extensions.webextOptionalPermissionPrompts": false,
    "network.dns.localDomains": [...hosts, ...hosts.map((host) => `tracker.${host}`), "www.google-analytics.com"].join(
      ",",
    ),
  },
});

function url(name, query = "") {
  return `moz-extension://${UUID}/pages/${name}/${name}.html${query}`;
}

async function until(find, what) {
  const end = Date.now() + PATIENCE_MS;
  let last;
  while (Date.now() < end) {
    last = await find();
    if (last) return last;
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error(`waited in vain for ${what}; the last was ${JSON.stringify(last)}`);
}

/**
 * Go to an address and wait until the tab is elsewhere than before and has loaded. Firefox never reports that a page of an
 * extension was loaded, so the page itself is asked, and what puppeteer waits for besides is of no interest.
 */
async function visit(page, address) {
  const before = await page.evaluate(() => performance.timeOrigin);
  void page.goto(address, { timeout: PATIENCE_MS }).catch(() => null);
  await until(
    () =>
      page
        .evaluate((old) => performance.timeOrigin !== old && document.readyState === "complete", before)
        .catch(() => false),
    address,
  );
}

async function placeOf(page) {
  return page.evaluate(() => (document.readyState === "complete" ? location.href : "")).catch(() => "");
}

async function open(address) {
  const page = await browser.newPage();
  await visit(page, address);
  await until(async () => (await placeOf(page)) === address, address);
  return page;
}

const asking = new Map();

/** Ask the worker as one of our pages does; the page stays open for the next question. */
async function ask(name, message) {
  const page = asking.get(name) ?? (await open(url(name, name === "popup" ? "?tab=-1" : "")));
  asking.set(name, page);
  const told = await page.evaluate((sent) => browser.runtime.sendMessage(sent), message);
  if (!told.ok) throw new Error(JSON.stringify(told));
  return told.answer;
}

try {
  await browser.installExtension(extension);
  const welcome = await open(url("welcome"));
  const boxes = await welcome.$$eval("input[type=checkbox]", (found) => found.map((box) => box.checked));
  await welcome.waitForSelector("fieldset:not([disabled])", { timeout: PATIENCE_MS });
  await welcome.click("#classifying");
  await welcome.click("#contributing");
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
    return found.endsWith("!") ? found : null;
  }, "a letter and the mark for trackers");
  const title = async (address) => desk.evaluate((tabId) => browser.action.getTitle({ tabId }), await tabOf(address));
  const spoken = await until(async () => {
    const found = await title(sensitive);
    return found.includes("tracks you") ? found : null;
  }, "a title that names the trackers");
  const first = await view(sensitive);

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
