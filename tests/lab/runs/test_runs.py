from dataclasses import fields, replace
from typing import Any

import pytest

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.schedule import Schedule
from eitr.errors import InputError
from eitr.lab.runs.federated import FederatedRun, paper_rule
from eitr.lab.runs.private_training import PrivateTraining, make_training
from eitr.model.plan import TrainingPlan

RUN = FederatedRun(data="builtin", rule=paper_rule("reputation"), attack=LabelFlip(), attackers=3)

CHANGES: dict[str, Any] = {
    "seed": 1,
    "data": "covid",
    "rule": paper_rule("reputation", kappa=0.4),
    "clients": 11,
    "alpha": 0.5,
    "rounds": 99,
    "attack": LabelFlip(share=0.5),
    "attackers": 4,
    "schedule": Schedule.parse("from:2"),
    "plan": TrainingPlan(epochs=9),
    "steps": 150,
    "attacker_epochs": 5,
    "trusted": 300,
    "exclusive": "religion",
    "participation": 0.5,
    "start": "shipped@0123456789ab",
    "training": PrivateTraining(),
}
STARTED = replace(RUN, start="mine@0123456789ab")
"""Private training needs a start."""


def test_every_field_has_a_change_to_try():
    assert set(CHANGES) == {field.name for field in fields(FederatedRun)}


@pytest.mark.parametrize("name", CHANGES)
def test_the_key_changes_with_every_field(name):
    assert replace(STARTED, **{name: CHANGES[name]}).key != STARTED.key


def test_the_key_tells_attacks_and_rules_of_equal_settings_apart():
    keys = {replace(RUN, rule=paper_rule(name)).key for name in ("fedavg", "median", "foolsgold")}
    keys |= {replace(RUN, attack=attack).key for attack in (LabelFlip(), Backdoor())}
    assert len(keys) == 5


def test_equal_runs_have_equal_keys_now_and_later():
    again = FederatedRun(attackers=3, attack=LabelFlip(), rule=paper_rule("reputation"), data="builtin")
    assert again == RUN
    assert hash(again) == hash(RUN)
    # Files of results are named by keys: if this one changes, those of earlier versions are not found again.
    assert again.key == RUN.key == "12a7d64d559ea693b199"


def test_a_run_describes_itself_with_names_and_numbers():
    described = RUN.describe()
    assert described["is"] == "federated"
    assert described["rule"]["rescale"] == "paper"
    assert described["attack"] == {
        "is": "label-flip",
        "extra_epochs": 5,
        "share": 1.0,
        "source": "health",
        "target": "non-sensitive",
    }


def test_a_field_that_was_added_later_is_part_of_a_key_only_where_it_is_used():
    assert "attacker_epochs" not in RUN.describe()
    assert replace(RUN, attacker_epochs=5).describe()["attacker_epochs"] == 5
    assert "participation" not in RUN.describe()
    assert replace(RUN, participation=0.5).describe()["participation"] == 0.5
    assert "training" not in RUN.describe()
    told = replace(STARTED, training=make_training("private:layers=2:pool=0123456789ab")).describe()["training"]
    assert (told["is"], told["layers"], told["pool"]) == ("private", 2, "0123456789ab")


def test_results_of_rules_that_have_got_a_setting_are_found_under_their_old_names():
    for name in ("fused", "foolsgold", "fldetector"):
        run = replace(RUN, rule=paper_rule(name))
        assert "start" not in run.describe()["rule"]
        assert replace(RUN, rule=paper_rule(name, start=7)).key != run.key
    assert replace(RUN, rule=paper_rule("fused")).key == "9a38fbc98dade6616793"


def test_private_training_without_a_start_is_one_line():
    with pytest.raises(InputError, match="private training needs a model to start from"):
        replace(RUN, training=PrivateTraining())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("secret", "training is paper, or private with settings, not 'secret'"),
        ("paper:layers=1", "training is paper, or private with settings"),
        ("private:layers=0", "private: layers must be a whole number, at least 1"),
        ("private:noise=-1", "private: noise must be a number, at least 0"),
        ("private:expected_cover=hide", "expected_cover must be keep or subtract or drop"),
        ("private:steps=3", "'private' has no setting 'steps'"),
    ],
)
def test_a_way_to_train_that_there_is_not_is_one_line(text, words):
    with pytest.raises(InputError, match=words):
        make_training(text)


def test_attackers_train_the_plans_epochs_and_those_of_the_attack_unless_the_run_says_how_many():
    assert RUN.epochs_of_attackers == 15
    assert replace(RUN, attack=LabelFlip(extra_epochs=2)).epochs_of_attackers == 12
    assert replace(RUN, attacker_epochs=5).epochs_of_attackers == 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"attacker_epochs": -1}, "a count, not -1"),
        ({"attack": None, "attackers": 0, "attacker_epochs": 5}, "leave attacker_epochs at 0"),
    ],
)
def test_epochs_of_attackers_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(InputError, match=words):
        replace(RUN, **changes)


def test_rules_are_as_the_paper_ran_them():
    rule: Any = paper_rule
    assert rule("reputation").rescale == "paper"
    assert rule("reputation", rescale="median").rescale == "median"
    assert rule("trimmed-mean", 3, 10).beta == pytest.approx(0.3)
    assert rule("trimmed-mean", 5, 10).beta == pytest.approx(0.4)  # below a half, or nobody is left


def test_success_of_both_attacks_is_measured_where_nobody_attacks():
    assert list(replace(RUN, attack=None, attackers=0).probes) == ["label-flip", "backdoor"]
    assert RUN.probes == {"label-flip": LabelFlip()}
    assert RUN.title == "reputation, label-flip 3/10, seed 0"
