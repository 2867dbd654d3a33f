"""The benchmark measures what it says: its straightforward version computes our rule, and a run leaves all results."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("torch", reason="the benchmark compares with PyTorch (make setup-dev)")

import torch

from benchmarks import clients, peers
from benchmarks.acceptance import verdicts
from benchmarks.contenders import REPUTATION, RESIDUAL, STRAIGHTFORWARD, TORCH_MEDIAN
from benchmarks.inputs import make_input
from benchmarks.memory import Memory
from benchmarks.straightforward import reputation_rule
from benchmarks.timing import Timing, Timings
from eitr.aggregation import Round, make_rule

ROOT = Path(__file__).parents[2]
OURS = [REPUTATION, f"{REPUTATION}, 30% ties", f"{REPUTATION}, 49% ties", "EITR residual"]
PEERS = [f"ByzFL {name}" for name in ("Median", "TrMean", "MultiKrum", "GeometricMedian", "CenteredClipping")]


@pytest.mark.parametrize(
    ("clients", "ties", "shift"),
    [(3, 0.0, 0.0), (10, 0.0, 0.2), (10, 0.3, 3.0), (25, 0.3, 0.0), (25, 0.0, 3.0), (25, 0.3, 0.2)],
)
def test_straightforward_version_computes_our_rule(clients, ties, shift):
    base, updates, ids = make_input(clients, 1500, ties=ties, seed=clients)
    updates[: clients // 4] += np.float32(shift)
    rule = make_rule("reputation")
    _, ours = rule.update(rule.init(), Round(base, updates, ids))
    # A slope tensor of 100 kB: many chunks, the last one not full.
    theirs = reputation_rule(torch.from_numpy(updates), chunk_bytes=100_000)
    # In float32 a confidence very close to the threshold may fall on its other side.
    assert np.abs(theirs.positive.numpy() - ours.positive).max() <= 1
    assert np.array_equal(theirs.positive + theirs.negative, np.full(clients, 1500))
    np.testing.assert_allclose(theirs.weights, ours.weights, atol=0.01)
    np.testing.assert_allclose(theirs.model, ours.model, atol=1e-3)
    assert np.median(np.abs(theirs.model.numpy() - ours.model)) < 1e-6


def test_straightforward_version_gives_equal_clients_equal_weights():
    outcome = reputation_rule(torch.full((5, 7), 0.25))
    assert outcome.weights.tolist() == [0.2] * 5
    assert outcome.model.tolist() == [0.25] * 7
    assert outcome.negative.tolist() == [0] * 5


def test_input_has_the_ties_it_promises():
    base, updates, ids = make_input(20, 5000, ties=0.3)
    assert (updates == base).mean() == pytest.approx(0.3, abs=0.01)
    assert np.std(updates - base) == pytest.approx(0.05 * 0.7**0.5, rel=0.02)
    assert sorted(ids) == ids


def _timings(clients, **seconds):
    names = {"ours": REPUTATION, "median": TORCH_MEDIAN, "straightforward": STRAIGHTFORWARD}
    return Timings(clients, [Timing(names[name], clients, 1000, taken) for name, taken in seconds.items()])


def test_ratios_are_taken_within_a_repeat():
    # The machine was ten times slower in the second repeat: the ratios do not notice.
    timings = _timings(10, ours=[2.0, 20.0, 2.0], median=[1.0, 10.0, 1.0], straightforward=[8.0, 80.0, 8.0])
    assert timings.of(REPUTATION).times(timings.torch_median) == 2.0
    assert timings.straightforward.times(timings.of(REPUTATION)) == 4.0


def test_promises_are_judged_by_what_was_measured():
    timings = [
        _timings(10, ours=[1.0], median=[0.25], straightforward=[2.9]),
        _timings(100, ours=[8.0], median=[1.0], straightforward=[200.0]),
    ]
    found = verdicts(timings, [Memory(REPUTATION, 100, 1_000_000, 400, 401)])
    assert [verdict.holds for verdict in found] == [False, True, True, True, False]
    assert [verdict.measured for verdict in found] == [2.9, 25.0, 4.0, 8.0, 401 / 400]
    assert all(verdict.holds is None for verdict in verdicts([], []))


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, "-m", "benchmarks.bench", "--quick", "--clients", "4", "9", "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def _contenders():
    return [*OURS, STRAIGHTFORWARD, TORCH_MEDIAN, *(PEERS if peers.installed() else [])]


@pytest.mark.long
def test_quick_run_prints_a_table_with_everybody(quick_run):
    folder, printed = quick_run
    assert (folder / "bench.md").read_text(encoding="utf-8") == printed
    rows = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("| ")]
    for name in _contenders():
        assert rows.count(name) >= 2  # at 4 and at 9 clients
    widths = {line.count("|") for line in printed.splitlines() if line.startswith("|")}
    assert widths == {7, 4}  # six columns for time, three for memory: no row is torn
    assert "not measured: at 100 clients at least 25x faster" in printed
    assert ("pip install --no-deps" in printed) == (not peers.installed())


@pytest.mark.long
def test_quick_run_writes_its_numbers_as_json(quick_run):
    folder, _ = quick_run
    report = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    assert {(row["contender"], row["clients"]) for row in report["timings"]} == {
        (name, clients) for name in _contenders() for clients in (4, 9)
    }
    for row in report["timings"]:
        assert len(row["seconds_per_million"]) == report["repeats"] == 2
        assert 0 < row["fastest"] <= row["median"]
    assert {"processor", "cores", "threads", "versions", "load_average"} <= set(report["machine"])
    assert len(report["acceptance"]) == 5


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_quick_run_measures_memory(quick_run):
    folder, _ = quick_run
    memory = json.loads((folder / "bench.json").read_text(encoding="utf-8"))["memory"]
    assert [row["contender"] for row in memory] == [REPUTATION, RESIDUAL, TORCH_MEDIAN, STRAIGHTFORWARD]
    assert all(row["input_bytes"] == 4 * row["clients"] * row["parameters"] for row in memory)
    # Slopes, their sorted copy and their positions are there at once: ten clients need 10 * 10 * 16 bytes a parameter.
    assert memory[-1]["peak_bytes"] > 10 * 10 * 16 * memory[-1]["parameters"] * 0.9


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no matplotlib (make setup-dev)")
def test_quick_run_draws_a_plot_that_names_everybody(quick_run):
    folder, _ = quick_run
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    texts = {element.text for element in ElementTree.parse(folder / "bench.svg").iter() if element.tag.endswith("text")}
    assert set(_contenders()) <= texts


def test_bad_options_are_refused():
    command = [sys.executable, "-m", "benchmarks.bench", "--clients", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "at least 3" in done.stderr


def test_the_cost_by_number_of_clients_is_written_as_a_table_and_a_picture(tmp_path):
    assert clients.main(["--quick", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "clients.json").read_text())
    assert found["clients"] == [10, 20]
    assert {"EITR reputation", "EITR fused", "torch.median"} <= set(found["seconds"])
    assert all(second > 0 for times in found["seconds"].values() for second in times)
    assert ElementTree.parse(tmp_path / "clients.svg").getroot().tag.endswith("svg")
    assert "slope" in (tmp_path / "clients.md").read_text()


def test_the_slope_is_the_exponent_of_the_number_of_clients():
    assert clients.slope([10, 1000, 10_000], [1.0, 2.0, 20.0]) == pytest.approx(1.0)
    assert clients.slope([10, 20], [1.0, 4.0]) == pytest.approx(2.0)
