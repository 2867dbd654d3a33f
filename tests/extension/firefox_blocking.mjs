/**
 * Blocking in a real Firefox: `node firefox_blocking.mjs EXTENSION SENSITIVE PLAIN TRACKER...`, results as JSON.
 *
 * Visits a sensitive page, asks each tracker for something after the verdict, visits a plain page, the sensitive one
 * again, and once more after its site was allowed. After each visit the popup is asked what was blocked.
 */

import { argv } from "node:process";
import { askAs, open as openIn, startFirefox, until, url, visit } from "./firefox_browser.mjs";

const [extension, sensitive, plain, ...trackers] = argv.slice(2);
const hosts = [sensitive, plain].map((address) => new URL(address).hostname);
const browser = await startFirefox([...hosts, ...trackers, "cdn.jsdelivr.net"]);
const ask = (name, message) => askAs(browser, name, message);
const { port } = new URL(sensitive);

try {
  await browser.installExtension(extension);
  await ask("welcome", { kind: "consent", classifying: true, contributing: false, studies: false, server: "" });
  await ask("options", { kind: "change", settings: { warnings: false } });
  const desk = await openIn(browser, url("sent"));

  async function view(address) {
    const tab = await desk.evaluate(
      async (wanted) => (await chrome.tabs.query({})).find((one) => one.url === wanted)?.id ?? -1,
      address,
    );
    return ask("popup", { kind: "popup", tab });
  }

  /** Wait until a page was read and what follows from that is done: the number of rules says so. */
  async function read(address, active) {
    await until(async () => (await view(address)).state === "ready", `a verdict on ${address}`);
    return until(async () => {
      const found = await view(address);
      const rules = await desk.evaluate(() => chrome.declarativeNetRequest.getSessionRules());
      return found.blocking.active === active && rules.some(({ id }) => id === 3001) === active && found;
    }, "the rules");
  }

  /** Ask every tracker for a picture from within the page. */
  async function askTrackers(page, name) {
    for (const host of trackers)
      await page.evaluate(
        (address) =>
          new Promise((done) => {
            const picture = new Image();
            picture.onload = picture.onerror = () => done(null);
            picture.src = address;
          }),
        `http://${host}:${port}/${name}.gif`,
      );
  }

  async function blocked(address, count) {
    return until(async () => {
      const { blocking } = await view(address);
      return blocking.blocked >= count && blocking;
    }, `${count} blocked requests on ${address}`);
  }

  const page = await openIn(browser, sensitive);
  await read(sensitive, true);
  await askTrackers(page, "late");
  const first = await blocked(sensitive, trackers.length);

  await visit(page, plain);
  await read(plain, false);
  await askTrackers(page, "ordinary");
  const ordinary = await blocked(plain, 0);

  await visit(page, sensitive);
  await read(sensitive, true);
  const second = await blocked(sensitive, trackers.length);

  const { document } = await view(sensitive);
  await ask("popup", { kind: "block-site", document, on: false });
  await visit(page, plain);
  await visit(page, sensitive);
  await read(sensitive, false);
  await askTrackers(page, "allowed");
  const allowed = await blocked(sensitive, 0);
  console.log(JSON.stringify({ first, ordinary, second, allowed }));
} finally {
  await browser.close();
}
