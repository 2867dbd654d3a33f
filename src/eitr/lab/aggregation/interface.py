"""What every batched rule has: the updates of R runs go in, R models come out, all on one device.

The rows are in the order of the client ids. A round has all clients of a federation or, of each run, as many of them as
`present` names. Inputs are not checked for NaN or size and not changed: they come from our own simulation, not from a
network. A rule that remembers keeps its memory of all clients in tensors on the device; `memory` and `restore` are how
it survives a restart.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from eitr.aggregation.interface import Rule
from eitr.errors import InputError
from eitr.lab.aggregation.cuda_columns import FEWEST, MOST, available

KERNELS = ("auto", "torch", "cuda")

Scorer = Callable[[Tensor], Tensor]
"""`eitr.aggregation.interface.Scorer` for tensors: given parameters (models, parameters), the loss per class on a run's
trusted pages, (models, classes) float64."""


class Outcome(NamedTuple):
    """What a round gave in every run."""

    models: Tensor
    """(runs, parameters) float32: the new global parameters."""
    weights: Tensor
    """(runs, clients) float64, rows sum to 1; a row of NaN where the global model was kept (FLTrust)."""
    negative: Tensor | None = None
    """(runs, clients) int64: rejected parameters among those that the rule observes (rules with a reputation)."""
    reputation: Tensor | None = None
    """(runs, clients) float64 (rules with a reputation)."""


class BatchedRule(ABC):
    """A rule for many runs. `rules` are of one class; where their settings differ, each run has its own.

    `clients` take part in a round, of `population` clients in all; without `population`, all of them do.
    """

    remembers: ClassVar[tuple[str, ...]] = ()
    """The names of the tensors in `memory`. Those with dimensions are (runs, population, ...)."""
    needs_all_present: ClassVar[bool] = False
    """Whether it cannot be used where clients come and go: its memory then has other tensors as well."""

    def __init__(
        self,
        rules: Sequence[Rule],
        clients: int,
        parameters: int,
        device: torch.device,
        *,
        kernels: str = "auto",
        population: int | None = None,
    ) -> None:
        if any(type(rule) is not type(rules[0]) for rule in rules):
            raise InputError("the rules of one batch must be of one class")
        if any(rule.ramp != 0 for rule in rules):
            raise InputError(f"the batched form of {rules[0].name!r} has no ramp: set ramp=0, or take --device cpu")
        if clients < 1 or parameters < 1:
            raise InputError(f"there is nothing to aggregate: {clients} clients, {parameters} parameters")
        if kernels not in KERNELS:
            raise InputError(f"kernels must be one of {', '.join(KERNELS)}, not {kernels!r}")
        self.rules = tuple(rule.for_clients(clients) for rule in rules)
        self.scorers: list[Scorer | None] = []
        self.clients = clients
        self.population = clients if population is None else population
        self.parameters = parameters
        self.device = torch.device(device)
        self.cuda = kernels != "torch" and available(self.device, clients)
        if kernels == "cuda" and not self.cuda:
            raise InputError(f"the CUDA kernels need a CUDA device and {FEWEST} to {MOST} clients, not {clients}")

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.rules)

    def aggregate(
        self,
        base: Tensor,
        updates: Tensor,
        counts: Tensor,
        root: Tensor | None,
        scorers: Sequence[Scorer | None] | None = None,
        present: Tensor | None = None,
    ) -> Outcome:
        """Combine the updates of one round.

        `base` (runs, parameters) float32: what the clients started from. `updates` (runs, clients, parameters)
        float32, contiguous. `counts` (runs, clients) float64: claimed sample counts. `root` (runs, parameters) or None.
        `scorers`: for each run what scores models on trusted pages, if there are any. `present` (runs, clients) int64,
        ascending: which clients of the population take part; None where all do.
        """
        expected = (self.runs, self.clients, self.parameters)
        if tuple(updates.shape) != expected or updates.dtype != torch.float32 or not updates.is_contiguous():
            raise InputError(f"updates must be contiguous float32 of shape {expected}, not {tuple(updates.shape)}")
        self.scorers = [None] * self.runs if scorers is None else list(scorers)
        if present is None:
            if self.clients != self.population:
                raise InputError(f"say which {self.clients} of the {self.population} clients take part")
            return self._aggregate(base, updates, counts, root)
        return self._aggregate_some(base, updates, counts, root, present)

    def _aggregate_some(
        self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None, present: Tensor
    ) -> Outcome:
        """Combine updates with the memory of those who take part; what is remembered of the others stays as it is."""
        run = torch.arange(self.runs)[:, None]
        everybody: dict[str, Tensor] = {name: getattr(self, name) for name in self.remembers}
        by_client = {name: tensor for name, tensor in everybody.items() if tensor.ndim}
        for name, tensor in by_client.items():
            setattr(self, name, tensor[run.to(tensor.device), present.to(tensor.device)])
        outcome = self._aggregate(base, updates, counts, root)
        for name, tensor in by_client.items():
            tensor[run.to(tensor.device), present.to(tensor.device)] = getattr(self, name)
            setattr(self, name, tensor)
        return outcome

    @classmethod
    def bytes_of_memory(cls, parameters: int) -> int:
        """Return about how much memory of the device is needed to remember one client that does not take part."""
        return 0

    @abstractmethod
    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        """Combine updates of the right shape."""

    def forget(self, run: int, clients: Tensor) -> None:
        """Forget everything about some clients of a run: they return as clients without history."""
        for name in self.remembers:
            mine: Tensor = getattr(self, name)
            if mine.ndim:
                mine[run, clients] = 0

    def memory(self) -> dict[str, Tensor]:
        """Return what must be saved to go on later."""
        return {name: getattr(self, name).clone() for name in self.remembers}

    def restore(self, memory: Mapping[str, Tensor]) -> None:
        """Take up what `memory` returned."""
        if set(memory) != set(self.remembers):
            raise InputError(f"this rule remembers {sorted(self.remembers)}, not {sorted(memory)}")
        for name, tensor in memory.items():
            mine: Tensor = getattr(self, name)
            if tensor.shape != mine.shape or tensor.dtype != mine.dtype:
                raise InputError(f"the memory {name!r} must be {mine.dtype} of shape {tuple(mine.shape)}")
            setattr(self, name, tensor.to(self.device, copy=True))

    def memory_of(self, run: int) -> dict[str, Tensor]:
        """Return what one run must save to go on later, whoever it shares a batch with then.

        A tensor without dimensions belongs to all runs alike: how many rounds there were, say.
        """
        held: dict[str, Tensor] = {name: getattr(self, name) for name in self.remembers}
        return {name: (tensor[run] if tensor.ndim else tensor).clone() for name, tensor in held.items()}

    def restore_runs(self, memories: Sequence[Mapping[str, Tensor]]) -> None:
        """Take up what `memory_of` returned for each run, maybe in another batch."""
        joined = {}
        for name in self.remembers:
            mine: Tensor = getattr(self, name)
            parts = [memory[name].to(self.device) for memory in memories]
            joined[name] = torch.stack([self._fitted(name, part) for part in parts]) if mine.ndim else parts[0]
        self.restore(joined)

    def _fitted(self, name: str, part: Tensor) -> Tensor:
        """Return one run's memory in the shape it has in this batch."""
        return part

    def settings(self, name: str, dtype: torch.dtype = torch.float64) -> Tensor:
        """Return one setting of every run as a tensor (runs,)."""
        return torch.tensor([getattr(rule, name) for rule in self.rules], dtype=dtype, device=self.device)

    def uniform(self) -> Tensor:
        """Return equal weights."""
        return torch.full((self.runs, self.clients), 1.0 / self.clients, dtype=torch.float64, device=self.device)


def normalised(shares: Tensor) -> Tensor:
    """Return weights that sum to 1 in every row."""
    return shares / shares.sum(dim=1, keepdim=True)
