/**
 * Random numbers from the operating system, which nobody can predict: for the noise and the draws that hide pages. The
 * generator of `random.ts`, whose numbers follow from a seed, must never take their place.
 */

/** `crypto.getRandomValues` fills at most 65,536 bytes at a time. */
const WORDS_AT_A_TIME = 16_384;

/** Return a whole number from 0 to `bound` - 1, each equally likely; `bound` is at most 2^32. */
export function secretBelow(bound: number): number {
  // Words from the last whole multiple of `bound` on would make small numbers likelier than large ones.
  const end = 2 ** 32 - (2 ** 32 % bound);
  for (;;) {
    const word = secretWords(1)[0]!;
    if (word < end) return word % bound;
  }
}

/** Return so many of the items, or all if there are fewer; each set of them is equally likely. */
export function secretDraw<T>(items: readonly T[], count: number): T[] {
  const order = [...items];
  const size = Math.min(count, order.length);
  for (let place = 0; place < size; place += 1) {
    const other = place + secretBelow(order.length - place);
    [order[place], order[other]] = [order[other]!, order[place]!];
  }
  return order.slice(0, size);
}

/** Return independent standard normal numbers (Box and Muller, 1958). */
export function secretNoise(count: number): Float64Array {
  const pairs = Math.ceil(count / 2);
  const words = secretWords(4 * pairs);
  const noise = new Float64Array(2 * pairs);
  for (let pair = 0; pair < pairs; pair += 1) {
    const radius = Math.sqrt(-2 * Math.log(uniform(words, 4 * pair)));
    const angle = 2 * Math.PI * uniform(words, 4 * pair + 2);
    noise[2 * pair] = radius * Math.cos(angle);
    noise[2 * pair + 1] = radius * Math.sin(angle);
  }
  return noise.subarray(0, count);
}

/** Return a number above 0 and at most 1, a multiple of 2^-53, made of two words. */
function uniform(words: Uint32Array, place: number): number {
  return ((words[place]! >>> 5) * 2 ** 26 + (words[place + 1]! >>> 6) + 1) / 2 ** 53;
}

function secretWords(count: number): Uint32Array {
  const words = new Uint32Array(count);
  for (let start = 0; start < count; start += WORDS_AT_A_TIME)
    crypto.getRandomValues(words.subarray(start, start + WORDS_AT_A_TIME));
  return words;
}
