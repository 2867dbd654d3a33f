"""The paper's rule as its published code computes it, for many runs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from eitr.aggregation.interface import Rule
from eitr.aggregation.published_code import FEWEST, observed_parameters
from eitr.lab.aggregation.blocks import run_groups
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.interface import Outcome, normalised
from eitr.lab.aggregation.reputation import ReputationMemory
from eitr.lab.aggregation.residual import reweight_on


class BatchedPublishedCode(ReputationMemory):
    """`eitr.aggregation.published_code.PublishedCode`: reversed evidence from the last shards."""

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__(rules, *arguments, **options)
        self.delta, self.lambda_ = self.settings("delta"), self.settings("lambda_")
        self.cutoff = torch.ones((self.runs, 1), dtype=torch.bool, device=self.device)
        layers = [rule.layers for rule in self.rules]  # type: ignore[attr-defined]
        known = {text: observed_parameters(self.parameters, text) for text in set(layers)}
        self.observed = [torch.from_numpy(known[text]).to(self.device) for text in layers]

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        rejected = torch.empty((self.runs, self.clients), dtype=torch.int64, device=self.device)
        weights = torch.empty((self.runs, self.clients), dtype=torch.float64, device=self.device)
        reputation = torch.empty_like(weights)
        sizes = torch.tensor([len(own) for own in self.observed], device=self.device)[:, None]
        self._next_round()
        for group in run_groups(self.runs, 4 * self.clients * self.parameters, self.device):
            values = updates[group]
            if self.clients >= FEWEST:
                values = reweight_on(values, self.delta[group], self.lambda_[group], cuda=self.cuda).restricted
            for place, run in enumerate(range(*group.indices(self.runs))):
                own = self.observed[run]
                rejected[run] = (values[place][:, own] != updates[run][:, own]).sum(dim=1)
            # What the rule took for evidence against a client is what was accepted.
            reputation[group] = self._remember(rejected[group], sizes[group] - rejected[group], group)
            weights[group] = normalised(self._shares(reputation[group], self.cutoff[group]))
            mean = weighted_mean(values, weights[group], cuda=self.cuda)
            models[group] = mean.clamp(updates[group].amin(dim=1), updates[group].amax(dim=1))
        return Outcome(models, weights, rejected, reputation)
