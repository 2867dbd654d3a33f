/** The small form of an update: the difference to the base, in half precision (docs/http-protocol.md, section 5). */

import { BadInput } from "./bad_input";

/** The bits of 65504. */
const LARGEST = 0x7bff;
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/**
 * Half as many bytes as the parameters: float16, little-endian, rounded to the nearest, ties to even. What is beyond its
 * range becomes the largest number: a server that chose a plan with steps as large as that could tell something of the
 * pages from the missing update, again and again, without their use being counted.
 */
export function difference16(base: Float32Array, parameters: Float32Array): Uint8Array {
  if (base.length !== parameters.length) throw new BadInput("Base and parameters are not of one length.");
  const bytes = new Uint8Array(2 * base.length);
  const view = new DataView(bytes.buffer);
  for (let n = 0; n < base.length; n += 1) view.setUint16(2 * n, float16(parameters[n]! - base[n]!), true);
  return bytes;
}

/** The 16 bits of a number that is first rounded to float32, as the difference of two float32 is everywhere else. */
function float16(number: number): number {
  const [sign, size] = bitsOf(number);
  if (Number.isNaN(number)) throw new BadInput("A difference is not a number.");
  // 65520 and more would round to infinity.
  if (size >= 0x477ff000) return sign | LARGEST;
  return sign | (size < 0x38800000 ? subnormal(size) : normal(size));
}

function bitsOf(number: number): [sign: number, size: number] {
  float[0] = number;
  return [(bits[0]! >>> 16) & 0x8000, bits[0]! & 0x7fffffff];
}

/** From 2^-14 on: another bias of the exponent, and 13 bits of the fraction rounded away. */
function normal(size: number): number {
  const rebiased = size - (112 << 23);
  return (rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13;
}

/** Below 2^-14 the steps are 2^-24, as they are for float32 between 0.5 and 1: adding 0.5 does the rounding. */
function subnormal(size: number): number {
  bits[0] = size;
  float[0] = float[0]! + 0.5;
  return bits[0]! - 0x3f000000;
}
