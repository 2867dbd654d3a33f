"""How well a participant reads its own weight: it knows what it sent, noise and all, and looks for it in the model.

A published step is the sum of all steps times their shares. Its least-squares fit with the steps that the reader knows
gives the reader's own share, with an error from the steps that it does not know.
"""

import numpy as np
import torch
from torch import Tensor

from eitr.lab.results.store import Arrays
from eitr.lab.runs.privacy import WeightRun
from eitr.lab.simulation.privacy.server_round import Crowd, ServerRounds
from eitr.lab.simulation.privacy.training import Training


def read_weights(run: WeightRun, training: Training, crowd: Crowd) -> Arrays:
    """Return the root mean square error of the weight that is read, in mean weights, and half of its 95 % interval."""
    rounds = ServerRounds(training, crowd, run.federations, run.clients)
    everybody = run.federations * run.clients
    factors = _uniform(training, (run.federations, run.clients))
    factors = 1.0 + run.factor * (2.0 * factors - 1.0)
    read = torch.zeros(run.federations, device=training.model.device)
    true = torch.zeros_like(read)
    for _ in range(run.rounds):
        updates = training.updates(crowd.draw(everybody, training.generator))[0].view(run.federations, run.clients, -1)
        step, shares = rounds.end(updates, factors=factors if run.factor else None)
        known = (updates - training.subtracted)[:, : run.known]
        fitted = torch.linalg.solve(known @ known.mT, known @ step.unsqueeze(2)).squeeze(2)
        read += fitted[:, 0]
        true += shares[:, 0]
    errors = ((read - true) / true.mean()).double().cpu().numpy()
    error = float(np.sqrt(np.mean(errors**2)))
    half = 1.96 * float(np.std(errors**2)) / len(errors) ** 0.5 / max(2 * error, 1e-12)
    return {"weight_error": np.array(error), "weight_error_error": np.array(half)}


def _uniform(training: Training, shape: tuple[int, int]) -> Tensor:
    return torch.rand(shape, device=training.model.device, generator=training.generator).double()
