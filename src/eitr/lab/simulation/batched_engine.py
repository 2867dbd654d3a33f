"""The engine for GPUs: all clients of many runs train side by side, and the rules combine them where they are.

Works on any device torch has; on a processor with numba the sparse engine is faster. Runs that train alike (same plan,
number of clients, in all and in a round, and rounds) form a batch, as many as fit into the memory; within one, runs of
the same rule are aggregated together. Only clients that take part in a round train and need memory for a model.
Batches, random words and rules are those of the sparse engine, so both agree up to rounding.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.aggregation.interface import LARGEST
from eitr.attacks.interface import Attack, Scene
from eitr.datasets.interface import Examples
from eitr.lab.aggregation.interface import BatchedRule, Outcome, Scorer
from eitr.lab.aggregation.registry import batched, batched_form
from eitr.lab.results.store import Arrays, Computed
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.batches import Trainees, longer
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.evaluation import EvaluationRows, evaluation_rows
from eitr.lab.simulation.population import Population, participants, population
from eitr.lab.simulation.recording import RunRecorder, checkpoint_of
from eitr.lab.simulation.row_table import RowTable, row_table
from eitr.lab.simulation.torch_training import Crowd, padded_size, train
from eitr.model.network import Network, Vector

ENGINE = "batched"

_PREVIOUS = "previous"
"""The name under which a checkpoint keeps the last model but one."""

SHARE_OF_MEMORY = 0.5
"""How much of the free memory clients may take; the rest is for what a round needs besides."""
CPU_BYTES = 2 << 30
"""How much clients may take on a processor."""
ANSWER_BYTES = 1 << 30
"""How much the answers of several models may take when they are measured together."""


def run_all(
    runs: Sequence[FederatedRun],
    examples: Examples,
    network: Network,
    context: Context,
    initial: Vector | None = None,
) -> Iterator[Computed]:
    """Compute federated runs on one data set; each is yielded when it is finished.

    They start from an initial model, or each from a random one of its seed.
    """
    kept = {run: checkpoint_of(context.load_checkpoint(run), ENGINE) for run in runs}

    def alike(run: FederatedRun) -> tuple[Any, ...]:
        found = kept[run]
        done = 0 if found is None else RunRecorder.rounds_of(found)
        return (run.clients, run.participants, run.rounds, done, repr(run.plan), run.steps, run.rule.name)

    for _, same in groupby(sorted(runs, key=alike), key=lambda run: alike(run)[:-1]):
        together = list(same)
        most = _runs_that_fit(network, together, context.device)
        # As even as possible: a last batch of a few runs would waste the device.
        pieces = -(-len(together) // most)
        size = -(-len(together) // pieces)
        for start in range(0, len(together), size):
            batch = together[start : start + size]
            began = time.perf_counter()
            recorded = _Batch(batch, examples, network, context, [kept[run] for run in batch], initial).finish()
            seconds = (time.perf_counter() - began) / len(batch)
            for run, arrays in zip(batch, recorded, strict=True):
                yield Computed(run, arrays, seconds)


def _runs_that_fit(network: Network, runs: Sequence[FederatedRun], device: torch.device) -> int:
    """Return how many of some runs that train alike fit into the memory."""
    free = torch.cuda.mem_get_info(device)[0] * SHARE_OF_MEMORY if device.type == "cuda" else CPU_BYTES
    present, absent = runs[0].participants, runs[0].clients - runs[0].participants
    # Parameters, velocity, the rule's copy of the updates, its memory (FoolsGold), and the activations of a batch.
    needed = (present + 1) * (4 * padded_size(network.size) + 64 * max(network.layers)) * 4
    # What the rule remembers of those who do not take part.
    remembered = {batched_form(run.rule, all_present=absent == 0).bytes_of_memory(network.size) for run in runs}
    return max(1, int(free // (needed + absent * max(remembered))))


@dataclass
class _Group:
    """Runs of one rule: neighbours in the batch."""

    first: int
    last: int
    rule: BatchedRule
    roots: Tensor | None
    """The clients that are the runs' servers, for the rule that needs them."""


