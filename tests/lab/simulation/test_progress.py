import math
import sys

import pytest

from eitr.lab.runs.federated import FederatedRun, paper_rule
from eitr.lab.simulation import progress
from eitr.lab.simulation.progress import Tally, progress_shown


def make(seed):
    return FederatedRun(data="builtin", rule=paper_rule("fedavg"), rounds=2, seed=seed)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("eitr.lab.simulation.progress.time.monotonic", lambda: now[0])
    return now


def test_a_line_says_how_far_everything_is(clock):
    tally = Tally(2, 4)
    tally.note(make(0), 1, 2)
    clock[0] += 60
    assert tally.line(make(0), 0.5) == (
        "0/2 runs, 1/4 rounds, 1:00 passed, 3:00 left; fedavg, no attack, seed 0, accuracy 0.500"
    )
    tally.note(make(0), 2, 2)
    assert tally.line(make(1), math.nan) == "1/2 runs, 2/4 rounds, 1:00 passed, 1:00 left; fedavg, no attack, seed 1"


def test_rounds_before_a_checkpoint_are_neither_done_now_nor_left_to_do(clock):
    tally = Tally(1, 100)
    tally.note(make(0), 41, 100)
    tally.note(make(0), 42, 100)
    assert (tally.rounds, tally.total, tally.finished) == (2, 60, 0)


def test_lines_come_now_and_then_where_nobody_watches(clock, capsys):
    with progress_shown(Tally(1, 10)) as watch:
        for done in range(1, 11):
            watch(make(0), done, 10, 0.5)
            clock[0] += progress.LINE_SECONDS / 4
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[1] for line in lines] == [" 1/10 rounds", " 5/10 rounds", " 9/10 rounds"]


def test_bars_are_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_shown(Tally(1, 2)) as watch:
        watch(make(0), 1, 2, math.nan)
        watch(make(0), 2, 2, 0.5)
    shown = capsys.readouterr().err
    assert "rounds" in shown
    assert "2/2" in shown
    assert "seed 0" in shown


def test_quiet_is_quiet(capsys):
    with progress_shown(Tally(1, 2), quiet=True) as watch:
        watch(make(0), 1, 2, 0.5)
    assert capsys.readouterr().err == ""
