"""What cover pages add to an update: its expectation, and how it varies. All cells of a defence share it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from eitr.lab.simulation.privacy.training import Training

ROUNDING = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """The covariance R'R of given rows, by its eigenvectors."""

    directions: Tensor
    """(parameters, directions), orthonormal."""
    variances: Tensor
    """(directions,)."""

    @property
    def mean_variance(self) -> float:
        """The mean variance of a parameter."""
        return float(self.variances.sum()) / len(self.directions)


def spectrum(rows: Tensor) -> Spectrum:
    """Return eigenvectors and eigenvalues of R'R, computed on the smaller side of R."""
    count, size = rows.shape
    if not count:
        return Spectrum(rows.new_zeros(size, 0), rows.new_zeros(0))
    exact = rows.double()
    if size <= count:
        variances, directions = torch.linalg.eigh(exact.T @ exact)
    else:
        variances, sides = torch.linalg.eigh(exact @ exact.T)
        directions = exact.T @ sides / variances.clamp_min(1e-300).sqrt()
    kept = variances > 1e-10 * variances[-1]
    return Spectrum(directions[:, kept].to(rows.dtype), variances[kept].to(rows.dtype))


class CoverPart:
    """What an attacker knows about the cover pages of one model and defence."""

    def __init__(self, training: Training, simulated: int) -> None:
        self.training = training
        self.expected, self.rows = training.cover(simulated)
        """What they are expected to add, and rows R so that R'R is the covariance of it."""
        self.spectrum = spectrum(self.rows)
        """How updates vary by the draw of cover pages."""
        steps = training.templates(training.pool)
        self.pool_spectrum = spectrum(steps if training.defence.cover_pages else steps[:0])
        """All that cover pages can add: the steps of the pool's pages."""
