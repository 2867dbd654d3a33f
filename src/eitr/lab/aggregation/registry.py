"""The batched form of every rule, by the class of the rule."""

from collections.abc import Sequence

import torch

from eitr.aggregation.bulyan import Bulyan
from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.flame import Flame
from eitr.aggregation.fldetector import FLDetector
from eitr.aggregation.fltrust import FLTrust
from eitr.aggregation.foolsgold import FoolsGold
from eitr.aggregation.foundation_fl import FoundationFL
from eitr.aggregation.fused import Fused
from eitr.aggregation.interface import Rule
from eitr.aggregation.linear import LinearRule
from eitr.aggregation.median import Median
from eitr.aggregation.nnm import NearestNeighbourMixing
from eitr.aggregation.published_code import PublishedCode
from eitr.aggregation.reputation import Reputation
from eitr.aggregation.residual import Residual
from eitr.aggregation.trimmed_mean import TrimmedMean
from eitr.errors import InputError
from eitr.lab.aggregation.bulyan import BatchedBulyan
from eitr.lab.aggregation.flame import BatchedFlame
from eitr.lab.aggregation.fldetector import BatchedFLDetector
from eitr.lab.aggregation.fltrust import BatchedFLTrust
from eitr.lab.aggregation.foolsgold import BatchedFoolsGold
from eitr.lab.aggregation.foundation_fl import BatchedFoundationFL
from eitr.lab.aggregation.fused import BatchedFused
from eitr.lab.aggregation.gram import BatchedLinear
from eitr.lab.aggregation.interface import BatchedRule
from eitr.lab.aggregation.mean import BatchedFedAvg
from eitr.lab.aggregation.nnm import BatchedNearestNeighbourMixing
from eitr.lab.aggregation.one_by_one import OneByOne
from eitr.lab.aggregation.order import BatchedMedian, BatchedTrimmedMean
from eitr.lab.aggregation.published_code import BatchedPublishedCode
from eitr.lab.aggregation.reputation import BatchedReputation
from eitr.lab.aggregation.residual import BatchedResidual

BATCHED: dict[type[Rule], type[BatchedRule]] = {
    Reputation: BatchedReputation,
    Fused: BatchedFused,
    FedAvg: BatchedFedAvg,
    Median: BatchedMedian,
    TrimmedMean: BatchedTrimmedMean,
    FoolsGold: BatchedFoolsGold,
    Residual: BatchedResidual,
    FLTrust: BatchedFLTrust,
    Bulyan: BatchedBulyan,
    NearestNeighbourMixing: BatchedNearestNeighbourMixing,
    Flame: BatchedFlame,
    FLDetector: BatchedFLDetector,
    FoundationFL: BatchedFoundationFL,
    PublishedCode: BatchedPublishedCode,
}
"""Rules without an entry that decide by inner products alone share `BatchedLinear`; all others run one by one."""


def batched(
    rules: Sequence[Rule],
    clients: int,
    parameters: int,
    device: torch.device | str,
    *,
    kernels: str = "auto",
    population: int | None = None,
) -> BatchedRule:
    """Return one object that aggregates for all these rules at once: they are of one class, settings may differ.

    `kernels` is "cuda", "torch", or "auto": our CUDA kernels where they can be used. `clients` take part in a round;
    `population` is how many there are in all, if more.

    >>> from eitr.aggregation import make_rule
    >>> rule = batched([make_rule("median"), make_rule("median")], 3, 2, "cpu")
    >>> updates = torch.tensor([[[1.0, 7.0], [2.0, 8.0], [1000.0, -9.0]], [[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]]])
    >>> rule.aggregate(torch.zeros(2, 2), updates, torch.ones(2, 3, dtype=torch.float64), None).models.tolist()
    [[2.0, 7.0], [1.0, 1.0]]
    """
    if not rules:
        raise InputError("there is nothing to aggregate: no runs")
    form = batched_form(rules[0], all_present=population in (None, clients))
    return form(rules, clients, parameters, torch.device(device), kernels=kernels, population=population)


def batched_form(rule: Rule, *, all_present: bool = True) -> type[BatchedRule]:
    """Return the class that aggregates for a rule: its own batched form, or `OneByOne` where it has none.

    `all_present` says whether all clients take part in every round.
    """
    kind = type(rule)
    form = BATCHED.get(kind, BatchedLinear if issubclass(kind, LinearRule) else OneByOne)
    return OneByOne if form.needs_all_present and not all_present else form
