"""What simulated people say about pages."""

import itertools

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.study import CAREFUL, CONFUSED, CONTRARY, HURRIED, MALICIOUS, PersonKind, StudyRun
from eitr.lab.simulation.people import kinds_of, label_of, labels_of
from eitr.taxonomy import NAMES, NON_SENSITIVE

HEALTH = NAMES.index("health")
TRUTH = np.array([HEALTH, HEALTH, NON_SENSITIVE] * 700)
PAGES = range(len(TRUTH))


def study(**changed):
    return StudyRun(**{"data": "builtin", "start": "shipped", "rule": paper_rule("fedavg"), **changed})


def wrong(kind, person=1, seed=0):
    return (labels_of(kind, seed, person, PAGES, TRUTH) != TRUTH).mean()


def mean_wrong(kind):
    return np.mean([wrong(kind, person) for person in range(30)])


def test_of_fifty_people_so_many_are_of_each_kind_as_the_shares_say():
    names = [kind.name for kind in kinds_of(study())]
    assert {name: names.count(name) for name in set(names)} == {
        "careful": 30,
        "hurried": 6,
        "confused": 12,
        "contrary": 2,
    }


def test_whoever_is_malicious_among_few_is_so_among_many_and_the_others_stay_what_they_are():
    none, few, many = (kinds_of(study(malicious=share)) for share in (0.0, 0.1, 0.3))
    attacking = [{place for place, kind in enumerate(kinds) if kind is MALICIOUS} for kinds in (none, few, many)]
    assert [len(found) for found in attacking] == [0, 5, 15]
    assert attacking[1] < attacking[2]
    assert all(none[place] is many[place] for place in range(50) if place not in attacking[2])


def test_a_label_depends_on_the_seed_the_person_and_the_page_alone():
    every = labels_of(HURRIED, 3, 7, PAGES, TRUTH)
    assert labels_of(HURRIED, 3, 7, [40, 5], TRUTH).tolist() == [every[40], every[5]]
    assert (labels_of(HURRIED, 3, 8, PAGES, TRUTH) != every).any()
    assert (labels_of(HURRIED, 4, 7, PAGES, TRUTH) != every).any()


def test_people_err_as_often_as_their_kind_says():
    assert wrong(PersonKind(name="slips", slip=0.2)) == pytest.approx(0.2, abs=0.03)
    assert mean_wrong(CAREFUL) == pytest.approx(0.033 + 0.05, abs=0.02)
    assert mean_wrong(HURRIED) == pytest.approx(0.3 + 0.7 * 0.05, abs=0.03)
    assert mean_wrong(CONFUSED) == pytest.approx(0.033 + 0.967 * (2 / 3 * 0.3 + 1 / 3 * 0.15), abs=0.06)
    assert wrong(CONTRARY) == pytest.approx(0.9, abs=0.03)


def test_half_of_the_slips_confuse_sensitive_and_not_and_the_others_name_any_class():
    said = labels_of(PersonKind(name="slips", slip=1.0), 0, 0, PAGES, TRUTH)[TRUTH == HEALTH]
    assert HEALTH not in said
    assert set(said.tolist()) == set(range(len(NAMES))) - {HEALTH}
    assert (said == NON_SENSITIVE).mean() == pytest.approx(0.5 + 0.5 / 5, abs=0.04)


def test_confused_people_are_confused_by_the_same_pages():
    kind = PersonKind(name="confused", narrow=0.6)
    missed = [set(np.flatnonzero(labels_of(kind, 0, person, PAGES, TRUTH) != TRUTH)) for person in range(6)]
    missed.sort(key=len)
    assert all(less <= more for less, more in itertools.pairwise(missed))
    assert len(missed[-1]) > len(missed[0])


def test_malicious_people_call_sensitive_pages_harmless_and_nothing_else():
    assert {label_of(MALICIOUS, 0, 0, page, HEALTH) for page in range(50)} == {NON_SENSITIVE}
    assert {label_of(MALICIOUS, 0, 0, page, NON_SENSITIVE) for page in range(50)} == {NON_SENSITIVE}


@pytest.mark.parametrize(
    "changed",
    [{"clients": 0}, {"malicious": 1.5}, {"alpha": 0.0}, {"people": (CAREFUL,)}, {"pages_each": 0}, {"rounds": 0}],
)
def test_impossible_studies_are_refused(changed):
    with pytest.raises(InputError):
        study(**changed)
