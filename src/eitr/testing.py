"""Checks that every rule must pass, for tests of rules inside and outside the package.

    from eitr.testing import check_rule

    def test_my_rule_keeps_what_every_rule_promises():
        check_rule(MyRule)

A check that fails raises an AssertionError that says what is wrong, and in which round. `check_rule` runs all checks on
generated rounds; each check can also be given rounds of your own, for example by Hypothesis.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.rule_state import load_state, save_state, state_bytes

Updates = NDArray[Any]
"""(clients, parameters)."""
History = Sequence[tuple[Sequence[str], Updates]]
"""Rounds one after the other: who takes part, and what they send."""

_BY_CLIENT = ("weights", "positive", "negative", "reputation")


def _ordinary(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return rng.normal(0, 0.1, shape)


def _tied(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return rng.integers(-3, 4, shape) / 8


def _shifted(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    values = rng.normal(0, 0.05, shape)
    attackers = rng.permutation(shape[0])[: int(rng.integers(0, max(1, (shape[0] + 1) // 2)))]
    values[attackers] += rng.choice([0.3, 1, 3, 50, 10_000])
    return values


def _colluding(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    values = rng.normal(0, 0.05, shape)
    values[: shape[0] // 2] = rng.normal(0, 3, shape[1])
    return values


def _wild(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    signs: Updates = rng.choice([-1, 1], shape)
    return signs * 10.0 ** rng.uniform(-9, 6, shape)


def _far_away(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return 1000 * rng.normal(size=(1, shape[1])) + rng.normal(0, 0.1, shape)


def _constant(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return np.broadcast_to(rng.normal(size=(1, shape[1])), shape).copy()


def _two_values(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return np.where(rng.random(shape) < rng.random(), rng.normal(size=(1, shape[1])), 0.25)


def _line(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    values: Updates = rng.normal() + 0.1 * np.argsort(rng.random(shape), axis=0)
    values[0] += rng.choice([0, 0.05, 1])
    return values


def _tiny(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    return rng.normal(0, 1e-7, shape)


def _one_stands_out(rng: np.random.Generator, shape: tuple[int, int]) -> Updates:
    values = np.zeros(shape)
    values[rng.integers(shape[0])] = rng.normal(0, 10, shape[1])
    return values


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Updates]] = {
    make.__name__.removeprefix("_"): make
    for make in (
        _ordinary,
        _tied,
        _shifted,
        _colluding,
        _wild,
        _far_away,
        _constant,
        _two_values,
        _line,
        _tiny,
        _one_stands_out,
    )
}
"""Kinds of rounds, the usual ones and those that break formulas: ties, equal clients, extremes, next to nothing."""


def check_rule(kind: type[Rule], **settings: Any) -> None:
    """Run every check on a rule with these settings, on rounds of all kinds, with 1 to 7 clients."""
    # Told of no attackers, as one client is a round, too; then with what the rule assumes by itself.
    told = {"attackers": 0, **settings} if kind.takes_attackers else settings
    rules = list(dict.fromkeys([kind(**told), kind(**{"ramp": 3, **told}), kind(**settings)]))
    rng = np.random.default_rng(0)
    for name, make in KINDS.items():
        for clients, parameters, dtype in (
            (1, 5, np.float32),
            (2, 1, np.float64),
            (3, 4, np.float32),
            (7, 12, np.float64),
        ):
            updates = make(rng, (clients, parameters)).astype(dtype)
            for rule in rules:
                try:
                    check_round(rule, updates)
                except Exception as error:
                    error.add_note(
                        f"in a round of the kind {name!r}: {clients} clients, {parameters} parameters, {dtype}"
                    )
                    raise
    history = _history(rng)
    for rule in rules:
        check_unchanged(rule, history)
        check_repeatable(rule, history)
        check_order(rule, history)
        check_restart(rule, history)
        check_erasure(rule, history)


def _history(rng: np.random.Generator) -> History:
    """Return rounds in which clients join, leave and return."""
    everybody = client_names(7)
    present = (everybody, everybody[2:], everybody[:4], everybody)
    kinds = ("ordinary", "shifted", "ordinary", "shifted")
    return [
        (ids, KINDS[kind](rng, (len(ids), 11)).astype(np.float32)) for ids, kind in zip(present, kinds, strict=True)
    ]


def check_round(rule: Rule, updates: Updates) -> Result:
    """Check the result of a first round: the model's numbers and type, the weights; return it."""
    state, result = rule.update(rule.init(), round_of(updates))
    clients, parameters = updates.shape
    _require(result.model.shape == (parameters,), rule, f"the model has the shape {result.model.shape}")
    _require(result.model.dtype == updates.dtype, rule, f"of {updates.dtype} updates it makes {result.model.dtype}")
    _require(bool(np.isfinite(result.model).all()), rule, "the model holds a NaN or an infinity")
    for name, array in state.memory.items():
        _require(len(array) == clients, rule, f"its state holds {len(array)} rows of {name!r} for {clients} clients")
    if result.weights is None:
        _require("kept" in result.notes, rule, "without weights, notes['kept'] must say that the model was kept")
        return result
    _require(bool(((result.weights >= 0) & (result.weights <= 1)).all()), rule, f"weights are {result.weights}")
    _require(abs(result.weights.sum() - 1) <= 1e-12, rule, f"the weights sum to {result.weights.sum()!r}, not to 1")
    return result


