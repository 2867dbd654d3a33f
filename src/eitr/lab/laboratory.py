"""The lab as a value: a folder of results, and everything that can be made of it. This is what notebooks use.

from eitr.lab import run_experiments
lab = run_experiments(["convergence"], profile="quick", out="results")
lab.figure("convergence").savefig("convergence.svg")
"""

import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from eitr import __version__
from eitr.cluster.engine import LOCAL, Engine
from eitr.cluster.ray_cluster import Cluster, connected
from eitr.datasets.interface import Examples
from eitr.datasets.own.files import is_named_by_content, named
from eitr.datasets.own.options import FileOptions
from eitr.datasets.registry import check_options, is_own, load
from eitr.errors import InputError
from eitr.lab.experiments.comparison import Comparison
from eitr.lab.experiments.comparison_grid import Grid
from eitr.lab.experiments.interface import ClaimVerdict, Experiment, Table
from eitr.lab.experiments.registry import experiment, experiment_of
from eitr.lab.results.metadata import (
    METADATA,
    LabMetadata,
    add_timing,
    comparison_profile,
    read_metadata,
    write_metadata,
)
from eitr.lab.results.store import Results, Store
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.private_training import NEEDS_START, make_training, with_pool
from eitr.lab.runs.profile import Profile, make_profile
from eitr.lab.runs.run import Run
from eitr.lab.runs.start import RANDOM, StartModel, find_start
from eitr.lab.simulation.compute import check_runs, compute, examples_for, pick_device, slower_rules
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.population import ROOT_SHARE
from eitr.lab.simulation.progress import Tally, progress_shown
from eitr.lab.simulation.spread import pick_device_on, spread
from eitr.pages.vocabulary import Vocabulary
from eitr.plugins import loaded_files, loaded_packages
from eitr.robust.threads import thread_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_SEEDS = 3
"""Of a comparison."""


@dataclass(frozen=True)
class Lab:
    """Finished experiments in a folder."""

    folder: Path
    profile: Profile
    grid: Mapping[str, Any] = field(default_factory=dict)
    """What was compared; empty for the experiments of the registry."""

    def results(self, id: str) -> Results:
        """Return everything recorded of an experiment's runs."""
        return Store(self.folder).load_all(self._experiment(id).runs(self.profile))

    def figure(self, id: str) -> "Figure":
        """Draw an experiment's figure."""
        return self._experiment(id).figure(self.results(id))

    def table(self, id: str) -> Table:
        """Return the numbers behind an experiment's figure."""
        return self._experiment(id).table(self.results(id))

    def report(self) -> Path:
        """Write the report and the table of all numbers, `rounds.parquet`, into the folder; return the HTML page."""
        from eitr.lab.report import make_report

        return make_report(self.folder)

    def verdicts(self, id: str) -> list[ClaimVerdict]:
        """Judge the claims about an experiment; runs of the quick profile are too short for that, and only measure."""
        return self._experiment(id).verdicts_of(self.results(id), self.profile)

    def _experiment(self, id: str) -> Experiment:
        return experiment_of(id, self.grid)


def open_lab(folder: str | Path) -> Lab:
    """Open the folder of an earlier run."""
    metadata = read_metadata(Path(folder))
    return Lab(Path(folder), metadata.full_profile(), metadata.grid)


