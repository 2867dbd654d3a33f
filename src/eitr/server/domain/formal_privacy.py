"""The formal option: noise on what rounds publish, how much privacy all rounds have cost, and where they stop.

Every round keeps its noise multiplier, so that what was spent is counted from the database and survives restarts. A
quarantined round counts, too: that its model was not published is also something that everybody sees.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.aggregation.interface import Result
from eitr.model.private import PrivatePlan
from eitr.model.published_noise import epsilon, largest_accuracy, longest_step, noisy_mean
from eitr.model.round_plan import RoundPlan
from eitr.server.db.tables import RoundRow, RoundStatus
from eitr.server.settings import ServerSettings

RoundsByNoise = tuple[tuple[float, int], ...]
"""Noise multipliers, and how many rounds had each; sorted."""


@dataclass(frozen=True, slots=True)
class PrivacySpent:
    """What all rounds together tell about a participant who took part in each of them."""

    rounds: int
    """Rounds whose result had noise."""
    without_noise: int
    """Rounds whose result had none: nothing is promised to those who took part in them."""
    epsilon: float
    delta: float
    accuracy: float
    """How often the best guess is right at most whether the participant sent something."""
    limit: float
    """0 if there is none."""
    next: float
    """Epsilon after one more round."""

    @property
    def exhausted(self) -> bool:
        """Whether one more round would exceed the limit."""
        return bool(self.limit) and self.next > self.limit

    @property
    def words(self) -> str:
        """Why no round opens, and what to do."""
        return (
            f"No more rounds open, because the privacy limit is reached: all rounds so far have cost an epsilon of "
            f"{self.epsilon:.2f}, one more would make it {self.next:.2f}, and EITR_EPSILON_LIMIT is {self.limit:g}. "
            "The current model stays in use. A higher limit weakens what participants were promised: ask them before "
            "you raise it."
        )


def columns_of_round(settings: ServerSettings) -> dict[str, float]:
    """Return the columns of a new round that say how its result is made private; they stay if settings change."""
    if not settings.published_noise:
        return {}
    return {"published_noise": settings.published_noise, "published_clip": settings.published_clip}


def with_noise(
    round: RoundRow, plan: RoundPlan, base: NDArray[np.float32], updates: NDArray[np.float32], result: Result
) -> Result:
    """Return the result of a round, with the noisy mean as its model if the round asks for noise.

    `updates` holds the trained parameters of each participant, and `base` those that they started from. Only the noisy
    sum and public numbers get into the model: the rule's own model, which has no noise, is dropped.
    """
    if round.published_noise is None or round.published_clip is None or not isinstance(plan, PrivatePlan):
        return result
    step = noisy_mean(
        updates - base,
        longest=longest_step(plan, len(base), round.published_clip),
        noise=round.published_noise,
        participants=round.quorum,
    )
    return replace(result, model=(base + step).astype(np.float32))


def spent(session: Session, settings: ServerSettings) -> PrivacySpent | None:
    """Return what the rounds so far have cost; None if the noise is switched off."""
    if not settings.published_noise:
        return None
    query = (
        select(RoundRow.published_noise, func.count())
        .where(RoundRow.status.in_((RoundStatus.PUBLISHED, RoundStatus.QUARANTINED)))
        .group_by(RoundRow.published_noise)
    )
    without_noise, counted = 0, Counter[float]()
    for noise, count in session.execute(query):
        if noise is None:
            without_noise = count
        else:
            counted[noise] = count
    after = counted + Counter({settings.published_noise: 1})
    return PrivacySpent(
        rounds=counted.total(),
        without_noise=without_noise,
        epsilon=_epsilon(_sorted(counted), settings.epsilon_delta),
        delta=settings.epsilon_delta,
        accuracy=largest_accuracy(counted),
        limit=settings.epsilon_limit,
        next=_epsilon(_sorted(after), settings.epsilon_delta),
    )


def exhausted(session: Session, settings: ServerSettings) -> str:
    """Return why one more round would exceed the limit, and what to do; nothing if it would not."""
    found = spent(session, settings)
    return found.words if found is not None and found.exhausted else ""


def _sorted(counted: Counter[float]) -> RoundsByNoise:
    return tuple(sorted(counted.items()))


@lru_cache(maxsize=16)
def _epsilon(rounds: RoundsByNoise, delta: float) -> float:
    return epsilon(dict(rounds), delta) if rounds else 0.0
