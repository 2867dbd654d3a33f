"""The content of a report, before it becomes HTML, JSON or Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.registry import experiment_of
from eitr.lab.plotting import figure_svg
from eitr.lab.results.metadata import LabMetadata, Timings
from eitr.lab.results.store import Store
from eitr.lab.runs.run import Run

CLAIMED, WANTED = "the paper says", "our goal"


def claims_heading(sections: Sequence["Section"]) -> str:
    """Return the heading of a column of claims: who makes them."""
    wanted = [section.experiment.ours for section in sections]
    if not any(wanted):
        return CLAIMED
    return WANTED if all(wanted) else f"{CLAIMED}, or {WANTED}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One experiment in a report. Without its results there is no table, no figure and no verdict."""

    experiment: Experiment
    command: str
    """The command that computes it, or that continues it when it is unfinished."""
    runs: Sequence[Run]
    missing: int
    seconds: float | None
    table: Table | None = None
    summary: Table | None = None
    verdicts: Sequence[ClaimVerdict] = ()
    svg: str | None = None

    @property
    def finished(self) -> bool:
        """Return whether all runs are finished."""
        return self.missing == 0

    def count(self, status: str) -> int:
        """Return how many claims have a status."""
        return sum(verdict.status == status for verdict in self.verdicts)


def make_section(id: str, lab: LabMetadata, store: Store, times: Timings) -> Section:
    """Return the section of one experiment, from the results that are there."""
    chosen = experiment_of(id, lab.grid)
    runs = chosen.runs(lab.full_profile())
    missing = sum(not store.has(run) for run in runs)
    seconds = times.of([run.key for run in runs])
    if missing:
        command = lab.command_for(id, resume=True)
        return Section(experiment=chosen, command=command, runs=runs, missing=missing, seconds=seconds)
    results = store.load_all(runs)
    return Section(
        experiment=chosen,
        command=lab.command_for(id),
        runs=runs,
        missing=0,
        seconds=seconds,
        table=chosen.table(results),
        summary=chosen.summary(results),
        verdicts=chosen.verdicts_of(results, lab.full_profile()),
        svg=figure_svg(
            chosen.figure(results),
            title=chosen.title,
            description=f"{chosen.note} The numbers are in the table that follows the figure.".strip(),
            prefix=f"figure-{id}",
        ),
    )
