"""The simulation: alarms of browsers, requests that wait, updates, rounds, versions.

Events lie in one heap, in the order of their time. An alarm event treats all browsers whose alarm rings in the same
step (a second, if nothing else is asked for), each with its own state and at its own moment in the step; every poll
and every update is simulated, none is scaled up. The state of a round is looked at when the step begins. What browsers
do is what `extension/src/background/learning` does, what the server answers is what `src/eitr/server/domain` does.
"""

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eitr.lab.scale.plan import ANSWER, HEADERS, POOL, UPDATE, Costs, Plan
from eitr.lab.scale.population import DAY_MINUTES, Population, population
from eitr.lab.scale.stations import Station

DAY: Final = 86_400
FIRST_WAIT, LONGEST_WAIT, MOST_DOUBLINGS = 60.0, 6 * 3600.0, 10
"""How long a browser waits after failures: extension/src/background/learning/failures.ts."""
LOOKS_EVERY: Final = 0.5
"""EITR_POLL_SECONDS: how often the worker looks whether a round is due."""
AWAITED_FEWEST: Final = 5
"""Established participants from which on a round is theirs, and newcomers are at most a third as many (bounds.py)."""
LOAD: Final = 0.7
"""The load at which API processes are kept, if their number is not given."""
MOST_CHANGE: Final = 4.0
"""The share of browsers that may send changes at most by this factor from one round to the next."""
SERIES: Final = (
    "polls", "requests", "failures", "downloads", "sends", "accepted", "refused", "origin_bytes", "cdn_bytes",
    "received_bytes", "busy_seconds",
)  # fmt: skip
"""What is counted by minute."""
WAIT_BINS: Final = np.concatenate([[0.0], np.geomspace(1e-4, 1e2, 241), [math.inf]])

NOBODY: Final = np.zeros(0, np.int64)

Progress = Callable[[float], None]


@dataclass(slots=True)
class Round:
    """A round, as the server knows it."""

    id: int
    opened: float
    deadline: float
    share: float
    """The share of newcomers that may send: each draws a lot."""
    taken: list[NDArray[np.int64]] = field(default_factory=list)
    """Whose updates were taken, in the order in which they came."""
    trusted: int = 0
    """How many of them are established."""
    newcomers: int = 0
    refused: int = 0
    complete: float = math.inf
    """When the quorum was reached."""
    filled: float = math.inf
    """When the first update found no place."""
    closed: float = math.inf
    ended: float = math.inf
    judged: int = 0

    @property
    def received(self) -> int:
        """How many updates were taken."""
        return self.trusted + self.newcomers


@dataclass(frozen=True, eq=False)
class Outcome:
    """What happened."""

    plan: Plan
    costs: Costs
    processes: int
    series: dict[str, NDArray[np.float64]]
    """Sums by minute, of all days."""
    rounds: list[Round]
    versions: int
    online: NDArray[np.int64]
    """How many browsers run, by minute of the day."""
    waits: NDArray[np.int64]
    """How many requests of the last day waited how long: counts between WAIT_BINS."""
    totals: dict[str, int]
    """Counts over all days: what was prepared and what became of it, what pages there were and what became of them."""

    def last_day(self, name: str) -> NDArray[np.float64]:
        """Return a series of the last day, by minute."""
        return self.series[name][-DAY_MINUTES:]

    def wait_quantile(self, share: float) -> float:
        """Return the seconds that so many of the requests of the last day waited at most: the end of their bin."""
        reached = np.cumsum(self.waits) >= share * self.waits.sum()
        return float(WAIT_BINS[1:][int(np.argmax(reached))]) if self.waits.any() else 0.0


def simulate(plan: Plan, costs: Costs | None = None, progress: Progress | None = None) -> Outcome:
    """Run a plan; `progress` is told the share that is done, from time to time."""
    return _Simulation(plan, costs or Costs()).run(progress or (lambda share: None))


