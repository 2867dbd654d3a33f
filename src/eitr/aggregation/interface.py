"""What every rule has: a round goes in, a result and a new state come out. Nothing is changed in place.

    rule.init() -> state
    rule.update(state, round) -> (state, result)

A rule is a small frozen dataclass: its fields are its settings. To write one, subclass `Rule` in a file of its own,
implement `_aggregate`, and add it to `registry.py`.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from eitr import plugins
from eitr.aggregation.parameters import Layout, as_array, as_vector, check_layout, layout_of
from eitr.aggregation.rule_state import RuleState, blank
from eitr.errors import BadUpdateError, InputError
from eitr.robust.column_blocks import ColumnBlocks, ColumnEngine, LocalBlocks
from eitr.robust.tiles import Updates
from eitr.settings import check_settings, setting

Floats = NDArray[np.float64]
Scorer = Callable[[NDArray[np.float32]], Floats]
"""Given parameter vectors (models, parameters), the loss per class on trusted pages, (models, classes): NaN for a class
of which there are none."""

LARGEST = 1e6
"""Parameters beyond this magnitude are refused: no honest training gets there."""


INPUTS = {
    "base": "the global parameters of the round (on the command line: --global)",
    "root": "parameters trained on trusted data (on the command line: --root)",
}
"""What a rule may need besides the updates, by the name of the field of `Round`."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The updates of one round, checked. A bad one is a `BadUpdateError` that names the clients.

    Vectors may be numpy arrays, torch tensors or state_dicts (their floating-point entries, joined): what is kept here
    are numpy arrays.
    """

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
    added_noise: float = 0.0
    """Standard deviation of the noise that honest clients add to each parameter, by the rules of the round."""
    engine: ColumnEngine = LocalBlocks
    """What computes parameter by parameter: this process, or other machines. It changes no bit of the result."""
    order: NDArray[np.int64] = field(init=False)
    """Rows in the order of the client ids, sorted as strings: how every rule takes them."""
    blocks: ColumnBlocks = field(init=False)
    """The updates as the engine has them."""

    def __post_init__(self) -> None:
        expected = layout_of(self.base) if isinstance(self.base, Mapping) else None
        for name in INPUTS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_vector(getattr(self, name)))
        updates = as_array(self.updates) if hasattr(self.updates, "detach") else self.updates
        if isinstance(updates, np.ndarray) and updates.ndim != 2:
            raise InputError(f"updates must be a table (clients, parameters), not of shape {updates.shape}")
        object.__setattr__(self, "ids", _checked_ids(self.ids, len(updates)))
        bad: dict[str, str] = {}
        if not isinstance(updates, np.ndarray):
            updates = _stacked(updates, self.ids, None if self.base is None else self.base.shape, expected, bad)
        object.__setattr__(self, "updates", _checked_table(updates))
        object.__setattr__(self, "blocks", self.engine(self.updates))
        clients, parameters = self.updates.shape
        order = np.array(sorted(range(clients), key=self.ids.__getitem__), dtype=np.int64)
        object.__setattr__(self, "order", order)
        if self.counts is not None:
            object.__setattr__(self, "counts", _checked_counts(self.counts, self.ids, bad))
        for client, update in zip(self.ids, self.updates, strict=True):
            problem = _problem(update)
            if problem:
                bad.setdefault(client, f"sent {problem}")
        if bad:
            raise BadUpdateError({client: bad[client] for client in self.ids if client in bad})
        if not 0 <= self.added_noise < math.inf:
            raise InputError(
                f"the noise that clients add must be a finite number of at least 0, not {self.added_noise}"
            )
        for name in INPUTS:
            if getattr(self, name) is not None:
                _check_vector(getattr(self, name), parameters, name)

    @classmethod
    def without_bad(
        cls, base: Any, updates: Any, ids: Sequence[str], index: int = 0, *, counts: Any = None, **others: Any
    ) -> tuple[Self, dict[str, str]]:
        """Return the round of the good updates, and of each client that was left out what is wrong with its update.

        `rule.refuse` then counts a bad update against its client. Where all are bad, the `BadUpdateError` is raised.

        >>> updates = np.array([[1.0, 2.0], [np.nan, 2.0], [1.5, 2.5]])
        >>> round, refused = Round.without_bad(np.zeros(2), updates, ["ann", "bob", "eve"])
        >>> round.ids, refused
        (('ann', 'eve'), {'bob': 'sent a NaN'})
        """
        try:
            return cls(base, updates, ids, index, counts=counts, **others), {}
        except BadUpdateError as error:
            kept = [row for row, client in enumerate(ids) if client not in error.clients]
            if not kept:
                raise
            good: Any = [updates[row] for row in kept]  # the constructor also takes a list of vectors
            claimed = None if counts is None else as_array(counts)[kept]
            return cls(base, good, [ids[row] for row in kept], index, counts=claimed, **others), error.clients

    def computed_by(self, engine: ColumnEngine) -> Self:
        """Return the same round for another engine; what was checked is not checked again."""
        other = copy(self)
        object.__setattr__(other, "engine", engine)
        object.__setattr__(other, "blocks", engine(self.updates))
        return other

    @property
    def given(self) -> set[str]:
        """The names of those of `INPUTS` that the round has."""
        return {name for name in INPUTS if getattr(self, name) is not None}

    def need(self, name: str) -> NDArray[Any]:
        """Return `base` or `root` for a rule that names it in `needs`: `Rule.update` has checked that it is there."""
        vector: NDArray[Any] = getattr(self, name)
        return vector


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a rule says about a round. Arrays by client are in the order of the round's updates."""

    model: Updates
    """(parameters,): the new global parameters, of the type of the updates."""
    weights: Floats | None = None
    """(clients,): what each client's values counted for; they sum to 1."""
    positive: NDArray[np.int64] | None = None
    """(clients,): accepted parameters, of those that the rule observes."""
    negative: NDArray[np.int64] | None = None
    """(clients,): rejected parameters, of those that the rule observes."""
    reputation: Floats | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth knowing, as JSON values."""


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A way to combine updates. Settings are checked when a rule is made."""

    plugin_group: ClassVar[str] = plugins.RULES
    name: ClassVar[str]
    summary: ClassVar[str]
    remembers: ClassVar[Mapping[str, Any]] = {}
    """The arrays this rule keeps in its state, by name, with their types."""
    has_reputation: ClassVar[bool] = False
    """Whether its results say what each client's reputation is and how many of its values were rejected."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Which of `INPUTS` a round must have. Callers check it before they start, with `check_inputs`."""
    takes_attackers: ClassVar[bool] = False
    """Whether it has a setting `attackers`, the number of attackers in a round."""

    ramp: int = setting(0, "rounds until a new client has its full weight (0: at once)", least=0)

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def defined(cls, clients: int, attackers: int) -> bool:
        """Say whether the rule is defined for so many clients of which so many attack; most do not ask."""
        return True

    @classmethod
    def check_inputs(cls, given: Collection[str]) -> None:
        """Refuse a round, or a server that makes rounds, with only these of `INPUTS`."""
        for name in sorted(cls.needs.difference(given)):
            raise InputError(f"the rule {cls.name!r} needs {INPUTS[name]}")

    def for_clients(self, clients: int) -> Self:
        """Return the rule for a round of so many clients, for which it must be defined."""
        return self

    def init(self) -> RuleState:
        """Return the state before the first round."""
        return RuleState(self.name)

    def update(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        """Combine the updates of a round; return the state after it and the result."""
        parameters = round.updates.shape[1]
        self.check_inputs(round.given)
        self.check_state(state)
        if state.parameters not in (0, parameters):
            raise InputError(
                f"the state belongs to a model of {state.parameters} parameters, and the updates have {parameters}: "
                "give the state of this model, or start anew without one"
            )
        found = self.for_clients(len(round.ids))._aggregate(state.joined(round.ids, parameters), round)
        self._check_result(found, round)
        return found

    def _check_result(self, found: Any, round: Round) -> None:
        """Refuse what is no state and result of a round: a rule of a plugin may return anything."""
        match found:
            case (RuleState(), Result() as result):
                pass
            case _:
                got = "None" if found is None else f"a {type(found).__name__}"
                raise InputError(f"the rule {self.name!r} returned {got}: it must return the state and a Result")
        clients, parameters = round.updates.shape
        by_client = ("weights", "positive", "negative", "reputation")
        needed = ("model", "negative", "reputation") if self.has_reputation else ("model",)
        for name in ("model", *by_client):
            value, expected = getattr(result, name), (clients if name in by_client else parameters,)
            if np.shape(value) != expected and (value is not None or name in needed):
                got = "None" if value is None else f"an array of shape {np.shape(value)}"
                raise InputError(f"the rule {self.name!r} returned {got} as {name}: it must be of shape {expected}")

    def check_state(self, state: RuleState) -> None:
        """Refuse a state that this rule cannot have written."""
        if state.rule != self.name:
            raise InputError(f"this is the state of the rule {state.rule!r}, not of {self.name!r}")
        for name, array in state.memory.items():
            if name not in self.remembers or array.dtype != self.remembers[name]:
                raise InputError(f"the state holds an array {name!r} of {array.dtype}, which {self.name!r} never wrote")

    def refuse(self, state: RuleState, client: str, parameters: int) -> RuleState:
        """Return the state after an update of `parameters` numbers was refused as bad input.

        Rules that do not remember how clients behave leave the state as it is.
        """
        return state

    def private(self, *, seed: int, start: int) -> Self:
        """Return the rule as a server uses it, on models whose first layer has `start` parameters.

        Nothing of the first layer's steps goes into the state, and random projections take the secret `seed`. Rules
        that remember no steps stay as they are.
        """
        return self

    @property
    def rounds_remembered(self) -> int:
        """The rounds after which a server forgets the steps of a client who stays away; it keeps float64 arrays.

        These hold reputations and errors, which say how a client behaved but not what it sent.
        """
        return 20

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


def _checked_table(updates: NDArray[Any]) -> Updates:
    if updates.dtype == np.float16:
        updates = updates.astype(np.float32)
    if updates.dtype not in (np.float32, np.float64):
        raise InputError(f"updates must be float32 or float64, not {updates.dtype}")
    if updates.shape[0] == 0 or updates.shape[1] == 0:
        raise InputError(f"there is nothing to aggregate: updates of shape {updates.shape}")
    return np.ascontiguousarray(updates)


def _stacked(
    updates: Sequence[Any],
    ids: Sequence[str],
    shape: tuple[int, ...] | None,
    layout: Layout | None,
    bad: dict[str, str],
) -> NDArray[Any]:
    """Make a table of vectors or state_dicts; note in `bad` those that do not fit, and leave their rows at 0.

    They have the shape and the layout of the base, or else those of most of them.
    """
    if not updates:
        raise InputError("there is nothing to aggregate: no updates")
    if layout is None:
        layouts: Counter[Layout] = Counter()
        for update in updates:
            with suppress(InputError):  # said below, of the client that sent it
                layouts.update([layout_of(update)] if isinstance(update, Mapping) else ())
        layout = layouts.most_common(1)[0][0] if layouts else None
    vectors: dict[str, NDArray[Any]] = {}
    for client, update in zip(ids, updates, strict=True):
        try:
            if isinstance(update, Mapping) and layout is not None:
                check_layout(update, layout)
            vectors[client] = as_vector(update)
        except InputError as error:
            bad[client] = f"sent a model that does not fit: {error}"
    usual = shape or Counter(vector.shape for vector in vectors.values()).most_common(1)[0][0] if vectors else None
    for client, vector in vectors.items():
        if vector.shape != usual or vector.ndim != 1:
            bad[client] = f"sent parameters of shape {vector.shape}, not {usual}"
        elif vector.dtype not in (np.float32, np.float64):
            bad[client] = f"sent numbers of the type {vector.dtype}, not float32 or float64"
    good = [vector for client, vector in vectors.items() if client not in bad]
    if not good:
        raise BadUpdateError(bad)
    table = np.zeros((len(ids), len(good[0])), np.result_type(*good))
    for row, client in enumerate(ids):
        if client not in bad:
            table[row] = vectors[client]
    return table


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


def _problem(values: NDArray[Any]) -> str:
    """Say what is wrong with some numbers; nothing if they can be aggregated."""
    # Two reductions and no temporary array; NaN comes out of both.
    largest = max(values.max(), -values.min())
    if np.isnan(largest):
        return "a NaN"
    if np.isinf(largest):
        return "an infinity"
    return f"a number of magnitude {largest:g}, above {LARGEST:g}" if largest > LARGEST else ""


def _check_vector(vector: NDArray[Any], parameters: int, name: str) -> None:
    if vector.shape != (parameters,):
        raise InputError(f"{name} must hold {parameters} parameters like the updates, not {vector.shape}")
    if vector.dtype not in (np.float32, np.float64):
        raise InputError(f"{name} must be float32 or float64, not {vector.dtype}")
    problem = _problem(vector)
    if problem:
        raise InputError(f"{name} holds {problem}")


def _checked_counts(counts: Any, ids: Sequence[str], bad: dict[str, str]) -> Floats:
    """Return claimed sample counts; note in `bad` clients with an impossible one."""
    given = as_array(counts)
    if given.dtype.kind not in "fiu":
        raise InputError("sample counts must be numbers")
    numbers = given.astype(np.float64)
    if numbers.shape != (len(ids),):
        raise InputError(f"{numbers.size} sample counts for {len(ids)} clients")
    for client, number in zip(ids, numbers, strict=True):
        if not 0 <= number < np.inf:
            bad[client] = f"claims {number:g} samples: a count is a number of at least 0"
    return numbers
