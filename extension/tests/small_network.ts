/** A network small enough to reason about, and pages of a single word for it. */

import { type Network, sizeOf } from "../src/core/network";
import type { LabelledPage } from "../src/core/training";

export const small: Network = {
  layers: [4, 3, 2],
  parameters: Float32Array.from({ length: sizeOf([4, 3, 2]) }, (_, n) => Math.sin(n)),
};

export const page = (index: number, label: number): LabelledPage => ({
  vector: { indices: Int32Array.of(index), values: Float32Array.of(1) },
  label,
});
