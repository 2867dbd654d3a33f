"""The lab: federations simulated under attack, every figure of the paper, and a verdict on every claim.

    from eitr.lab import run_experiments
    lab = run_experiments(["convergence"], profile="quick", out="results")
    lab.figure("convergence").savefig("convergence.svg")

Computing needs only Python, numpy and torch; tables, figures and reports are made from the result files, on the same
machine or on another.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from eitr.errors import InputError

if TYPE_CHECKING:
    from eitr.lab.laboratory import Lab, compare, open_lab, run_experiments

__all__ = ["Lab", "compare", "open_lab", "run_experiments"]


def __getattr__(name: str) -> Any:
    # Imported when asked for: torch takes seconds.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("torch") is None:
        raise InputError("the lab computes with torch, which is not installed: pip install 'eitr[lab]'")
    from eitr.lab import laboratory

    return getattr(laboratory, name)
