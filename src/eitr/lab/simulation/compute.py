"""Compute runs of any kind: each is passed to the module that computes its kind."""

import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import torch

from eitr.compiled import JIT
from eitr.datasets.interface import Examples
from eitr.datasets.registry import load
from eitr.errors import InputError
from eitr.lab.aggregation.one_by_one import OneByOne
from eitr.lab.aggregation.registry import batched_form
from eitr.lab.results.store import Computed
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.privacy import DefenceRun
from eitr.lab.runs.run import Run
from eitr.lab.runs.start import RANDOM, StartModel
from eitr.lab.runs.study import RatingRun, StudyRun
from eitr.lab.simulation.context import Context
from eitr.model.network import Network
from eitr.pages.pool import Pool
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

KINDS = {
    "synthetic": "eitr.lab.simulation.synthetic",
    "convex": "eitr.lab.simulation.convex",
    "image": "eitr.lab.simulation.images.run",
}
"""Where the runs that are computed one by one have their function `compute(run, context)`."""
ON_PAGES = (FederatedRun, DefenceRun, StudyRun, RatingRun)
"""The kinds of runs that are computed together, on the pages of a data set."""
HIDDEN = (256, 32)
"""The hidden layers of the paper's network."""


def compute(
    runs: Sequence[Run], context: Context, examples: Examples | None, start: StartModel | None = None
) -> Iterator[Computed]:
    """Compute runs of any kinds, the federations on these examples; each is yielded as soon as it is finished.

    Federations start from `start`, whose vocabulary made the examples, or each from a random model of its seed.
    """
    check_runs(runs, context.device)
    federated = [run for run in runs if isinstance(run, FederatedRun)]
    if federated and examples is not None:
        given = RANDOM if start is None else start.name
        if any(run.start != given for run in federated):
            raise InputError(f"there are runs that do not start from {given!r}: compute them with their own start")
        network = Network((examples.rows.width, *HIDDEN, len(examples.classes)))
        initial = pool = None
        if start is not None:
            network, initial = start.classifier.model
            pool = _pool_for(federated, start)
        if sparse(context.device):
            from eitr.lab.simulation import sparse_engine

            yield from sparse_engine.run_all(federated, examples, network, context, initial, pool)
        else:
            from eitr.lab.simulation import batched_engine

            yield from batched_engine.run_all(federated, examples, network, context, initial)
    for run in runs:
        if not isinstance(run, ON_PAGES):
            began = time.perf_counter()
            arrays = import_module(KINDS[run.kind]).compute(run, context)
            yield Computed(run, arrays, time.perf_counter() - began)
    observed = [run for run in runs if isinstance(run, DefenceRun)]
    if observed and examples is not None and start is not None:
        for run in observed:
            if run.pool not in ("", start.pool_digest):
                raise InputError(
                    f"there are runs with the pool {run.pool}, and the pool of the start is {start.pool_digest}"
                )
        yield from import_module("eitr.lab.simulation.privacy.run").run_all(observed, examples, start, context)
    if examples is not None:
        yield from _studies(runs, context, examples, start)


def _studies(runs: Sequence[Run], context: Context, examples: Examples, start: StartModel | None) -> Iterator[Computed]:
    rated = [run for run in runs if isinstance(run, RatingRun)]
    if rated:
        yield from import_module("eitr.lab.simulation.ratings").run_all(rated, examples)
    studies = [run for run in runs if isinstance(run, StudyRun)]
    if studies and start is not None:
        yield from import_module("eitr.lab.simulation.study").run_all(studies, examples, start, context)


def check_runs(runs: Sequence[Run], device: torch.device) -> None:
    """Refuse federations that cannot be computed on a device, before anything is."""
    for run in runs:
        if isinstance(run, StudyRun) and run.start == RANDOM:
            raise InputError(
                "a study of a new topic starts from a trained model: give --start shipped, or a folder with "
                "model.safetensors, vocabulary.json and pool.bin"
            )
        if isinstance(run, DefenceRun) and run.start == RANDOM:
            raise InputError(
                "what updates tell is measured with a trained model and its pool of cover pages: give --start shipped, "
                "or a folder with model.safetensors, vocabulary.json and pool.bin"
            )
        if not isinstance(run, FederatedRun):
            continue
        run.rule.for_clients(run.participants)
        if run.training is not None and not sparse(device):
            raise InputError(
                "private training is computed by the engine for processors alone: take --device cpu, on a machine with "
                "numba"
            )
        if run.attack is not None and run.attack.needs_rehearsal and not sparse(device):
            raise InputError(
                f"the attack {run.attack.name!r} tries updates on the rule before it sends one, which only the engine "
                "for processors can do: take --device cpu, on a machine with numba"
            )


def _pool_for(runs: Sequence[FederatedRun], start: StartModel) -> Pool | None:
    """Return the pool of the start if a run trains the private way; refuse runs that were asked with another."""
    asked = {run.training.pool for run in runs if run.training is not None}
    for pool in asked - {"", start.pool_digest if asked else ""}:
        raise InputError(
            f"there are runs with the pool {pool}, and the pool of the start is {start.pool_digest}: leave out the "
            "setting `pool`, or give the start with that pool"
        )
    return start.pool if asked else None


def slower_rules(runs: Sequence[Run], device: torch.device) -> list[str]:
    """Return the names of the rules that this device computes run by run, because they have no batched form."""
    if sparse(device):
        return []
    found = [run for run in runs if isinstance(run, FederatedRun)]
    slow = (run for run in found if batched_form(run.rule, all_present=run.participants == run.clients) is OneByOne)
    return list(dict.fromkeys(run.rule.name for run in slow))


def examples_for(
    runs: Sequence[Run], data: str | Examples, data_dir: Path | None, vocabulary: Vocabulary | None = None
) -> Examples | None:
    """Return the data of those among some runs that need pages, loaded unless they are here; None without such runs.

    Without a vocabulary the words are chosen on the training pages.
    """
    if not any(isinstance(run, ON_PAGES) for run in runs):
        return None
    examples = data if isinstance(data, Examples) else load(data, data_dir=data_dir, vocabulary=vocabulary)
    if not examples.test.any():
        raise InputError(f"{examples.name} has no test pages: nothing could be measured")
    if examples.classes != NAMES:
        raise InputError(f"{examples.name} has the classes {', '.join(examples.classes)}, not {', '.join(NAMES)}")
    return examples


def sparse(device: torch.device) -> bool:
    """Return whether the engine for processors is used: it needs compiled kernels."""
    return device.type == "cpu" and JIT


def pick_device(name: str) -> torch.device:
    """Return the device of a name: "auto" is a GPU if there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"the device is auto, cpu or cuda, not {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("torch finds no CUDA device here: take --device cpu, or install a torch built for CUDA")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")
