"""All rules by name: the one list that the command line, the lab and the server go by."""

from typing import Any

from eitr import plugins
from eitr.aggregation.bulyan import Bulyan
from eitr.aggregation.centred_clipping import CentredClipping
from eitr.aggregation.dnc import DivideAndConquer
from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.flame import Flame
from eitr.aggregation.fldetector import FLDetector
from eitr.aggregation.fltrust import FLTrust
from eitr.aggregation.foolsgold import FoolsGold
from eitr.aggregation.foundation_fl import FoundationFL
from eitr.aggregation.fused import Fused
from eitr.aggregation.geometric_median import GeometricMedian
from eitr.aggregation.interface import Rule
from eitr.aggregation.median import Median
from eitr.aggregation.multi_krum import MultiKrum
from eitr.aggregation.nnm import NearestNeighbourMixing
from eitr.aggregation.published_code import PublishedCode
from eitr.aggregation.reputation import Reputation
from eitr.aggregation.residual import Residual
from eitr.aggregation.trimmed_mean import TrimmedMean
from eitr.errors import InputError
from eitr.settings import settings_of, spelled

_OWN: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        Fused,
        Reputation,
        FedAvg,
        Median,
        TrimmedMean,
        FoolsGold,
        Residual,
        FLTrust,
        MultiKrum,
        Bulyan,
        GeometricMedian,
        CentredClipping,
        NearestNeighbourMixing,
        DivideAndConquer,
        Flame,
        FLDetector,
        FoundationFL,
        PublishedCode,
    )
}


def _adopted(value: Any) -> tuple[str, type[Rule]]:
    plugins.check_class(value, Rule, "rule", "eitr.aggregation.median")
    rule: type[Rule] = value
    return rule.name, rule


RULES: plugins.Registry[type[Rule]] = plugins.Registry("rule", plugins.RULES, _OWN, _adopted)


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
    chosen = rule_class(name)
    known = {spelled(item): item.name for item, _ in settings_of(chosen)}
    for setting in settings:
        if setting not in known and setting not in known.values():
            raise InputError(f"{name!r} has no setting {setting!r}; it has: {', '.join(known)}")
    return chosen(**{known.get(setting, setting): value for setting, value in settings.items()})
