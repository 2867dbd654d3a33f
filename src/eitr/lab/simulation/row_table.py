"""The rows of a data set and everything attacks add to them: one table that all batches point into."""

from dataclasses import dataclass

import numpy as np

from eitr.attacks.interface import Attack, Probe, Twins
from eitr.datasets.interface import Examples
from eitr.pages.sparse import SparseRows, joined


@dataclass(frozen=True)
class RowTable:
    """Rows of the examples, then the rows that each attack made: blocks as long as the examples."""

    examples: Examples
    rows: SparseRows
    offsets: dict[str, int]
    """Where the first block of an attack begins, by what the attack is (its repr: its settings belong to it)."""

    def twins(self, attack: Attack | None) -> Twins:
        """Return where the poisoned twins of the pages lie."""
        return Twins(self.offsets.get(repr(attack), 0), len(self.examples.rows))

    def probe(self, attack: Attack) -> Probe | None:
        """Return the attack's probe with the row numbers of this table."""
        probe = attack.probe(self.examples)
        if probe is None:
            return None
        size = len(self.examples.rows)
        moved = np.where(probe.rows >= size, probe.rows - size + self.twins(attack).first, probe.rows)
        return Probe(moved, probe.target)


def row_table(examples: Examples, attacks: list[Attack]) -> RowTable:
    """Append the rows of all attacks to those of the examples; equal attacks share theirs."""
    blocks, offsets = [examples.rows], {}
    for attack in attacks:
        if repr(attack) not in offsets:
            made = attack.made_rows(examples)
            if made is not None:
                offsets[repr(attack)] = sum(len(block) for block in blocks)
                blocks.append(made)
    return RowTable(examples, joined(blocks), offsets)
