"""Who is measured: each contender is a name and a function of one round's updates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks import peers
from benchmarks.inputs import TIES, Input
from benchmarks.straightforward import reputation_rule
from eitr.aggregation import Round, make_rule

REPUTATION = "EITR reputation"
RESIDUAL = "EITR residual"
STRAIGHTFORWARD = "straightforward PyTorch"
TORCH_MEDIAN = "torch.median"


@dataclass(frozen=True)
class Contender:
    """A way to aggregate."""

    name: str
    run: Callable[[Input], Any]
    ties: float = 0.0
    """Share of tied values in its input."""
    slow: bool = False
    """Measured on fewer parameters; its cost per parameter does not depend on their number."""


def contenders() -> list[Contender]:
    """Return all contenders that can run here."""
    return [
        Contender(REPUTATION, _ours("reputation")),
        *(Contender(f"{REPUTATION}, {ties:.0%} ties", _ours("reputation"), ties=ties) for ties in TIES),
        Contender(RESIDUAL, _ours("residual")),
        Contender(STRAIGHTFORWARD, lambda given: reputation_rule(_tensor(given)), slow=True),
        Contender(TORCH_MEDIAN, lambda given: torch.median(_tensor(given), dim=0)),
        *(Contender(f"ByzFL {name}", _peer(rule)) for name, rule in peers.rules().items()),
    ]


def _ours(name: str) -> Callable[[Input], Any]:
    """Return the whole rule: the checks of the input, the detection, the state, the mean."""
    rule = make_rule(name)
    return lambda given: rule.update(rule.init(), Round(given.base, given.updates, given.ids))


def _peer(rule: Callable[[torch.Tensor], Any]) -> Callable[[Input], Any]:
    return lambda given: rule(_tensor(given))


def _tensor(given: Input) -> torch.Tensor:
    return torch.from_numpy(given.updates)  # shares the memory
