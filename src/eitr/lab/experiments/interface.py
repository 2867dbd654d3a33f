"""The interface of an experiment: runs, a table, a figure, and a verdict on each claim of the paper, or goal of ours.

An experiment is one file with one class. `runs` says what must be computed; everything else is made from the results,
so that figures and verdicts can be made again, elsewhere, without computing.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from eitr import plugins
from eitr.lab.results.store import Results
from eitr.lab.runs.profile import Profile
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HOLDS, FAILS, OPEN, MEASURED = STATUSES = ("holds", "does not hold", "cannot be judged", "not judged by quick runs")


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers for people and machines: one heading per column, then rows; numbers stay numbers."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """One claim of the paper, or goal of ours, and whether it holds on the data at hand."""

    claim: str
    """What the paper says, in our words, or what we want."""
    measured: str
    """What we measured, with numbers."""
    holds: bool | None
    """None where the claim cannot be judged on this data or with this profile; `measured` then says why."""
    judged: bool = True
    """Whether the runs were long enough to judge any claim; those of the quick profile are not."""
    reading: str = ""
    """Which reading of the paper's method it was judged for; empty where the claim is about something else."""

    @property
    def status(self) -> str:
        """Return the verdict in words: one of `STATUSES`."""
        if not self.judged:
            return MEASURED
        return OPEN if self.holds is None else HOLDS if self.holds else FAILS


class Experiment(ABC):
    """One figure of the paper, or a question of our own."""

    plugin_group: ClassVar[str] = plugins.EXPERIMENTS
    id: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    """The figure or section of the paper; a dash where it has none."""
    ours: ClassVar[bool] = False
    """Whether the question is our own: what is judged are then goals of ours, not claims of the paper."""
    note: ClassVar[str] = ""
    """What a reader of the figure should know."""
    reading: ClassVar[str] = ""
    """The reading of the paper's method that all its verdicts are for; empty where a verdict says so itself."""

    @abstractmethod
    def runs(self, profile: Profile) -> Sequence[Run]:
        """Return what must be computed."""

    @abstractmethod
    def table(self, results: Results) -> Table:
        """Return the numbers behind the figure, mean and spread over the seeds."""

    def summary(self, results: Results) -> Table | None:
        """Return the few numbers that a reader of a long table looks for; None where the table is short enough."""
        return None

    @abstractmethod
    def figure(self, results: Results) -> "Figure":
        """Draw the figure."""

    @abstractmethod
    def verdicts(self, results: Results) -> list[ClaimVerdict]:
        """Judge each claim of the paper about this figure, or each goal."""

    def verdicts_of(self, results: Results, profile: Profile) -> list[ClaimVerdict]:
        """Return the verdicts of a profile: the quick one is too short to judge a claim, it only measures."""
        found = self.verdicts(results)
        return [replace(one, holds=None, judged=False) for one in found] if profile.quick else found
