"""The fused reputation: several detectors, each with an opinion of every client, and subjective logic to join them.

view        what a round looks like: a few numbers of each client, from its update
residual, direction, collusion, magnitude, validation       the detectors, `observe(view) -> opinion`
rule        opinions -> reputation with memory -> weights -> the new model
"""

from eitr.aggregation.fused.rule import Fused

__all__ = ["Fused"]
