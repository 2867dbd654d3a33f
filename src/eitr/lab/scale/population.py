"""Who is online when: browsers of all time zones, each in one stretch of the day.

The shares of time zones and the hours are assumptions (docs/scale.md). The alarm of a browser counts from the moment at
which it was set, so alarms are spread evenly, unless something sets them all at the same moment.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eitr.lab.scale.plan import Plan

ZONES: Final = {
    -8: 3, -7: 2, -6: 5, -5: 9, -4: 4, -3: 6, 0: 6, 1: 14, 2: 9, 3: 8, 4: 2, 5: 12, 6: 5, 7: 6, 8: 15, 9: 5, 10: 2,
}  # fmt: skip
"""Hours that a zone is ahead of UTC, and how many of the browsers are there, in relation to the others."""
START, START_SPREAD = 9.5, 3.0
"""The local hour at which a browser starts: mean and standard deviation."""
LENGTH_SHAPE: Final = 2.5
"""The hours that it runs have a gamma distribution of this shape."""
DAY_MINUTES: Final = 1440


@dataclass(frozen=True, eq=False)
class Population:
    """All browsers, in the order of their alarms."""

    start: NDArray[np.int16]
    """The minute of the day (UTC) from which a browser runs."""
    length: NDArray[np.int16]
    """For how many minutes."""
    bounds: NDArray[np.int64]
    """Where the browsers of each step begin: those of step s are bounds[s] to bounds[s + 1]."""

    def online(self, members: slice, minute: int) -> NDArray[np.bool_]:
        """Return which browsers of a slice are running in a minute of the day."""
        since = np.int16(minute) - self.start[members]
        since += np.int16(DAY_MINUTES) * (since < 0)  # quicker than a modulus
        return np.asarray(since < self.length[members])

    def online_over_day(self) -> NDArray[np.int64]:
        """Return how many browsers run in each minute of the day."""
        steps = np.zeros(2 * DAY_MINUTES + 1, np.int64)
        begin = self.start.astype(np.int64)
        np.add.at(steps, begin, 1)
        np.add.at(steps, begin + self.length, -1)
        running = np.cumsum(steps)[:-1]
        return np.asarray(running[:DAY_MINUTES] + running[DAY_MINUTES:])


def population(plan: Plan) -> Population:
    """Draw the browsers of a plan."""
    rng = np.random.default_rng((plan.seed, 1))
    count = plan.browsers
    shares = np.array(list(ZONES.values()), np.float64)
    zone = rng.choice(np.array(list(ZONES)), count, p=shares / shares.sum())
    start = rng.normal(START, START_SPREAD, count) - zone
    hours = rng.gamma(LENGTH_SHAPE, plan.hours_online / LENGTH_SHAPE, count)
    steps = plan.alarm // plan.step
    used = max(1, round(steps * plan.spread))
    sizes = np.zeros(steps, np.int64)
    sizes[:used] = np.bincount(rng.integers(0, used, count), minlength=used)
    return Population(
        (start * 60 % DAY_MINUTES).astype(np.int16),
        np.clip(hours * 60, 1, DAY_MINUTES).astype(np.int16),
        np.concatenate([[0], np.cumsum(sizes)]),
    )
