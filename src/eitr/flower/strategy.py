"""Every rule as a strategy of Flower's message API.

    strategy = RuleStrategy(make_rule("fused"), Path("federation"), seed=0)
    strategy.start(grid, initial_arrays, num_rounds=20, timeout=600)

Unlike Flower's own strategies it checks every reply and counts a bad one against its node, saves model, reputations and
round after each round and goes on from there, and ends every round whoever stays away.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from logging import INFO, WARNING
from pathlib import Path
from typing import Any, Final

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore import log
from numpy.typing import NDArray

from eitr.aggregation.interface import Rule, Scorer
from eitr.aggregation.parameters import flatten_state_dict
from eitr.errors import InputError
from eitr.flower.checkpoint import Checkpoint, checked_model, load_checkpoint, save_checkpoint, take_over
from eitr.flower.exchange import Answer, Member, ask, instruction, wait_for_members
from eitr.flower.replies import ARRAYS, CONFIG, Expected, partition_of, read_reply
from eitr.flower.round_step import Arrays, Reply, RoundOutcome, combine
from eitr.model.random import key_of, permutation

ROUND: Final = "server-round"
SEED: Final = "seed"
ROUNDS_TOLD: Final = 100
"""How many rounds a checkpoint tells about."""
CHOICE: Final = 21
"""The random words with which nodes are chosen; other numbers name other streams (`eitr.model.random.Stream`)."""

Root = Callable[[int, Arrays], NDArray[Any]]
"""Given the number of a round and the model, parameters trained on trusted data, as one vector."""


class RuleStrategy(Strategy):
    """Combines replies by a rule of EITR, whatever the model: its floating-point arrays are aggregated.

    A round goes to all connected nodes, or to a share of them that depends on the seed, the round and the nodes' keys.
    The result depends on what the nodes sent alone, not on who was first.
    """

    def __init__(
        self,
        rule: Rule,
        folder: Path,
        *,
        seed: int = 0,
        nodes: int = 1,
        wait: float = 60.0,
        fewest: int = 2,
        share: float = 1.0,
        most_examples: int = 1_000_000,
        settings: Mapping[str, Any] | None = None,
        root: Root | None = None,
        scorer: Scorer | None = None,
        by_partition: bool = False,
    ) -> None:
        """Make a strategy.

        rule: how replies are combined.
        folder: where the checkpoint is; it is made if need be.
        seed: what all random choices depend on; nodes are told it.
        nodes: for so many nodes a round waits, for at most `wait` seconds; then it begins with those that are there.
        wait: also how long it waits for a node that disconnects in the middle.
        fewest: with fewer good replies the model stays as it is.
        share: the share of the connected nodes that a round is sent to.
        most_examples: a reply that claims more is refused.
        settings: what else must be the same for a run to go on from a checkpoint.
        root: trains on trusted data, for rules that need it.
        scorer: the loss on trusted data, for rules that ask for it.
        by_partition: whether a node is known by the part of a data set that it says it has, not by its key. For
            simulations alone, where keys are random: elsewhere a node could take another one's name.
        """
        rule.check_inputs({"base", *(() if root is None else ("root",))})
        if not 0 < share <= 1:
            raise InputError(f"the share of the nodes must be above 0 and at most 1, not {share}")
        if min(nodes, fewest, most_examples) < 1:
            raise InputError("the numbers of nodes, of good replies and of examples must be at least 1")
        self.rule, self.folder, self.seed = rule, folder, seed
        self._nodes, self._wait, self._fewest, self._share = nodes, wait, fewest, share
        self._most_examples, self._root, self._scorer = most_examples, root, scorer
        self._timeout, self._by_partition = 3600.0, by_partition
        described = {"rule": rule.name, "rule_settings": asdict(rule), "seed": seed, **(settings or {})}
        self._settings: dict[str, Any] = json.loads(json.dumps(described))  # as a checkpoint holds them
        self.memory: Checkpoint | None = None
        """The federation as it is after the last round."""

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run the rounds that are left until there are `num_rounds`, those of earlier runs included."""
        result, began = Result(), time.monotonic()
        self._timeout = timeout
        memory = self.begin(arrays_of(initial_arrays), grid.run.run_id)
        log(
            INFO,
            "Rule %s, %s of %s rounds done, checkpoint in %s",
            self.rule.name,
            memory.round,
            num_rounds,
            self.folder,
        )
        self.summary()
        if evaluate_fn is not None:
            _evaluate(evaluate_fn, memory, result)
        for number in range(memory.round + 1, num_rounds + 1):
            log(INFO, "[ROUND %s/%s]", number, num_rounds)
            config = ConfigRecord(dict(train_config or {}))
            self.finish_round(number, *self._exchange(number, config, grid))
            if evaluate_fn is not None:
                _evaluate(evaluate_fn, self._remembered, result)
            result.train_metrics_clientapp[number] = self._metrics()
            log(INFO, "\t%s", result.train_metrics_clientapp[number])
        result.arrays = record_of(self._remembered.model)
        log(INFO, "Finished in %.2f seconds", time.monotonic() - began)
        return result

    def begin(self, initial: Arrays, run: int) -> Checkpoint:
        """Take over the checkpoint of an earlier run, or begin with a model; return what the next round starts from."""
        found = load_checkpoint(self.folder, self.rule)
        if found is None:
            found = Checkpoint(0, checked_model(initial), self.rule.init(), self._settings)
        else:
            self._check(found, initial)
        self.memory = replace(found, run=run)
        take_over(self.folder, self.memory)
        return self.memory

    def _check(self, found: Checkpoint, initial: Arrays) -> None:
        """Refuse a checkpoint of another federation."""
        for name, value in self._settings.items():
            if found.settings.get(name) != value:
                raise InputError(
                    f"{self.folder} holds a federation with another {name}, {found.settings.get(name)!r} and not "
                    f"{value!r}: give the same settings, or another folder"
                )
        if _layout(found.model) != _layout(initial):
            raise InputError(f"{self.folder} holds a model with other arrays: give another folder")

    @property
    def _remembered(self) -> Checkpoint:
        if self.memory is None:
            raise InputError("the strategy was not started: call begin() first")
        return self.memory

    def _exchange(self, number: int, config: ConfigRecord, grid: Grid) -> tuple[Mapping[str, Answer], dict[str, str]]:
        """Return the answers of a round, and the names of the nodes that were asked."""
        connected = wait_for_members(grid, self._nodes, self._wait)
        chosen = self.choose(number, connected)
        if not chosen:
            log(WARNING, "no node is connected")
        content = self._content(number, record_of(self._remembered.model), config)
        answers = ask(
            grid,
            chosen,
            lambda member: instruction(content, MessageType.TRAIN, member, number, self._timeout),
            seconds=self._timeout,
            patience=self._wait,
        )
        asked = {member.id: member.name for member in chosen}
        return _named_by_partition(answers, asked) if self._by_partition else (answers, asked)

    def choose(self, number: int, connected: list[Member]) -> list[Member]:
        """Return the nodes of a round: the same ones for the same seed, round and connected keys."""
        count = max(1, round(self._share * len(connected)))
        if count >= len(connected):
            return sorted(connected)
        chosen = permutation(key_of(self.seed, CHOICE, number), len(connected), take=count)
        return [sorted(connected)[place] for place in sorted(chosen.tolist())]

    def finish_round(self, number: int, answers: Mapping[str, Answer], asked: Mapping[str, str]) -> RoundOutcome:
        """Check the answers, combine the good ones, count the bad ones against their nodes, and save."""
        before = self._remembered
        expected = Expected(before.model, self._most_examples)
        replies = {node: _read(answer, expected) for node, answer in answers.items()}
        root = None if self._root is None else self._root(number, before.model)
        outcome = combine(
            self.rule,
            before.state,
            before.model,
            replies,
            number=number,
            fewest=self._fewest,
            root=root,
            scorer=self._scorer,
        )
        for node, reason in outcome.refused.items():
            log(WARNING, "the reply of node %s is refused: it %s", node, reason)
        if outcome.kept:
            log(WARNING, "the model stays as it is: %s", outcome.kept)
        self.memory = replace(
            before,
            round=number,
            model=outcome.model,
            state=outcome.state,
            nodes={**before.nodes, **asked},
            history=(*before.history, self._told(number, outcome, answers, asked))[-ROUNDS_TOLD:],
        )
        save_checkpoint(self.folder, self.memory)
        return outcome

    def _told(
        self, number: int, outcome: RoundOutcome, answers: Mapping[str, Answer], asked: Mapping[str, str]
    ) -> dict[str, Any]:
        reputations = {node: self.rule.standing(outcome.state, node) for node in sorted({*answers, *asked})}
        return {
            "round": number,
            "answered": sorted(answers),
            "silent": sorted(set(asked) - set(answers)),
            "refused": outcome.refused,
            "kept": outcome.kept,
            "weights": outcome.weights,
            "reputations": {node: found for node, found in reputations.items() if found is not None},
        }

    def _metrics(self) -> MetricRecord:
        last = self._remembered.history[-1]
        return MetricRecord({name: len(last[name]) for name in ("answered", "silent", "refused")})

    def _content(self, number: int, arrays: ArrayRecord, config: ConfigRecord) -> RecordDict:
        told = ConfigRecord({**config, ROUND: number, SEED: self.seed})
        return RecordDict({ARRAYS: arrays, CONFIG: told})

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return the messages of a round, one for each chosen node."""
        chosen = self.choose(server_round, wait_for_members(grid, self._nodes, self._wait))
        content = self._content(server_round, arrays, config)
        return [instruction(content, MessageType.TRAIN, one, server_round, self._timeout) for one in chosen]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Combine replies that another loop than `start` collected; nodes then count by Flower's number."""
        answers: dict[str, Answer] = {
            f"node-{reply.metadata.src_node_id}": reply.content for reply in replies if not reply.has_error()
        }
        self.finish_round(server_round, answers, dict.fromkeys(answers, ""))
        return record_of(self._remembered.model), self._metrics()

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask nobody: what nodes say about a model cannot be checked. Evaluate on pages of the server."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return nothing: nobody was asked."""
        return None

    def summary(self) -> None:
        """Log the settings."""
        log(INFO, "\t%s", self.rule)
        log(
            INFO,
            "\tseed %s, share of the nodes %s, %s good replies needed, waits %.0f s for %s nodes, %.0f s for replies",
            self.seed,
            self._share,
            self._fewest,
            self._wait,
            self._nodes,
            self._timeout,
        )


