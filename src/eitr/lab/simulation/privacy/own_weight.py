"""How well a participant reads its own weight: it knows what it sent, noise and all, and looks for it in the model.

A published step is the sum of all steps times their shares. Its least-squares fit with the steps that the reader knows
gives the reader's own share, with an error from the steps that it does not know, times the server's secret number. A
reader that behaved as everybody in earlier rounds had everybody's weight there, and what it read then tells something
about the number.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.lab.results.store import Arrays
from eitr.lab.runs.privacy import WeightRun
from eitr.lab.simulation.privacy.server_round import Crowd, ServerRounds
from eitr.lab.simulation.privacy.training import Training

Floats = NDArray[np.float64]
WINDOWS = (1, 2, 3, 5, 7, 10, 15, 20, 40)
"""Over so many of the last rounds before, a reader tries to average what it read."""


def read_weights(run: WeightRun, training: Training, crowd: Crowd) -> Arrays:
    """Return the root mean square error of the weight that is read, in mean weights, and half of its 95 % interval."""
    rounds = ServerRounds(training, crowd, run.federations, run.clients)
    everybody = run.federations * run.clients
    count = run.calibrated + run.rounds
    factors = _factors(run, training, count)
    read, true = [], []
    for place in range(count):
        updates = training.updates(crowd.draw(everybody, training.generator))[0].view(run.federations, run.clients, -1)
        step, shares = rounds.end(updates, factors=factors[:, :, place] if run.factor else None)
        known = (updates - training.subtracted)[:, : run.known]
        fitted = torch.linalg.solve(known @ known.mT, known @ step.unsqueeze(2)).squeeze(2)
        read.append(fitted[:, 0])
        true.append(shares[:, 0])
    weight = torch.stack(true[run.calibrated :]).mean(0).double().cpu().numpy()
    found = torch.stack(read).double().cpu().numpy() / weight.mean()
    errors = found[run.calibrated :].mean(0) - weight / weight.mean()
    if run.calibrated:
        errors = calibrated(errors, found[: run.calibrated] - 1.0)
    error = float(np.sqrt(np.mean(errors**2)))
    half = 1.96 * float(np.std(errors**2)) / len(errors) ** 0.5 / max(2 * error, 1e-12)
    return {"weight_error": np.array(error), "weight_error_error": np.array(half)}


def calibrated(errors: Floats, before: Floats) -> Floats:
    """Return what is left of errors, (federations,), by what was read before, (rounds, federations), minus the truth.

    Over how many rounds it averages, and how much it then believes, a reader chooses on federations that it simulates:
    for each half of them, on the other half.
    """
    left = errors.copy()
    half = np.arange(len(errors)) % 2 == 0
    for judged in (half, ~half):
        best = float(np.mean(errors[~judged] ** 2))
        for window in WINDOWS:
            if window > len(before):
                break
            hint = before[-window:].mean(0)
            believed = float(hint[~judged] @ errors[~judged] / (hint[~judged] @ hint[~judged]))
            rest = float(np.mean((errors - believed * hint)[~judged] ** 2))
            if rest < best:
                best = rest
                left[judged] = (errors - believed * hint)[judged]
    return left


def _factors(run: WeightRun, training: Training, count: int) -> Tensor:
    """Return the secret numbers (federations, clients, rounds)."""
    shape = (run.federations, run.clients)
    begun = torch.randint(run.period, shape, device=training.model.device, generator=training.generator)
    periods = (begun.unsqueeze(2) + torch.arange(count, device=begun.device)) // run.period
    drawn = _uniform(training, (*shape, (count - 1) // run.period + 2))
    return 1.0 + run.factor * (2.0 * drawn.gather(2, periods) - 1.0)


def _uniform(training: Training, shape: tuple[int, ...]) -> Tensor:
    return torch.rand(shape, device=training.model.device, generator=training.generator).double()
