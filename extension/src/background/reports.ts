/** What content scripts say. They speak for pages: whatever is odd about a message, it changes nothing. */

import { readPage } from "../core/content";
import { siteOf } from "../core/trackers";
import type { ContentAnswer } from "../messages";
import { pageAddress } from "./address";
import { settings } from "./choices";
import { consider } from "./consider";
import {
  changedDocument,
  committed,
  currentDocument,
  documentsLoaded,
  saveDocuments,
  saveWords,
  type SeenDocument,
} from "./documents";
import { knownHosts } from "./hosts";
import { judge } from "./judge";
import { labelOf } from "./labels";
import { hostOf } from "./parties";

type Sender = chrome.runtime.MessageSender;

const NOTHING: ContentAnswer = { marks: false };

/** Judge the page that a content script sent. */
export async function reported(message: object, sender: Sender): Promise<ContentAnswer> {
  const { classifying, offSites, linkMarks } = await settings();
  const host = hostOf(sender.url ?? "");
  if (!classifying || host === "" || offSites.includes(siteOf(host))) return NOTHING;
  await documentsLoaded();
  const seen = documentOf(sender);
  if (seen === undefined) return NOTHING;
  const page = readPage("page" in message ? message.page : null);
  const { url } = seen;
  const [judged, label] = await Promise.all([judge(page), labelOf(url)]);
  // Meanwhile the tab may have gone elsewhere.
  if (currentDocument(seen.tab) !== seen || seen.url !== url) return NOTHING;
  seen.verdict = judged.verdict;
  seen.label = label;
  seen.judged = true;
  changedDocument(seen);
  await Promise.all([saveWords(seen, judged.words), saveDocuments()]);
  await consider(seen);
  return { marks: linkMarks };
}

/** The class a linked host is known for, while the person wants links marked; null says nothing. */
export async function linked(message: object): Promise<number | null> {
  const { classifying, linkMarks } = await settings();
  if (!classifying || !linkMarks || !("host" in message) || typeof message.host !== "string") return null;
  return (await knownHosts()).get(message.host)?.topic ?? null;
}

/** The document a content script runs in, if it is the one its tab shows. */
function documentOf(sender: Sender): SeenDocument | undefined {
  const tab = sender.tab?.id;
  if (tab === undefined || sender.url === undefined) return undefined;
  if (sender.documentLifecycle !== undefined && sender.documentLifecycle !== "active") return undefined;
  const current = currentDocument(tab);
  const same =
    current !== undefined &&
    (sender.documentId === undefined ? current.url === pageAddress(sender.url) : current.id === sender.documentId);
  // Its commit was not seen: the extension was switched on while the page was open.
  return same ? current : committed(tab, sender.documentId, sender.url, true);
}