def run_experiments(
    ids: Sequence[str],
    *,
    out: str | Path,
    data: str = "builtin",
    start: str = RANDOM,
    profile: str = "paper",
    device: str = "auto",
    seeds: int | None = None,
    data_dir: str | Path | None = None,
    options: FileOptions | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    quiet: bool = True,
    engine: str = LOCAL,
) -> Lab:
    """Compute all runs of some experiments, each distinct run once, and keep them in a folder.

    With `resume`, what an earlier call left in the folder is kept, finished or not; without, the folder must be new.
    `data` is a data set of the registry, a prepared .npz file, or your own file or folder, read as `options`
    say; `start` the model that federations start from: `random`, `shipped`, or a folder with `model.safetensors` and
    `vocabulary.json`, whose words the pages' vectors then have; `seeds` how many seeds, the profile's by default;
    `quiet=False` shows progress; `engine="ray"` or `"ray:HOST:PORT"` spreads the runs over a Ray cluster.
    """
    engine_of = Engine.parse(engine)
    chosen = [experiment(id) for id in ids]
    if not chosen:
        raise InputError("name at least one experiment; `eitr lab list` shows them")
    model = find_start(start)
    source = find_data(data, options, model)
    how = _Computation(Path(out), source, model, device, data_dir, resume, checkpoint_seconds, quiet, engine_of)
    pool = "" if model is None else model.pool_file_digest
    asked = make_profile(profile, data=source.name, seeds=seeds, start=_name_of(model), pool=pool)
    return _run(chosen, asked, {}, how)


def compare(
    rules: str | Sequence[str] | None = None,
    attacks: str | Sequence[str] | None = None,
    *,
    out: str | Path,
    attackers: Sequence[float] | None = None,
    clients: Sequence[int] | None = None,
    alpha: Sequence[float] | None = None,
    participation: Sequence[float] | None = None,
    training: str | Sequence[str] | None = None,
    rounds: int | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
    seeds: int | None = None,
    data: str | None = None,
    start: str | None = None,
    device: str = "auto",
    data_dir: str | Path | None = None,
    options: FileOptions | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    quiet: bool = True,
    engine: str = LOCAL,
) -> Lab:
    """Compute every rule under every attack in every setting, and keep the results in a folder.

    Rules and attacks are names with their settings, `["fused", "trimmed-mean:beta=0.2"]`, or one text with commas.
    `attackers` are shares of the clients, and so is `participation`, the clients that take part in a round. `training`
    is written like rules: `["paper", "private:layers=2:noise=4"]`; the private way needs a start with cover pages. What
    is None has the value of the class `Grid`; with `resume`, that of the folder. `data`, `options` and `start` are
    as in `run_experiments`. `lab.table("compare")`, `lab.figure("compare")` and `lab.report()` then show the results.
    """
    engine_of = Engine.parse(engine)
    folder = Path(out)
    before = read_metadata(folder) if resume and (folder / METADATA).exists() else None
    if before is not None and not before.grid:
        raise InputError(f"{folder} holds no comparison: choose another --out")
    given: dict[str, Any] = {
        "rules": rules.split(",") if isinstance(rules, str) else rules,
        "attacks": attacks.split(",") if isinstance(attacks, str) else attacks,
        "attackers": attackers,
        "clients": clients,
        "alpha": alpha,
        "participation": participation,
        "training": training.split(",") if isinstance(training, str) else training,
        "rounds": rounds,
        "steps": steps,
        "learning_rate": learning_rate,
    }
    if resume and before is None and rules is None:
        raise InputError(f"there is nothing to resume in {folder}: choose another --out, or name rules and attacks")
    if start is None:
        start = before.start_argument if before else RANDOM
    model = find_start(start)
    if given["training"] is not None:
        # The pool is part of what determines the results.
        given["training"] = [_training_with_pool(text, model) for text in given["training"]]
    held = {} if before is None else dict(before.grid)
    chosen = {name: list(value) if isinstance(value, Sequence) else value for name, value in given.items()}
    grid = Grid.from_json(held | {name: value for name, value in chosen.items() if value is not None})
    if before is not None and grid.as_json() != held:
        raise InputError(f"{folder} holds another comparison: resume it without options, or choose another --out")
    if data is None:
        data = before.data_path() if before else "builtin"
        if before and not (options and options.arguments()):
            options = before.file_options()
    source = find_data(data, options, model)
    if seeds is None:
        seeds = before.seeds if before else DEFAULT_SEEDS
    profile = comparison_profile(source.name, seeds, _name_of(model))
    how = _Computation(folder, source, model, device, data_dir, resume, checkpoint_seconds, quiet, engine_of)
    return _run([Comparison(grid)], profile, grid.as_json(), how)


