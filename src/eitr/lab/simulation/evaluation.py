"""The metrics of a global model: accuracy, losses, and how well the attacks succeed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.population import Population
from eitr.lab.simulation.row_table import RowTable

ASR = "asr."
"""Begins the name of an attack success rate; the name of the attack follows."""


@dataclass(frozen=True)
class EvaluationRows:
    """The rows on which models are evaluated, and the metrics computed from their outputs."""

    rows: NDArray[np.int64]
    """Test pages, then the sample of training pages, then the pages of each probe."""
    labels: NDArray[np.int64]
    """Labels of the test pages and of the sample."""
    tests: int
    probes: tuple[tuple[str, int, int, int], ...]
    """Name, first and last place among the rows, and target of each probe."""
    classes: int

    def metrics(self, logits: Tensor) -> dict[str, Tensor]:
        """Return each metric of several models: `logits` (models, rows, classes); metrics (models,) or by class."""
        known = len(self.labels)
        truth = torch.from_numpy(self.labels).to(logits.device)
        guesses = logits.argmax(dim=-1)
        right = (guesses[:, : self.tests] == truth[: self.tests]).double()
        likelihood = torch.log_softmax(logits[:, :known], dim=-1)
        losses = -likelihood.gather(-1, truth.expand(len(logits), -1)[..., None])[..., 0].double()
        belongs = torch.nn.functional.one_hot(truth[: self.tests], self.classes).double()
        found = {
            "accuracy": right.mean(dim=1),
            "loss": losses[:, : self.tests].mean(dim=1),
            "train_loss": losses[:, self.tests :].mean(dim=1),
            "class_accuracy": (right @ belongs) / belongs.sum(dim=0),
        }
        for name, first, last, target in self.probes:
            found[ASR + name] = (guesses[:, first:last] == target).double().mean(dim=1)
        return found


def evaluation_rows(table: RowTable, people: Population, run: FederatedRun) -> EvaluationRows:
    """Return the rows on which the models of a run are evaluated."""
    examples = table.examples
    tests = np.flatnonzero(examples.test)
    known = np.concatenate([tests, people.sample])
    rows, probes = [known], []
    place = len(known)
    for name, attack in run.probes.items():
        probe = table.probe(attack)
        if probe is not None:
            rows.append(probe.rows)
            probes.append((name, place, place + len(probe.rows), probe.target))
            place += len(probe.rows)
    return EvaluationRows(
        np.concatenate(rows), examples.labels[known], len(tests), tuple(probes), len(examples.classes)
    )
