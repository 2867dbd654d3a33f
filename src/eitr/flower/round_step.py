"""One round without Flower: replies go in, a model, a state and the reasons for every refusal come out.

The result depends on who sent what, never on the order in which replies came.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import Result, Round, Rule, Scorer
from eitr.aggregation.parameters import flatten_state_dict, unflatten_state_dict
from eitr.aggregation.rule_state import RuleState
from eitr.errors import BadUpdateError, InputError

Arrays = Mapping[str, NDArray[Any]]
"""The parameters of a model by name, as in a state_dict."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a node sent, as far as it could be read."""

    arrays: Arrays
    examples: int
    """How many examples it says it trained on."""


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """What became of a round."""

    model: Arrays
    state: RuleState
    refused: dict[str, str] = field(default_factory=dict)
    """Of each node whose reply was bad, what was wrong with it."""
    kept: str = ""
    """Why the model stayed as it was; empty where there is a new one."""
    weights: dict[str, float] = field(default_factory=dict)


def combine(
    rule: Rule,
    state: RuleState,
    model: Arrays,
    replies: Mapping[str, Reply | str],
    *,
    number: int,
    fewest: int = 1,
    root: NDArray[Any] | None = None,
    scorer: Scorer | None = None,
) -> RoundOutcome:
    """Return what a rule makes of the replies of a round, by node. A string says why a reply could not be read.

    Every bad reply is evidence against its node: all of its parameters count as rejected, as on the server. Where fewer
    than `fewest` good replies are left, or fewer than the rule is defined for, the model stays as it is.
    """
    refused = {node: reply for node, reply in sorted(replies.items()) if isinstance(reply, str)}
    good = {node: reply for node, reply in sorted(replies.items()) if isinstance(reply, Reply)}
    round, more = _checked(model, good, number, root, scorer)
    refused = dict(sorted({**refused, **more}.items()))
    parameters = len(flatten_state_dict(model))
    for node in refused:
        state = rule.refuse(state, node, parameters)
    kept = _too_few(rule, 0 if round is None else len(round.ids), fewest)
    if round is None or kept:
        return RoundOutcome(model, state, refused, kept)
    state, result = rule.update(state, round)
    return RoundOutcome(unflatten_state_dict(result.model, model), state, refused, "", _weights(round, result))


def _checked(
    model: Arrays, replies: Mapping[str, Reply], number: int, root: NDArray[Any] | None, scorer: Scorer | None
) -> tuple[Round | None, dict[str, str]]:
    """Return the round of the good replies, None if there are none, and what is wrong with the others."""
    if not replies:
        return None, {}
    counts = np.array([reply.examples for reply in replies.values()], np.float64)
    updates = [reply.arrays for reply in replies.values()]
    try:
        return Round.without_bad(model, updates, list(replies), number, counts=counts, root=root, scorer=scorer)
    except BadUpdateError as error:
        return None, error.clients


def _too_few(rule: Rule, clients: int, fewest: int) -> str:
    if clients < fewest or clients == 0:
        return f"{clients} good replies, and a round needs {max(1, fewest)}"
    try:
        rule.for_clients(clients)
    except InputError as error:
        return str(error)
    return ""


def _weights(round: Round, result: Result) -> dict[str, float]:
    return {} if result.weights is None else dict(zip(round.ids, result.weights.tolist(), strict=True))
