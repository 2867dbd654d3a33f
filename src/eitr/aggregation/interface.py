"""What every rule has: a round goes in, a result and a new state come out. Nothing is changed in place.

    rule.init() -> state
    rule.update(state, round) -> (state, result)

A rule is a small frozen dataclass: its fields are its settings. To write one, subclass `Rule` in a file of its own,
implement `_aggregate`, and add it to `registry.py`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eitr.aggregation.rule_state import RuleState, blank
from eitr.errors import InputError
from eitr.robust.tiles import Updates
from eitr.settings import check_settings, setting

Floats = NDArray[np.float64]
Scorer = Callable[[NDArray[np.float32]], Floats]
"""Given parameter vectors (models, parameters), the loss per class on trusted pages, (models, classes): NaN for a class
of which there are none."""

LARGEST = 1e6
"""Parameters beyond this magnitude are refused: no honest training gets there."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The updates of one round, checked. A bad one is an `InputError` that names the client."""

    base: NDArray[Any] | None
    """(parameters,): the global parameters that the clients started from. Some rules do without."""
    updates: Updates
    """(clients, parameters): float32 or float64. Parameters, not gradients. May be given as a list of vectors."""
    ids: Sequence[str]
    index: int = 0
    """The number of the round."""
    counts: NDArray[Any] | None = None
    """(clients,): claimed numbers of samples."""
    root: NDArray[Any] | None = None
    """(parameters,): parameters trained on trusted data."""
    scorer: Scorer | None = None
    order: NDArray[np.int64] = field(init=False)
    """Rows in the order of the client ids, sorted as strings: how every rule takes them."""

    def __post_init__(self) -> None:
        if isinstance(self.updates, np.ndarray) and self.updates.ndim != 2:
            raise InputError(f"updates must be a table (clients, parameters), not of shape {self.updates.shape}")
        object.__setattr__(self, "ids", _checked_ids(self.ids, len(self.updates)))
        usual = None if self.base is None else np.shape(self.base)
        object.__setattr__(self, "updates", _checked_updates(self.updates, self.ids, usual))
        clients, parameters = self.updates.shape
        order = np.array(sorted(range(clients), key=self.ids.__getitem__), dtype=np.int64)
        object.__setattr__(self, "order", order)
        for row, client in enumerate(self.ids):
            _check_numbers(self.updates[row], f"client {client!r}")
        for name in ("base", "root"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _checked_vector(getattr(self, name), parameters, name))
        if self.counts is not None:
            object.__setattr__(self, "counts", _checked_counts(self.counts, self.ids))

    def need(self, name: str, rule: str) -> NDArray[Any]:
        """Return `base` or `root`, which `rule` cannot do without."""
        vector = getattr(self, name)
        if vector is None:
            what = {
                "base": "the global parameters of the round (on the command line: --global)",
                "root": "parameters trained on trusted data (on the command line: --root)",
            }[name]
            raise InputError(f"the rule {rule!r} needs {what}")
        checked: NDArray[Any] = vector
        return checked


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a rule says about a round. Arrays by client are in the order of the round's updates."""

    model: Updates
    """(parameters,): the new global parameters, of the type of the updates."""
    weights: Floats | None = None
    """(clients,): what each client's values counted for; they sum to 1."""
    positive: NDArray[np.int64] | None = None
    negative: NDArray[np.int64] | None = None
    reputation: Floats | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth knowing, as JSON values."""


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A way to combine updates. Settings are checked when a rule is made."""

    name: ClassVar[str]
    summary: ClassVar[str]
    remembers: ClassVar[Mapping[str, Any]] = {}
    """The arrays this rule keeps in its state, by name, with their types."""
    has_reputation: ClassVar[bool] = False
    """Whether its results say what each client's reputation is and how many of its values were rejected."""

    ramp: int = setting(0, "rounds until a new client has its full weight (0: at once)", least=0)

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def defined(cls, clients: int, attackers: int) -> bool:
        """Say whether the rule is defined for so many clients of which so many attack; most do not ask."""
        return True

    def init(self) -> RuleState:
        """Return the state before the first round."""
        return RuleState(self.name)

    def update(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        """Combine the updates of a round; return the state after it and the result."""
        self.check_state(state)
        return self._aggregate(state.joined(round.ids), round)

    def check_state(self, state: RuleState) -> None:
        """Refuse a state that this rule cannot have written."""
        if state.rule != self.name:
            raise InputError(f"this is the state of the rule {state.rule!r}, not of {self.name!r}")
        for name, array in state.memory.items():
            if name not in self.remembers or array.dtype != self.remembers[name]:
                raise InputError(f"the state holds an array {name!r} of {array.dtype}, which {self.name!r} never wrote")

    def refuse(self, state: RuleState, client: str, parameters: int) -> RuleState:
        """Return the state after an update of `parameters` numbers was refused at the door.

        Rules without a memory of behaviour forget it at once.
        """
        return state

    def standing(self, state: RuleState, client: str) -> float | None:
        """Return the reputation of a client by what is remembered; None where the rule has none, or knows nothing."""
        return None

    @abstractmethod
    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        """Combine the updates; `state` already knows every client of the round and counts the round."""

    def ramped(self, state: RuleState, round: Round, weights: Floats) -> Floats:
        """Return weights that sum to 1, those of newcomers reduced: times min(1, rounds so far / ramp).

        The current round counts, so that a federation of newcomers only has equal shares, not none.
        """
        if self.ramp > 0:
            weights = weights * np.minimum(1.0, state.rounds[state.rows(round.ids)] / self.ramp)
        return np.asarray(weights / weights[round.order].sum())  # in one order: rounding depends on it


def uniform(round: Round) -> Floats:
    """Return equal weights."""
    return np.full(len(round.ids), 1.0 / len(round.ids))


def remember(state: RuleState, name: str, rows: NDArray[np.int64], values: NDArray[Any]) -> RuleState:
    """Return the state with `values` as the named rows of one of the rule's arrays; the array is made if need be."""
    before = state.memory.get(name)
    array = blank((len(state.clients), *values.shape[1:]), values.dtype) if before is None else before.copy()
    array[rows] = values
    return state.with_memory(name, array)


def _checked_updates(
    updates: NDArray[Any] | Sequence[NDArray[Any]], ids: Sequence[str], usual: tuple[int, ...] | None
) -> Updates:
    if not isinstance(updates, np.ndarray):
        updates = _stacked([np.asarray(update) for update in updates], ids, usual)
    if updates.dtype not in (np.float32, np.float64):
        raise InputError(f"updates must be float32 or float64, not {updates.dtype}")
    if updates.shape[0] == 0 or updates.shape[1] == 0:
        raise InputError(f"there is nothing to aggregate: updates of shape {updates.shape}")
    return np.ascontiguousarray(updates)


def _stacked(updates: list[NDArray[Any]], ids: Sequence[str], usual: tuple[int, ...] | None) -> NDArray[Any]:
    """Make a table of vectors that all have the usual shape: that of the base, or else of most of them."""
    if not updates:
        raise InputError("there is nothing to aggregate: no updates")
    lengths = [update.shape for update in updates]
    usual = usual or Counter(lengths).most_common(1)[0][0]
    for client, length in zip(ids, lengths, strict=True):
        if length != usual or len(length) != 1:
            raise InputError(f"client {client!r} sent parameters of shape {length}, not {usual}")
    return np.stack(updates)


def _checked_ids(ids: Sequence[str], clients: int) -> tuple[str, ...]:
    if len(ids) != clients:
        raise InputError(f"{len(ids)} client ids for {clients} updates")
    seen: set[str] = set()
    for client in ids:
        if not isinstance(client, str) or not client:
            raise InputError(f"a client id must be a non-empty string, not {client!r}")
        if client in seen:
            raise InputError(f"the client id {client!r} occurs twice")
        seen.add(client)
    return tuple(ids)


def _check_numbers(values: NDArray[Any], owner: str) -> None:
    # Two reductions and no temporary array; NaN comes out of both.
    largest = max(values.max(), -values.min())
    if np.isnan(largest):
        raise InputError(f"{owner} sent a NaN")
    if np.isinf(largest):
        raise InputError(f"{owner} sent an infinity")
    if largest > LARGEST:
        raise InputError(f"{owner} sent a number of magnitude {largest:g}, above {LARGEST:g}")


def _checked_vector(given: ArrayLike, parameters: int, name: str) -> NDArray[Any]:
    vector = np.asarray(given)
    if vector.shape != (parameters,):
        raise InputError(f"{name} must hold {parameters} parameters like the updates, not {vector.shape}")
    if vector.dtype not in (np.float32, np.float64):
        raise InputError(f"{name} must be float32 or float64, not {vector.dtype}")
    _check_numbers(vector, name)
    return vector


def _checked_counts(counts: NDArray[Any], ids: Sequence[str]) -> Floats:
    if np.asarray(counts).dtype.kind not in "fiu":
        raise InputError("sample counts must be numbers")
    numbers = np.asarray(counts, dtype=np.float64)
    if numbers.shape != (len(ids),):
        raise InputError(f"{numbers.size} sample counts for {len(ids)} clients")
    for client, number in zip(ids, numbers, strict=True):
        if not 0 <= number < np.inf:
            raise InputError(f"client {client!r} claims {number:g} samples: a count is a number of at least 0")
    return numbers
