"""One federation on several engines: what is compared, and that the models are the same."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from benchmarks.engines_lab import run_lab
from benchmarks.engines_setting import DEPLOYMENT, ENGINES, HTTP, Setting, accuracy, configuration, first_model
from benchmarks.engines_table import compare, report

SMALL = Setting(clients=3, rounds=1, size=200, trusted=20)


def test_every_engine_says_which_lines_it_wants():
    lines, more = configuration(SMALL), configuration(Setting(clients=5))
    assert set(lines) == set(ENGINES)
    assert all(line.strip() for written in lines.values() for line in written)
    assert len(more[DEPLOYMENT]) - len(lines[DEPLOYMENT]) == 3 * 2
    assert len(more[HTTP]) == len(lines[HTTP])


def test_the_lab_trains_the_model_that_all_are_compared_with():
    vector, seconds = run_lab(SMALL)
    again, _ = run_lab(SMALL)
    assert vector.tobytes() == again.tobytes()
    assert np.abs(vector - first_model(SMALL)).max() > 1e-3
    assert 0 <= accuracy(SMALL, vector) <= 1
    assert seconds > 0


def test_a_setting_survives_the_way_to_another_process():
    assert Setting.read(SMALL.text) == SMALL


@pytest.mark.long
def test_the_server_computes_the_model_of_the_lab(tmp_path):
    found = compare(Setting(clients=4, rounds=2, size=300), [HTTP], tmp_path)
    assert [row["difference"] for row in found["engines"]] == [0.0, 0.0]
    assert len({row["accuracy"] for row in found["engines"]}) == 1
    assert "HTTP server" in report(found)
