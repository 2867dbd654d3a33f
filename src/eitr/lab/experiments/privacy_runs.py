"""Which defences are measured, in which cells, and under which attacks."""

from collections.abc import Mapping, Sequence
from typing import Any

from eitr.lab.runs.privacy import (
    ANY,
    CORRECTED_TOPIC,
    CORRECTIONS,
    LATER,
    LEAKING,
    OUTSIDER,
    PAPER_SGD,
    POISONS,
    START,
    THIEF,
    TOPIC,
    Defence,
    DefenceRun,
    PoisonRun,
    PrivacyRun,
    WeightRun,
)

DEFAULT = Defence()
"""What servers and browsers use unless an operator chooses otherwise."""
USES = 2
"""In so many rounds a browser uses a page."""
OWN_PAGES = (1, 4, 16)


def _sgd(layers: int, cover_pages: int, own_weight: float = 1.0, clip: float = 0.0) -> Defence:
    return Defence(
        method=PAPER_SGD, layers=layers, cover_pages=cover_pages, own_weight=own_weight, clip=clip, noise=0.0
    )


ALL_LAYERS = _sgd(3, 0)
"""Training as in the paper."""
AVERAGED = _sgd(2, 200, clip=0.5)
"""The defence under which the same pages are also sent 20 times."""
PUBLISHED = Defence(noise=0.0, published_noise=4.0)
"""Nothing is hidden from the server, and as much from outsiders as by the default."""
UNLIMITED = Defence(own_limit=0.0)
"""Every own page may move an update as much as all together by default."""
GROUPS = (Defence(group=5), Defence(group=10))
COMPARED = (
    DEFAULT,
    *(Defence(noise=noise) for noise in (1.0, 0.25, 0.0)),
    UNLIMITED,
    *GROUPS,
    *(Defence(noise=noise, group=10) for noise in (1.0, 0.0)),
    PUBLISHED,
    Defence(noise=1.0, published_noise=4.0),
    Defence(noise=1.0, published_noise=4.0, group=10),
    *(Defence(cover_pages=cover) for cover in (0, 60, 600)),
    *(Defence(own_weight=own) for own in (1.0, 10.0)),
    Defence(layers=2),
    Defence(layers=2, noise=0.0),
    *(_sgd(1, cover, clip=clip) for cover, clip in ((0, 0.0), (200, 0.0), (200, 0.5))),
    AVERAGED,
    *(_sgd(2, 200, own, clip=0.5) for own in (4.0, 10.0)),
    *(_sgd(layers, cover) for layers in (2, 3) for cover in (0, 60, 200, 600)),
)
"""The cheapest to compute come first, and those with the same layers together."""
CELLS = ((1, ANY), (1, CORRECTIONS), (4, ANY), (4, CORRECTIONS))
"""Own pages, and which, of the comparison."""
SEEN_FROM_OUTSIDE = (Defence(noise=0.0), _sgd(1, 0))
"""What outsiders and thieves find where nothing is hidden from them."""
ROBUST = (DEFAULT, Defence(noise=0.0), UNLIMITED, *GROUPS, PUBLISHED, _sgd(1, 0), ALL_LAYERS)
"""The defences under which others attack the model."""
ROUNDS_OF_TOPIC = (1, USES, 20)
FACTOR = 0.6
"""Of the secret numbers by which a server multiplies steps."""
FACTOR_PERIOD = 10
"""So many rounds a server uses the same secret number of a participant."""
TOPIC_VICTIMS = 600
WEIGHTS: tuple[dict[str, Any], ...] = tuple(
    {
        "clients": clients,
        "rounds": rounds,
        "known": known,
        "factor": factor,
        "calibrated": calibrated,
        "period": FACTOR_PERIOD,
    }
    for clients in (10, 50)
    for known in (1, clients // 2)
    for rounds, factor, calibrated in (
        *((rounds, factor, 0) for rounds in (1, 20) for factor in (0.0, FACTOR)),
        *((rounds, FACTOR, 20) for rounds in (5, 20) if clients == 10),
    )
)
QUICK_COMPARED = (_sgd(1, 0), _sgd(1, 200, clip=0.5), Defence(noise=0.0), DEFAULT)


def full_runs(where: Mapping[str, Any], seeds: Sequence[int]) -> list[DefenceRun]:
    """Return the runs of the paper's profile."""
    first = seeds[0]

    def cell(defence: Defence, own: int, choice: str, **more: Any) -> PrivacyRun:
        return PrivacyRun(defence=defence, own_pages=own, choice=choice, **{"seed": first, **where, **more})

    kinds = [(own, choice, base) for own in OWN_PAGES for choice in (ANY, CORRECTIONS) for base in (START, LATER)]
    found: list[DefenceRun] = [
        cell(DEFAULT, own, choice, uses=uses, base=base, seed=seed)
        for own, choice, base in kinds
        for uses in (1, USES)
        for seed in seeds
    ]
    found += [
        cell(DEFAULT, own, choice, uses=USES, base=base, viewer=viewer, seed=seed)
        for viewer in (OUTSIDER, THIEF)
        for own, choice, base in kinds
        for seed in seeds
    ]
    found += [cell(DEFAULT, own, ANY, uses=USES, base=LEAKING, seed=seed) for own in OWN_PAGES for seed in seeds]
    found += [
        cell(defence, own, TOPIC, uses=uses, victims=TOPIC_VICTIMS)
        for defence in (DEFAULT, UNLIMITED, *GROUPS)
        for own in OWN_PAGES
        for uses in ROUNDS_OF_TOPIC
    ]
    found += [
        cell(DEFAULT, own, CORRECTED_TOPIC, uses=uses, victims=TOPIC_VICTIMS)
        for own in (1, 4)
        for uses in ROUNDS_OF_TOPIC
    ]
    found += [WeightRun(defence=DEFAULT, seed=first, **where, **one) for one in WEIGHTS]
    found += [WeightRun(defence=PUBLISHED, seed=first, **where, **one) for one in WEIGHTS if not one["factor"]]
    for defence in COMPARED:
        found += [cell(defence, own, choice) for own, choice in CELLS]
        if defence.against == OUTSIDER or defence in SEEN_FROM_OUTSIDE:
            found += [cell(defence, own, choice, viewer=OUTSIDER) for own, choice in CELLS]
        if defence in SEEN_FROM_OUTSIDE:
            found += [cell(defence, own, choice, viewer=THIEF) for own, choice in CELLS]
        if defence in SEEN_FROM_OUTSIDE and defence.method != PAPER_SGD:
            found += [cell(defence, 1, ANY, base=LEAKING)]
        if defence in ROBUST:
            found += [PoisonRun(defence=defence, poison=poison, seed=first, **where) for poison in POISONS]
        if defence == AVERAGED:
            found += [cell(defence, 4, choice, uses=uses) for choice in (ANY, CORRECTIONS) for uses in (USES, 20)]
    return found


def quick_runs(where: Mapping[str, Any]) -> list[DefenceRun]:
    """Return the runs of the quick profile: fewer victims, the last layer alone."""
    size: dict[str, Any] = {**where, "victims": 20, "candidates": 60, "simulated": 200}
    found: list[DefenceRun] = [PrivacyRun(defence=defence, **size) for defence in QUICK_COMPARED]
    found += [
        PrivacyRun(defence=DEFAULT, own_pages=4, choice=CORRECTIONS, uses=USES, **size),
        *(PrivacyRun(defence=DEFAULT, viewer=viewer, **size) for viewer in (OUTSIDER, THIEF)),
        PrivacyRun(defence=DEFAULT, base=LEAKING, **size),
        PrivacyRun(defence=DEFAULT, own_pages=4, choice=TOPIC, **size),
        *(PoisonRun(defence=DEFAULT, poison=poison, clients=20, **where) for poison in POISONS),
        *(WeightRun(defence=DEFAULT, federations=20, factor=factor, **where) for factor in (0.0, FACTOR)),
    ]
    return found
