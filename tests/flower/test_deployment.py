"""A federation of real processes through everything that can go wrong, and the lab's engine beside it."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")
pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.attacks.sign_flip import SignFlip
from eitr.flower.checkpoint import load_checkpoint
from eitr.flower.project import write_project
from eitr.flower.run_settings import RunSettings
from eitr.flower.strategy import vector_of
from eitr.model.classifier import Classifier

from .deployment import Deployment
from .lab_twin import twin

ROUNDS, NODES = 6, 4
CONFIG = {
    "rounds": ROUNDS,
    "nodes": NODES,
    "seed": 5,
    "rule": "fused",
    "data": "builtin",
    "data-size": 600,
    "epochs": 2,
    "batch-size": 16,
    "wait": 600.0,
    "timeout": 600.0,
}
SCALE = 5.0


def done(folder, rule):
    """Return how many rounds are done."""
    found = load_checkpoint(folder, rule)
    return -1 if found is None else found.round


@pytest.mark.long
def test_a_federation_survives_attackers_and_restarts_and_ends_with_the_model_of_the_lab(tmp_path):
    settings = RunSettings.read(CONFIG)
    rule, out = settings.make_rule(), tmp_path / "out"
    (attacker,) = twin(settings, "abcd", attack=SignFlip(scale=SCALE), attackers=1).attackers
    sends_nan, restarts, steady = (other for other in range(NODES) if other != attacker)
    project = tmp_path / "project"
    write_project(project)
    spoiled = Path(__file__).with_name("misbehaving_client_app.py.txt").read_text()
    (project / "page_federation" / "client_app.py").write_text(spoiled)
    config = " ".join(f"{name}={json.dumps(value)}" for name, value in {**CONFIG, "checkpoint": str(out)}.items())
    behaviour = {attacker: f'behaviour="sign-flip" scale={SCALE}', sends_nan: 'behaviour="nan"'}

    with Deployment(tmp_path) as flower:
        flower.start_superlink()
        ids = [
            flower.add_node(f"org{place}", f"partition-id={place} num-partitions={NODES} {behaviour.get(place, '')}")
            for place in range(NODES)
        ]
        first = flower.run(project, config)
        flower.wait_until(lambda: done(out, rule) >= 1, "round 1 is done")
        flower.kill(f"org{restarts}", signal.SIGTERM)
        flower.start_node_until_it_stays(f"org{restarts}")
        flower.wait_until(lambda: done(out, rule) >= 3, "round 3 is done")
        flower.kill("superlink", signal.SIGKILL)
        before = load_checkpoint(out, rule)
        assert before.round < ROUNDS
        flower.start_superlink()
        second = flower.run(project, config)
        flower.wait_until(lambda: load_checkpoint(out, rule).run == second, "the second run takes over")
        taken = load_checkpoint(out, rule)
        flower.kill(f"org{restarts}", signal.SIGKILL)
        flower.start_node_until_it_stays(f"org{restarts}")
        flower.wait_until((out / "model.safetensors").exists, "the run ends")
        found = load_checkpoint(out, rule)

    assert found.run == second != first
    assert [told["round"] for told in found.history] == list(range(1, ROUNDS + 1))
    # Nothing was lost and nothing forgiven: the second run began where the first had ended.
    assert taken.history[: before.round] == before.history
    assert all(told["answered"] == sorted(ids) and told["silent"] == [] for told in found.history)
    assert all(told["refused"] == {ids[sends_nan]: "sent a NaN"} for told in found.history)
    assert found.nodes == {id: f"org{place}" for place, id in enumerate(ids)}

    lab = twin(settings, ids, attack=SignFlip(scale=SCALE), attackers=1, nan=[sends_nan])
    expected = lab.model_after(ROUNDS)
    difference = np.abs(vector_of(found.model) - expected).max()
    print(f"largest difference from the lab's model: {difference}")
    assert difference < 1e-6
    assert np.array_equal(Classifier.load(out).model.vector, vector_of(found.model))
    reputations = [rule.standing(found.state, id) for id in ids]
    print(f"reputations: {reputations}; attacker {attacker}, NaN {sends_nan}")
    assert reputations == pytest.approx(lab.reputations(), abs=1e-6)
    assert reputations[sends_nan] < 0.1 < reputations[attacker] < min(reputations[restarts], reputations[steady]) - 0.2


@pytest.mark.long
def test_a_key_is_let_in_only_if_it_is_registered_and_is_registered_only_once(tmp_path):
    with Deployment(tmp_path) as flower:
        flower.start_superlink()
        flower.add_node("org0", "partition-id=0 num-partitions=2")
        flower.wait_until(lambda: flower.connections("org0"), "the registered node connects")
        flower.make_key("org1", "partition-id=1 num-partitions=2")
        flower.start_node("org1")
        assert flower.process("org1").wait() != 0
        assert flower.connections("org1") == 0
        with pytest.raises(AssertionError, match="already in use"):
            flower.flwr("supernode", "register", str(tmp_path / "org0.pub"), "here")
