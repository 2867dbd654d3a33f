"""Compile the kernels of a rule before they are needed."""

from dataclasses import replace
from typing import Any

import numpy as np

from eitr.aggregation.attacker_count import UNKNOWN, AttackerCountRule
from eitr.aggregation.interface import Round, Rule

_CLIENTS = 8
"""Enough for every rule to be defined with an attacker."""
_PARAMETERS = 8


def warm_up(rule: Rule, like: Round | None = None) -> None:
    """Aggregate a tiny round, so that all kernels of a rule are compiled, or loaded from the cache.

    The round is one that the rule is defined for, whatever its settings. Its arrays have the types of those of `like`,
    and it has a base and a root where `like` has them; without `like`, everything is there, in float32.

    >>> from eitr.aggregation.registry import make_rule
    >>> warm_up(make_rule("multi-krum", attackers=100))
    """
    if isinstance(rule, AttackerCountRule):
        rule = replace(rule, attackers=UNKNOWN)
    dtype = np.dtype(np.float32) if like is None else like.updates.dtype
    updates = np.zeros((_CLIENTS, _PARAMETERS), dtype)
    base = np.zeros(_PARAMETERS, np.float32) if like is None else _small(like.base, 0)
    root = np.ones(_PARAMETERS, np.float32) if like is None else _small(like.root, 1)
    rule.update(rule.init(), Round(base, updates, [str(client) for client in range(_CLIENTS)], root=root))


def _small(vector: Any, value: float) -> Any:
    return None if vector is None else np.full(_PARAMETERS, value, vector.dtype)
