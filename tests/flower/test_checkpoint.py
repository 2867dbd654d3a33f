"""The checkpoint: one file, replaced as a whole, that belongs to one run."""

from dataclasses import replace

import numpy as np
import pytest

from eitr.aggregation import make_rule
from eitr.errors import InputError
from eitr.flower.checkpoint import (
    FILE,
    Checkpoint,
    TakenOverError,
    checked_model,
    load_checkpoint,
    rule_of,
    save_checkpoint,
    take_over,
)
from eitr.flower.round_step import combine

from .test_round_step import MODEL, replies

RULE = make_rule("fused")


def checkpoint(rounds=3, run=7):
    state, model = RULE.init(), dict(MODEL)
    for number in range(1, rounds + 1):
        outcome = combine(RULE, state, model, {**replies(5), "node5": "sent nothing"}, number=number)
        state, model = outcome.state, dict(outcome.model)
    # In another order than that of the alphabet: a model is a vector in this order.
    return Checkpoint(rounds, model, state, {"seed": 1}, {"node5": "Órg"}, ({"round": rounds},), run)


def test_what_is_saved_is_loaded(tmp_path):
    saved = checkpoint()
    take_over(tmp_path / "new", saved)
    found = load_checkpoint(tmp_path / "new", RULE)
    assert list(found.model) == list(saved.model) == ["kernel", "bias", "seen"]
    assert all(found.model[name].tobytes() == saved.model[name].tobytes() for name in MODEL)
    assert found.state == saved.state
    assert RULE.standing(found.state, "node5") == RULE.standing(saved.state, "node5") is not None
    assert (found.round, found.run, found.settings, found.nodes, found.history) == (
        *(3, 7, {"seed": 1}, {"node5": "Órg"}),
        ({"round": 3},),
    )
    assert rule_of(tmp_path / "new") == "fused"


def test_a_folder_without_a_checkpoint_has_none(tmp_path):
    assert load_checkpoint(tmp_path, RULE) is None
    with pytest.raises(InputError, match="cannot be read"):
        rule_of(tmp_path)


def test_a_run_that_was_taken_over_can_save_no_more(tmp_path):
    old = checkpoint(run=7)
    take_over(tmp_path, old)
    save_checkpoint(tmp_path, replace(old, round=4))
    take_over(tmp_path, replace(old, round=4, run=8))
    with pytest.raises(TakenOverError, match="run 8 took over the checkpoint of run 7"):
        save_checkpoint(tmp_path, replace(old, round=5))
    assert load_checkpoint(tmp_path, RULE).round == 4


def test_a_crash_while_saving_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    take_over(tmp_path, checkpoint())
    before = (tmp_path / FILE).read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        save_checkpoint(tmp_path, checkpoint(4))
    assert (tmp_path / FILE).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.lock", FILE]


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    take_over(tmp_path, checkpoint())
    with pytest.raises(InputError, match="the state of the rule 'fused', not of 'median'"):
        load_checkpoint(tmp_path, make_rule("median"))
    whole = (tmp_path / FILE).read_bytes()
    for damaged in (
        whole[:-1],
        b"",
        whole.replace(b"eitr-flower", b"eitr-fl0wer"),
        whole.replace(b'"round"', b'"rounb"'),
    ):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(InputError, match="start anew in another folder"):
            load_checkpoint(tmp_path, RULE)


def test_a_model_of_types_that_cannot_be_stored_is_refused_before_the_first_round():
    with pytest.raises(InputError, match="'half' has the type float16"):
        checked_model({"half": np.zeros(2, np.float16)})
