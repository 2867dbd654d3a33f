"""The fused reputation: several detectors, each with an opinion of every client, and subjective logic to join them.

features    what the detectors judge by: a few numbers per client, from its update
groups      who is compared with whom in a large round
residual, direction, collusion, magnitude, concentration, validation    the detectors, `observe(features) -> opinion`
rule        opinions -> reputation with memory -> weights -> the new model
"""

from eitr.aggregation.fused.rule import Fused

__all__ = ["Fused"]
