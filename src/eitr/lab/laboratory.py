"""The lab as a value: a folder of results, and everything that can be made of it. This is what notebooks use.

from eitr.lab import run_experiments
lab = run_experiments(["convergence"], profile="quick", out="results")
lab.figure("convergence").savefig("convergence.svg")
"""

import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from eitr import __version__
from eitr.errors import InputError
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.registry import experiment
from eitr.lab.results.metadata import (
    METADATA,
    LabMetadata,
    add_timing,
    read_metadata,
    run_command,
    write_metadata,
)
from eitr.lab.results.store import Results, Store
from eitr.lab.runs.profile import Profile, make_profile
from eitr.lab.runs.run import Run
from eitr.lab.simulation.compute import check_runs, compute, examples_for, pick_device, slower_rules
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.progress import Tally, progress_shown
from eitr.robust.threads import thread_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Lab:
    """Finished experiments in a folder."""

    folder: Path
    profile: Profile

    def results(self, id: str) -> Results:
        """Return everything recorded of an experiment's runs."""
        return Store(self.folder).load_all(experiment(id).runs(self.profile))

    def figure(self, id: str) -> "Figure":
        """Draw an experiment's figure."""
        return experiment(id).figure(self.results(id))

    def table(self, id: str) -> Table:
        """Return the numbers behind an experiment's figure."""
        return experiment(id).table(self.results(id))

    def report(self) -> Path:
        """Write the report and the table of all numbers, `rounds.parquet`, into the folder; return the HTML page."""
        from eitr.lab.report import make_report

        return make_report(self.folder)

    def verdicts(self, id: str) -> list[ClaimVerdict]:
        """Judge the paper's claims about an experiment."""
        return experiment(id).verdicts(self.results(id))


def open_lab(folder: str | Path) -> Lab:
    """Open the folder of an earlier run."""
    return Lab(Path(folder), read_metadata(Path(folder)).full_profile())


def run_experiments(
    ids: Sequence[str],
    *,
    out: str | Path,
    data: str = "builtin",
    profile: str = "paper",
    device: str = "auto",
    seeds: int | None = None,
    data_dir: str | Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    quiet: bool = True,
) -> Lab:
    """Compute all runs of some experiments, each distinct run once, and keep them in a folder.

    With `resume`, what an earlier call left in the folder is kept, finished or not; without, the folder must be new.
    `data` is a data set of the registry or a prepared .npz file; `seeds` how many seeds, the profile's by default;
    `quiet=False` shows progress.
    """
    chosen = [experiment(id) for id in ids]
    if not chosen:
        raise InputError("name at least one experiment; `eitr lab list` shows them")
    if not checkpoint_seconds >= 0:
        raise InputError(f"the seconds between checkpoints must be a number of at least 0, not {checkpoint_seconds}")
    settings = make_profile(profile, data=data, seeds=seeds)
    folder, store = Path(out), Store(Path(out))
    where = pick_device(device)
    before = _existing(folder, settings, resume)
    open_runs = [run for run in distinct_runs(chosen, settings) if not store.has(run)]
    files = None if data_dir is None else Path(data_dir)
    # Before the folder is touched: with bad data, or runs that this device cannot compute, nothing is left behind.
    check_runs(open_runs, where)
    examples = examples_for(open_runs, data, files)
    if not quiet:
        for name in slower_rules(open_runs, where):
            print(
                f"the rule {name!r} has no batched form: it combines updates run by run, on the processor, "
                "which is slower",
                file=sys.stderr,
            )
    _prepare(folder, ids, settings, where, before)
    start, seconds = time.perf_counter(), dict[str, float]()
    tally = Tally(len(open_runs), sum(getattr(run, "rounds", 1) for run in open_runs))
    try:
        with progress_shown(tally, quiet=quiet) as callback:
            context = Context(
                device=where,
                store=store,
                data_dir=files,
                on_progress=callback,
                checkpoint_seconds=checkpoint_seconds,
            )
            for done in compute(open_runs, context, examples):
                store.save(done.run, done.arrays)
                seconds[done.run.key] = round(done.seconds, 4)
    finally:
        total = round(time.perf_counter() - start, 2)
        call = {"experiments": list(ids), "data": settings.data, "device": where.type, "seconds": total}
        add_timing(folder, {**call, "runs": seconds})
    return Lab(folder, settings)


def distinct_runs(experiments: Sequence[Experiment], profile: Profile) -> list[Run]:
    """Return the runs of several experiments; one that two of them share comes once."""
    found = {run.key: run for one in experiments for run in one.runs(profile)}
    return list(found.values())


def _existing(folder: Path, profile: Profile, resume: bool) -> LabMetadata | None:
    """Return the metadata of an existing result folder; refuse a folder that cannot be continued."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder: choose another --out")
    if not folder.exists() or not any(folder.iterdir()):
        return None
    if not resume:
        raise InputError(f"{folder} is not empty: continue with --resume, or choose another --out")
    if not (folder / METADATA).exists():
        if any(entry.name != "runs" for entry in folder.iterdir()):
            raise InputError(f"{folder} holds other files than results: choose another --out")
        return None
    before = read_metadata(folder)
    if before.full_profile() != profile:
        held = f"profile {before.profile}, data {before.data}, seeds {before.seeds}"
        raise InputError(f"{folder} holds results of other settings ({held}): choose another --out")
    return before


def _prepare(
    folder: Path, ids: Sequence[str], profile: Profile, device: torch.device, before: LabMetadata | None
) -> None:
    """Write `lab.json`; the experiments of earlier calls stay in it."""
    experiments = list(dict.fromkeys([*(before.experiments if before else ()), *ids]))
    started = before.started if before else datetime.now(UTC).isoformat(timespec="seconds")
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from error
    metadata = LabMetadata(
        experiments=experiments,
        profile=profile.name,
        data=profile.data,
        seeds=len(profile.seeds),
        command=run_command(experiments, profile),
        device=device.type,
        hardware=hardware(device),
        versions={
            "eitr": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
        started=started,
    )
    write_metadata(folder, metadata)


def hardware(device: torch.device) -> dict[str, Any]:
    """Return the hardware that results are computed on, without the name of the machine."""
    found: dict[str, Any] = {"processors": os.cpu_count(), "threads": thread_count(), "machine": platform.machine()}
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found
