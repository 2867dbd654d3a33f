"""The fused rule for many runs: features are computed on the device, decisions (from small tables) on the host."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eitr.aggregation.fused.features import Floats, RoundFeatures, shortening, usual_length
from eitr.aggregation.fused.rule import DETECTION, Fused, groups_of, kurtosis_of, noise_steps, weighed
from eitr.aggregation.fused.sketch import DIMENSIONS, limit_of, noise_of, signs
from eitr.aggregation.interface import Rule
from eitr.lab.aggregation.blocks import run_groups
from eitr.lab.aggregation.detection import Settings, detect
from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.repeated_median import median

LAST = 1024
"""How many of a vector's last numbers are looked at for the output biases: more than there are classes."""


class BatchedFused(BatchedRule):
    """`eitr.aggregation.fused.Fused`: its own `assess` decides, run by run."""

    remembers = ("sums", "history", "taken")

    def __init__(self, rules: Sequence[Rule], *arguments: Any, added_noise: float = 0.0, **options: Any) -> None:
        self.added_noise = added_noise
        """What honest clients add to each parameter, as a round says it: the same in all runs."""
        super().__init__([replace(rule, ramp=0) for rule in rules], *arguments, **options)
        self.rules = tuple(rules)  # `assess` has the ramp
        self.own: list[Fused] = [rule for rule in self.rules if isinstance(rule, Fused)]
        alike = torch.ones(self.runs, dtype=torch.float64, device=self.device)
        never = torch.zeros(self.runs, dtype=torch.bool, device=self.device)
        self.detection = Settings(
            **{name: value * alike for name, value in DETECTION.items()}, paper=never, any_paper=False
        )
        self.fading = self.settings("fading")[:, None, None]
        self.signs = {key: self._signs(*key) for rule in self.own for key in ((rule.seed, 0), (rule.seed, rule.start))}
        depth = max(rule.s for rule in self.own) + 1
        # As the state of the rule has them: fading sums of projected steps, and reputations, newest first, then NaN.
        self.sums = torch.zeros((self.runs, self.population, DIMENSIONS), dtype=torch.float32, device=self.device)
        self.history = torch.full((self.runs, self.population, depth), torch.nan, dtype=torch.float64)
        self.taken = torch.zeros((self.runs, self.population), dtype=torch.int64)  # rounds that each took part in

    @classmethod
    def bytes_of_memory(cls, parameters: int) -> int:
        """Return what the projected steps of a client take; reputations are on the host."""
        return 4 * DIMENSIONS

    def forget(self, run: int, clients: Tensor) -> None:
        """Forget the steps and the reputations of some clients."""
        self.sums[run, clients] = 0
        self.history[run, clients.cpu()] = torch.nan
        self.taken[run, clients.cpu()] = 0

    def restore(self, memory: Mapping[str, Tensor]) -> None:
        """Take up what `memory` returned; the reputations stay on the host."""
        super().restore(memory)
        self.history, self.taken = self.history.cpu(), self.taken.cpu()

    def memory_of(self, run: int) -> dict[str, Tensor]:
        """Return what one run must save: of the history as much as its own window, not its neighbours', reaches."""
        memory = super().memory_of(run)
        return {**memory, "history": memory["history"][:, : self.own[run].s + 1]}

    def _fitted(self, name: str, part: Tensor) -> Tensor:
        """Return a history as long as the longest of this batch."""
        if name != "history":
            return part
        return torch.nn.functional.pad(part, (0, self.history.shape[2] - part.shape[1]), value=torch.nan)

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        negative = torch.empty((self.runs, self.clients), dtype=torch.int64, device=self.device)
        for group in run_groups(self.runs, self.parameters * (self.clients + 8), self.device):
            negative[group] = self._rejected(updates[group], group)
        steps = torch.stack([_steps(base, updates, run).norm(dim=1) for run in range(self.runs)])
        lengths = steps.cpu().numpy()
        tables = self._tables(base, updates, lengths)
        spreads = [self._spread(_steps(base, updates, run), lengths[run]) for run in range(self.runs)]
        on_host = [lengths, *(table.cpu().numpy() for table in (negative.double() / self.parameters, *tables))]
        claimed = counts.cpu().numpy()
        last = (updates[:, :, -LAST:].double() - base[:, None, -LAST:].double()).cpu().numpy()
        weights, reputation = np.empty(lengths.shape), np.empty(lengths.shape)
        self.taken += 1
        harm = self._harm(base, updates, on_host[0])
        noise_harm = self._noise_harm(base)
        for run, rule in enumerate(self.own):
            own, rejected, now, together, towards = (table[run] for table in on_host)
            harmed = harm[run]
            kurtosis, group_shares = spreads[run]
            features = RoundFeatures(
                lengths=own,
                rejected=rejected,
                now=now,
                together=together,
                towards=towards,
                doubt=np.zeros(self.clients),
                noise=noise_of(self.parameters - rule.start),
                added_noise=self.added_noise,
                kurtosis=kurtosis,
                group_shares=group_shares,
                harm=harmed,
                noise_harm=None if harmed is None else noise_harm[run],
                pushes=None if harmed is None else last[run][:, -harmed.shape[1] :],
            )
            assessment = rule.assess(self.history[run, :, : rule.s + 1].numpy(), self.taken[run].numpy(), features)
            self.history[run, :, : rule.s + 1] = torch.from_numpy(assessment.history)
            weights[run] = weighed(assessment.shares, claimed[run], rule.cap)
            reputation[run] = assessment.reputation
        parts = torch.from_numpy(weights * np.stack([shortening(own) for own in lengths])).to(self.device)
        models = torch.empty_like(base)
        for run in range(self.runs):
            step = parts[run] @ _steps(base, updates, run)
            models[run] = (base[run].double() + step).float()
        on_device = [torch.from_numpy(table).to(self.device) for table in (weights, reputation)]
        return Outcome(models, on_device[0], negative, on_device[1])

    def _rejected(self, updates: Tensor, group: slice) -> Tensor:
        if self.cuda:
            from eitr.lab.aggregation.cuda_columns import detect_columns

            return detect_columns(updates, self.detection.of(group)).negative
        return detect(updates, self.detection.of(group)).negative

    def _tables(self, base: Tensor, updates: Tensor, lengths: Floats) -> tuple[Tensor, Tensor, Tensor]:
        """Project the steps, add them to the fading sums; return the inner products and the cosines with the centre."""
        now = torch.empty((self.runs, self.clients, DIMENSIONS), dtype=torch.float64, device=self.device)
        remembered = torch.empty_like(now)
        for run, rule in enumerate(self.own):
            steps = _steps(base, updates, run)
            now[run] = remembered[run] = self._sketches(steps, lengths[run], rule.seed, 0)
            if rule.start > 0:
                part = steps[:, rule.start :].norm(dim=1).cpu().numpy()
                remembered[run] = self._sketches(steps, part, rule.seed, rule.start)
        sums = self.fading * self.sums.double() + remembered
        self.sums = sums.float()
        size = sums.norm(dim=2, keepdim=True)
        scaled = sums / torch.where(size > 0, size, 1.0)
        centre = median(scaled)
        length = centre.norm(dim=1)[:, None]
        towards = (scaled @ centre[:, :, None])[:, :, 0] / torch.where(length > 0, length, 1.0)
        return now @ now.mT, sums @ sums.mT, towards

    def _sketches(self, steps: Tensor, lengths: Floats, seed: int, start: int) -> Tensor:
        """Project the steps of a run, from some parameter on, in usual lengths."""
        usual = usual_length(lengths)
        limit = limit_of(usual, self.parameters - start)
        whole = self.parameters // DIMENSIONS * DIMENSIONS
        signed = steps.clamp(-limit, limit) * self.signs[seed, start]
        found = signed[:, :whole].view(self.clients, -1, DIMENSIONS).sum(dim=1, dtype=torch.float64)
        found[:, : self.parameters - whole] += signed[:, whole:]
        return found / (usual if usual > 0 else 1.0)

    def _spread(self, steps: Tensor, lengths: Floats) -> tuple[Floats, Floats | None]:
        """Return the kurtosis of a run's steps, and their shares in the parameters that everybody moves."""
        squares = steps.square()
        kurtosis = kurtosis_of(squares.square().sum(dim=1).cpu().numpy(), lengths, self.parameters)
        if self.added_noise:
            return kurtosis, None
        scale = np.where(lengths > 0, lengths, 1.0)
        sizes = (steps.abs() / torch.from_numpy(scale).to(self.device)[:, None]).sum(dim=0)
        groups = [torch.from_numpy(group).to(self.device) for group in groups_of(sizes.cpu().numpy())]
        found = [squares[:, group].sum(dim=1).cpu().numpy() for group in groups]
        return kurtosis, np.stack(found, axis=1) / scale[:, None] ** 2

    def _harm(self, base: Tensor, updates: Tensor, lengths: Floats) -> list[Floats | None]:
        """Return what each run's clients do to its trusted pages, where it has some and its rule asks them."""
        asked = [run for run, rule in enumerate(self.own) if rule.validation and self.scorers[run] is not None]
        found: list[Floats | None] = [None] * self.runs
        losses = []
        for run in asked:
            scorer = self.scorers[run]
            short = torch.from_numpy(shortening(lengths[run])).float().to(self.device)
            tried = torch.cat([base[run, None], base[run] + short[:, None] * (updates[run] - base[run])])
            losses.append(scorer(tried) if scorer is not None else tried[:, :0])
        if losses:
            for run, own in zip(asked, torch.stack(losses).cpu().numpy(), strict=True):
                found[run] = own[1:] - own[0]
        return found

    def _noise_harm(self, base: Tensor) -> list[Floats | None]:
        """Return what steps of noise alone do to each run's trusted pages, where noise is added."""
        found: list[Floats | None] = [None] * self.runs
        if not self.added_noise:
            return found
        steps = torch.from_numpy(noise_steps(self.added_noise, self.parameters)).float().to(self.device)
        for run, scorer in enumerate(self.scorers):
            if scorer is not None and self.own[run].validation:
                losses = scorer(torch.cat([base[run, None], base[run] + steps])).cpu().numpy()
                found[run] = losses[1:] - losses[0]
        return found

    def _signs(self, seed: int, start: int) -> Tensor:
        return torch.from_numpy(signs(seed, self.parameters, start).copy()).to(self.device)


def _steps(base: Tensor, updates: Tensor, run: int) -> Tensor:
    """Return the steps of a run's clients in float64, as the CPU takes them; of all runs they would fill the memory.

    Subtracting a float64 vector widens the updates on the way: no copy of them in float64 is written and read again.
    """
    return updates[run] - base[run].double()
