/**
 * The reports of words that a study got. Each is listed before its first byte leaves; a worker that is killed meanwhile
 * sends the same again. The words themselves are not kept here, only the hash of what was sent.
 */

import type { SentTerms } from "../../messages";
import { readKept, write } from "../database";

export interface StoredReport extends SentTerms {
  sha256: string;
  /** The consent or the study has ended since: if there is another, the same words are sent again. */
  over?: true;
}

const KEY = "term reports";

/** All reports, the oldest first. */
export async function termReports(): Promise<StoredReport[]> {
  return (await readKept<StoredReport[]>(KEY)) ?? [];
}

/** What the server was told, the latest first. */
export async function sentTerms(): Promise<SentTerms[]> {
  return (await termReports())
    .reverse()
    .map(({ time, server, words, pages, outcome }) => ({ time, server, words, pages, outcome }));
}

/** The present report of these bytes, if they were sent. */
export async function reportOf(server: string, sha256: string): Promise<StoredReport | undefined> {
  return (await termReports()).find((report) => isSame(report, { server, sha256 }));
}

/** Store a report in place of the same one that had no answer. */
export function storeReport(report: StoredReport): Promise<void> {
  return write(["kept"], (of) =>
    change(of("kept"), (reports) => [...reports.filter((other) => !isSame(other, report)), report]),
  );
}

/** Record what the server said, unless the consent or the study has ended meanwhile. */
export function settleReport(report: StoredReport, outcome: SentTerms["outcome"]): Promise<void> {
  return write(["kept"], (of) =>
    change(of("kept"), (reports) =>
      reports.map((other) => (other.time === report.time && isSame(other, report) ? { ...other, outcome } : other)),
    ),
  );
}

/** No report counts as sent any more: the consent or the study has ended. */
export function endReports(kept: IDBObjectStore): void {
  change(kept, (reports) =>
    reports.some(({ over }) => over !== true) ? reports.map((report) => ({ ...report, over: true })) : null,
  );
}

function isSame(report: StoredReport, { server, sha256 }: { server: string; sha256: string }): boolean {
  return report.over !== true && report.server === server && report.sha256 === sha256;
}

/** Change the reports within a transaction; null leaves them as they are. */
function change(kept: IDBObjectStore, how: (reports: StoredReport[]) => StoredReport[] | null): void {
  const request = kept.get(KEY);
  request.onsuccess = () => {
    const changed = how((request.result as StoredReport[] | undefined) ?? []);
    if (changed !== null) kept.put(changed, KEY);
  };
}
