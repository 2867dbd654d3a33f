"""Federated averaging for many runs."""

import torch
from torch import Tensor

from eitr.aggregation.fedavg import CAP
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.interface import BatchedRule, Outcome, normalised
from eitr.lab.aggregation.repeated_median import median


class BatchedFedAvg(BatchedRule):
    """`eitr.aggregation.fedavg.FedAvg`: the mean, weighted by claimed counts, each capped at 5 times the median."""

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        weights = normalised(_shares(counts.to(self.device, torch.float64)))
        return Outcome(weighted_mean(updates, weights, cuda=self.cuda), weights)


def _shares(counts: Tensor) -> Tensor:
    largest = counts.amax(dim=1, keepdim=True)
    claims = counts / torch.where(largest > 0, largest, 1.0)
    capped = torch.minimum(claims, CAP * median(claims)[:, None])
    return torch.where(capped.sum(dim=1, keepdim=True) > 0, capped, torch.ones_like(capped))
