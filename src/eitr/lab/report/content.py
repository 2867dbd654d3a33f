"""The content of a report, before it becomes HTML, JSON or Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eitr.lab.experiments.interface import (
    FAILS,
    HOLDS,
    MEASURED,
    OPEN,
    STATUSES,
    ClaimVerdict,
    Experiment,
    Table,
)
from eitr.lab.experiments.registry import experiment_of
from eitr.lab.experiments.scenario import FLIP, READINGS
from eitr.lab.plotting import figure_svg
from eitr.lab.results.metadata import COMPARE, LabMetadata, Timings
from eitr.lab.results.store import Store
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.run import Run

CLAIMED, WANTED = "the paper says", "our goal"
OTHER = "other claims"
"""The heading of verdicts that are for no reading of the paper's method."""
ABOUT_READINGS = (
    "The paper's method has three readings here: its text (the rule reputation), its published code, which computes "
    "something else (the rule published-code), and what EITR uses instead (the rule fused, without validation pages). "
    "Where a reading has no verdict, the experiment was not run with it."
)


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

    def count(self, status: str, reading: str | None = None) -> int:
        """Return how many verdicts have a status; of one reading, if there is one ("": those of none)."""
        return sum(one.status == status for one in self.verdicts if reading in (None, one.reading))

    @property
    def claims(self) -> list[list[ClaimVerdict]]:
        """Return the verdicts on each claim: one, or one for each reading of the paper's method."""
        found: dict[str, list[ClaimVerdict]] = {}
        for verdict in self.verdicts:
            found.setdefault(verdict.claim, []).append(verdict)
        return list(found.values())


def count_verdicts(sections: Sequence[Section], reading: str | None = None) -> dict[str, int]:
    """Return how many verdicts have each status; of one reading, if it is given ("": those of none)."""
    return {status: sum(section.count(status, reading) for section in sections) for status in STATUSES}


def shown_statuses(sections: Sequence[Section]) -> tuple[str, ...]:
    """Return the statuses that tables of counts show: quick runs have one of their own, the others have the rest.

    Where no experiment makes a claim there is nothing to count.
    """
    if not makes_claims(sections):
        return ()
    return (MEASURED,) if count_verdicts(sections)[MEASURED] else (HOLDS, FAILS, OPEN)


def makes_claims(sections: Sequence[Section]) -> bool:
    """Return whether there are verdicts, or may be once all runs are finished."""
    return any(section.verdicts or not section.finished for section in sections)


def readings_of(sections: Sequence[Section]) -> dict[str, dict[str, int]]:
    """Return the readings that verdicts are for, each with its number of verdicts by status.

    Verdicts that are for no reading come last, as ""; where all are, there is nothing to return.
    """
    found = {verdict.reading for section in sections for verdict in section.verdicts}
    there = [reading for reading in (*READINGS.values(), "") if reading in found] if found - {""} else []
    return {reading: count_verdicts(sections, reading) for reading in there}


def local_work(lab: LabMetadata) -> str:
    """Return in words how much clients train in a round."""
    profile = lab.full_profile()
    if lab.grid:
        runs = [run for run in experiment_of(COMPARE, lab.grid).runs(profile) if isinstance(run, FederatedRun)]
        attackers = {
            run.steps * run.epochs_of_attackers // run.plan.epochs for run in runs if run.attack and not run.training
        }
        told = f", {' or '.join(map(str, sorted(attackers)))} for attackers" if attackers else ""
        ways = [_in_steps(runs[0].steps) + told] if any(run.training is None for run in runs) else []
        ways += ["one private step a round"] if any(run.training is not None for run in runs) else []
        return "; or ".join(ways)
    plan = profile.plan
    epochs = plan.epochs + FLIP.extra_epochs
    if profile.steps:
        honest, work = _in_steps(profile.steps), profile.steps * epochs // plan.epochs
    else:
        honest, work = f"{plan.epochs} epochs of at most {plan.max_batches} batches a round", epochs
    return f"{honest}, {work} for attackers, unless an experiment says otherwise"


def _in_steps(steps: int) -> str:
    return f"{steps} steps a round for every honest client, whatever its number of pages"


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
        verdicts=[
            replace(one, reading=one.reading or chosen.reading)
            for one in chosen.verdicts_of(results, lab.full_profile())
        ],
        svg=figure_svg(
            chosen.figure(results),
            title=chosen.title,
            description=f"{chosen.note} The numbers are in the table that follows the figure.".strip(),
            prefix=f"figure-{id}",
        ),
    )
