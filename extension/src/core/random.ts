/** Random numbers, the same bits for all clients (docs/page-to-prediction.md, section 8); not for secrets. */

/** What words are drawn for: the first number of a path. */
export const SHUFFLE = 2;
export const DROPOUT = 3;

/** The 32-bit word at `counter` of the sequence named by `key`. */
export function draw(key: number, counter: number): number {
  return mix(key ^ mix(counter + 0x9e3779b9));
}

/** The key of the sequence at `path` below `seed`. */
export function keyOf(seed: number, ...path: readonly number[]): number {
  return path.reduce(draw, seed);
}

/** The first `take` numbers of a random order of 0 .. size-1. */
export function permutation(key: number, size: number, take: number): Int32Array {
  const order = Int32Array.from({ length: size }, (_, place) => place);
  const count = Math.min(take, size);
  for (let place = 0; place < count; place += 1) {
    const other = place + scaled(draw(key, place), size - place);
    [order[place], order[other]] = [order[other]!, order[place]!];
  }
  return order.subarray(0, count);
}

function mix(word: number): number {
  word ^= word >>> 16;
  word = Math.imul(word, 0x85ebca6b);
  word ^= word >>> 13;
  word = Math.imul(word, 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

/** floor(word * bound / 2^32), exact: each product stays below 2^53. */
function scaled(word: number, bound: number): number {
  return Math.floor(((word >>> 16) * bound + Math.floor(((word & 0xffff) * bound) / 65536)) / 65536);
}
