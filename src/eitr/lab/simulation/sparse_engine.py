"""The engine for processors: one run after the other, its clients on threads, on sparse rows, with the compiled rules.

Nothing here depends on how fast a thread is: the same run gives the same bytes on the same number of threads, and a run
that goes on from a checkpoint ends as if it had never stopped.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from eitr.aggregation.interface import LARGEST, Result, Round
from eitr.aggregation.rule_state import RuleState
from eitr.attacks.interface import Rehearsal, Scene
from eitr.datasets.interface import Examples
from eitr.errors import InputError
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.private_training import DROP, KEEP, NEEDS_START, PrivateTraining
from eitr.lab.simulation.batches import RoundBatches, Trainees
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.evaluation import EvaluationRows, evaluation_rows
from eitr.lab.simulation.population import participants, population
from eitr.lab.simulation.private_clients import PrivateClients, UpperFederation, upper_federation
from eitr.lab.simulation.recording import RunRecorder, checkpoint_of
from eitr.lab.simulation.row_table import RowTable, row_table
from eitr.model import kernels
from eitr.model.network import Network, Vector
from eitr.model.plan import TrainingPlan
from eitr.model.validation import ValidationPages, answers, cross_entropy
from eitr.pages.pool import Pool
from eitr.robust.threads import thread_count

ENGINE = "sparse"

_ROWS_AT_A_TIME = 4096
_ROUNDS = "client_rounds"
_PREVIOUS = "previous"
_MET = "clients_met"
"""What a checkpoint keeps besides the memory of the rule: in how many rounds each client took part, the last model,
and, where clients come and go, which of them the rule has met."""
_HARM_PAGES = 512
"""On how many of their own pages attackers that search measure the harm they do."""


def run_all(
    runs: Sequence[FederatedRun],
    examples: Examples,
    network: Network,
    context: Context,
    initial: Vector | None = None,
    cover: Pool | None = None,
) -> Iterator[Computed]:
    """Compute federated runs on one data set, in order: from an initial model, or a random one of each seed.

    Runs that train the private way need an initial model and a pool of cover pages.
    """
    with _torch_on_one_thread(), ThreadPoolExecutor(thread_count()) as threads:
        for run in runs:
            began = time.perf_counter()
            table = row_table(examples, [*run.probes.values()])
            if run.training is None:
                simulation = _Simulation(run, table, network, context, threads, initial)
            elif initial is None or cover is None:
                raise InputError(NEEDS_START)
            else:
                upper = upper_federation(run.training, network, initial, table, cover)
                simulation = _PrivateSimulation(run, run.training, upper, context, threads)
            arrays = simulation.finish()
            yield Computed(run, arrays, time.perf_counter() - began)


@contextmanager
def _torch_on_one_thread() -> Iterator[None]:
    """Leave the processors to our own threads: torch's would wait for them in a busy loop."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Simulation:
    """One run: the global model, what the rule remembers, and the record."""

    def __init__(
        self,
        run: FederatedRun,
        table: RowTable,
        network: Network,
        context: Context,
        threads: ThreadPoolExecutor,
        initial: Vector | None,
    ) -> None:
        self._run, self._table, self._network = run, table, network
        self._context, self._threads = context, threads
        people = population(table.examples, run)
        labels = torch.from_numpy(table.examples.labels)
        self._trainees = Trainees(people, labels, run, table.twins(run.attack))
        self._evaluation: EvaluationRows = evaluation_rows(table, people, run)
        self._people = people
        self._attackers = np.flatnonzero(people.attacker)
        self._present = participants(run, 1)
        self._trusted = ValidationPages(network, table.rows.take(people.root), labels.numpy()[people.root])
        self._counts = people.counts.astype(np.float64)
        self._ids = [f"{client:06d}" for client in range(run.clients)]
        self._record = RunRecorder(run, people, self._evaluation, network.size)
        self._model = network.initial(run.seed) if initial is None else initial
        self._previous: Vector | None = None
        self._added_noise = 0.0
        self._state: RuleState = run.rule.init()
        kept = checkpoint_of(context.load_checkpoint(run), ENGINE)
        if kept is not None:
            self._model, memory = self._record.restore(kept)
            self._previous = memory.pop(_PREVIOUS)
            met = memory.pop(_MET, np.arange(run.clients))
            ids = tuple(self._ids[client] for client in met)
            self._state = RuleState(run.rule.name, ids, memory.pop(_ROUNDS), memory)

    def finish(self) -> Arrays:
        """Simulate the rounds that are left; return everything recorded."""
        run, record = self._run, self._record
        while record.rounds < run.rounds:
            result = self._round(record.rounds + 1)
            if result is None:
                record.fail()
                self._context.on_progress(run, run.rounds, run.rounds, np.nan)
                break
            self._previous, self._model = self._model, np.asarray(result.model, np.float32)
            measures = self._measure()
            record.add({**measures, **_by_client(result, run.participants)})
            self._context.on_progress(run, record.rounds, run.rounds, float(measures["accuracy"]))
            if record.rounds < run.rounds and self._context.checkpoint_due():
                memory = {**self._state.memory, _ROUNDS: self._state.rounds, _PREVIOUS: self._previous}
                if run.participants < run.clients:
                    memory[_MET] = np.array([int(client) for client in self._state.clients], np.int64)
                self._context.save_checkpoint(run, record.checkpoint(self._model, memory, engine=ENGINE))
        return record.arrays()

    def _round(self, number: int) -> Result | None:
        """Train all who take part and combine what they send; None if somebody's numbers left the range."""
        run, attack = self._run, self._run.attack
        self._present = participants(run, number)
        attacks = self._people.attacker[self._present]
        updates, root = self._train(number)
        if attack is not None and attack.renews(number):
            for client in self._attackers:
                self._state = self._state.without(self._ids[client])
        if not usable(updates):  # before attackers see it: they compute with it
            return None
        if attack is not None and attack.crafts and attacks.any() and self._trainees.attack_in(number):
            updates[attacks] = attack.craft(self._scene(number, updates, root, attacks)).numpy()
        if not usable(updates) or not usable(root[None]):
            return None
        self._state, result = self._combine(number, updates, root)
        return result

    def _combine(self, number: int, updates: NDArray[np.float32], root: Vector) -> tuple[RuleState, Result]:
        """Return what the rule makes of a round, and its state after it."""
        return self._run.rule.update(self._state, self._gathered(number, updates, root))

    def _gathered(self, number: int, updates: NDArray[np.float32], root: Vector) -> Round:
        scorer = self._trusted.losses if len(self._trusted.labels) else None
        ids = [self._ids[client] for client in self._present]
        counts = self._counts[self._present]
        return Round(
            self._model, updates, ids, number, counts=counts, root=root, scorer=scorer, added_noise=self._added_noise
        )

    def _scene(self, number: int, updates: NDArray[np.float32], root: Vector, attacks: NDArray[np.bool_]) -> Scene:
        """Return what the attackers, `attacks` among the participants, know: everything."""
        attackers, honest = np.flatnonzero(attacks), np.flatnonzero(~attacks)

        def rehearse(sent: torch.Tensor) -> Rehearsal:
            tried = updates.copy()
            tried[attackers] = sent.numpy()
            _, result = self._combine(number, tried, root)
            standing = result.weights if result.reputation is None else result.reputation
            order = np.concatenate([attackers, honest])
            known = np.zeros(len(order)) if standing is None else standing[order]
            return Rehearsal(torch.from_numpy(np.asarray(result.model, np.float32)), known)

        pages = np.concatenate([self._people.pages[client] for client in self._present[attackers]])[:_HARM_PAGES]
        labels = self._table.examples.labels[pages]

        def harm(model: torch.Tensor) -> float:
            found = answers(self._network, model.numpy(), self._table.rows, pages)
            return float(cross_entropy(found, labels).mean())

        return Scene(
            torch.from_numpy(self._model),
            torch.from_numpy(updates[attackers]),
            torch.from_numpy(updates[honest]),
            None if self._previous is None else torch.from_numpy(self._previous),
            number,
            self._run.seed,
            rehearse,
            harm,
        )

    def _train(self, number: int) -> tuple[NDArray[np.float32], Vector]:
        """Return what each participant's training made of the global model, and the server's own."""
        batches: RoundBatches = self._trainees.draw(number)
        clients = len(self._present)
        updates = np.empty((clients + 1, self._network.size), np.float32)
        needed = range(clients + 1 if "root" in self._run.rule.needs else clients)
        rows, labels, sizes = (part.long().numpy() for part in batches[:3])

        def work(client: int) -> None:
            steps = batches.steps[client]
            updates[client] = self._model
            train_client(
                updates[client],
                self._network,
                self._table,
                rows[client, :steps],
                labels[client, :steps],
                sizes[client, :steps],
                batches.dropout_keys[client],
                self._run.plan,
            )

        updates[clients] = self._model
        # The longest first, so that no thread is left with a long one at the end.
        list(self._threads.map(work, sorted(needed, key=lambda client: -batches.steps[client])))
        return updates[:clients], updates[clients]

    def _measure(self) -> dict[str, NDArray[np.float64]]:
        """Evaluate the global model, in blocks of rows on the threads."""
        asked = self._evaluation.rows
        blocks = [asked[start : start + _ROWS_AT_A_TIME] for start in range(0, len(asked), _ROWS_AT_A_TIME)]
        answers = list(self._threads.map(self._logits, blocks))
        found = self._evaluation.metrics(torch.from_numpy(np.concatenate(answers))[None])
        return {name: value[0].numpy() for name, value in found.items()}

    def _logits(self, asked: NDArray[np.int64]) -> NDArray[np.float32]:
        return answers(self._network, self._model, self._table.rows, asked)


