import { expect, test } from "vitest";
import { drawnPages, type Pool, pageOf, readPool } from "../src/core/pool";

/** A pool of pages with one word each: page n has the word n and the class n % 6. */
function file(pages: number): Uint8Array {
  const bytes = new Uint8Array(44 + 6 * pages);
  const view = new DataView(bytes.buffer);
  bytes.set([0x45, 0x50, 0x4c, 0x31]);
  view.setUint32(4, pages, true);
  view.setUint32(8, pages, true);
  bytes.fill(0xab, 12, 44);
  for (let page = 0; page < pages; page += 1) {
    bytes[44 + page] = page % 6;
    view.setUint16(44 + pages + 2 * page, 1, true);
    view.setUint16(44 + 3 * pages + 2 * page, page, true);
    bytes[44 + 5 * pages + page] = 255;
  }
  return bytes;
}

function drawn(pool: Pool, count: number) {
  const run = drawnPages(pool, count);
  for (;;) {
    const { done, value } = run.next();
    if (done) return value;
  }
}

test("a pool is read wherever in memory its file lies", () => {
  const bytes = new Uint8Array(1000);
  bytes.set(file(7), 3);
  const pool = readPool(bytes.subarray(3, 3 + file(7).length), 7);
  expect(pool.vocabulary).toBe("ab".repeat(32));
  expect(pageOf(pool, 6)).toEqual({
    vector: { indices: Int32Array.of(6), values: Float32Array.of(1) },
    label: 0,
  });
});

test("a file that claims to be gigabytes is refused before anything is allocated", () => {
  const bytes = file(1);
  new DataView(bytes.buffer).setUint32(4, 0xffffffff, true);
  new DataView(bytes.buffer).setUint32(8, 0xffffffff, true);
  expect(() => readPool(bytes, 1000)).toThrow("not possible");
});

test("different pages are drawn, each as often as any other", () => {
  const pool = readPool(file(10), 10);
  const counts = new Array<number>(10).fill(0);
  for (let turn = 0; turn < 5000; turn += 1) {
    const words = drawn(pool, 4).map(({ vector }) => vector.indices[0]!);
    expect(new Set(words).size).toBe(4);
    for (const page of words) counts[page]! += 1;
  }
  // 2000 each; the standard deviation is 35.
  for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(250);
});

test("all pages can be drawn, none, and no more than there are", () => {
  const pool = readPool(file(10), 10);
  expect(drawn(pool, 10).length).toBe(10);
  expect(drawn(pool, 0)).toEqual([]);
  expect(() => drawn(pool, 11)).toThrow("10 pages; 11 cannot be drawn");
});
