"""The ServerApp of the page classifier: runs the rounds that are left, then writes the model beside the checkpoint."""

from collections.abc import Callable
from logging import INFO
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.supercore import log

from eitr.flower.page_sources import (
    LabelledRows,
    classifier_of,
    measured_pages,
    named_layers,
    seed_of,
    trained,
    trusted_pages,
)
from eitr.flower.round_step import Arrays
from eitr.flower.run_settings import PARTITION_IDENTITY, RunSettings
from eitr.flower.strategy import Root, RuleStrategy, arrays_of, record_of, vector_of
from eitr.io.atomic import write_together
from eitr.model.files import to_safetensors
from eitr.model.network import Network, Vector
from eitr.model.validation import ValidationPages

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run a federation; if there is a checkpoint, go on with it."""
    run_pages(grid, RunSettings.read(context.run_config))


def run_pages(grid: Grid, settings: RunSettings) -> None:
    """Run a federation of page classifiers with these settings."""
    classifier = classifier_of(settings.model)
    network, vector = classifier.model
    strategy = page_strategy(settings)
    result = strategy.start(
        grid,
        record_of(named_layers(network, vector)),
        num_rounds=settings.rounds,
        timeout=settings.timeout,
        evaluate_fn=_accuracy(network, measured_pages(settings, settings.nodes)),
    )
    finished = np.asarray(vector_of(arrays_of(result.arrays)), np.float32)
    write_together(
        {
            strategy.folder / "model.safetensors": to_safetensors(network, finished),
            strategy.folder / "vocabulary.json": classifier.vocabulary.to_json().encode(),
        }
    )
    log(INFO, "The model is in %s", strategy.folder)


def page_strategy(settings: RunSettings) -> RuleStrategy:
    """Return the strategy of a federation of page classifiers."""
    network = classifier_of(settings.model).model.network
    rule = settings.make_rule()
    trusted = trusted_pages(settings, settings.nodes)
    return RuleStrategy(
        rule,
        Path(settings.checkpoint).absolute(),
        seed=settings.seed,
        nodes=settings.nodes,
        wait=settings.wait,
        fewest=settings.fewest,
        share=settings.share,
        most_examples=settings.most_examples,
        settings=settings.same_for_all_runs(),
        root=_root(network, trusted, settings) if "root" in rule.needs else None,
        scorer=trusted.losses if len(trusted.labels) else None,
        by_partition=settings.identity == PARTITION_IDENTITY,
    )


def _root(network: Network, pages: ValidationPages, settings: RunSettings) -> Root:
    """Return the server's own training: its number is the one behind the last node's, as in the lab."""

    def root(number: int, model: Arrays) -> Vector:
        own = LabelledRows(pages.rows, pages.labels)
        return trained(network, vector_of(model), own, settings, seed_of(settings.seed, number, settings.nodes))

    return root


def _accuracy(network: Network, pages: ValidationPages) -> Callable[[int, ArrayRecord], MetricRecord]:
    every = np.arange(len(pages.labels), dtype=np.int64)

    def accuracy(number: int, arrays: ArrayRecord) -> MetricRecord:
        logits = pages.logits(np.asarray(vector_of(arrays_of(arrays)), np.float32), every)
        return MetricRecord({"accuracy": float((logits.argmax(axis=1) == pages.labels).mean())})

    return accuracy
