/**
 * The pool: public pages as vectors, of which cover pages are drawn to train on beside the person's own
 * (docs/page-to-prediction.md, section 10). The file comes from a server and may hold anything.
 */

import { BadInput } from "./bad_input";
import { secretBelow } from "./secret_random";
import { TOPICS } from "./taxonomy";
import type { LabelledPage } from "./training";

export interface Pool {
  /** The SHA-256 of the vocabulary file by which the vectors were made, as 64 hexadecimal digits. */
  readonly vocabulary: string;
  readonly labels: Uint8Array;
  /** Where the entries of each page begin, and where the last page's end. */
  readonly starts: Uint32Array;
  readonly columns: Uint16Array;
  readonly weights: Uint8Array;
}

const MAGIC = "EPL1";
const HEAD_BYTES = 44;
/** The weight of a page's weightiest word. */
const LARGEST = 255;
const MOST_PAGES = 100_000;
const MOST_ENTRIES = 10_000_000;

/** Read the file of a pool for vectors of a width; whatever section 10 does not allow is refused. */
export function readPool(bytes: Uint8Array, width: number): Pool {
  if (bytes.length < HEAD_BYTES || String.fromCharCode(...bytes.subarray(0, 4)) !== MAGIC)
    throw new BadInput("This is no file of cover pages: it does not begin with EPL1.");
  const head = new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES);
  const [pages, entries] = [head.getUint32(4, true), head.getUint32(8, true)];
  if (pages < 1 || pages > MOST_PAGES || entries < pages || entries > MOST_ENTRIES)
    throw new BadInput(`A pool of ${pages} pages with ${entries} words in all is not possible.`);
  if (bytes.length !== HEAD_BYTES + 3 * pages + 3 * entries)
    throw new BadInput("The file of cover pages is shorter or longer than it says.");
  // Copies: numbers of two bytes must lie at an even place, and the file need not be held any longer.
  const part = (start: number, length: number) => new Uint8Array(bytes.subarray(start, start + length));
  const body = HEAD_BYTES + 3 * pages;
  const labels = part(HEAD_BYTES, pages);
  const lengths = new Uint16Array(part(HEAD_BYTES + pages, 2 * pages).buffer);
  const columns = new Uint16Array(part(body, 2 * entries).buffer);
  const weights = part(body + 2 * entries, entries);
  const starts = new Uint32Array(pages + 1);
  for (const [page, length] of lengths.entries()) starts[page + 1] = starts[page]! + length;
  if (starts[pages] !== entries) throw new BadInput("The pages of the pool have more or fewer words than it says.");
  const pool = { vocabulary: hexadecimal(bytes.subarray(12, HEAD_BYTES)), labels, starts, columns, weights };
  for (let page = 0; page < pages; page += 1) checkPage(pool, page, width);
  return pool;
}

/** Draw so many different pages, each set of them equally likely, and yield after each: a server may want thousands. */
export function* drawnPages(pool: Pool, count: number): Generator<void, LabelledPage[], void> {
  const pages = pool.labels.length;
  if (count > pages) throw new BadInput(`The pool has ${pages} pages; ${count} cannot be drawn.`);
  const order = Uint32Array.from({ length: pages }, (_, page) => page);
  const drawn: LabelledPage[] = [];
  for (let place = 0; place < count; place += 1) {
    const other = place + secretBelow(pages - place);
    [order[place], order[other]] = [order[other]!, order[place]!];
    drawn.push(pageOf(pool, order[place]!));
    yield;
  }
  return drawn;
}

/** Return a page of the pool: its weights as multiples that make a vector of length 1. */
export function pageOf({ labels, starts, columns, weights }: Pool, page: number): LabelledPage {
  const [start, end] = [starts[page]!, starts[page + 1]!];
  const own = weights.subarray(start, end);
  const length = Math.sqrt(own.reduce((sum, weight) => sum + weight * weight, 0));
  return {
    vector: {
      indices: Int32Array.from(columns.subarray(start, end)),
      values: Float32Array.from(own, (weight) => weight / length),
    },
    label: labels[page]!,
  };
}

function checkPage({ labels, starts, columns, weights }: Pool, page: number, width: number): void {
  if (labels[page]! >= TOPICS.length) throw new BadInput("A cover page has an unknown class.");
  let [before, largest] = [-1, 0];
  for (let entry = starts[page]!; entry < starts[page + 1]!; entry += 1) {
    const [column, weight] = [columns[entry]!, weights[entry]!];
    if (column <= before || column >= width)
      throw new BadInput(`The words of a cover page must be below ${width} and in ascending order.`);
    if (weight === 0) throw new BadInput("A word of a cover page counts nothing.");
    [before, largest] = [column, Math.max(largest, weight)];
  }
  // A page without words has no largest weight either.
  if (largest !== LARGEST) throw new BadInput(`The largest weight of every cover page must be ${LARGEST}.`);
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