def arrays_of(record: ArrayRecord) -> Arrays:
    """Return the arrays of a record that we made ourselves, by name."""
    return {name: array.numpy() for name, array in record.items()}


def record_of(model: Arrays) -> ArrayRecord:
    """Return a model as Flower sends it."""
    return ArrayRecord({name: Array(np.ascontiguousarray(array)) for name, array in model.items()})


def _named_by_partition(
    answers: Mapping[str, Answer], asked: Mapping[str, str]
) -> tuple[Mapping[str, Answer], dict[str, str]]:
    """Return answers and nodes by the partitions that the answers name; who names none keeps its key."""
    names: dict[str, str] = {}
    for node, answer in answers.items():
        try:
            names[node] = node if isinstance(answer, str) else partition_of(answer)
        except InputError:
            names[node] = node
    if len(set(names.values())) < len(names):
        raise InputError("two nodes say that they have the same partition: give each its own, or let identity be key")
    named = {names[node]: answer for node, answer in answers.items()}
    return dict(sorted(named.items())), {names.get(node, node): name for node, name in asked.items()}


def _read(answer: Answer, expected: Expected) -> Reply | str:
    """Return a reply, or what is wrong with it."""
    if isinstance(answer, str):
        return answer
    try:
        return read_reply(answer, expected)
    except InputError as error:
        return str(error)


def _layout(model: Arrays) -> list[tuple[str, tuple[int, ...], str]]:
    return [(name, array.shape, str(array.dtype)) for name, array in model.items()]


def _evaluate(evaluate: Callable[[int, ArrayRecord], MetricRecord | None], memory: Checkpoint, result: Result) -> None:
    found = evaluate(memory.round, record_of(memory.model))
    if found is not None:
        log(INFO, "\tround %s: %s", memory.round, found)
        result.evaluate_metrics_serverapp[memory.round] = found


def vector_of(model: Arrays) -> NDArray[Any]:
    """Return the parameters of a model as the vector that rules see."""
    return flatten_state_dict(model)
