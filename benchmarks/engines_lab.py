"""The federation on the lab's engine for processors, and the model that it ends with."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from benchmarks.engines_setting import Setting
from eitr.datasets.registry import load
from eitr.flower.page_sources import classifier_of
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.row_table import row_table
from eitr.lab.simulation.sparse_engine import _Simulation
from eitr.model.network import Vector
from eitr.robust.threads import thread_count


def run_lab(setting: Setting, ids: Sequence[str] = ()) -> tuple[Vector, float]:
    """Return the last model and the seconds from the start to it, loading of the pages included.

    `ids` are what clients are called, where not by their numbers: rules order equal values by them.
    """
    began = time.monotonic()
    settings = setting.settings
    network, vector = classifier_of(settings.model).model
    examples = load(settings.data, size=settings.data_size, vocabulary=classifier_of(settings.model).vocabulary)
    run = FederatedRun(
        data=settings.data,
        rule=settings.make_rule(),
        clients=setting.clients,
        seed=setting.seed,
        trusted=settings.trusted,
        plan=settings.plan,
        start="shipped",
        rounds=setting.rounds,
    )
    torch.set_num_threads(1)
    with ThreadPoolExecutor(thread_count()) as threads:
        context = Context(device=torch.device("cpu"))
        simulation = _Simulation(run, row_table(examples, []), network, context, threads, vector)
        simulation._ids = list(ids) or simulation._ids
        simulation.finish()
    return simulation._model, time.monotonic() - began
