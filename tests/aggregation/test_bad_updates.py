"""Bad input is refused by name, and leaves everything as it was."""

from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation import Round, make_rule
from eitr.aggregation.interface import LARGEST
from eitr.aggregation.rule_state import RuleState, state_bytes
from eitr.errors import BadUpdateError, InputError
from tests.aggregation.cases import ALL_RULES, aggregate, names

BAD = {
    "a NaN": np.nan,
    "an infinity": np.inf,
    "a negative infinity": -np.inf,
    "ten million": 1e7,
    "minus ten million": -1e7,
    "a little more than a million": np.nextafter(np.float32(1e6), np.float32(np.inf)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("where", [(0, 0), (1, 3), (2, 6)])
@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
def test_a_bad_number_is_refused_and_its_sender_named(value, where, dtype):
    updates = np.zeros((3, 7), dtype=dtype)
    updates[where] = value
    with pytest.raises(InputError, match=f"client '{['ann', 'bob', 'eve'][where[0]]}' sent"):
        Round(None, updates, ["ann", "bob", "eve"])


def test_all_bad_updates_of_a_round_are_named_at_once():
    updates: Any = [np.zeros(3), np.array([0, np.nan, 0]), np.zeros(2), np.zeros(3, dtype=np.int64), np.zeros(3)]
    with pytest.raises(BadUpdateError, match=r"client 'b' sent a NaN \(and 3 more clients .*'c', 'd', 'e'") as caught:
        Round(np.zeros(3), updates, [*"abcde"], counts=np.array([1, 1, 1, 1, -5]))
    assert caught.value.client == "b"
    assert caught.value.clients == {
        "b": "sent a NaN",
        "c": "sent parameters of shape (2,), not (3,)",
        "d": "sent numbers of the type int64, not float32 or float64",
        "e": "claims -5 samples: a count is a number of at least 0",
    }


STRANGE = {
    "a sparse tensor": torch.ones(3).to_sparse(),
    "a tensor without content": torch.ones(3, device="meta"),
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a ragged entry of a state_dict": {"weight": [[1.0], [1.0, 2.0]]},
    "a module": torch.nn.Linear(1, 1),
    "numbers that are too wide": np.ones(3, np.longdouble),
    "nothing": None,
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_whatever_one_client_sends_is_its_own_fault(strange):
    updates: Any = [np.ones(3), strange, np.zeros(3)]
    with pytest.raises(BadUpdateError) as caught:
        Round(np.zeros(3), updates, [*"abc"])
    assert list(caught.value.clients) == ["b"]
    round, refused = Round.without_bad(None, updates, [*"abc"])
    assert (round.ids, list(refused)) == (("a", "c"), ["b"])


@pytest.mark.parametrize("form", [np.asarray, list, torch.from_numpy], ids=["table", "list of vectors", "tensor"])
def test_a_round_can_go_on_without_its_bad_updates(form):
    updates = np.arange(12, dtype=np.float32).reshape(4, 3)
    updates[1, 2], updates[2, 0] = np.inf, np.nan
    round, refused = Round.without_bad(
        np.zeros(3), form(updates), [*"dcba"], 7, counts=np.array([4, 3, 2, 1]), root=np.ones(3)
    )
    assert refused == {"c": "sent an infinity", "b": "sent a NaN"}
    np.testing.assert_array_equal(round.updates, updates[[0, 3]])
    assert (round.ids, round.index, round.counts.tolist(), round.given) == (("d", "a"), 7, [4, 1], {"base", "root"})


def test_a_round_without_bad_updates_stays_whole_and_one_without_good_ones_is_refused():
    round, refused = Round.without_bad(None, np.zeros((2, 3)), ["a", "b"])
    assert (round.ids, refused) == (("a", "b"), {})
    with pytest.raises(BadUpdateError, match="client 'a' sent a NaN"):
        Round.without_bad(None, np.full((2, 3), np.nan), ["a", "b"])
    with pytest.raises(InputError, match="occurs twice"):
        Round.without_bad(None, np.zeros((2, 3)), ["a", "a"])


def test_a_million_is_still_taken():
    assert Round(None, np.array([[1e6, -1e6]]), ["ann"]).updates.max() == LARGEST


@pytest.mark.parametrize("name", ["base", "root"])
@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
def test_a_bad_number_in_the_servers_own_vectors_is_refused(name, value):
    vector = np.zeros(3)
    vector[1] = value
    vectors = {"base": np.zeros(3), "root": np.zeros(3), name: vector}
    with pytest.raises(InputError, match=name):
        Round(vectors["base"], np.zeros((2, 3)), ["a", "b"], root=vectors["root"])


@pytest.mark.parametrize("name", ["base", "root"])
@pytest.mark.parametrize(
    "vector",
    [np.zeros(4), np.zeros(0), np.zeros((1, 3)), np.zeros(()), np.zeros(3, dtype=np.int64), np.array([*"abc"])],
)
def test_servers_vectors_of_another_shape_or_type_are_refused(name, vector):
    vectors = {"base": np.zeros(3), "root": np.zeros(3), name: vector}
    with pytest.raises(InputError, match=name):
        Round(vectors["base"], np.zeros((2, 3)), ["a", "b"], root=vectors["root"])


@pytest.mark.parametrize("shape", [(3,), (), (2, 3, 1), (0, 3), (2, 0), (0, 0)])
def test_updates_that_are_no_table_or_an_empty_one_are_refused(shape):
    with pytest.raises(InputError, match=r"updates .*\("):
        Round(None, np.zeros(shape), names(shape[0] if shape else 0))


@pytest.mark.parametrize("dtype", [np.int64, np.complex128, np.bool_, "U3", object, ">f4", ">f8", "datetime64[s]"])
def test_updates_of_another_type_are_refused(dtype):
    with pytest.raises(InputError, match="must be float32 or float64"):
        Round(None, np.zeros((2, 3)).astype(dtype), ["a", "b"])


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (["a", "a"], "'a' occurs twice"),
        (["a"], "1 client ids for 2 updates"),
        (["a", "b", "c"], "3 client ids for 2 updates"),
        ([], "0 client ids"),
        (["a", ""], "non-empty string"),
        (["a", 7], "non-empty string"),
        (["a", None], "non-empty string"),
        (["a", b"b"], "non-empty string"),
    ],
)
def test_ids_that_do_not_name_each_client_once_are_refused(ids, complaint):
    with pytest.raises(InputError, match=complaint):
        Round(None, np.zeros((2, 3)), ids)


@pytest.mark.parametrize("count", [-1, -1e-9, np.nan, np.inf, -np.inf])
def test_an_impossible_sample_count_is_refused_and_its_sender_named(count):
    with pytest.raises(InputError, match="client 'bob' claims"):
        Round(None, np.zeros((2, 3)), ["ann", "bob"], counts=np.array([5, count]))


@pytest.mark.parametrize("counts", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 3.0])
def test_counts_for_other_clients_are_refused(counts):
    with pytest.raises(InputError, match="sample counts for 2 clients"):
        Round(None, np.zeros((2, 3)), ["ann", "bob"], counts=np.array(counts))


