"""The aggregation rules for many runs side by side on one device: one rule per file, one protocol, one registry.

The rules of `eitr.aggregation` say what is computed; these say it in torch, for R runs at once, and on CUDA in
kernels of our own.
"""

from eitr.lab.aggregation.interface import BatchedRule, Outcome
from eitr.lab.aggregation.registry import batched

__all__ = ["BatchedRule", "Outcome", "batched"]