class _Simulation:
    def __init__(self, plan: Plan, costs: Costs) -> None:
        self.plan, self.costs = plan, costs
        self.people: Population = population(plan)
        self.rng = np.random.default_rng((plan.seed, 2))
        self.online = self.people.online_over_day()
        self.processes = plan.processes or self.needed_processes()
        self.api = Station(self.processes, plan.patience)
        self.minutes = plan.days * DAY_MINUTES
        self.series = {name: np.zeros(self.minutes) for name in SERIES}
        self.waits = np.zeros(len(WAIT_BINS) - 1, np.int64)
        self.totals = dict.fromkeys(
            ("prepared", "taken", "refused_updates", "waiting", "pages", "uses", "uses_taken", "uses_refused"), 0
        )
        count = plan.browsers
        self.version = np.zeros(count, np.int32)
        self.not_before = np.zeros(count, np.int32)
        self.failures = np.zeros(count, np.uint8)
        self.done = np.zeros(count, np.int32)
        self.outbox = np.zeros(count, np.int32)
        """The round of an update that could not be sent, and 0 where there is none."""
        self.outbox_uses = np.zeros(count, np.uint8)
        self.pages = [np.zeros(count, np.uint16) for _ in range(plan.uses)]
        """How many pages can still be used so often: once, twice."""
        self.has_sent = np.zeros(count, np.bool_)
        self.has_pool = np.zeros(count, np.bool_)
        self.earned = np.zeros(count, np.uint8)
        founders = self.rng.choice(count, plan.founders, replace=False) if plan.founders else np.zeros(0, np.int64)
        self.earned[founders] = plan.established_rounds
        self.established = plan.founders
        self.published = 1
        self.version[:] = 1
        self.rounds: list[Round] = []
        self.share = 1.0
        if plan.cohort:  # before anything is known, as if everybody came with pages
            self.share = min(1.0, plan.cohort / count)
        self.heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.order = itertools.count()
        self.ready: dict[float, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        """Who sends in which step, and to which round."""

    def needed_processes(self) -> int:
        """Return how many processes the busiest minute needs, if everybody polls as often as possible."""
        plan, costs = self.plan, self.costs
        every = max(plan.alarm, plan.wait)
        one = costs.manifest + costs.current
        if not plan.cdn:
            one += costs.file * plan.version_bytes / 1e6  # a version may be new to everybody
        peak = float(self.online.max()) / (every * min(1.0, plan.spread if every == plan.alarm else 1.0))
        return max(1, math.ceil(peak * one / LOAD))

    def run(self, progress: Progress) -> Outcome:
        self.at(0.0, self.open_round)
        self.at(0.0, self.alarms, 0)
        end, told = float(self.plan.days * DAY), -1
        while self.heap and self.heap[0][0] < end:
            time, _, happen, about = heapq.heappop(self.heap)
            happen(time, *about)
            if int(10 * time / end) > told:
                told = int(10 * time / end)
                progress(time / end)
        self.totals["waiting"] = int((self.outbox > 0).sum()) + sum(len(who) for who, _ in self.ready.values())
        return Outcome(
            self.plan, self.costs, self.processes, self.series, self.rounds, self.published, self.online, self.waits,
            self.totals,
        )  # fmt: skip

    def at(self, time: float, happen: Callable[..., None], *about: Any) -> None:
        heapq.heappush(self.heap, (time, next(self.order), happen, about))

    # Browsers.

    def alarms(self, time: float, step: int) -> None:
        """Let the alarms of a step ring, and send the updates that are ready, all at random moments of the step."""
        plan = self.plan
        first, last = int(self.people.bounds[step]), int(self.people.bounds[step + 1])
        self.at(time + plan.step, self.alarms, (step + 1) % (plan.alarm // plan.step))
        members = slice(first, last)
        running = self.people.online(members, int(time // 60) % DAY_MINUTES)
        self.label_pages(members, running)
        rung = first + np.flatnonzero(running & (self.not_before[members] <= time))
        again = rung[self.outbox[rung] > 0]
        polling = rung[self.outbox[rung] == 0]
        ready, rounds = self.ready.pop(time, (NOBODY, NOBODY))
        # Requests of a step reach the station together, in the order of their moments.
        who = np.concatenate([ready, again, polling])
        if not len(who):
            return
        sent_to = np.concatenate([rounds, self.outbox[again], np.zeros(len(polling), np.int64)])
        order = self.rng.permutation(len(who))
        who, sent_to, moments = who[order], sent_to[order], self.moments(time, len(who))
        sends = sent_to > 0
        answered = self.serve(int(time // 60), moments, np.where(sends, self.costs.update, self.poll_seconds(who)))
        self.send(time, who[sends], sent_to[sends], moments[sends], answered[sends])
        self.poll(time, who[~sends], answered[~sends])

    def moments(self, time: float, count: int) -> NDArray[np.float64]:
        """Return random moments of a step, in their order: the sorted sum of exponentials is as good as sorting."""
        gaps = self.rng.standard_exponential(count + 1)
        sums = np.cumsum(gaps)
        return np.asarray(time + sums[:-1] / sums[-1] * self.plan.step)

    def label_pages(self, members: slice, running: NDArray[np.bool_]) -> None:
        """Let people label pages while their browser runs."""
        plan = self.plan
        chance = plan.pages_a_day * plan.alarm / (plan.hours_online * 3600)
        online = np.flatnonzero(running)
        # As many as there are in all, for random browsers: the same as a Poisson number for each, and quicker.
        lucky = (
            members.start + online[self.rng.integers(0, max(1, len(online)), self.rng.poisson(chance * len(online)))]
        )
        fresh = self.pages[-1]
        np.add.at(fresh, lucky, 1)
        self.totals["pages"] += len(lucky)

    def poll_seconds(self, who: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how long the API is busy with the poll of each browser."""
        plan, costs = self.plan, self.costs
        new = self.version[who] < self.published
        seconds = costs.manifest + costs.current * (1.0 + (new & self.has_sent[who]))
        if not plan.cdn:
            seconds = seconds + new * costs.file * plan.version_bytes / 1e6
        return np.asarray(seconds)

    def poll(self, time: float, who: NDArray[np.int64], answered: NDArray[np.bool_]) -> None:
        """Ask for the model and for the open round; download what is new; train if there is something to train on."""
        plan, minute = self.plan, int(time // 60)
        new = self.version[who] < self.published
        asks = new & self.has_sent[who]  # what became of its rounds
        files = 0 if plan.cdn else plan.version_files * int(new.sum())
        self.count(minute, polls=len(who), requests=2 * len(who) + int(asks.sum()) + files)
        self.fail(time, who[~answered])
        who, new = who[answered], new[answered]
        self.failures[who] = 0
        if plan.wait:
            jitter = 0.75 + 0.5 * self.rng.random(len(who))
            self.not_before[who] = time + plan.wait * jitter
        self.version[who] = self.published
        downloads = int(new.sum())
        self.count(minute, downloads=downloads, origin_bytes=len(who) * 2 * (ANSWER + HEADERS))
        self.count_files(minute, downloads * plan.version_bytes)
        current = self.rounds[-1]
        if not current.closed > time:
            return
        able = self.done[who] < current.id
        able &= np.logical_or.reduce([pages[who] > 0 for pages in self.pages])
        who = who[able]
        if current.share < 1 and len(who):
            newcomer = self.earned[who] < plan.established_rounds
            drawn = ~newcomer | (self.rng.random(len(who)) < current.share)
            self.done[who[~drawn]] = current.id  # the lot of a browser does not change during a round
            who = who[drawn]
        if len(who):
            self.train(time, who, current)

    def train(self, time: float, who: NDArray[np.int64], current: Round) -> None:
        """Make an update of some pages, which counts as a use of each, and send it a little later."""
        left = np.full(len(who), self.plan.most_pages, np.int64)
        used = np.zeros(len(who), np.int64)
        for place, pages in enumerate(self.pages):  # those with fewer uses left first; up to four, all are used
            some = np.minimum(pages[who], left)
            pages[who] -= some.astype(np.uint16)
            if place:
                self.pages[place - 1][who] += some.astype(np.uint16)
            left, used = left - some, used + some
        self.outbox_uses[who] = used
        self.done[who] = current.id  # nothing else is made for this round
        self.totals["prepared"] += len(who)
        self.totals["uses"] += int(used.sum())
        fetched = ~self.has_pool[who]
        self.has_pool[who] = True
        self.count_files(int(time // 60), int(fetched.sum()) * POOL)
        later = time + self.plan.step * max(1, math.ceil(self.plan.training / self.plan.step))
        earlier, rounds = self.ready.get(later, (NOBODY, NOBODY))
        self.ready[later] = (np.concatenate([earlier, who]), np.concatenate([rounds, np.full(len(who), current.id)]))

    def send(
        self,
        time: float,
        who: NDArray[np.int64],
        rounds: NDArray[np.int64],
        moments: NDArray[np.float64],
        answered: NDArray[np.bool_],
    ) -> None:
        """Send updates: each is taken, refused, or kept for later if the server does not answer."""
        if not len(who):
            return
        minute = int(time // 60)
        self.count(minute, sends=len(who), requests=len(who), received_bytes=len(who) * (UPDATE + HEADERS))
        lost = who[~answered]
        self.outbox[lost] = rounds[~answered]
        self.fail(time, lost)
        who, rounds, moments = who[answered], rounds[answered], moments[answered]
        self.outbox[who] = 0
        self.count(minute, origin_bytes=len(who) * (ANSWER + HEADERS))
        taken = self.place(who, rounds, moments) if len(who) else np.zeros(0, np.bool_)
        uses = self.outbox_uses[who].astype(np.int64)
        self.has_sent[who] = True
        self.failures[who[taken]] = 0
        self.fail(time, who[~taken])
        accepted = int(taken.sum())
        self.count(minute, accepted=accepted, refused=len(who) - accepted)
        self.totals["taken"] += accepted
        self.totals["refused_updates"] += len(who) - accepted
        self.totals["uses_taken"] += int(uses[taken].sum())
        self.totals["uses_refused"] += int(uses[~taken].sum())

    def fail(self, time: float, who: NDArray[np.int64]) -> None:
        """Let browsers wait twice as long after each failure, with a random part."""
        self.failures[who] = np.minimum(self.failures[who], 254) + 1
        doublings = np.minimum(self.failures[who], MOST_DOUBLINGS).astype(np.float64)
        waits = np.minimum(LONGEST_WAIT, FIRST_WAIT * 2**doublings) * (0.5 + self.rng.random(len(who)) / 2)
        self.not_before[who] = np.maximum(self.not_before[who], time + waits)

    # The server.

    def place(
        self, who: NDArray[np.int64], rounds: NDArray[np.int64], moments: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return whose updates find a place: newcomers have half of a round, and nobody a closed one."""
        plan, current = self.plan, self.rounds[-1]
        there: NDArray[np.bool_] = (rounds == current.id) & (moments < current.closed)
        newcomer = self.earned[who] < plan.established_rounds
        room = plan.maximum - current.received
        if plan.bounds:
            half = max(1, plan.maximum // 2) - current.newcomers
            there &= ~newcomer | (np.cumsum(there & newcomer) <= half)
        there &= np.cumsum(there) <= room
        if not there.any():
            self.refuse(current, moments, there)
            return there
        before = current.received
        current.taken.append(who[there])
        current.newcomers += int((there & newcomer).sum())
        current.trusted += int((there & ~newcomer).sum())
        if before < plan.quorum <= current.received:
            current.complete = float(moments[there][plan.quorum - before - 1])
        self.refuse(current, moments, there)
        self.close_if_due(float(moments[-1]))
        return there

    def refuse(self, current: Round, moments: NDArray[np.float64], there: NDArray[np.bool_]) -> None:
        if not there.all():
            current.refused += int((~there).sum())
            current.filled = min(current.filled, float(moments[~there][0]))

    def close_if_due(self, time: float) -> None:
        """Close the open round at its maximum or some time after its quorum, if enough established people came."""
        plan, current = self.plan, self.rounds[-1]
        if current.closed < math.inf:
            return
        due = current.complete + plan.grace
        if current.received >= plan.maximum:
            due = min(due, time)
        if due == math.inf or not self.enough_trusted(current):
            return
        self.close(max(due, time) if plan.bounds else due, current)

    def enough_trusted(self, current: Round) -> bool:
        if not self.plan.bounds:
            return True
        return current.trusted >= max(1, min(self.plan.quorum, self.established))

    def close(self, due: float, current: Round) -> None:
        """Close a round when the worker looks next, and aggregate it."""
        plan, costs = self.plan, self.costs
        current.closed = (math.floor(due / LOOKS_EVERY) + 1) * LOOKS_EVERY
        if current.received < plan.minimum:  # abandoned
            current.ended = current.closed
        else:
            current.judged = self.judged(current)
            current.ended = current.closed + costs.aggregation + costs.aggregation_each * current.judged
        self.at(current.ended, self.end_round, current)

    def judged(self, current: Round) -> int:
        """Return how many updates the rule judges: newcomers are drawn (src/eitr/server/domain/bounds.py)."""
        if not self.plan.bounds:
            return current.received
        if current.trusted >= AWAITED_FEWEST:
            return current.trusted + min(current.newcomers, current.trusted // 3)
        return min(current.received, max(self.plan.quorum, current.trusted))

    def end_round(self, time: float, current: Round) -> None:
        """Publish a version, count the round for those who were judged, and open the next round after the pause."""
        if current.received >= self.plan.minimum:
            self.published += 1
            everybody = np.concatenate(current.taken)
            trusted = self.earned[everybody] >= self.plan.established_rounds
            drawn = self.rng.permutation(everybody[~trusted])[: current.judged - current.trusted]
            self.earned[drawn] += 1
            self.established += int((self.earned[drawn] == self.plan.established_rounds).sum())
        current.taken.clear()
        if self.plan.cohort:  # too many came: fewer may send in the next round; too few: more
            factor = self.plan.cohort / max(1, current.newcomers + current.refused)
            self.share = min(1.0, self.share * min(MOST_CHANGE, max(1 / MOST_CHANGE, factor)))
        self.at(time + self.plan.pause, self.open_round)

    def open_round(self, time: float) -> None:
        """Open a round, which ends at its deadline at the latest."""
        current = Round(len(self.rounds) + 1, time, time + self.plan.round_seconds, self.share)
        self.rounds.append(current)
        self.at(current.deadline, self.reach_deadline, current)

    def reach_deadline(self, time: float, current: Round) -> None:
        """Close a round that is still open."""
        if current.closed == math.inf:
            self.close(time, current)

    # Counting.

    def serve(self, minute: int, moments: NDArray[np.float64], services: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Let requests wait for the API; return which were answered."""
        before = self.api.busy
        served = self.api.serve(moments, np.asarray(services, np.float64))
        answered = served.answered
        self.count(minute, busy_seconds=self.api.busy - before, failures=len(moments) - int(answered.sum()))
        if minute >= self.minutes - DAY_MINUTES:
            bins = np.searchsorted(WAIT_BINS, served.waits[answered], "right") - 1
            self.waits += np.bincount(bins, minlength=len(self.waits))
        return answered

    def count_files(self, minute: int, size: int) -> None:
        self.count(minute, **{"cdn_bytes" if self.plan.cdn else "origin_bytes": size})

    def count(self, minute: int, **numbers: float) -> None:
        for name, number in numbers.items():
            self.series[name][minute] += number
