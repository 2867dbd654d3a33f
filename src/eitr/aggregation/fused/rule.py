"""Opinions of several detectors, fused into a reputation with memory."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.fused.collusion import Collusion, novelty
from eitr.aggregation.fused.concentration import GROUPS, Concentration
from eitr.aggregation.fused.direction import Direction
from eitr.aggregation.fused.features import (
    MASS,
    NOISE_DRAWS,
    PRIOR,
    Detector,
    Floats,
    RoundFeatures,
    middle,
    shortening,
    twins_of,
    usual_length,
)
from eitr.aggregation.fused.groups import groups_of_clients
from eitr.aggregation.fused.magnitude import Magnitude
from eitr.aggregation.fused.residual import Residual
from eitr.aggregation.fused.sketch import DIMENSIONS, SEED_BYTES, limit_of, noise_of, signs, towards_median
from eitr.aggregation.fused.validation import Validation
from eitr.aggregation.interface import Result, Round, Rule, remember
from eitr.aggregation.opinions import Opinion, cumulative_fusion
from eitr.aggregation.reputation_model import HISTORY, ReputationModel
from eitr.aggregation.rule_state import RuleState
from eitr.errors import InputError
from eitr.robust import column_blocks as columns
from eitr.robust.detection import accepted_counts
from eitr.robust.steps import (
    base_and_steps,
    folded_steps,
    lengths_of_steps,
    moments_of_steps,
    usual_sizes,
)
from eitr.settings import setting

SKETCH = "sketch"
"""Name of the array in a state: (clients, 4096), the fading sum of a client's projected steps."""
DETECTORS: tuple[Detector, ...] = (Residual(), Direction(), Collusion(), Magnitude(), Concentration(), Validation())
DETECTION = {"varpi": 2.0, "delta": 0.1, "lambda_": 2.0}
"""The settings of the paper's detection, which `residual` counts rejected values by."""
TRUST_IN_NOISE = 1 / 3
"""How much evidence for a client counts where clients add noise, beside rounds without. Most detectors then see nothing
but noise, in attackers as in everybody, and must not outvote the one that sees more."""
_AT_A_TIME = 8
"""Steps that are scored at a time."""


class Assessment(NamedTuple):
    """What the rule makes of the features of a round; clients in the same order."""

    opinions: dict[str, Opinion]
    """Of each detector."""
    fused: Opinion
    history: Floats
    """(clients, s + 1): reputations in a client's own rounds, this one's first."""
    reputation: Floats
    """(clients,): the fading mean of the history."""
    shares: Floats
    """(clients,): weights, before they are made to sum to 1."""


