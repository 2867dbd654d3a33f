"""Pages are drawn for people by a seed: skewed as a Dirichlet distribution is, never twice for one person."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.datasets.task_draw import draw_person, draw_replacement, draw_tasks
from eitr.errors import InputError
from tests.examples import examples

SIX = [name for name in "abcdef" for _ in range(50)]


@examples(60, 200)
@given(
    groups=st.lists(st.sampled_from("abcd"), min_size=1, max_size=60),
    people=st.integers(0, 6),
    each=st.integers(1, 25),
    alpha=st.sampled_from([1e-300, 0.05, 0.9, 100.0, 1e300, math.inf]),
    seed=st.integers(0, 2**40),
    least=st.integers(0, 4),
)
def test_nobody_gets_a_page_twice_and_everybody_as_many_as_there_are(groups, people, each, alpha, seed, least) -> None:
    drawn = draw_tasks(groups, people, each, alpha, seed, least_ratings=least)
    assert len(drawn) == people
    for mine in drawn:
        assert len(mine) == len(set(mine)) == min(each, len(groups))
        assert set(mine) <= set(range(len(groups)))
    assert drawn == draw_tasks(groups, people, each, alpha, seed, least_ratings=least)


def test_a_person_s_pages_depend_on_the_seed_and_their_number_alone() -> None:
    all_at_once = draw_tasks(SIX, 8, 20, 0.9, seed=3)
    assert [draw_person(SIX, 20, 0.9, 3, number) for number in reversed(range(8))] == all_at_once[::-1]
    assert draw_tasks(SIX, 8, 20, 0.9, seed=4) != all_at_once
    assert len({tuple(mine) for mine in all_at_once}) == 8


def test_a_longer_draw_begins_like_a_shorter_one() -> None:
    assert draw_person(SIX, 40, 0.9, 1, 2)[:20] == draw_person(SIX, 20, 0.9, 1, 2)


def test_the_share_of_a_group_varies_between_people_as_dirichlet_s_does() -> None:
    """With alpha = 0.9 and 6 groups, a share has the mean 1/6 and the variance (1/6)(5/6) / (6 * 0.9 + 1)."""
    drawn = draw_tasks(SIX, 800, 20, 0.9, seed=0)
    shares = np.array([[sum(SIX[page] == name for page in mine) / 20 for name in "abcdef"] for mine in drawn])
    assert shares.mean(axis=0) == pytest.approx(np.full(6, 1 / 6), abs=0.03)
    among, within = 5 / 36 / 6.4, 5 / 36 * (1 - 1 / 6.4) / 20
    # A group has 50 pages only: people with nearly all of one group run out of none, but draw without replacement.
    assert shares.var(axis=0).mean() == pytest.approx(among + within, rel=0.15)
    even = draw_tasks(SIX, 200, 20, math.inf, seed=0)
    spread = np.array([[sum(SIX[page] == name for page in mine) / 20 for name in "abcdef"] for mine in even])
    assert spread.var(axis=0).mean() < 0.5 * shares.var(axis=0).mean()


@pytest.mark.parametrize("alpha", [0.1, 0.9, math.inf])
def test_every_page_is_covered_as_soon_as_there_are_enough_people(alpha: float) -> None:
    groups = ["many"] * 90 + ["few"] * 10
    drawn = draw_tasks(groups, 17, 20, alpha, seed=5, least_ratings=3)
    counts = np.bincount(np.concatenate(drawn), minlength=100)
    assert counts.min() >= 3, "17 people with 20 pages give 340 ratings, where 300 are needed"
    without = np.bincount(np.concatenate(draw_tasks(groups, 17, 20, alpha, seed=5)), minlength=100)
    assert without.min() < 3


def test_a_replacement_is_of_the_same_group_and_was_never_given() -> None:
    groups = ["a"] * 5 + ["b"] * 5
    given_pages = [0, 1, 2, 5]
    while (page := draw_replacement(groups, 2, given_pages, 0.9, 7, 1, excluded=[4])) is not None:
        assert page not in given_pages
        assert page != 4
        if len(given_pages) == 4:
            assert page == 3, "the last of its group"
        given_pages.append(page)
    assert sorted(given_pages) == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_excluded_pages_are_not_drawn() -> None:
    assert sorted(draw_person(["a", "a", "b"], 5, 0.9, 0, 0, excluded=[1])) == [0, 2]
    assert draw_person(["a"], 5, 0.9, 0, 0, excluded=[0]) == []
    assert draw_person([], 5, 0.9, 0, 0) == []


@pytest.mark.parametrize(
    ("each", "alpha", "seed", "person", "told"),
    [
        (0, 0.9, 0, 0, "pages for each person"),
        (1, 0.0, 0, 0, "alpha"),
        (1, math.nan, 0, 0, "alpha"),
        (1, 0.9, -1, 0, "seed"),
        (1, 0.9, 0, -1, "number of a person"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(each, alpha, seed, person, told) -> None:
    with pytest.raises(InputError, match=told):
        draw_person(["a"], each, alpha, seed, person)
