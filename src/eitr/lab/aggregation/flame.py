"""FLAME for many runs."""

from typing import Any, cast

import torch
from torch import Tensor

from eitr.aggregation.flame import Flame
from eitr.lab.aggregation.gram import BatchedLinear, gram_of_steps
from eitr.lab.aggregation.interface import Outcome


class BatchedFlame(BatchedLinear):
    """`eitr.aggregation.flame.Flame`; rounds are counted from 1, as the engines count them, and noise goes by them."""

    remembers = ("rounds",)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.rounds = torch.zeros((), dtype=torch.int64, device=self.device)

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        self.rounds += 1
        index = int(self.rounds)
        gram = gram_of_steps(base, updates)
        outcome = self._combined(base, updates, gram)
        noises: dict[int, Tensor] = {}  # runs of one seed share it: rules are compared on the same noise
        for run, rule in enumerate(cast(tuple[Flame, ...], self.rules)):
            deviation = rule.deviation(gram[run])
            if deviation > 0:
                if rule.seed not in noises:
                    noises[rule.seed] = torch.from_numpy(rule.noise(index, self.parameters)).to(self.device)
                outcome.models[run].add_(noises[rule.seed], alpha=deviation)
        return outcome
