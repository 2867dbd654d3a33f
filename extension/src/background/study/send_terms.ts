/**
 * Sends the words of the task pages that the person labelled, and of no other page, once all tasks are done; only while
 * the server says that the person consented to it on the study's site.
 */

import { sha256 } from "../../core/hash";
import { encodedReport, type PageWords } from "../../core/term_report";
import { write } from "../database";
import { labelledPages } from "../labelled_pages";
import { authorization, type Participant } from "../learning/participant";
import { Refused, type Server } from "../learning/server";
import type { KnownStudy } from "./study_store";
import { endReports, reportOf, type StoredReport, settleReport, storeReport } from "./term_reports";

export async function sendTerms(server: Server, participant: Participant, known: KnownStudy): Promise<void> {
  const { study, tasks } = known;
  if (!study.terms) return write(["kept"], (of) => endReports(of("kept")));
  if (!study.open || tasks.some(({ state }) => state === "open")) return;
  const encoded = encodedReport(await wordsOfTasks(server.address, known));
  if (encoded === null) return;
  const { report, bytes } = encoded;
  const hash = await sha256(bytes);
  const before = await reportOf(server.address, hash);
  if (before !== undefined && before.outcome !== "unknown") return;
  server.stop.throwIfAborted();
  const facts = { server: server.address, words: Object.keys(report.weights).length, pages: report.samples };
  const listed: StoredReport = { ...facts, time: Date.now(), sha256: hash, outcome: "unknown" };
  await storeReport(listed);
  await settleReport(listed, await put(server, participant, bytes));
}

async function put(server: Server, participant: Participant, body: Uint8Array): Promise<"taken" | "refused"> {
  const headers = { "Content-Type": "application/json", ...authorization(participant) };
  try {
    await server.request("/api/v2/study/terms", { method: "PUT", headers, body });
    return "taken";
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401 || error.slug === "no-study") throw error;
    // The consent was withdrawn a moment ago, or the server has no such address: it would refuse the same again.
    return "refused";
  }
}

/** The words of the page of each task that was labelled in this study: those of the latest answer. */
async function wordsOfTasks(server: string, { study: { slug }, tasks }: KnownStudy): Promise<PageWords[]> {
  const labelled = new Set(tasks.filter(({ state }) => state === "labelled").map(({ id }) => id));
  const pages = (await labelledPages()).sort((one, other) => one.time - other.time);
  const words = new Map<number, PageWords>();
  // Another study of this server may have had tasks of the same numbers.
  for (const { study, words: counted } of pages)
    if (study?.server === server && study.slug === slug && labelled.has(study.task)) words.set(study.task, counted);
  return [...words.values()];
}
