"""A table of updates may be cut into blocks: rules come to the same result to the last bit."""

import numpy as np
import pytest

from eitr.aggregation import RULES, Round, make_rule
from eitr.robust.column_blocks import BLOCK_STEP, ByParameter, LocalBlocks

CLIENTS, PARAMETERS = 12, 2 * BLOCK_STEP + 100


class CutBlocks:
    """Blocks of one table, each computed by itself in this process."""

    def __init__(self, updates):
        self.starts = range(0, updates.shape[1], BLOCK_STEP)
        self.parts = [np.ascontiguousarray(updates[:, first : first + BLOCK_STEP]) for first in self.starts]
        self.calls = 0

    def run(self, function, *arguments, **settings):
        return [self._call(number, function, arguments, settings) for number in range(len(self.parts))]

    def keep(self, function, *arguments, **settings):
        found = self.run(function, *arguments, **settings)
        return [told for told, _ in found], Leftover([kept for _, kept in found])

    def _call(self, number, function, arguments, settings):
        self.calls += 1
        first = self.starts[number]
        own = [
            one.values[first : first + BLOCK_STEP]
            if isinstance(one, ByParameter)
            else one.values[number]
            if isinstance(one, Leftover)
            else one
            for one in arguments
        ]
        return function(self.parts[number], *own, **settings)


class Leftover:
    def __init__(self, values):
        self.values = values


def round_of(engine):
    generator = np.random.default_rng(1)
    base = generator.normal(size=PARAMETERS).astype(np.float32)
    updates = base + generator.normal(scale=0.1, size=(CLIENTS, PARAMETERS)).astype(np.float32)
    updates[9:] += 0.4
    ids = [f"client{number}" for number in range(CLIENTS)]
    return Round(base, updates, ids, counts=np.arange(1, CLIENTS + 1), root=base, engine=engine)


BY_BLOCKS = {"reputation", "fused", "residual", "median", "trimmed-mean", "bulyan"}


def test_every_rule_gives_the_same_bits_however_the_table_is_cut():
    different, cut = [], set()
    for name in RULES:
        rule = make_rule(name)
        whole, parts = (round_of(engine) for engine in (LocalBlocks, CutBlocks))
        (_, expected), (_, found) = (rule.update(rule.init(), one) for one in (whole, parts))
        for field in ("model", "weights", "positive", "negative", "reputation"):
            if not np.array_equal(getattr(expected, field), getattr(found, field)):
                different.append((name, field))
        if parts.blocks.calls:
            cut.add(name)
    assert not different
    assert cut == BY_BLOCKS


@pytest.mark.parametrize("rescale", ["median", "paper"])
def test_the_papers_rescaling_gives_the_same_bits_too(rescale):
    rule = make_rule("reputation", rescale=rescale, varpi=0.3)
    (_, expected), (_, found) = (rule.update(rule.init(), round_of(one)) for one in (LocalBlocks, CutBlocks))
    assert np.array_equal(expected.model, found.model)
    assert np.array_equal(expected.reputation, found.reputation)