def _training_with_pool(text: str, start: StartModel | None) -> str:
    if make_training(text) is None:
        return text
    if start is None:
        raise InputError(NEEDS_START)
    return with_pool(text, start.pool_digest)


class _Computation(NamedTuple):
    """How runs are computed, whatever they are."""

    folder: Path
    source: "LabData"
    start: StartModel | None
    """The model that federations start from; None: a random one for each seed."""
    device: str
    data_dir: str | Path | None
    resume: bool
    checkpoint_seconds: float
    quiet: bool
    engine: Engine = Engine()


def _run(chosen: Sequence[Experiment], profile: Profile, grid: Mapping[str, Any], how: _Computation) -> Lab:
    """Compute all runs of some experiments that the folder does not have yet."""
    if how.engine.is_local:
        return _run_on(None, chosen, profile, grid, how)
    with connected(how.engine.address) as cluster:
        return _run_on(cluster, chosen, profile, grid, how)


def _run_on(
    cluster: Cluster | None,
    chosen: Sequence[Experiment],
    profile: Profile,
    grid: Mapping[str, Any],
    how: _Computation,
) -> Lab:
    """Compute runs on a cluster, or in this process."""
    if not how.checkpoint_seconds >= 0:
        raise InputError(
            f"the seconds between checkpoints must be a number of at least 0, not {how.checkpoint_seconds}"
        )
    ids = [one.id for one in chosen]
    folder, source, store = how.folder, how.source, Store(how.folder)
    where = pick_device(how.device) if cluster is None else pick_device_on(cluster, how.device)
    before = _existing(folder, profile, how.resume)
    runs = distinct_runs(chosen, profile)
    open_runs = [run for run in runs if not store.has(run)]
    files = None if how.data_dir is None else Path(how.data_dir)
    # Before the folder is touched: with bad data, or runs that this device cannot compute, nothing is left behind.
    check_runs(open_runs, where)
    data = source.name if source.examples is None else source.examples
    examples = examples_for(open_runs, data, files, _vocabulary_of(how.start))
    digest = _check_data(folder, profile.data, open_runs, examples or source.examples, before)
    tally = Tally(len(open_runs), sum(getattr(run, "rounds", 1) for run in open_runs))
    if not how.quiet:
        _announce(runs, open_runs, tally, where, cluster)
    found_hardware = hardware(where) if cluster is None else hardware_of(cluster)
    _prepare(folder, ids, profile, where, before, grid, how, data_digest=digest, found_hardware=found_hardware)
    start, seconds = time.perf_counter(), dict[str, float]()
    try:
        with progress_shown(tally, quiet=how.quiet) as callback:
            context = Context(
                device=where,
                store=store,
                data_dir=files,
                on_progress=callback,
                checkpoint_seconds=how.checkpoint_seconds,
            )
            if cluster is None:
                finished = compute(open_runs, context, examples, how.start)
            else:
                finished = spread(open_runs, cluster, context, examples, how.start)
            for done in finished:
                store.save(done.run, done.arrays)
                seconds[done.run.key] = round(done.seconds, 4)
    finally:
        total = round(time.perf_counter() - start, 2)
        call = {"experiments": ids, "data": profile.data, "device": where.type, "seconds": total}
        add_timing(folder, {**call, "runs": seconds})
    return Lab(folder, profile, grid)


def _announce(
    runs: Sequence[Run], open_runs: Sequence[Run], tally: Tally, device: torch.device, cluster: Cluster | None
) -> None:
    """Say how much there is to do, and which rules will take longer."""
    done = f", {len(runs) - len(open_runs)} more are finished" if len(open_runs) < len(runs) else ""
    spread_over = "" if cluster is None else f" of a Ray cluster of {cluster.nodes} nodes"
    print(f"{len(open_runs)} runs with {tally.total} rounds on {device.type}{spread_over}{done}", file=sys.stderr)
    for name in slower_rules(open_runs, device):
        print(f"the rule {name!r} has no batched form: it runs on the processor, run by run", file=sys.stderr)


