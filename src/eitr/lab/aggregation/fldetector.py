"""FLDetector for many runs."""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from eitr.aggregation.fldetector import FLDetector, prediction_errors
from eitr.aggregation.interface import Floats
from eitr.lab.aggregation.blocks import blocks, from_start
from eitr.lab.aggregation.combination import weighted_mean
from eitr.lab.aggregation.interface import BatchedRule, Outcome, normalised


class BatchedFLDetector(BatchedRule):
    """`eitr.aggregation.fldetector.FLDetector`: sums over parameters here, decisions by the rule itself on the host."""

    remembers = ("steps", "path", "known", "errors", "rounds")
    needs_all_present = True  # the ordinary rule cuts the path into as many pieces as it has met clients

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        longest = max(rule.window for rule in cast(tuple[FLDetector, ...], self.rules))
        shape = (self.runs, self.clients, self.parameters)
        self.steps = torch.zeros(shape, dtype=torch.float32, device=self.device)
        # (runs, models, parameters): the last global models, newest last.
        self.path = torch.zeros((self.runs, longest + 2, self.parameters), dtype=torch.float32, device=self.device)
        self.known = torch.zeros((self.runs, self.clients), dtype=torch.bool, device=self.device)
        self.errors = torch.full((self.runs, self.clients, longest), torch.nan, dtype=torch.float64, device=self.device)
        self.rounds = torch.zeros((), dtype=torch.int64, device=self.device)
        self.start = self.settings("start", torch.int64)
        self._lost: list[tuple[int, slice]] = []

    def forget(self, run: int, clients: Tensor) -> None:
        """Forget some clients, and with them the pieces of the path that their rows keep on the CPU."""
        self.known[run, clients] = False
        self.errors[run, clients] = torch.nan
        start = int(self.start[run])
        width = -(-(self.parameters - start) // self.clients)
        self._lost += [
            (run, slice(start + client * width, start + (client + 1) * width)) for client in clients.tolist()
        ]

    def memory_of(self, run: int) -> dict[str, Tensor]:
        """Return what one run must save: as much as its own window, not its neighbours', reaches."""
        memory, window = super().memory_of(run), cast(FLDetector, self.rules[run]).window
        return {**memory, "path": memory["path"][-window - 2 :], "errors": memory["errors"][:, -window:]}

    def _fitted(self, name: str, part: Tensor) -> Tensor:
        """Return a path and errors as long as the longest of this batch."""
        if name == "path":
            return pad(part, (0, 0, self.path.shape[1] - len(part), 0))
        return pad(part, (self.errors.shape[2] - part.shape[1], 0), value=torch.nan) if name == "errors" else part

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        self.rounds += 1
        self.path = self.path.roll(-1, dims=1)
        self.path[:, -1] = base
        for run, columns in self._lost:
            self.path[run, :, columns] = base[run, columns]
        self._lost = []
        gram = self._gram_and_remember(base, updates)
        errors, suspects = self._judge(gram)
        self.errors = torch.from_numpy(errors).to(self.device)
        self.known = torch.ones_like(self.known)
        weights = normalised(torch.from_numpy(~suspects).to(self.device, torch.float64))
        return Outcome(weighted_mean(updates, weights, cuda=self.cuda), weights)

    def _judge(self, gram: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the errors after this round, and who is suspect."""
        errors, known = self.errors.cpu().numpy().copy(), self.known.cpu().numpy()
        suspects = np.zeros(known.shape, dtype=bool)
        longest = errors.shape[2]
        for run, rule in enumerate(cast(tuple[FLDetector, ...], self.rules)):
            moves = min(int(self.rounds) - 1, rule.window + 1)
            there = np.flatnonzero(known[run])
            current = np.full(self.clients, np.nan)
            if len(there):
                rows = np.concatenate([there, np.arange(gram.shape[1] - moves, gram.shape[1])])
                current[there] = prediction_errors(gram[run][np.ix_(rows, rows)], len(there))
            mine = rule.noted(errors[run, :, longest - rule.window :], current)
            errors[run, :, longest - rule.window :] = mine
            suspects[run] = rule.suspects(mine)
        return errors, suspects

    def _gram_and_remember(self, base: Tensor, updates: Tensor) -> Floats:
        """Return the inner products of the clients' changes of step and, behind, the global steps; keep the steps."""
        size = self.clients + self.path.shape[1] - 1
        gram = torch.zeros((self.runs, size, size), dtype=torch.float64, device=self.device)
        for block in blocks(self.runs, self.parameters, 3 * 8 * size, self.device):
            where = (block.runs, slice(None), block.columns)
            steps = updates[where] - base[block.runs, None, block.columns]
            changes = steps.to(torch.float64) - self.steps[where]
            both = torch.cat((changes, self.path[where].to(torch.float64).diff(dim=1)), dim=1)
            both = from_start(both, self.start, block)
            gram[block.runs].baddbmm_(both, both.mT)
            self.steps[where] = steps
        return gram.cpu().numpy()
