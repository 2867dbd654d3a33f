"""The apps of the page classifier, with Flower's own grid: the same model as the lab's engine computes."""

import json

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")

from flwr.app import Context, RecordDict

from eitr.aggregation import make_rule
from eitr.errors import InputError
from eitr.flower import client_app, exchange, server_app
from eitr.flower.checkpoint import load_checkpoint
from eitr.flower.exchange import fingerprint
from eitr.flower.page_sources import pages_of_node
from eitr.flower.run_settings import RunSettings
from eitr.flower.strategy import vector_of
from eitr.model.classifier import Classifier

from .local_link import LocalLink

CONFIG = {
    "rounds": 2,
    "data": "builtin",
    "data-size": 300,
    "epochs": 2,
    "batch-size": 16,
    "trusted": 30,
    "seed": 5,
    "nodes": 4,
    "wait": 0.0,
    "timeout": 0.0,
}


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(exchange, "POLL_SECONDS", 0.0)


def run(folder, nodes=4, keys="key %d", places=range(4), **changed):
    """Run the apps; return the checkpoint."""
    config = {**CONFIG, "checkpoint": str(folder), **{name.replace("_", "-"): value for name, value in changed.items()}}
    link = LocalLink(config)
    for number, place in zip(range(nodes), places, strict=False):
        link.add((keys % number).encode(), client_app.app, partition_id=place, num_partitions=4)
    server_app.app(link, Context(link.run.run_id, 0, {}, RecordDict(), config))
    return load_checkpoint(folder, RunSettings.read(config).make_rule())


@pytest.mark.parametrize("rule", ["fused", "reputation", "fedavg", "median", "foolsgold"])
def test_the_model_is_the_one_of_the_lab(rule, tmp_path):
    from .lab_twin import twin

    found = run(tmp_path, rule=rule)
    ids = [fingerprint(b"key %d" % number) for number in range(4)]
    lab = twin(RunSettings.read({**CONFIG, "rule": rule}), ids)
    assert vector_of(found.model).tobytes() == lab.model_after(2).tobytes()
    assert found.state == lab._state
    assert np.abs(vector_of(found.model) - Classifier.shipped().model.vector).max() > 1e-3


def test_with_other_keys_the_model_is_the_same_if_nodes_are_known_by_their_partition(tmp_path):
    from .lab_twin import twin

    changed = {"rule": "reputation", "identity": "partition"}
    found = run(tmp_path / "one", **changed)
    other = run(tmp_path / "other", keys="another key %d", **changed)
    lab = twin(RunSettings.read({**CONFIG, **changed}), [f"{place:06d}" for place in range(4)])
    assert vector_of(found.model).tobytes() == vector_of(other.model).tobytes() == lab.model_after(2).tobytes()
    assert found.state == other.state == lab._state
    assert found.history[-1]["answered"] == ["000000", "000001", "000002", "000003"]


def test_two_nodes_of_one_partition_and_partitions_of_no_data_set_are_refused(tmp_path):
    with pytest.raises(InputError, match="same partition"):
        run(tmp_path, identity="partition", places=(0, 1, 1, 3))
    for bad in ({"identity": "name"}, {"identity": "partition", "data": ""}):
        with pytest.raises(InputError, match="identity"):
            RunSettings.read({**CONFIG, **bad})


@pytest.mark.parametrize("claimed", [None, -1, 10**9, 1.5])
def test_a_node_that_names_no_partition_is_known_by_its_key(claimed, tmp_path):
    def answers(message, context):
        reply = client_app.app(message, context)
        if claimed is None:
            del reply.content["metrics"]["partition-id"]
        else:
            reply.content["metrics"]["partition-id"] = claimed
        return reply

    config = {**CONFIG, "rounds": 1, "identity": "partition", "checkpoint": str(tmp_path)}
    link = LocalLink(config)
    for number in range(4):
        answer = answers if number == 3 else client_app.app
        link.add(b"key %d" % number, answer, partition_id=number, num_partitions=4)
    server_app.app(link, Context(link.run.run_id, 0, {}, RecordDict(), config))
    told = load_checkpoint(tmp_path, RunSettings.read(config).make_rule()).history[-1]
    assert told["answered"] == sorted(["000000", "000001", "000002", fingerprint(b"key 3")])
    assert told["silent"] == []


def test_a_run_on_pages_of_organisations_ends_with_a_model_that_classifies(tmp_path):
    config = {**CONFIG, "data": "", "rounds": 1, "rule": "fltrust", "nodes": 2, "checkpoint": str(tmp_path / "out")}
    link = LocalLink(config)
    for number, (text, label) in enumerate(
        [("insulin and blood sugar", "health"), ("the prayer of a church", "religion")]
    ):
        rows = [{"title": text, "text": f"{text} {word}", "label": label} for word in ("one", "two", "three")]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        link.add(b"key %d" % number, client_app.app, pages=str(tmp_path / f"{number}.jsonl"))
    server_app.app(link, Context(link.run.run_id, 0, {}, RecordDict(), config))
    found = Classifier.load(tmp_path / "out")
    assert found.vocabulary.words == Classifier.shipped().vocabulary.words
    assert not np.array_equal(found.model.vector, Classifier.shipped().model.vector)


def test_a_node_without_pages_fails_and_is_counted_as_silent(tmp_path):
    config = {**CONFIG, "rounds": 1, "checkpoint": str(tmp_path)}
    link = LocalLink(config)
    for number in range(3):
        link.add(b"key %d" % number, client_app.app, partition_id=number, num_partitions=4)
    link.add(b"key 3", client_app.app)
    server_app.app(link, Context(link.run.run_id, 0, {}, RecordDict(), config))
    told = load_checkpoint(tmp_path, RunSettings.read(config).make_rule()).history[-1]
    assert told["silent"] == [fingerprint(b"key 3")]
    assert told["refused"] == {}


def test_a_node_is_told_how_to_get_pages():
    settings = RunSettings.read(CONFIG)
    for node in ({}, {"partition-id": 0}):
        with pytest.raises(InputError, match="--node-config"):
            pages_of_node(settings, node)
    with pytest.raises(InputError, match="partition-id must be from 0 to 3, not 4"):
        pages_of_node(settings, {"partition-id": 4, "num-partitions": 4})


def test_settings_of_another_type_are_refused():
    for bad in (
        {"rounds": "3"},
        {"rounds": 0},
        {"seed": -1},
        {"epochs": 0},
        {"wait": -1.0},
        {"rule": 5},
        {"rounds": True},
    ):
        with pytest.raises(InputError):
            RunSettings.read(bad)
    with pytest.raises(InputError, match="no rule"):
        RunSettings.read({"rule": "none"}).make_rule()
    made = RunSettings.read({"rule": "trimmed-mean", "rule-settings": "beta=0.3 ramp=2"}).make_rule()
    assert made == make_rule("trimmed-mean", beta=0.3, ramp=2)