@dataclass(frozen=True)
class LabData:
    """The data of a lab: their name in runs and results, and the examples if the name depends on them."""

    name: str
    arguments: tuple[str, ...]
    """The words of a command that name the data: `--data` with the whole path of a file, then the options."""
    examples: Examples | None = None


def find_data(data: str, options: FileOptions | None = None, start: StartModel | None = None) -> LabData:
    """Return the data that a user names. The user's own are read here, as their name contains a digest of them.

    A data set of the registry, and a file prepared from one, is known by its name alone.
    """
    path, vocabulary = Path(data), _vocabulary_of(start)
    if is_own(data):
        examples = load(data, options=options, vocabulary=vocabulary)
        words = options.arguments() if options else []
        return LabData(examples.name, ("--data", str(path.resolve()), *words), examples)
    check_options(data, options)
    if path.suffix == ".npz" and path.is_file():
        examples = load(data, vocabulary=vocabulary)
        own = is_named_by_content(examples.name)
        name = named(examples.name.partition("@")[0], examples) if own else data
        return LabData(name, ("--data", str(path.resolve())), examples)
    return LabData(data, ("--data", data))


def _name_of(start: StartModel | None) -> str:
    return RANDOM if start is None else start.name


def _vocabulary_of(start: StartModel | None) -> Vocabulary | None:
    return None if start is None else start.classifier.vocabulary


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
    # Another pool makes no conflict: the runs that depend on it have other keys, and are computed anew.
    if replace(before.full_profile(), pool=profile.pool) != profile:
        held = f"profile {before.profile}, data {before.data}, start {before.start}, seeds {before.seeds}"
        raise InputError(f"{folder} holds results of other settings ({held}): choose another --out")
    loaded = set(loaded_files().values())
    absent = [name for name, digest in before.plugins.items() if digest not in loaded]
    if absent and not loaded <= set(before.plugins.values()):
        raise InputError(
            f"the results in {folder} were computed with another {', '.join(absent)}: load the same plugins, or choose "
            "another --out"
        )
    return before


def _check_data(
    folder: Path, name: str, runs: Sequence[Run], examples: Examples | None, before: LabMetadata | None
) -> str:
    """Return the digest of the examples; refuse too few of them, and others than those of the folder's results."""
    known = before.data_digest if before else ""
    if examples is None:
        return known
    pages = int((~examples.test).sum())
    for run in runs:
        if isinstance(run, FederatedRun) and run.clients > pages - min(run.trusted, int(ROOT_SHARE * pages)):
            raise InputError(
                f"{name}: {pages} pages to train on are too few for {run.clients} clients and the trusted pages of the "
                "server: add pages, or take an experiment with fewer clients"
            )
    digest = examples.digest()
    if known and digest != known:
        raise InputError(f"{folder} holds results of data {name} with other content: choose another --out")
    return digest


def _prepare(
    folder: Path,
    ids: Sequence[str],
    profile: Profile,
    device: torch.device,
    before: LabMetadata | None,
    grid: Mapping[str, Any],
    how: _Computation,
    *,
    data_digest: str,
    found_hardware: dict[str, Any],
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
        data_digest=data_digest,
        data_arguments=list(how.source.arguments),
        start=profile.start,
        pool=profile.pool,
        start_argument=RANDOM if how.start is None else how.start.argument,
        grid=grid,
        plugins=loaded_files(before.plugins if before else None),
        device=device.type,
        hardware=found_hardware,
        versions={
            **(before.versions if before else {}),
            "eitr": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            **loaded_packages(),
        },
        started=started,
    )
    write_metadata(folder, replace(metadata, command=metadata.command_for(*experiments)))


def hardware_of(cluster: Cluster) -> dict[str, Any]:
    """Return what the nodes of a cluster have together."""
    return {"nodes": cluster.nodes, "processors": cluster.processors, "gpus": cluster.gpus}


def hardware(device: torch.device) -> dict[str, Any]:
    """Return the hardware that results are computed on, without the name of the machine."""
    found: dict[str, Any] = {"processors": os.cpu_count(), "threads": thread_count(), "machine": platform.machine()}
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found
