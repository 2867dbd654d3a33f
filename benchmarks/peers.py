"""The rules of ByzFL, a library of robust aggregators, called on the same updates as ours.

ByzFL is not needed by the package and is not installed with it: `pip install --no-deps -r benchmarks/requirements.txt`.

    Median, TrMean          per parameter, like our rule
    MultiKrum               distances between whole updates
    GeometricMedian         three steps of the smoothed Weiszfeld algorithm, its default
    CenteredClipping        one step of clipping, its default

They answer another question than ours (no line, no verdict on single parameters, no memory): the comparison says what
our verdicts cost, not which rule is better.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor

HOW_TO_INSTALL = "pip install --no-deps -r benchmarks/requirements.txt"
ATTACKERS = 0.2
"""Share of attackers that TrMean and MultiKrum are told to withstand."""


def installed() -> bool:
    """Say whether ByzFL is there."""
    return importlib.util.find_spec("byzfl") is not None


def rules() -> dict[str, Callable[[Tensor], Any]]:
    """Return ByzFL's rules by name, each a function of the updates (clients, parameters); none if it is not there."""
    if not installed():
        return {}
    aggregators = _aggregators()

    def attackers(updates: Tensor) -> int:
        return int(ATTACKERS * len(updates))

    # Made anew for each call: CenteredClipping remembers its last result.
    return {
        "Median": lambda updates: aggregators.Median()(updates),
        "TrMean": lambda updates: aggregators.TrMean(f=attackers(updates))(updates),
        "MultiKrum": lambda updates: aggregators.MultiKrum(f=attackers(updates))(updates),
        "GeometricMedian": lambda updates: aggregators.GeometricMedian()(updates),
        "CenteredClipping": lambda updates: aggregators.CenteredClipping()(updates),
    }


def _aggregators() -> Any:
    """Import ByzFL's aggregators alone: the whole package wants torchvision, which they do not use."""
    if "byzfl" not in sys.modules:
        spec = importlib.util.find_spec("byzfl")
        assert spec is not None
        # Not executed: its own imports are what we do without.
        sys.modules["byzfl"] = importlib.util.module_from_spec(spec)
    return importlib.import_module("byzfl.aggregators.aggregators")
