"""The aggregation rules for many runs side by side on one device: one rule a file, one protocol, one registry.

The rules of `eitr.aggregation` say what is computed; these say it in torch, and on CUDA in Triton, for R runs at once.
"""

from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.registry import batched

__all__ = ["BatchedRule", "Outcome", "batched"]