@pytest.mark.parametrize("counts", [["many", "few"], [None, 3], [1j, 2j]])
def test_counts_that_are_no_numbers_are_refused(counts):
    with pytest.raises(InputError, match="count"):
        Round(None, np.zeros((2, 3)), ["ann", "bob"], counts=np.array(counts))


@pytest.mark.parametrize("name", ALL_RULES)
def test_a_refused_round_leaves_the_state_as_it_was(name):
    state, _ = aggregate(name, np.ones((3, 4), dtype=np.float32))
    before = state_bytes(state)
    bad = np.ones((3, 4), dtype=np.float32)
    bad[1, 2] = np.nan
    with pytest.raises(InputError, match="client001"):
        aggregate(name, bad, None, state)
    assert state_bytes(state) == before


@pytest.mark.parametrize(
    "name",
    [
        *("foolsgold", "fltrust", "multi-krum", "bulyan", "geometric-median"),
        *("centred-clipping", "nnm", "dnc", "flame", "fldetector"),
    ],
)
def test_a_round_that_lacks_what_the_rule_needs_leaves_the_state_as_it_was(name):
    rule = make_rule(name)
    state, _ = aggregate(name, np.ones((2, 4)))
    before = state_bytes(state)
    with pytest.raises(InputError, match=f"the rule '{name}' needs"):
        rule.update(state, Round(None, np.ones((2, 4)), names(2)))
    assert state_bytes(state) == before


def test_the_state_of_another_rule_is_refused():
    with pytest.raises(InputError, match="state of the rule 'median', not of 'fedavg'"):
        make_rule("fedavg").update(RuleState("median"), Round(None, np.ones((2, 4)), names(2)))


def test_a_bad_number_of_threads_is_refused(monkeypatch):
    for text in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv("EITR_THREADS", text)
        with pytest.raises(InputError, match="EITR_THREADS must be a whole number"):
            aggregate("median", np.ones((2, 4)))


def test_an_update_of_another_length_is_refused_naming_the_client():
    vectors: Any = [np.zeros(3), np.zeros(2), np.zeros(3)]
    with pytest.raises(InputError, match=r"client 'b' sent parameters of shape \(2,\), not \(3,\)"):
        Round(None, vectors, ["a", "b", "c"])
    with pytest.raises(InputError, match="client 'a' sent"):
        Round(np.zeros(2), vectors, ["a", "b", "c"])
    with pytest.raises(InputError, match="nothing to aggregate"):
        Round(None, vectors[:0], [])
    assert Round(None, vectors[::2], ["a", "c"]).updates.shape == (2, 3)


def test_a_state_that_the_rule_cannot_have_written_is_refused():
    foreign = RuleState("fedavg", ("a",), np.ones(1, dtype=np.int64), {"steps": np.zeros((1, 1), dtype=np.float32)})
    with pytest.raises(InputError, match="'steps' of float32, which 'fedavg' never wrote"):
        make_rule("fedavg").update(foreign, Round(None, np.zeros((1, 1)), ["a"]))
    with pytest.raises(InputError, match="of the rule 'fedavg'"):
        make_rule("reputation").refuse(RuleState("fedavg"), "a", 5)
    with pytest.raises(InputError, match="at least one parameter"):
        make_rule("reputation").refuse(RuleState("reputation"), "a", 0)


def test_a_rule_takes_lambda_by_its_own_name_and_numpy_numbers():
    assert make_rule("residual", **{"lambda": np.float64(3)}) == make_rule("residual", lambda_=3.0)
    assert make_rule("fedavg", ramp=np.int64(2)).ramp == 2
    with pytest.raises(InputError, match="no setting 'bogus'"):
        make_rule("fedavg", bogus=1)
