"""The benchmark of the engines is fair: the loop does our work and learns what we learn; no number is made up."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the benchmark compares with PyTorch (make setup-dev)")

import torch

from benchmarks import engine
from benchmarks.engine_loop import initial_weights, make_model, run_loop
from benchmarks.engine_ours import make_work, paper_settings, run_ours
from benchmarks.engine_report import (
    FLOWER,
    LOOP,
    LOOP_ONE_THREAD,
    OURS,
    Measured,
    Report,
    as_json,
    as_markdown,
    verdicts,
)
from benchmarks.engine_work import read_work, write_work
from eitr.compiled import JIT
from eitr.model.network import Network

ROUNDS = 10
compiled = pytest.mark.skipif(not JIT, reason="our engine needs compiled kernels")


@pytest.fixture(autouse=True)
def _patient_threads(monkeypatch):
    """PyTorch's threads wait by spinning, which on a busy machine takes minutes."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")  # for the processes that a test starts
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def settings():
    # From few pages something is learned in few rounds only with a higher rate, and with clients that are alike.
    return replace(paper_settings(3000, clients=4), learning_rate=0.1, alpha=5.0)


@pytest.fixture(scope="module")
def work(settings):
    return make_work(settings)


@compiled
@pytest.mark.long
def test_the_loop_does_our_steps_and_learns_what_our_engine_learns(settings, work):
    ours, loop = run_ours(settings, ROUNDS), run_loop(work, ROUNDS)
    assert ours.steps == loop.steps
    assert ours.accuracies[-1] > 0.75  # half of the pages are of one class
    assert loop.accuracies[-1] == pytest.approx(ours.accuracies[-1], abs=0.03)
    assert len(ours.ends) == len(loop.ends) == ROUNDS
    assert sorted(loop.ends) == loop.ends


def test_the_loop_begins_with_our_first_model(settings, work):
    model = make_model(settings)
    model.load_state_dict(initial_weights(work))
    model.eval()
    outputs = work.test.inputs[:20]
    for layer in Network(settings.layers).split(work.initial):
        expected = outputs @ layer.kernel + layer.bias
        outputs = np.maximum(expected, 0)
    found = model(torch.from_numpy(work.test.inputs[:20])).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_work_survives_being_written_and_read(work, tmp_path):
    write_work(work, tmp_path)
    found = read_work(tmp_path)
    assert found.settings == work.settings
    assert np.array_equal(found.initial, work.initial)
    for mine, yours in zip([*found.clients, found.test], [*work.clients, work.test], strict=True):
        assert np.array_equal(mine.inputs, yours.inputs)
        assert np.array_equal(mine.labels, yours.labels)


def _measured(contender, *seconds, accuracy=0.89):
    return Measured(contender, list(seconds), [accuracy] * (len(seconds) + 1), 2040, 0.5)


def _report(settings, *measured, quick=False):
    machine = {"processor": "one", "cores": 2, "threads": 2, "load_average": 0.5, "versions": {"python": "3"}}
    return Report(machine, settings, measured, quick, [])


def test_everybody_is_compared_with_our_starts_before_and_after(settings):
    # The machine became half as fast meanwhile.
    report = _report(
        settings, _measured(OURS, 1.0), _measured(FLOWER, 15.0), _measured(LOOP, 6.0), _measured(OURS, 2.0)
    )
    assert report.ratios(FLOWER) == [10.0]
    assert report.ratios(LOOP) == [4.0]
    assert report.ratios(OURS) == [1.0, 1.0]


def test_promises_are_judged_by_what_was_measured(settings):
    measured = [
        _measured(OURS, 1.0, 1.0),
        _measured(LOOP, 8.0, 8.0),
        _measured(LOOP_ONE_THREAD, 2.9),  # the faster of the two counts
        _measured(FLOWER, 12.0, 12.0, accuracy=0.86),
    ]
    flower, loop, same = verdicts(_report(settings, *measured))
    assert str(flower) == "holds: at least 10x Flower: 12.0x"
    assert str(loop) == "falls short: at least 3x the loop: 2.90x"
    assert str(same) == "falls short: after 3 rounds accuracies at most 2 points apart: 3.0 points"
    assert all(verdict.holds is None for verdict in verdicts(_report(settings, *measured, quick=True)))


def test_without_flower_there_is_no_number_for_it(settings):
    report = _report(settings, _measured(OURS, 1.0), _measured(LOOP, 4.0), _measured(OURS, 1.0))
    printed = as_markdown(report)
    assert "not measured: at least 10x Flower" in printed
    assert "holds: at least 3x the loop: 4.00x" in printed
    assert FLOWER not in printed
    assert [row["contender"] for row in as_json(report)["engines"]] == [OURS, LOOP]


def test_an_interpreter_without_flower_is_refused_with_advice(tmp_path, capsys):
    assert engine.main(["--flower-python", str(tmp_path / "python"), "--out", str(tmp_path)]) == 2
    assert "requirements-engine.txt" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_contender_that_fails_ends_the_run_with_what_it_said(tmp_path):
    with pytest.raises(engine.StartFailedError, match=r"settings\.json"):
        engine.start(engine.Contender(LOOP, "benchmarks.engine_loop"), tmp_path, 2)


@pytest.mark.long
@compiled
def test_a_quick_run_prints_its_table_and_writes_its_numbers(tmp_path, capsys):
    assert engine.main(["--quick", "--size", "300", "--without-flower", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "engine.md").read_text(encoding="utf-8") == printed
    assert "the numbers mean nothing" in printed
    assert "Flower, on request" in printed
    found = json.loads((tmp_path / "engine.json").read_text(encoding="utf-8"))
    assert [one["contender"] for one in found["measured"]] == [OURS, LOOP, LOOP_ONE_THREAD, LOOP, OURS]
    assert all(len(one["seconds"]) == 1 and one["seconds"][0] > 0 for one in found["measured"])
    assert len({one["steps"] for one in found["measured"]}) == 1
    assert len(found["acceptance"]) == 3


def test_flower_can_be_installed_by_the_versions_we_name():
    lines = (Path(engine.__file__).parent / "requirements-engine.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")][-1] == "flwr[simulation]>=1.41,<1.43"
