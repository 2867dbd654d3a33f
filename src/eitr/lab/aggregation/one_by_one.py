"""Any rule in the place of a batched one: run by run, on the processor. Slower, but every rule can take part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.lab.aggregation.interface import BatchedRule, Outcome, Scorer

_INDEX, _ROUNDS, _MET = "index", "client_rounds", "clients_met"
"""What is remembered besides the arrays of the rule: how many rounds there were, each client's, and, where clients come
and go, which of them the rule has met."""


class OneByOne(BatchedRule):
    """The ordinary form of a rule, for rules without a batched one."""

    def __init__(self, rules: Sequence[Rule], *arguments: Any, **options: Any) -> None:
        super().__init__([replace(rule, ramp=0) for rule in rules], *arguments, **options)
        self.rules = tuple(rule.for_clients(self.clients) for rule in rules)  # the ordinary form has the ramp
        self._ids = tuple(f"{client:06d}" for client in range(self.population))
        self._states = [rule.init() for rule in self.rules]
        self._index = 0

    def _aggregate(self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None) -> Outcome:
        return self._aggregate_some(base, updates, counts, root, torch.arange(self.clients).expand(self.runs, -1))

    def _aggregate_some(
        self, base: Tensor, updates: Tensor, counts: Tensor, root: Tensor | None, present: Tensor
    ) -> Outcome:
        self._index += 1
        results = []
        for run, rule in enumerate(self.rules):
            given = Round(
                _array(base[run]),
                _array(updates[run]),
                [self._ids[client] for client in present[run].tolist()],
                self._index,
                counts=_array(counts[run]),
                root=None if root is None else _array(root[run]),
                scorer=self._scorer(self.scorers[run]),
            )
            self._states[run], result = rule.update(self._states[run], given)
            results.append(result)
        return self._outcome(results)

    def _outcome(self, results: Sequence[Result]) -> Outcome:
        nobody = np.full(self.clients, np.nan)
        weights = [nobody if result.weights is None else result.weights for result in results]
        models = np.stack([np.asarray(result.model, np.float32) for result in results])
        if not self.rules[0].has_reputation:
            return Outcome(self._tensor(models), self._tensor(np.stack(weights)))
        return Outcome(
            self._tensor(models),
            self._tensor(np.stack(weights)),
            self._tensor(np.stack([np.asarray(result.negative, np.int64) for result in results])),
            self._tensor(np.stack([np.asarray(result.reputation, np.float64) for result in results])),
        )

    def _scorer(self, scorer: Scorer | None) -> Any:
        if scorer is None:
            return None
        return lambda vectors: _array(scorer(self._tensor(np.asarray(vectors, np.float32))))

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def forget(self, run: int, clients: Tensor) -> None:
        """Forget everything about some clients of a run."""
        for client in clients.tolist():
            self._states[run] = self._states[run].without(self._ids[client])

    def memory_of(self, run: int) -> dict[str, Tensor]:
        """Return what one run must save to go on later."""
        state = self._states[run]
        kept = {_INDEX: np.array(self._index), _ROUNDS: state.rounds, **state.memory}
        if self.clients < self.population:
            kept[_MET] = np.array([int(client) for client in state.clients], np.int64)
        return {name: torch.from_numpy(np.array(array)) for name, array in kept.items()}

    def restore_runs(self, memories: Sequence[Mapping[str, Tensor]]) -> None:
        """Take up what `memory_of` returned for each run."""
        for run, memory in enumerate(memories):
            arrays = {name: np.array(_array(tensor)) for name, tensor in memory.items()}
            self._index, rounds = int(arrays.pop(_INDEX)), arrays.pop(_ROUNDS)
            met = arrays.pop(_MET, np.arange(self.population))
            if len(rounds) != len(met) or (met >= self.population).any():
                raise InputError(f"this memory is of {len(rounds)} clients, not of {self.population}")
            ids = tuple(self._ids[client] for client in met)
            self._states[run] = RuleState(self.rules[run].name, ids, rounds, arrays, self.parameters)

    def memory(self) -> dict[str, Tensor]:
        """Return what all runs must save to go on later."""
        return {f"{run}.{name}": tensor for run in range(self.runs) for name, tensor in self.memory_of(run).items()}

    def restore(self, memory: Mapping[str, Tensor]) -> None:
        """Take up what `memory` returned."""
        owned: list[dict[str, Tensor]] = [{} for _ in self.rules]
        for name, tensor in memory.items():
            run, _, own = name.partition(".")
            owned[int(run)][own] = tensor
        self.restore_runs(owned)


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array
