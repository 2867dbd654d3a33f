"""What the three experiments on reputation share: who attacks how, and what an attack does to a score."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eitr.lab.experiments.claim_checks import points
from eitr.lab.experiments.interface import ClaimVerdict, Table
from eitr.lab.experiments.seed_statistics import SeedValues
from eitr.lab.plotting import BLACK, LineStyle, draw_spread, panels, series_style
from eitr.lab.results.store import Result, Results
from eitr.lab.runs.synthetic import BLATANT, POLLUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
HONEST = LineStyle("honest clients", BLACK, (0, (1, 2)), "", 1.4)
TIMED_PARAMETERS = 20
"""Parameters of the clients that attack in different rounds, as in the paper."""


@dataclass(frozen=True, slots=True)
class Scene:
    """How many of the ten clients attack in the same round, and how much of their update is shifted."""

    attackers: int
    share: float

    @property
    def words(self) -> str:
        """Return the scene in words."""
        which = "every parameter" if self.share == BLATANT else f"{self.share:.0%} of the parameters"
        return f"{self.attackers} of 10 attack{'s' if self.attackers == 1 else ''}, {which} shifted"

    @property
    def title(self) -> str:
        """Return the scene as the title of a narrow panel."""
        return f"{self.attackers} of 10 attack{'s' if self.attackers == 1 else ''},\n{self.share:.0%} shifted"

    def of(self, results: Iterable[Result]) -> list[Result]:
        """Return the results of this scene."""
        return [r for r in results if (len(r.run.schedules), r.run.share) == (self.attackers, self.share)]


SCENES = (Scene(1, BLATANT), Scene(1, POLLUTED), Scene(3, BLATANT), Scene(3, POLLUTED))
"""In the paper's figures every client attacks at its own time, alone; three of ten is its usual share of attackers."""

NOTE = (
    "Updates are drawn: a common mean plus noise; attackers shift parameters by five times that noise. In a real "
    "training run on poisoned pages not quite 10 % of the parameters lay that far off; shifting every one is the "
    "plainest attack. "
    "Ten clients, so that an honest majority remains; a curve is the mean of the attackers, the band one standard "
    "deviation over the seeds."
)


def scores(result: Result, number: int | None = None) -> Floats:
    """Return the mean score of the attackers (of the one with this number) over the rounds."""
    chosen = result["attacker"] >= 0 if number is None else result["attacker"] == number
    return np.asarray(result["reputation"][:, chosen].mean(axis=1, dtype=np.float64))


def honest_scores(result: Result) -> Floats:
    """Return the mean score of the honest clients over the rounds."""
    return np.asarray(result["reputation"][:, result["attacker"] < 0].mean(axis=1, dtype=np.float64))


def attack_rounds(result: Result, number: int = 0) -> list[int]:
    """Return the rounds, from 1, in which an attacker attacks."""
    client = int(np.flatnonzero(result["attacker"] == number)[0])
    return [int(index) + 1 for index in np.flatnonzero(result["attacking"][:, client])]


def drop(result: Result, round: int, number: int | None = None) -> float:
    """Return which share of its score an attack costs: against the round before, in round 1 against honest clients."""
    score = scores(result, number)
    before = score[round - 2] if round > 1 else honest_scores(result)[0]
    return float(1.0 - score[round - 1] / before)


def by_seed(results: Iterable[Result], measure: Callable[[Result], float]) -> dict[int, float]:
    """Return a measure of each seed's run, averaged where a seed has several."""
    found: dict[int, list[float]] = {}
    for result in results:
        found.setdefault(result.run.seed, []).append(measure(result))
    return {seed: float(np.mean(values)) for seed, values in sorted(found.items())}


def change(first: dict[int, float], last: dict[int, float]) -> SeedValues:
    """Return last minus first, seed by seed, of the seeds that both have."""
    return SeedValues(tuple(last[seed] - first[seed] for seed in sorted(first.keys() & last.keys())))


def span(values: Sequence[float]) -> str:
    """Return numbers as mean and range, in percent."""
    return f"{np.mean(values):.1%} (range {min(values):.1%} to {max(values):.1%})"


def sizes(results: Iterable[Result]) -> list[int]:
    """Return the numbers of parameters that occur, ascending."""
    return sorted({result.run.parameters for result in results})


def rank_correlation(means: Sequence[float]) -> float:
    """Return how well numbers rise along their list, by rank; equal ones share theirs.

    >>> rank_correlation([0.1, 0.2, 0.3]), rank_correlation([0.2, 0.2, 0.2])
    (1.0, 0.0)
    """
    numbers = np.asarray(means)
    ranks = np.array([(numbers < one).sum() + (numbers == one).sum() / 2 for one in numbers])
    if np.ptp(ranks) == 0:
        return 0.0
    return round(float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]), 9)


