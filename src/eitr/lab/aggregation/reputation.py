"""The paper's rule for many runs: detect, remember, weigh by reputation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from eitr.aggregation.interface import Rule
from eitr.aggregation.reputation import EQUAL
from eitr.lab.aggregation.blocks import run_groups
from eitr.lab.aggregation.combination import combine
from eitr.lab.aggregation.detection import Detection, Settings, detect
from eitr.lab.aggregation.interface import BatchedRule, Outcome, normalised


class ReputationMemory(BatchedRule):
    """What rules with the paper's reputation model share: settings, history, and weights from reputations."""

    remembers = ("history", "rounds")

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__(rules, *arguments, **options)
        self.kappa, self.a, self.W, self.c = (self.settings(name)[:, None] for name in ("kappa", "a", "W", "c"))
        self.window = self.settings("s", torch.int64)[:, None] + 1
        depth = max(rule.s for rule in self.rules) + 1  # type: ignore[attr-defined]
        # (runs, population, depth): reputations in a client's own rounds, newest first, then NaN. Old checkpoints have
        # zeros there instead: only the first `rounds`, as many as there were, can mean anything.
        shape = (self.runs, self.population, depth)
        self.history = torch.full(shape, torch.nan, dtype=torch.float64, device=self.device)
        self.rounds = torch.zeros((), dtype=torch.int64, device=self.device)

    def forget(self, run: int, clients: Tensor) -> None:
        """Forget the reputations of some clients."""
        self.history[run, clients] = torch.nan

    @classmethod
    def bytes_of_memory(cls, parameters: int) -> int:
        """Return what the history of a client takes with the usual window."""
        return 8 * 11

    def memory_of(self, run: int) -> dict[str, Tensor]:
        """Return what one run must save: of the history as much as its own window, not its neighbours', reaches."""
        memory = super().memory_of(run)
        return {**memory, "history": memory["history"][:, : int(self.window[run])]}

    def _fitted(self, name: str, part: Tensor) -> Tensor:
        """Return a history as long as the longest of this batch."""
        return torch.nn.functional.pad(part, (0, self.history.shape[2] - part.shape[1])) if name == "history" else part

    def _next_round(self) -> None:
        """Make room for the reputations of a new round."""
        self.rounds += 1
        self.history = self.history.roll(1, dims=2)

    def _remember(self, positive: Tensor, negative: Tensor, group: slice) -> Tensor:
        """Put R = (kappa P + W a) / (kappa P + eta N + W) into the history; return its faded mean."""
        for_it = self.kappa[group] * positive
        against = (1.0 - self.kappa[group]) * negative
        total = for_it + against + self.W[group]
        self.history[group, :, 0] = for_it / total + self.a[group] * (self.W[group] / total)
        age = torch.arange(self.history.shape[2], device=self.device)
        fading = torch.exp(-self.c[group] * age) * (age < torch.minimum(self.window[group], self.rounds))
        weights = fading[:, None] * ~self.history[group].isnan()
        return (weights * self.history[group].nan_to_num()).sum(dim=2) / weights.sum(dim=2)

    def _shares(self, reputation: Tensor, cutoff: Tensor) -> Tensor:
        """Return R^-: min-max over the clients; equal reputations weigh the same.

        Where `cutoff` (runs, 1) is true, values below 1/M become 0.
        """
        lowest = reputation.amin(dim=1, keepdim=True)
        spread = reputation.amax(dim=1, keepdim=True) - lowest
        shares = (reputation - lowest) / torch.where(spread < EQUAL, 1.0, spread)
        shares = torch.where(cutoff & (shares < 1 / self.clients), 0.0, shares)
        return torch.where(spread < EQUAL, torch.ones_like(shares), shares)


class BatchedReputation(ReputationMemory):
    """`eitr.aggregation.reputation.Reputation`: the reputation-weighted mean of rectified parameters."""

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__(rules, *arguments, **options)
        paper = [rule.rescale == "paper" for rule in self.rules]  # type: ignore[attr-defined]
        self.detection = Settings(
            varpi=self.settings("varpi"),
            delta=self.settings("delta"),
            lambda_=self.settings("lambda_"),
            paper=torch.tensor(paper, device=self.device),
            any_paper=any(paper),
        )
        self.cutoff = self.settings("cutoff", torch.bool)[:, None]

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        models = torch.empty((self.runs, self.parameters), dtype=torch.float32, device=self.device)
        negative = torch.empty((self.runs, self.clients), dtype=torch.int64, device=self.device)
        weights = torch.empty((self.runs, self.clients), dtype=torch.float64, device=self.device)
        reputation = torch.empty_like(weights)
        self._next_round()
        # What must last from the detection to the combination: a byte a value and eight a parameter.
        for group in run_groups(self.runs, self.parameters * (self.clients + 8), self.device):
            found = self._detect(updates[group], group)
            negative[group] = found.negative
            reputation[group] = self._remember(self.parameters - found.negative, found.negative, group)
            weights[group] = normalised(self._shares(reputation[group], self.cutoff[group]))
            reach = self.detection.of(group).reach
            models[group] = combine(updates[group], found, reach, weights[group], cuda=self.cuda)
        return Outcome(models, weights, negative, reputation)

    def _detect(self, updates: Tensor, group: slice) -> Detection:
        if self.cuda:
            from eitr.lab.aggregation.cuda_columns import detect_columns

            return detect_columns(updates, self.detection.of(group))
        return detect(updates, self.detection.of(group))
