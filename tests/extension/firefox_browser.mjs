/** A real Firefox with the unpacked extension: what the scripts that run in it have in common. */

import { env } from "node:process";
import puppeteer from "puppeteer-core";

const ID = "{7b5f0758-472c-45fe-9fd8-aaba42e3b0b1}";
const UUID = "6f1a1c1e-0000-4000-8000-0000000e1742";
export const PATIENCE_MS = 180_000;

/** Start Firefox, for which these hosts are this machine. */
export function startFirefox(hosts) {
  return puppeteer.launch({
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
      "network.dns.localDomains": hosts.join(","),
    },
  });
}

export function url(name, query = "") {
  return `moz-extension://${UUID}/pages/${name}/${name}.html${query}`;
}

export async function until(find, what) {
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
export async function visit(page, address) {
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

export async function placeOf(page) {
  return page.evaluate(() => (document.readyState === "complete" ? location.href : "")).catch(() => "");
}

export async function open(browser, address) {
  const page = await browser.newPage();
  await visit(page, address);
  await until(async () => (await placeOf(page)) === address, address);
  return page;
}

const asking = new Map();

/** Ask the worker as one of our pages does; the page stays open for the next question. */
export async function askAs(browser, name, message) {
  const page = asking.get(name) ?? (await open(browser, url(name, name === "popup" ? "?tab=-1" : "")));
  asking.set(name, page);
  const told = await page.evaluate((sent) => chrome.runtime.sendMessage(sent), message);
  if (!told.ok) throw new Error(JSON.stringify(told));
  return told.answer;
}
