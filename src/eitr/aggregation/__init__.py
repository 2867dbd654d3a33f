"""Rules that combine the updates of a round into one model: one rule per file, one protocol, one registry."""

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.parameters import flatten_state_dict, unflatten_state_dict
from eitr.aggregation.registry import RULES, make_rule
from eitr.aggregation.rule_state import RuleState, load_state, save_state
from eitr.aggregation.warm_up import warm_up

__all__ = [
    "RULES",
    "Result",
    "Round",
    "Rule",
    "RuleState",
    "flatten_state_dict",
    "load_state",
    "make_rule",
    "save_state",
    "unflatten_state_dict",
    "warm_up",
]