class _PrivateSimulation(_Simulation):
    """One run whose clients train the private way: a federation on the trained layers."""

    def __init__(
        self,
        run: FederatedRun,
        training: PrivateTraining,
        upper: UpperFederation,
        context: Context,
        threads: ThreadPoolExecutor,
    ) -> None:
        super().__init__(run, upper.table, upper.network, context, threads, upper.initial)
        if training.own_pages:
            self._counts = np.minimum(self._counts, training.own_pages)
        self._expected_cover = training.expected_cover
        self._clients = PrivateClients(run, training, self._people, upper)
        self._added_noise = self._clients.plan.added_noise

    def _train(self, number: int) -> tuple[NDArray[np.float32], Vector]:
        attack = self._run.attack if self._trainees.attack_in(number) else None
        return self._clients.train(number, self._model, attack, self._threads)

    def _combine(self, number: int, updates: NDArray[np.float32], root: Vector) -> tuple[RuleState, Result]:
        """Let the rule judge what is left of the updates without the expected step of the cover pages, if asked to.

        The rule starts from the same model. Where the step is added again, trusted pages judge models with it.
        """
        if self._expected_cover == KEEP:
            return super()._combine(number, updates, root)
        expected = self._clients.expected_cover(self._model)
        round = self._gathered(number, updates - expected, root - expected)
        if self._expected_cover == DROP:
            return self._run.rule.update(self._state, round)
        if round.scorer is not None:
            round = replace(round, scorer=lambda models: self._trusted.losses(models + expected))
        state, result = self._run.rule.update(self._state, round)
        return state, replace(result, model=result.model + expected)


def train_client(
    vector: Vector,
    network: Network,
    table: RowTable,
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    dropout_key: int,
    plan: TrainingPlan,
) -> None:
    """Take a client's steps of a round, in place."""
    kernels.take_steps(
        vector,
        np.zeros_like(vector),
        np.array(network.layers, np.int64),
        table.rows.starts,
        table.rows.columns,
        table.rows.values,
        rows,
        labels,
        sizes,
        dropout_key,
        0,
        plan.dropout_threshold,
        plan.dropout_scale,
        np.float32(plan.learning_rate),
        np.float32(plan.momentum),
    )


def usable(updates: NDArray[np.float32]) -> bool:
    """Return whether all numbers are finite and within what an aggregator accepts; training that diverged is not."""
    largest = max(float(updates.max()), -float(updates.min()))  # NaN comes out of both
    return largest <= LARGEST


def _by_client(result: Result, participants: int) -> dict[str, NDArray[np.float64]]:
    """Return what a rule said about each participant; one that kept the global model gave nobody a weight: NaN."""
    said = {"weights": np.full(participants, np.nan) if result.weights is None else result.weights}
    if result.reputation is not None and result.negative is not None:
        said |= {"reputation": result.reputation, "negative": result.negative.astype(np.float64)}
    return said