class _Batch:
    """Runs that train alike: participant `p` of run `r` is slot `r * participants + p`; the servers' slots follow."""

    def __init__(
        self,
        runs: list[FederatedRun],
        examples: Examples,
        network: Network,
        context: Context,
        kept: list[Arrays | None],
        initial: Vector | None,
    ) -> None:
        self._runs, self._network, self._context = runs, network, context
        self._device, self._participants = context.device, runs[0].participants
        attacks: list[Attack] = [attack for run in runs for attack in run.probes.values()]
        table = row_table(examples, attacks)
        self._table = _dense(table, self._device)
        people = self._shared_populations(examples)
        self._people = people
        self._trainees, self._plan_rows = self._shared_trainees(examples, table, people)
        self._trusted = [self._scorer(examples, one) for one in people]
        self._counts = torch.tensor(np.stack([one.counts for one in people]), dtype=torch.float64, device=self._device)
        evaluations = [evaluation_rows(table, one, run) for run, one in zip(runs, people, strict=True)]
        self._records = [
            RunRecorder(run, one, own, network.size) for run, one, own in zip(runs, people, evaluations, strict=True)
        ]
        self._evaluations = _grouped(evaluations)
        first = [network.initial(run.seed) if initial is None else initial for run in runs]
        self._models = torch.from_numpy(np.stack(first)).to(self._device)
        self._previous: Tensor | None = None
        self._groups, servers = self._rule_groups()
        slots = len(runs) * self._participants + servers
        self._parameters = torch.zeros((slots, padded_size(network.size)), device=self._device)
        self._slots()
        if kept[0] is not None:
            self._restore(kept)

    def finish(self) -> list[Arrays]:
        """Simulate the rounds that are left; return what was recorded of each run."""
        rounds = self._runs[0].rounds
        for number in range(self._records[0].rounds + 1, rounds + 1):
            usable = self._round(number)
            self._note(number, usable)
            if number < rounds and self._context.checkpoint_due():
                self._keep()
        return [record.arrays() for record in self._records]

    def _shared_populations(self, examples: Examples) -> list[Population]:
        """Return the population of each run: runs that differ in the attack or the rule share theirs."""
        found: dict[Any, Population] = {}
        people = []
        for run in self._runs:
            # What a rule needs is checked when a population is drawn.
            key = (run.seed, run.clients, run.alpha, run.trusted, run.exclusive, run.attackers, run.rule.needs)
            if key not in found:
                found[key] = population(examples, run)
            people.append(found[key])
        return people

    def _shared_trainees(
        self, examples: Examples, table: RowTable, people: list[Population]
    ) -> tuple[list[Trainees], list[int]]:
        """Return the distinct federations, and which of them each run has: rules are compared on the same batches."""
        labels = torch.from_numpy(examples.labels).to(self._device)
        found: dict[Any, int] = {}
        trainees: list[Trainees] = []
        places = []
        for run, one in zip(self._runs, people, strict=True):
            key = replace(run, rule=self._runs[0].rule)  # everything but the rule
            if key not in found:
                found[key] = len(trainees)
                trainees.append(Trainees(one, labels, run, table.twins(run.attack)))
            places.append(found[key])
        return trainees, places

    def _rule_groups(self) -> tuple[list[_Group], int]:
        groups, place = [], 0
        server = len(self._runs) * self._participants
        servers = 0
        for _, same in groupby(self._runs, key=lambda run: run.rule.name):
            rules = [run.rule for run in same]
            rule = batched(
                rules,
                self._participants,
                self._network.size,
                self._device,
                population=self._runs[0].clients,
            )
            roots = None
            if "root" in rules[0].needs:
                roots = torch.arange(server + servers, server + servers + len(rules), device=self._device)
                servers += len(rules)
            groups.append(_Group(place, place + len(rules), rule, roots))
            place += len(rules)
        return groups, servers

    def _slots(self) -> None:
        """Note for each slot its run and its place among the plans: federations x (participants and the server)."""
        count = self._participants
        ahead = count + 1
        runs = [run for run in range(len(self._runs)) for _ in range(count)]
        plans = [self._plan_rows[run] * ahead + place for run in range(len(self._runs)) for place in range(count)]
        for group in self._groups:
            if group.roots is not None:
                runs += range(group.first, group.last)
                plans += [self._plan_rows[run] * ahead + count for run in range(group.first, group.last)]
        self._run_of = torch.tensor(runs, device=self._device)
        self._plans = plans
        self._plan_of = torch.tensor(plans, dtype=torch.int32, device=self._device)

    def _round(self, number: int) -> list[bool]:
        """Train everybody who takes part and aggregate; return which runs' numbers stayed usable."""
        size = self._network.size
        who = np.stack([participants(run, number) for run in self._runs])
        present = torch.from_numpy(who).to(self._device)
        counts = self._counts.gather(1, present)
        self._parameters[:, :size] = self._models[self._run_of]
        train(self._crowd(number))
        usable: list[Tensor] = []
        before = self._models.clone()
        self._outcomes: list[Outcome] = []
        for group in self._groups:
            updates = self._updates(group, number, who)
            root = None if group.roots is None else self._parameters[group.roots, :size].contiguous()
            fine = _usable(updates) if root is None else _usable(updates) & _usable(root[:, None])
            models = self._models[group.first : group.last]
            if not bool(fine.all()):  # what left the range must not reach the rules, whose runs share memory and time
                updates = torch.where(fine[:, None, None], updates, models[:, None])
                root = None if root is None else torch.where(fine[:, None], root, models)
            mine = slice(group.first, group.last)
            some = present[mine] if self._participants < self._runs[0].clients else None
            outcome = group.rule.aggregate(models, updates, counts[mine], root, self._trusted[mine], some)
            self._models[group.first : group.last] = torch.where(fine[:, None], outcome.models, models)
            self._outcomes.append(outcome)
            usable.append(fine)
        self._previous = before
        return torch.cat(usable).tolist()

    def _crowd(self, number: int) -> Crowd:
        """Join the batches of all federations into one set of plans."""
        drawn = [trainees.draw(number) for trainees in self._trainees]
        most = max(part.rows.shape[1] for part in drawn)
        steps = [count for part in drawn for count in part.steps]
        keys = torch.tensor([key for part in drawn for key in part.dropout_keys], device=self._device)
        return Crowd(
            self._network,
            self._runs[0].plan,
            self._table,
            self._parameters,
            torch.cat([longer(part.rows, most) for part in drawn]),
            torch.cat([longer(part.labels, most) for part in drawn]),
            torch.cat([longer(part.sizes, most) for part in drawn]),
            self._plan_of,
            [steps[plan] for plan in self._plans],
            keys,
        )

    def _updates(self, group: _Group, number: int, who: NDArray[np.int64]) -> Tensor:
        """Return what the participants of a group send, (runs, participants, parameters); they are clients `who`."""
        first, last = group.first * self._participants, group.last * self._participants
        updates = self._parameters[first:last, : self._network.size].contiguous()
        updates = updates.view(-1, self._participants, self._network.size)
        for place, run in enumerate(self._runs[group.first : group.last]):
            attack, number_of_run = run.attack, group.first + place
            if attack is None:
                continue
            attacker = self._people[number_of_run].attacker
            if attack.renews(number):
                group.rule.forget(place, self._places(attacker))
            here = attacker[who[number_of_run]]
            if attack.crafts and here.any() and run.schedule.active(number) and attack.active(number):
                attackers = self._places(here)
                scene = Scene(
                    self._models[number_of_run],
                    updates[place, attackers],
                    updates[place, self._places(~here)],
                    None if self._previous is None else self._previous[number_of_run],
                    number,
                    run.seed,
                )
                updates[place, attackers] = attack.craft(scene)
        return updates

    def _places(self, chosen: NDArray[np.bool_]) -> Tensor:
        """Return the places of what is true."""
        return torch.from_numpy(np.flatnonzero(chosen)).to(self._device)

    def _note(self, number: int, usable: list[bool]) -> None:
        """Measure the new models and record the round."""
        measured: list[dict[str, Any]] = [{} for _ in self._runs]
        for evaluation, places in self._evaluations:
            found = {name: value.cpu().numpy() for name, value in self._measure(evaluation, places).items()}
            for row, place in enumerate(places):
                measured[place] |= {name: value[row] for name, value in found.items()}
        for group, outcome in zip(self._groups, self._outcomes, strict=True):
            said = {"weights": outcome.weights, "reputation": outcome.reputation, "negative": outcome.negative}
            arrays = {name: value.double().cpu().numpy() for name, value in said.items() if value is not None}
            for row, place in enumerate(range(group.first, group.last)):
                measured[place] |= {name: value[row] for name, value in arrays.items()}
        for run, record, values, fine in zip(self._runs, self._records, measured, usable, strict=True):
            if record.failed:
                continue
            if fine:
                record.add(values)
                self._context.on_progress(run, number, run.rounds, float(values["accuracy"]))
            else:
                record.fail()
                self._context.on_progress(run, run.rounds, run.rounds, np.nan)

    def _scorer(self, examples: Examples, people: Population) -> Scorer | None:
        """Return what tells the loss of models on each class of the trusted pages."""
        if len(people.root) == 0:
            return None
        rows = self._table[torch.from_numpy(people.root).to(self._device)][:, : self._network.inputs].contiguous()
        labels = torch.from_numpy(examples.labels[people.root]).to(self._device)
        belongs = torch.nn.functional.one_hot(labels, self._network.outputs).double()

        def losses(vectors: Tensor) -> Tensor:
            likelihood = torch.log_softmax(_logits(self._network, vectors, rows).double(), dim=-1)
            loss = -likelihood.gather(-1, labels.expand(len(vectors), -1)[..., None])[..., 0]
            return (loss @ belongs) / belongs.sum(dim=0)

        return losses

    def _measure(self, evaluation: EvaluationRows, places: list[int]) -> dict[str, Tensor]:
        """Evaluate several models on the same rows."""
        rows = self._table[torch.from_numpy(evaluation.rows).to(self._device)][:, : self._network.inputs]
        at_a_time = max(1, ANSWER_BYTES // (4 * len(rows) * max(self._network.layers[1:])))
        parts = []
        for start in range(0, len(places), at_a_time):
            vectors = self._models[torch.tensor(places[start : start + at_a_time], device=self._device)]
            parts.append(evaluation.metrics(_logits(self._network, vectors, rows)))
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    def _keep(self) -> None:
        for group in self._groups:
            for row, place in enumerate(range(group.first, group.last)):
                record = self._records[place]
                if not record.failed:
                    own = {name: tensor.cpu().numpy() for name, tensor in group.rule.memory_of(row).items()}
                    if self._previous is not None:
                        own[_PREVIOUS] = self._previous[place].cpu().numpy()
                    kept = record.checkpoint(self._models[place].cpu().numpy(), own, engine=ENGINE)
                    self._context.save_checkpoint(self._runs[place], kept)

    def _restore(self, kept: list[Arrays | None]) -> None:
        memories = []
        self._previous = torch.empty_like(self._models)
        for place, (record, one) in enumerate(zip(self._records, kept, strict=True)):
            model, memory = record.restore(one or {})
            self._models[place] = torch.from_numpy(model)
            self._previous[place] = torch.from_numpy(memory.pop(_PREVIOUS))
            memories.append({name: torch.from_numpy(array) for name, array in memory.items()})
        for group in self._groups:
            group.rule.restore_runs(memories[group.first : group.last])


def _dense(table: RowTable, device: torch.device) -> Tensor:
    """Return the table as a dense tensor, its rows padded to whole cache lines."""
    rows = table.rows
    dense = torch.zeros((len(rows), padded_size(rows.width)), device=device)
    owners = torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(rows.starts))).to(device)
    dense[owners, torch.from_numpy(rows.columns).to(device).long()] = torch.from_numpy(rows.values).to(device)
    return dense


def _grouped(evaluations: list[EvaluationRows]) -> list[tuple[EvaluationRows, list[int]]]:
    """Return the distinct sets of evaluation rows with the places of the runs that have them."""
    found: dict[bytes, tuple[EvaluationRows, list[int]]] = {}
    for place, evaluation in enumerate(evaluations):
        key = evaluation.rows.tobytes() + repr(evaluation.probes).encode()
        found.setdefault(key, (evaluation, []))[1].append(place)
    return list(found.values())


def _usable(updates: Tensor) -> Tensor:
    """Say of each run whether all its numbers are finite and within what an aggregator accepts."""
    return updates.abs().amax(dim=(1, 2)) <= LARGEST  # false for NaN


def _logits(network: Network, vectors: Tensor, rows: Tensor) -> Tensor:
    """Return the logits of several models for the same rows, (models, rows, classes)."""
    activation, start = rows[None], 0
    for depth, (inputs, outputs) in enumerate(network.shapes):
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        kernel = vectors[:, start:middle].view(-1, inputs, outputs)
        activation = torch.matmul(activation if depth == 0 else torch.relu(activation), kernel)
        activation = activation + vectors[:, None, middle:end]
        start = end
    return activation
