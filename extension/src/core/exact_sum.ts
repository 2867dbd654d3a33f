/**
 * The sum of finite numbers, exact before it is rounded once, as Python's `math.fsum` (Shewchuk, 1997): their order
 * changes nothing, and equal sums are equal.
 */
export function exactSum(numbers: readonly number[]): number {
  // What the numbers so far add up to, in parts that do not overlap, the smallest first.
  const parts: number[] = [];
  for (const number of numbers) {
    let [sum, kept] = [number, 0];
    for (const part of parts) {
      const [high, low] = twoSum(sum, part);
      if (low !== 0) parts[kept++] = low;
      sum = high;
    }
    parts.length = kept;
    parts.push(sum);
  }
  return rounded(parts);
}

/** The rounded sum of two numbers, and what rounding took from it. */
function twoSum(one: number, other: number): [high: number, low: number] {
  const [large, small] = Math.abs(one) < Math.abs(other) ? [other, one] : [one, other];
  const high = large + small;
  return [high, small - (high - large)];
}

function rounded(parts: number[]): number {
  let sum = parts.pop() ?? 0;
  let rest = 0;
  while (rest === 0 && parts.length > 0) [sum, rest] = twoSum(sum, parts.pop()!);
  // Halfway between two numbers, the parts below decide.
  const below = parts.at(-1) ?? 0;
  if (rest !== 0 && Math.sign(rest) === Math.sign(below)) {
    const up = sum + 2 * rest;
    if (up - sum === 2 * rest) return up;
  }
  return sum;
}
