"""The lab's engine on the federation that Flower runs: what the model must come to.

The engine ends a run in which somebody sends a NaN. So its twin here does what Flower's side must do: the reply is left
out and counts against its client.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.aggregation.interface import Round  # noqa: E402
from eitr.datasets.registry import load  # noqa: E402
from eitr.flower.run_settings import RunSettings  # noqa: E402
from eitr.lab.runs.federated import FederatedRun  # noqa: E402
from eitr.lab.simulation.context import Context  # noqa: E402
from eitr.lab.simulation.row_table import row_table  # noqa: E402
from eitr.lab.simulation.sparse_engine import _Simulation  # noqa: E402
from eitr.model.classifier import Classifier  # noqa: E402


class Twin(_Simulation):
    """One run of the lab's engine, of which the model and the state can be seen."""

    nan: tuple[int, ...] = ()

    def _combine(self, number, updates, root):
        if not self.nan:
            return super()._combine(number, updates, root)
        sent = updates.copy()
        sent[list(self.nan)] = np.nan
        whole = self._gathered(number, updates, root)
        round, refused = Round.without_bad(
            self._model, sent, self._ids, number, counts=self._counts, root=root, scorer=whole.scorer
        )
        assert list(refused) == [self._ids[client] for client in self.nan]
        state = self._state
        for client in refused:
            state = self._run.rule.refuse(state, client, self._network.size)
        return self._run.rule.update(state, round)

    def model_after(self, rounds):
        """Return the model after so many rounds."""
        for number in range(1, rounds + 1):
            result = self._round(number)
            self._previous, self._model = self._model, np.asarray(result.model, np.float32)
        return self._model

    def reputations(self):
        """Return the reputation of each client."""
        return [self._run.rule.standing(self._state, client) for client in self._ids]

    @property
    def attackers(self):
        """Return who attacks."""
        return self._attackers.tolist()


def twin(settings: RunSettings, ids, *, attack=None, attackers=0, nan=()):
    """Return the lab's engine with the settings of a run on Flower, whose clients are called as the nodes are.

    Rules take clients in the order of their ids, and `reputation` gives the first of equal values the lower rank.
    """
    classifier = Classifier.shipped()
    examples = load(settings.data, size=settings.data_size, vocabulary=classifier.vocabulary)
    run = FederatedRun(
        data=settings.data,
        rule=settings.make_rule(),
        clients=settings.nodes,
        seed=settings.seed,
        trusted=settings.trusted,
        plan=settings.plan,
        attack=attack,
        attackers=attackers,
        start="shipped",
        rounds=settings.rounds,
    )
    table = row_table(examples, [*run.probes.values()])
    context = Context(device=torch.device("cpu"))
    found = Twin(run, table, classifier.model.network, context, ThreadPoolExecutor(1), classifier.model.vector)
    found._ids, found.nan = list(ids), tuple(nan)
    return found
