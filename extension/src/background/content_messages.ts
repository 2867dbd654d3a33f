/**
 * Handles messages from content scripts. A hostile page may have taken its content script over: a message that is not
 * as expected changes nothing.
 */

import { browser } from "../browser";
import { readPage } from "../core/page";
import { normalHost } from "../core/site";
import { siteOf } from "../core/trackers";
import type { ContentAnswer } from "../messages";
import { mayRead } from "../settings";
import { hostOf, pageAddress } from "./address";
import { classify } from "./classify";
import { effectsAreDue, updateEffects } from "./document_effects";
import { committed, currentDocument, documentsLoaded, type SeenDocument, saveDocuments, saveWords } from "./documents";
import { labelOf } from "./labelled_pages";
import { rememberedHosts } from "./remembered_hosts";
import { settings } from "./settings_store";
import { taskOf } from "./study/task_pages";

type Sender = chrome.runtime.MessageSender;
/** Firefox has no ids of documents. */
type Frame = Partial<chrome.webNavigation.GetFrameResultDetails>;

const NOTHING: ContentAnswer = { marks: false };
const OFF: ContentAnswer = { marks: false, off: true };

/** Judge the page that a content script sent. */
export async function reported(message: object, sender: Sender): Promise<ContentAnswer> {
  const choices = await settings();
  const host = hostOf(sender.url ?? "");
  if (!mayRead(choices) || host === "" || choices.offSites.includes(siteOf(host))) return OFF;
  await documentsLoaded();
  const seen = await documentOf(sender, addressOf(message, sender));
  if (seen === undefined) return NOTHING;
  const page = readPage("page" in message ? message.page : null);
  const { url } = seen;
  const [judged, label] = await Promise.all([classify(page), labelOf(url)]);
  // Meanwhile the tab may have gone elsewhere.
  if (currentDocument(seen.tab) !== seen || seen.url !== url) return NOTHING;
  seen.verdict = judged.verdict;
  seen.published = judged.published;
  seen.label = label;
  effectsAreDue(seen);
  await Promise.all([saveWords(seen, judged.words), saveDocuments()]);
  await updateEffects(seen);
  return { marks: choices.linkMarks && (await taskOf(seen)) === null };
}

/** The class a linked host is known for, while the person wants links marked; null says nothing. */
export async function linked(message: object): Promise<number | null> {
  const choices = await settings();
  if (!mayRead(choices) || !choices.linkMarks || !("host" in message) || typeof message.host !== "string") return null;
  return (await rememberedHosts()).get(normalHost(message.host))?.topic ?? null;
}

/**
 * The address of the page now. Firefox says where the page was when its script started; the script itself says where
 * it is, and is believed as long as it stays on its site.
 */
function addressOf(message: object, { url = "" }: Sender): string {
  const told = "url" in message && typeof message.url === "string" ? message.url : "";
  return URL.canParse(told) && new URL(told).origin === new URL(url).origin ? told : url;
}

/** The document a content script runs in, if it is the one its tab shows. */
async function documentOf(sender: Sender, url: string): Promise<SeenDocument | undefined> {
  const tab = sender.tab?.id;
  if (tab === undefined) return undefined;
  if (sender.documentLifecycle !== undefined && sender.documentLifecycle !== "active") return undefined;
  const current = currentDocument(tab);
  const isIt = (id: string | undefined, address: string | undefined) =>
    sender.documentId === undefined
      ? address !== undefined && pageAddress(url) === pageAddress(address)
      : sender.documentId === id;
  if (isIt(current?.id, current?.url)) return current;
  // Either its commit was not seen, because the extension was switched on while the page was open, or it is a late word
  // of a page that the tab has left. The browser knows.
  const shown: Frame | null = await browser.webNavigation.getFrame({ tabId: tab, frameId: 0 });
  if (currentDocument(tab) !== current) return documentOf(sender, url);
  return isIt(shown?.documentId, shown?.url) ? committed(tab, sender.documentId, url, true) : undefined;
}
