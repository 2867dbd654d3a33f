"""Raters who label the same pages, blind to each other, drawn from the model of human error."""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from eitr.datasets.interface import Examples
from eitr.lab.results.store import Computed
from eitr.lab.runs.study import CAREFUL, CONFUSED, RatingRun
from eitr.lab.simulation.people import labels_of


def run_all(runs: Sequence[RatingRun], examples: Examples) -> Iterator[Computed]:
    """Let raters label the test pages of the data."""
    truth = examples.labels[np.flatnonzero(examples.test)]
    for run in runs:
        began = time.perf_counter()
        kinds = [CAREFUL] * run.careful + [CONFUSED] * run.confused
        labels = [labels_of(kind, run.seed, rater, range(len(truth)), truth) for rater, kind in enumerate(kinds)]
        arrays = {"page_truth": truth, "ratings": np.array(labels)}
        yield Computed(run, arrays, time.perf_counter() - began)
