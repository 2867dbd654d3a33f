"""All rules by name: the one list that the command line, the lab and the server go by."""

from typing import Any

from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.fltrust import FLTrust
from eitr.aggregation.foolsgold import FoolsGold
from eitr.aggregation.interface import Rule
from eitr.aggregation.median import Median
from eitr.aggregation.reputation import Reputation
from eitr.aggregation.residual import Residual
from eitr.aggregation.trimmed_mean import TrimmedMean
from eitr.errors import InputError

RULES: dict[str, type[Rule]] = {
    rule.name: rule for rule in (Reputation, FedAvg, Median, TrimmedMean, FoolsGold, Residual, FLTrust)
}


def rule_class(name: str) -> type[Rule]:
    """Return the rule of a name."""
    if name not in RULES:
        raise InputError(f"there is no rule {name!r}; there are: {', '.join(RULES)}")
    return RULES[name]


def make_rule(name: str, **settings: Any) -> Rule:
    """Return a rule with these settings, the others at their defaults.

    >>> make_rule("trimmed-mean", beta=0.3)
    TrimmedMean(ramp=0, beta=0.3)
    """
    return rule_class(name)(**settings)