@dataclass(frozen=True, kw_only=True)
class Fused(Rule):
    """w = base + sum_i R^-_i l_i g_i / sum_i R^-_i, with steps g_i, none longer than the usual one (l_i <= 1).

    Every detector has an opinion of every client: belief, disbelief, uncertainty. Opinions are joined by cumulative
    fusion, evidence weighed by kappa and 1 - kappa; the expectation b + a u is the reputation of the round, and its
    fading mean over the client's own rounds the reputation R~, as in the paper. The smaller of both, relative to the
    median client, becomes the weight R^-: full from `high` on, none below `low`. Unlike the paper's rule this one
    rectifies no single values: outlying ones are what a client alone knows, and who is doubted has no weight anyway.
    In rounds of more than 1,000 clients each is compared with a random group of the others (`groups.py`).

    >>> rng = np.random.default_rng(0)
    >>> base = np.zeros(9000, np.float32)
    >>> updates = (0.05 + rng.normal(0, 0.05, (10, 9000))).astype(np.float32)      # a common direction, and chance
    >>> updates[7:] = -updates[7:]                                                 # three go backwards
    >>> rule, ids = Fused(), [f"client{i}" for i in range(10)]
    >>> state, result = rule.update(rule.init(), Round(base, updates, ids))
    >>> result.weights.round(2).tolist()
    [0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.14, 0.0, 0.0, 0.0]
    >>> result.notes["opinions"]["client9"]["direction"]  # who said what, for the operator
    {'belief': 0.0, 'disbelief': 0.8333, 'uncertainty': 0.1667}

    How to fuse evidence: Jøsang, "Subjective Logic", 2016. The reputation: Chu et al., NDSS 2023.
    The thresholds were searched on pages and seeds that no result is reported on.
    """

    name: ClassVar[str] = "fused"
    summary: ClassVar[str] = "opinions of several detectors, fused into a reputation with memory"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})
    remembers: ClassVar[Mapping[str, Any]] = {HISTORY: np.float64, SKETCH: np.float32}
    has_reputation: ClassVar[bool] = True

    ramp: int = setting(10, "rounds until a new client has its full weight (0: at once)", least=0, most=10_000)
    validation: bool = setting(True, "use validation pages where there are some")
    without: str = setting("", "a detector to leave out", choices=("", *(detector.name for detector in DETECTORS)))
    kappa: float = setting(0.3, "weight of evidence for a client; evidence against has 1 - kappa", least=0.0, most=1.0)
    a: float = setting(0.5, "share of uncertainty that counts as belief", least=0.0, most=1.0)
    c: float = setting(0.5, "decay of old rounds: a round of age t counts exp(-c t)", least=0.0)
    s: int = setting(10, "rounds remembered besides the current one", least=0, most=10_000)
    fading: float = setting(0.8, "factor by which a client's projected steps fade per round", least=0.0, below=1.0)
    low: float = setting(0.6, "largest reputation, relative to the median, with weight 0", least=0.0, below=1.0)
    high: float = setting(0.85, "least reputation, relative to the median, with full weight", above=0.0, most=1.0)
    cap: float = setting(
        0.0, "largest weight of a claimed number of pages, in medians (0: claims are ignored)", least=0.0
    )
    seed: int = setting(0, "seed of the random projection; a server takes a secret one", least=0, below=256**SEED_BYTES)
    start: int = setting(
        0, "first parameter that is remembered; on a server, that after the first layer", least=0, added_later=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise InputError(f"low must be below high: {self.low} and {self.high}")

    def _aggregate(self, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        base = round.need("base")
        order = round.order
        ids = [round.ids[row] for row in order]
        rows = state.rows(ids)
        positive = np.sum(round.blocks.run(accepted_counts, order, **DETECTION, rescale="median"), axis=0)
        negative = round.updates.shape[1] - positive
        lengths, fourth_powers = moments_of_steps(round.updates, base, order)
        now = self._sketches(round, base, lengths)
        sums = self._sums(state, rows, now if self.start == 0 else self._remembered_sketches(round, base))
        state = remember(state, SKETCH, rows, sums.astype(np.float32))
        harm = self._harm(round, base, lengths)
        rejected = negative[order] / round.updates.shape[1]
        towards = towards_median(sums)
        noise_harm = None if harm is None else self._noise_harm(round, base)
        kurtosis = kurtosis_of(fourth_powers, lengths, round.updates.shape[1])
        group_shares = None if round.added_noise else self._group_shares(round, base, lengths)
        pushes = None if harm is None else biases(round.updates, base, harm.shape[1])[order]

        def features(some: NDArray[np.int64]) -> RoundFeatures:
            return RoundFeatures(
                lengths=lengths[some],
                rejected=rejected[some],
                now=now[some] @ now[some].T,
                together=sums[some] @ sums[some].T,
                towards=towards[some],
                doubt=np.zeros(len(some)),
                noise=noise_of(round.updates.shape[1] - self.start),
                harm=None if harm is None else harm[some],
                noise_harm=noise_harm,
                added_noise=round.added_noise,
                kurtosis=kurtosis[some],
                group_shares=None if group_shares is None else group_shares[some],
                pushes=None if pushes is None else pushes[some],
            )

        history = self._model.window(state)
        groups = groups_of_clients(len(order), self.seed, round.index)
        assessment = joined(
            groups, [self.assess(history[rows[some]], state.rounds[rows[some]], features(some)) for some in groups]
        )
        history[rows] = assessment.history
        state = state.with_memory(HISTORY, history)
        weights = weighed(assessment.shares, None if round.counts is None else round.counts[order], self.cap)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        result = Result(
            columns.joined(
                round.blocks.run(base_and_steps, columns.ByParameter(base), order, weights * shortening(lengths))
            ),
            weights[place],
            positive,
            negative,
            assessment.reputation[place],
            explained(ids, assessment),
        )
        return state, result

    def refuse(self, state: RuleState, client: str, parameters: int) -> RuleState:
        """Record a refused update: as a round in which every detector was sure that the client attacks."""
        self.check_state(state)
        if parameters < 1:
            raise InputError(f"an update has at least one parameter, not {parameters}")
        against = (1.0 - self.kappa) * MASS * len(self.detectors)
        now = Opinion.from_evidence([0.0], [against], PRIOR).expectation(self.a)
        state, _ = self._model.remember(state, [client], now)
        return state

    def standing(self, state: RuleState, client: str) -> float | None:
        """Return the reputation of a client by what is remembered."""
        return self._model.standing(state, client)

    def private(self, *, seed: int, start: int) -> Self:
        """Return the rule with a secret projection that leaves out the parameters before `start`."""
        return replace(self, seed=seed, start=start)

    @property
    def rounds_remembered(self) -> int:
        """The rounds after which a step counts less than 1 % in the fading sum."""
        return 0 if self.fading == 0 else math.ceil(math.log(0.01) / math.log(self.fading))

    def assess(self, history: Floats, rounds: NDArray[np.int64], features: RoundFeatures) -> Assessment:
        """Form opinions, fuse them, remember, and weigh: the whole decision, from small tables alone.

        `history` (clients, s + 1): earlier reputations, newest first, then NaN; `rounds` (clients,): how often each
        took part, this time included.
        """
        features = replace(features, doubt=self._doubt(history))
        opinions = {detector.name: detector.observe(features) for detector in self.detectors}
        fused = Opinion.vacuous(features.clients)
        for each in opinions.values():
            fused = cumulative_fusion(fused, self._weighed(each, features))
        now = fused.expectation(self.a)
        history = np.concatenate([now[:, None], history[:, : self.s]], axis=1)
        reputation = self._model.faded(history)
        # The worse of both: a good past must not excuse an attack now, nor one good round a bad past.
        standing = np.minimum(now, reputation)
        shares = self._shares(standing)
        # Twins share one weight: copying gains no vote, nor does one copy harm the client who is copied.
        shares = shares / (1 + twins_of(features).sum(axis=1))
        # A class that few clients have and no trusted page tests counts double: the other clients' steps undo it.
        shares = shares * (1.0 + novelty(features))
        if self.ramp > 0:
            shares = shares * np.minimum(1.0, rounds / self.ramp)
        return Assessment(opinions, fused, history, reputation, shares)

    def _shares(self, standing: Floats) -> Floats:
        """Return weights from 0 to 1, by what a client of the majority has: near-uniform in an honest round.

        The median, not the best: a few attackers that everybody believes in must not take the weight of the others.
        """
        usual = max(middle(standing), 1e-300)
        return np.clip((standing / usual - self.low) / (self.high - self.low), 0.0, 1.0)

    def _doubt(self, history: Floats) -> Floats:
        """Return how much each client was doubted before; a newcomer not at all."""
        known = ~np.isnan(history[:, 0])
        doubt = np.zeros(len(history))
        if known.any():
            doubt[known] = 1.0 - self._shares(self._model.faded(history[known]))
        return doubt

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """The detectors in use."""
        return tuple(detector for detector in DETECTORS if detector.name != self.without)

    def _weighed(self, opinion: Opinion, features: RoundFeatures) -> Opinion:
        """Return an opinion whose evidence is weighed by kappa and eta = 1 - kappa, as in the paper."""
        positive, negative = opinion.evidence(PRIOR)
        trust = TRUST_IN_NOISE if features.added_noise else 1.0
        return Opinion.from_evidence(self.kappa * trust * positive, (1.0 - self.kappa) * negative, PRIOR)

    @property
    def _model(self) -> ReputationModel:
        return ReputationModel(a=self.a, W=PRIOR, c=self.c, s=self.s)

    def _remembered_sketches(self, round: Round, base: NDArray[Any]) -> Floats:
        """Project what is remembered of the steps: their parameters from `start` on, in usual lengths of that part."""
        lengths = lengths_of_steps(round.updates, base, round.order, self.start)
        return self._sketches(round, base, lengths, self.start)

    def _sketches(self, round: Round, base: NDArray[Any], lengths: Floats, start: int = 0) -> Floats:
        """Project the steps of the round, from some parameter on, in usual lengths."""
        usual, parameters = usual_length(lengths), round.updates.shape[1]
        now = folded_steps(
            round.updates,
            base,
            round.order,
            limit=limit_of(usual, parameters - start),
            signs=signs(self.seed, parameters, start),
            dimensions=DIMENSIONS,
        )
        return np.asarray(now / (usual if usual > 0 else 1.0))

    def _group_shares(self, round: Round, base: NDArray[Any], lengths: Floats) -> Floats:
        """Return the share of each step's squared length in each of the groups of parameters that everybody moves."""
        groups = groups_of(usual_sizes(round.updates, base, round.order, lengths))
        squares = np.empty((len(lengths), len(groups)))
        for place, row in enumerate(round.order):
            for number, group in enumerate(groups):
                step = round.updates[row, group].astype(np.float64) - base[group]
                squares[place, number] = step @ step
        return np.asarray(squares / np.where(lengths > 0, lengths, 1.0)[:, None] ** 2)

    def _sums(self, state: RuleState, rows: NDArray[np.int64], now: Floats) -> Floats:
        past = state.memory.get(SKETCH)
        if past is None:
            return now
        if past.shape[1] != now.shape[1]:
            raise InputError(f"the state remembers projections of {past.shape[1]} numbers, not {now.shape[1]}")
        return np.asarray(self.fading * past[rows].astype(np.float64) + now)

    def _harm(self, round: Round, base: NDArray[Any], lengths: Floats) -> Floats | None:
        """Return by how much each shortened step raises the loss of each class on the validation pages."""
        if not self.validation or round.scorer is None:
            return None
        before = round.scorer(base[None].astype(np.float32))
        short = shortening(lengths)[:, None].astype(np.float32)
        parts = []
        for start in range(0, len(lengths), _AT_A_TIME):
            some = slice(start, start + _AT_A_TIME)
            steps = short[some] * (round.updates[round.order[some]] - base)
            parts.append(round.scorer((base + steps).astype(np.float32)))
        return np.asarray(np.concatenate(parts) - before)

    def _noise_harm(self, round: Round, base: NDArray[Any]) -> Floats | None:
        """Return what steps of noise alone do to the losses, (draws, classes), where clients add noise."""
        if round.scorer is None or not round.added_noise:
            return None
        models = base + noise_steps(round.added_noise, len(base))
        tried = round.scorer(np.concatenate([base[None], models]).astype(np.float32))
        return np.asarray(tried[1:] - tried[0])


def noise_steps(added_noise: float, parameters: int) -> Floats:
    """Return steps of noise alone, (draws, parameters): always the same ones, so that runs can be repeated."""
    return added_noise * np.random.default_rng(parameters).standard_normal((NOISE_DRAWS, parameters))


def joined(groups: Sequence[NDArray[np.int64]], parts: Sequence[Assessment]) -> Assessment:
    """Return what was made of all clients, given their places in each group and what was made of each group."""
    places = np.argsort(np.concatenate(groups))

    def of(fields: Iterable[Floats]) -> Floats:
        return np.asarray(np.concatenate(list(fields))[places])

    def opinion(several: Sequence[Opinion]) -> Opinion:
        return Opinion(
            of(each.belief for each in several),
            of(each.disbelief for each in several),
            of(each.uncertainty for each in several),
        )

    return Assessment(
        {name: opinion([part.opinions[name] for part in parts]) for name in parts[0].opinions},
        opinion([part.fused for part in parts]),
        of(part.history for part in parts),
        of(part.reputation for part in parts),
        of(part.shares for part in parts),
    )


def weighed(shares: Floats, counts: Floats | None, cap: float) -> Floats:
    """Return weights that sum to 1: shares times claimed numbers of pages, at most `cap` medians; uniform if all are 0.

    >>> weighed(np.ones(3), np.array([50.0, 100.0, 900.0]), 2.0).round(2).tolist()
    [0.14, 0.29, 0.57]
    >>> weighed(np.zeros(2), None, 0.0).tolist()
    [0.5, 0.5]
    """
    middle = 0.0 if counts is None or cap == 0 else float(np.median(counts))
    if counts is not None and middle > 0:
        shares = shares * np.minimum(counts / middle, cap)
    return np.asarray(shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1.0 / len(shares)))


def kurtosis_of(fourth_powers: Floats, lengths: Floats, parameters: int) -> Floats:
    """Return the kurtosis of each step around 0; 0 for a step of no length.

    >>> kurtosis_of(np.array([2.0, 0.0]), np.array([2**0.5, 0.0]), parameters=10).round(6).tolist()
    [5.0, 0.0]
    """
    return np.asarray(parameters * fourth_powers / np.where(lengths > 0, lengths, 1.0) ** 4)


def groups_of(sizes: Floats) -> list[NDArray[np.int64]]:
    """Return the parameters of each group, those with the largest sizes first: as many as `GROUPS` says.

    >>> [group.tolist() for group in groups_of(np.arange(40.0))] == [list(range(8, 40)), list(range(8)), []]
    True
    """
    chosen, groups = np.arange(len(sizes)), []
    for count in reversed(GROUPS):
        if count < len(chosen):
            chosen = chosen[np.argpartition(sizes[chosen], len(chosen) - count)[-count:]]
        groups.append(np.sort(chosen))
    groups.reverse()
    return [groups[0], *(np.setdiff1d(outer, inner, assume_unique=True) for inner, outer in pairwise(groups))]


def biases(updates: NDArray[Any], base: NDArray[Any], classes: int) -> Floats:
    """Return the steps of the output biases: by the layout of the vector, its last numbers."""
    return np.asarray(updates[:, -classes:].astype(np.float64) - base[-classes:])


def explained(ids: list[str], assessment: Assessment) -> dict[str, Any]:
    """Return why every client was judged as it was, as JSON values: for the operator, never for the client."""

    def of(opinion: Opinion, row: int) -> dict[str, float]:
        parts = {"belief": opinion.belief, "disbelief": opinion.disbelief, "uncertainty": opinion.uncertainty}
        return {name: round(float(values[row]), 4) for name, values in parts.items()}

    return {
        "opinions": {
            client: {
                name: of(opinion, row) for name, opinion in (*assessment.opinions.items(), ("fused", assessment.fused))
            }
            for row, client in enumerate(ids)
        }
    }