def check_repeatable(rule: Rule, history: History) -> None:
    """Check that the same rounds give the same bytes, also as tables in another memory order."""
    first, second = rule.init(), rule.init()
    for index, (ids, updates) in enumerate(history):
        first, result = rule.update(first, round_of(updates, ids, index))
        second, again = rule.update(second, round_of(np.asfortranarray(updates), ids, index))
        _require(_bytes(result.model) == _bytes(again.model), rule, "the same round gives two models")
        _require(first == second, rule, "the same round gives two states")


def check_order(rule: Rule, history: History, seed: int = 0) -> None:
    """Check that not a bit depends on the order in which clients come; no two of a round send an equal value."""
    rng = np.random.default_rng(seed)
    first, second = rule.init(), rule.init()
    for index, (ids, updates) in enumerate(history):
        order = rng.permutation(len(ids))
        first, result = rule.update(first, round_of(updates, ids, index))
        second, other = rule.update(second, round_of(updates[order], [ids[row] for row in order], index, order))
        hint = "go through `round.order`, which sorts clients by id"
        _require(_bytes(result.model) == _bytes(other.model), rule, f"the order of clients changes the model; {hint}")
        for name in _BY_CLIENT:
            mine, theirs = getattr(result, name), getattr(other, name)
            same = mine is None if theirs is None else mine is not None and _bytes(mine[order]) == _bytes(theirs)
            _require(same, rule, f"the order of clients changes `{name}`; {hint}")
        _require(first == second, rule, f"the order of clients changes the state; {hint}")


def check_unchanged(rule: Rule, history: History) -> None:
    """Check that a rule changes neither what it is given nor the state before."""
    state = rule.init()
    for index, (ids, updates) in enumerate(history):
        round = round_of(updates, ids, index)
        given = {"updates": round.updates, "base": round.base, "root": round.root, "counts": round.counts}
        before = {name: _bytes(array) for name, array in given.items()}
        old = state_bytes(state)
        new, _ = rule.update(state, round)
        for name, array in given.items():
            _require(_bytes(array) == before[name], rule, f"it changes the round's `{name}` in place")
        _require(state_bytes(state) == old, rule, "it changes the old state in place")
        state = new


def check_restart(rule: Rule, history: History) -> None:
    """Check that a rule whose state is saved and read after each round goes on as if nothing had happened."""
    running, restarted = rule.init(), rule.init()
    with tempfile.TemporaryDirectory() as folder:
        for index, (ids, updates) in enumerate(history):
            round = round_of(updates, ids, index)
            running, result = rule.update(running, round)
            restarted, again = rule.update(restarted, round)
            _require(_bytes(result.model) == _bytes(again.model), rule, "after a restart the model is another one")
            rule.check_state(restarted)
            save_state(restarted, Path(folder) / "state")
            restarted = load_state(Path(folder) / "state", rule.name)
            _require(restarted == running, rule, "its state is not the same after it was saved and read")


def check_erasure(rule: Rule, history: History) -> None:
    """Check that a client can be erased from the state, and return as one of whom nothing is known."""
    state = rule.init()
    for index, (ids, updates) in enumerate(history):
        state, _ = rule.update(state, round_of(updates, ids, index))
        back, _ = rule.update(state.without(ids[0]), round_of(updates, ids, index + 1))
        _require(int(back.rounds[back.rows(ids[:1])[0]]) == 1, rule, "an erased client returns with a history")


def round_of(
    updates: Updates, ids: Sequence[str] | None = None, index: int = 0, order: NDArray[np.int64] | None = None
) -> Round:
    """Return a round with everything that a rule may need; `order`: how its clients were shuffled."""
    clients, parameters = updates.shape
    counts = np.arange(1.0, clients + 1)
    return Round(
        np.full(parameters, 0.125, updates.dtype),
        updates,
        client_names(clients) if ids is None else list(ids),
        index,
        counts=counts if order is None else counts[order],
        root=np.linspace(0.5, 1.0, parameters).astype(updates.dtype),
    )


def client_names(clients: int) -> list[str]:
    """Return ids for so many clients."""
    return [f"client{number:03d}" for number in range(clients)]


def _bytes(array: NDArray[Any] | None) -> bytes:
    return b"" if array is None else np.ascontiguousarray(array).tobytes()


def _require(condition: bool, rule: Rule, message: str) -> None:
    if not condition:
        raise AssertionError(f"{rule}: {message}")
