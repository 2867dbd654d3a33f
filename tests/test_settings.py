"""Settings: every bound of the specification, both sides of it."""

import dataclasses
import math
import re

import pytest

from eitr.aggregation import RULES, make_rule
from eitr.errors import InputError
from eitr.settings import parse_settings, settings_of, spelled
from tests.aggregation.cases import ALL_RULES

TINY = 1e-12
REFUSED = {
    ("reputation", "varpi"): (0.0, -1.0),
    ("reputation", "lambda_"): (0.0, -2.0),
    ("reputation", "W"): (0.0, -1e-9),
    ("reputation", "delta"): (0.0, 1.0, -0.1, 1.1),
    ("reputation", "a"): (-TINY, 1 + TINY, 2.0),
    ("reputation", "kappa"): (-TINY, 1 + TINY, -3.0),
    ("reputation", "s"): (-1, 10_001, 2.0, 2.5, "2"),
    ("reputation", "c"): (-TINY, -1.0),
    ("reputation", "rescale"): ("mean", "", 1, None, "Median"),
    ("reputation", "cutoff"): (1, 0, "true", None),
    ("residual", "delta"): (0.0, 1.0, -0.1),
    ("residual", "lambda_"): (0.0, -2.0),
    ("trimmed-mean", "beta"): (-TINY, 0.5, 0.6, 1.0),
    **{(name, "ramp"): (-1, 1.0, 0.5, "3", True) for name in ALL_RULES},
}
ACCEPTED = {
    ("reputation", "varpi"): (1e-6, 2, 1e7),
    ("reputation", "lambda_"): (1e-6, 10.0),
    ("reputation", "W"): (1e-9, 100),
    ("reputation", "delta"): (TINY, 1 - TINY),
    ("reputation", "a"): (0, 0.0, 1, 1.0),
    ("reputation", "kappa"): (0, 0.0, 1, 1.0),
    ("reputation", "s"): (0, 1, 10_000),
    ("reputation", "c"): (0, 0.0, 50.0),
    ("reputation", "rescale"): ("median", "paper"),
    ("reputation", "cutoff"): (True, False),
    ("trimmed-mean", "beta"): (0.0, 0, 0.49),
    ("fedavg", "ramp"): (0, 1, 1000),
}


def complaint(rule, name, value):
    """What is said about a setting; None if it is taken."""
    try:
        make_rule(rule, **{name: value})
    except InputError as error:
        return str(error)
    return None


def test_a_setting_outside_its_bounds_is_refused_by_name():
    cases = [(rule, name, value) for (rule, name), values in REFUSED.items() for value in values]
    said = [(*case, complaint(*case) or "taken") for case in cases]
    unclear = [
        (rule, name, value, text)
        for rule, name, value, text in said
        if not re.match(rf"{rule}: {name.removesuffix('_')} must be .*, not ", text)
    ]
    assert unclear == []


@pytest.mark.parametrize("rule", ALL_RULES)
def test_what_is_not_an_ordinary_number_is_refused_for_every_setting(rule):
    settings = [item.name for item, _ in settings_of(RULES[rule]) if item.default is not None]
    strange = [math.nan, math.inf, -math.inf, None, [], 10**400]
    taken = [(name, value) for name in settings for value in strange if complaint(rule, name, value) is None]
    assert taken == []


def test_a_setting_at_its_bounds_is_taken():
    for (rule, name), values in ACCEPTED.items():
        assert [getattr(make_rule(rule, **{name: value}), name) for value in values] == list(values)


def test_the_defaults_are_those_of_the_papers_table():
    rule = make_rule("reputation")
    numbers = {"a": 0.5, "W": 2.0, "kappa": 0.3, "c": 0.5, "s": 10, "delta": 0.1, "varpi": 2.0, "lambda_": 2.0}
    assert dataclasses.asdict(rule) == {**numbers, "rescale": "median", "cutoff": False, "ramp": 0}
    assert dataclasses.asdict(make_rule("trimmed-mean")) == {"ramp": 0, "beta": 0.2}


def test_every_rule_is_listed_and_knows_its_name():
    assert {"fused", "reputation", "fedavg", "median"} < set(RULES)
    assert all(RULES[name].name == name for name in RULES)


def test_an_unknown_rule_is_refused_with_the_list_of_rules():
    with pytest.raises(InputError, match="no rule 'krum'; there are: fused, reputation, fedavg"):
        make_rule("krum")


def test_every_setting_has_a_help_text_and_says_what_it_may_be():
    for name in ALL_RULES:
        listed = settings_of(RULES[name])
        assert spelled(listed[-1][0]) == "ramp"
        for item, bounds in listed:
            assert len(bounds.help) > 10, (name, item.name)
            assert isinstance(item.default, bool) or bounds.describe(), (name, item.name)


def test_settings_are_read_from_text():
    texts = ["kappa=0.4", "s=3", "lambda=1.5", "rescale=paper", "cutoff=TRUE", "a=1e-1"]
    assert parse_settings(RULES["reputation"], texts) == {
        "kappa": 0.4,
        "s": 3,
        "lambda_": 1.5,
        "rescale": "paper",
        "cutoff": True,
        "a": 0.1,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kappa", "written name=value"),
        ("", "written name=value"),
        ("gamma=1", "no setting 'gamma'; it has: a, W, kappa"),
        ("lambda_=1", "no setting 'lambda_'"),
        ("kappa=", "kappa must be a number, not ''"),
        ("kappa=much", "kappa must be a number"),
        ("s=1.5", "s must be a whole number"),
        ("s=1e2", "s must be a whole number"),
        ("cutoff=yes", "cutoff must be true or false"),
        ("s=" + "9" * 5000, "s must be a whole number"),
    ],
)
def test_a_text_that_sets_nothing_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        make_rule("reputation", **parse_settings(RULES["reputation"], [text]))
