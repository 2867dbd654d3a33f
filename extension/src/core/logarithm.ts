/**
 * The natural logarithm of a whole number of at least 1, to the bit the same everywhere
 * (docs/page-to-prediction.md, section 5):
 * those of mathematical libraries differ in the last bit.
 */
export function ln(number: number): number {
  let mantissa = number;
  let exponent = 0;
  while (mantissa >= 2) {
    mantissa /= 2;
    exponent += 1;
  }
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let series = 0;
  for (let term = 19; term >= 0; term -= 1) series = series * square + 1 / (2 * term + 1);
  return exponent * Math.LN2 + 2 * ratio * series;
}
