"""Rules that combine the updates of a round into one model: one rule a file, one protocol, one registry."""

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.registry import RULES, make_rule
from eitr.aggregation.rule_state import RuleState, load_state, save_state

__all__ = ["RULES", "Result", "Round", "Rule", "RuleState", "load_state", "make_rule", "save_state"]