def larger_drop(
    claim: str, results: Sequence[Result], measure: Callable[[Result], float], at_most: float = np.inf
) -> ClaimVerdict:
    """Judge whether more parameters cost more: rank correlation at least 0.8, and a rise beyond its standard error."""
    found = {size: by_seed([r for r in results if r.run.parameters == size], measure) for size in sizes(results)}
    if len(found) < 2:
        return ClaimVerdict(claim=claim, measured="There is one size only, nothing to compare.", holds=None)
    means = [float(np.mean(list(values.values()))) for values in found.values()]
    correlation = rank_correlation(means)
    rise = change(found[min(found)], found[max(found)])
    shown = ", ".join(f"{size:,}: {mean:.1%}" for size, mean in zip(found, means, strict=True))
    more = f" (slightly means at most {100 * at_most:g})" if at_most < np.inf else ""
    return ClaimVerdict(
        claim=claim,
        measured=f"Drop by number of parameters: {shown}: {points(rise.mean)} from first to last{more}. "
        f"Rank correlation {correlation:.2f} (needed: 0.8).",
        holds=correlation >= 0.8 and rise.clearly_positive and rise.mean <= at_most,
    )


def score_table(results: Results) -> Table:
    """Return a row for each kind of run: scores before, in and after the first attack, and in the last round."""
    table = Table(
        ("attackers", "shifted share", "parameters", "first attack", "seeds", "rejected of attackers",
         "rejected of honest", "drop", "drop deviation", "last score", "last honest score")
    )  # fmt: skip
    groups: dict[tuple[int, float, int, int], list[Result]] = {}
    for result in results:
        run = result.run
        groups.setdefault((len(run.schedules), run.share, run.parameters, run.schedules[0].start), []).append(result)
    for key, group in groups.items():
        drops = SeedValues(tuple(by_seed(group, lambda r: drop(r, attack_rounds(r)[0], 0)).values()))
        numbers = [
            float(np.mean([measure(r) for r in group]))
            for measure in (_rejected, _rejected_honest, _last, _last_honest)
        ]
        row = (*key, len(group), *numbers[:2], drops.mean, drops.deviation, *numbers[2:])
        table.rows.append(tuple(round(cell, 4) if isinstance(cell, float) else cell for cell in row))
    return table


def _rejected(result: Result) -> float:
    return float(result["negative"][result["attacking"]].mean() / result.run.parameters)


def _rejected_honest(result: Result) -> float:
    return float(result["negative"][:, result["attacker"] < 0].mean() / result.run.parameters)


def _last(result: Result) -> float:
    return float(scores(result)[-1])


def _last_honest(result: Result) -> float:
    return float(honest_scores(result)[-1])


def draw_scores(axes: "Axes", groups: dict[str, list[Result]], honest: str) -> None:
    """Draw the scores of attackers over the rounds, one line per group, and of the honest clients of the last group."""
    for number, (label, group) in enumerate(groups.items()):
        values = np.stack([scores(result) for result in group])
        draw_spread(axes, np.arange(1, values.shape[1] + 1), values, series_style(number, label))
    if groups:
        values = np.stack([honest_scores(result) for result in group])
        draw_spread(axes, np.arange(1, values.shape[1] + 1), values, replace(HONEST, label=honest))
    axes.set_ylim(0, 1.05)


def two_rows(fixed: Sequence[Result], timed: Sequence[Result]) -> "Figure":
    """Draw both figures of the paper: by number of parameters above, by first round below; one column per scene."""
    figure, axes = panels(2, len(SCENES), share_y=True)
    shown = _some(sizes(fixed), 4)
    starts = _some(sorted({result.run.schedules[0].start for result in timed}), 4)
    for column, scene in enumerate(SCENES):
        own = {f"{size:,} parameters": [r for r in scene.of(fixed) if r.run.parameters == size] for size in shown}
        draw_scores(axes[0, column], own, f"honest, {shown[-1]:,} parameters")
        own = {f"from round {s}" if _continuous(timed) else f"in round {s}":
               [r for r in scene.of(timed) if r.run.schedules[0].start == s] for s in starts}  # fmt: skip
        draw_scores(axes[1, column], own, "honest clients")
        axes[0, column].set_title(scene.title)
        axes[1, column].set_xlabel("round")
    for row in range(2):
        axes[row, 0].set_ylabel("reputation score")
        axes[row, -1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _continuous(results: Sequence[Result]) -> bool:
    return bool(results) and results[0].run.schedules[0].kind == "from"


def _some(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many values, evenly chosen, first and last included."""
    places = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    return [values[place] for place in places]
