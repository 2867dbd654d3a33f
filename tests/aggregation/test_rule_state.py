"""States are values, and their files are read only when everything in them is as it should be."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import load_state, make_rule, save_state
from eitr.aggregation.reputation import Reputation
from eitr.aggregation.rule_state import FORMAT, VERSION, RuleState, state_bytes
from eitr.errors import InputError
from eitr.io.safetensors_file import pack, unpack
from eitr.testing import check_restart
from tests.aggregation.cases import ALL_RULES, aggregate, assert_same_state, histories, names
from tests.examples import examples


def after_rounds(name, rounds=3, dtype=np.float32, size=4, parameters=6):
    rng, state = np.random.default_rng(11), None
    for number in range(rounds):
        ids = names(size)[number % 2 :]
        state, _ = aggregate(name, rng.normal(0, 0.1, (len(ids), parameters)).astype(dtype), ids, state)
    return state


@pytest.mark.parametrize("name", ALL_RULES)
def test_an_empty_state_is_the_same_after_a_round_trip(name, tmp_path):
    save_state(make_rule(name).init(), tmp_path / "state")
    assert_same_state(load_state(tmp_path / "state", name), make_rule(name).init())


@pytest.mark.parametrize("name", ALL_RULES)
@examples(15, 5)
@given(histories(most_rounds=5))
def test_a_rule_goes_on_after_a_restart_as_if_nothing_had_happened(name, history):
    check_restart(make_rule(name), history.rounds)


@pytest.mark.parametrize("name", ALL_RULES)
def test_equal_states_have_equal_bytes_whatever_order_clients_joined_in(name):
    updates = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    together, _ = aggregate(name, updates, ["a", "b", "c"])
    reverse, _ = aggregate(name, updates[::-1], ["c", "b", "a"])
    assert state_bytes(together) == state_bytes(reverse)


def test_a_state_with_names_of_any_script_is_the_same_after_a_round_trip(tmp_path):
    ids = ["Ærøskøbing", "山田", "a\nb", 'quote"', "\x00", "🦊", "e\u0301", "é"]
    state, _ = aggregate("reputation", np.ones((len(ids), 3)), ids)
    save_state(state, tmp_path / "state")
    assert load_state(tmp_path / "state", "reputation").clients == tuple(sorted(ids))


def test_a_new_client_gets_rows_and_the_others_keep_theirs():
    state = after_rounds("reputation")
    more = state.known(["zoe", "client000a"])
    assert more.clients == ("client000", "client000a", "client001", "client002", "client003", "zoe")
    for client in state.clients:
        mine, theirs = state.rows([client])[0], more.rows([client])[0]
        np.testing.assert_array_equal(more.memory["reputations"][theirs], state.memory["reputations"][mine])
        assert more.rounds[theirs] == state.rounds[mine]
    assert np.isnan(more.memory["reputations"][more.rows(["zoe"])]).all()
    assert more.rounds[more.rows(["zoe"])] == 0


def test_nothing_changes_when_everybody_is_known():
    state = after_rounds("median")
    assert state.known(["client001"]) is state


def test_rounds_count_who_took_part():
    state = RuleState("median").joined(["b", "a"], 7).joined(["b"], 7)
    assert dict(zip(state.clients, state.rounds.tolist(), strict=True)) == {"a": 1, "b": 2}


@pytest.mark.parametrize("name", ALL_RULES)
def test_a_client_can_be_erased(name):
    state = after_rounds(name)
    erased = state.without("client001")
    assert erased.clients == ("client000", "client002", "client003")
    assert b"client001" not in state_bytes(erased)
    rows = [0, 2, 3]
    np.testing.assert_array_equal(erased.rounds, state.rounds[rows])
    for memory, array in state.memory.items():
        np.testing.assert_array_equal(erased.memory[memory], array[rows])
    assert state.clients == tuple(names(4))  # the old state is a value


def test_an_erased_client_returns_as_a_newcomer():
    rng = np.random.default_rng(1)
    updates = rng.normal(0, 0.05, (6, 60))
    updates[5] += 3
    state, _ = aggregate("reputation", updates)
    updates[5] -= 3
    _, result = aggregate("reputation", updates, None, state.without("client005"))
    own = Reputation()._model.opinion(result.positive[5], result.negative[5]).expectation(0.5)
    assert result.reputation[5] == pytest.approx(own)


def test_erasing_somebody_unknown_changes_nothing():
    state = after_rounds("foolsgold")
    assert_same_state(state.without("nobody"), state)


# Files


def refused(tmp_path, data, complaint, rule="reputation"):
    path = tmp_path / "state"
    path.write_bytes(data)
    with pytest.raises(InputError, match=complaint) as caught:
        load_state(path, rule)
    assert str(path) in str(caught.value)
    assert "start anew without it" in str(caught.value)


def packed(*, clients=("a", "b"), rounds=(1, 2), header=None, drop=(), **memory):
    """The bytes of a state file, with parts of it changed or left out."""
    described = {"format": FORMAT, "version": VERSION, "rule": "reputation", "clients": list(clients)} | (header or {})
    arrays = {"rounds": np.array(rounds, dtype=np.int64)} | memory
    return pack(
        {k: v for k, v in described.items() if k not in drop}, {k: v for k, v in arrays.items() if k not in drop}
    )


def test_the_file_these_tests_start_from_is_good(tmp_path):
    (tmp_path / "state").write_bytes(packed(**{"memory/reputations": np.array([[0.5, np.nan], [0.25, 0.75]])}))
    state = load_state(tmp_path / "state", "reputation")
    assert state.clients == ("a", "b")
    assert state.rounds.tolist() == [1, 2]
    assert state.memory["reputations"][1].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("version", [0, 2, 999, -1, "1", None, [1], 1.5])
def test_a_state_of_another_version_is_refused(tmp_path, version):
    refused(tmp_path, packed(header={"version": version}), "a state of version .* reads version 1")


@pytest.mark.parametrize("rule", ["median", "", None, 7, ["reputation"]])
def test_the_state_of_another_rule_is_refused(tmp_path, rule):
    refused(tmp_path, packed(header={"rule": rule}), "not of 'reputation'")


@pytest.mark.parametrize("drop", ["format", "version", "rule", "clients", "rounds"])
def test_a_state_without_one_of_its_parts_is_refused(tmp_path, drop):
    refused(tmp_path, packed(drop=(drop,)), "not a state file|version None|rule None|clients is missing|is missing")


@pytest.mark.parametrize("clients", [["b", "a"], ["a", "a"]])
def test_clients_that_are_not_sorted_or_occur_twice_are_refused(tmp_path, clients):
    refused(tmp_path, packed(clients=clients), "not sorted, or one occurs twice")


@pytest.mark.parametrize("clients", ["ab", None, 2, {"a": 1}, [1, 2], ["a", None], [["a"], ["b"]]])
def test_a_list_of_clients_that_is_none_is_refused(tmp_path, clients):
    refused(tmp_path, packed(header={"clients": clients}), "list of clients is missing or damaged")


@pytest.mark.parametrize(
    "rounds",
    [
        np.array([1], dtype=np.int64),
        np.array([1, 2, 3], dtype=np.int64),
        np.array([[1, 2]], dtype=np.int64),
        np.array([1.0, 2.0]),
        np.array([1, -2], dtype=np.int64),
    ],
)
def test_rounds_that_fit_no_client_are_refused(tmp_path, rounds):
    data = pack({"format": FORMAT, "version": VERSION, "rule": "reputation", "clients": ["a", "b"]}, {"rounds": rounds})
    refused(tmp_path, data, "number of rounds of each client")


@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (2,), (2, 3, 1), (), (0, 3)])
def test_memory_of_another_shape_is_refused(tmp_path, shape):
    refused(tmp_path, packed(**{"memory/reputations": np.zeros(shape)}), "a row for each of 2 clients")


def test_an_array_that_is_no_memory_is_refused(tmp_path):
    refused(tmp_path, packed(secret=np.zeros((2, 2))), "'secret' does not hold a row")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinity_in_the_memory_is_refused(tmp_path, value):
    refused(tmp_path, packed(**{"memory/reputations": np.array([[0.5], [value]])}), "infinity")


def test_a_memory_that_no_rule_wrote_never_leads_to_a_model_that_is_no_number(tmp_path):
    huge, nothing = 1.7e308, np.nan
    for past in (
        [huge] * 4,
        [-huge] * 4,
        [huge, -huge] * 2,
        [nothing, 0.5] * 2,
        [nothing] * 4,
        [2, -5, 2, 7],
    ):
        data = packed(**{"memory/reputations": np.array([past, [0.5] * 4])})
        check_refused_or_usable(tmp_path, data, "reputation")


def test_steps_that_are_no_numbers_never_lead_to_a_model_that_is_no_number(tmp_path):
    for value, dtype in ((np.nan, np.float32), (3e38, np.float32), (1e300, np.float64), (np.nan, np.float64)):
        steps = np.full((2, 3), value, dtype=dtype)
        data = packed(header={"rule": "foolsgold"}, **{"memory/steps": steps})
        check_refused_or_usable(tmp_path, data, "foolsgold")


def check_refused_or_usable(tmp_path, data, name):
    """A file is refused with one clear line, or the rule goes on from it to ordinary numbers."""
    path = tmp_path / "state"
    path.write_bytes(data)
    try:
        state = load_state(path, name)
    except InputError:
        return
    width = state.memory["steps"].shape[1] if "steps" in state.memory else 3
    updates = np.linspace(-1, 1, 4 * width).reshape(4, width)
    try:
        _, result = aggregate(name, updates, [*names(3), "a"], state, ramp=2)
    except InputError:
        return
    assert np.isfinite(result.model).all()
    assert (updates.min(axis=0) <= result.model).all()
    assert (result.model <= updates.max(axis=0)).all()
    assert result.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ALL_RULES)
def test_a_file_cut_off_anywhere_is_refused(name, tmp_path):
    data = state_bytes(after_rounds(name))
    for length in sorted({*range(24), *range(24, len(data), 37), len(data) - 8, len(data) - 1}):
        refused(tmp_path, data[:length], "not a safetensors file, or a damaged one", name)


def test_a_file_with_something_after_its_end_is_refused(tmp_path):
    refused(tmp_path, packed() + b"\0", "damaged")


@pytest.mark.parametrize("name", ["reputation", "foolsgold", "median"])
@examples(400, 150)
@given(st.data())
def test_flipped_bits_are_refused_or_lead_to_ordinary_numbers(tmp_path_factory, name, data):
    content = bytearray(state_bytes(after_rounds(name)))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    check_refused_or_usable(tmp_path_factory.getbasetemp(), bytes(content), name)


@examples(300, 300)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(tmp_path_factory, data):
    refused(tmp_path_factory.getbasetemp(), data, "not a safetensors file|not a state file")


def raw(header: bytes, payload: bytes = b""):
    return len(header).to_bytes(8, "little") + header + payload


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"7",
        b'"text"',
        b"\xff\xfe",
        b'{"__metadata__":null}',
        b'{"__metadata__":7}',
        b'{"__metadata__":{"version":1}}',
        b'{"__metadata__":{"version":"{"}}',
        b'{"__metadata__":{"version":"NaN","format":"Infinity"}}',
        b'{"__metadata__":{"format":"' + b"[" * 100_000 + b'"}}',
        b'{"__metadata__":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"__metadata__":{"version":"' + b"9" * 10_000 + b'"}}',
        b'{"rounds":{"dtype":"I64","shape":[9223372036854775807,4],"data_offsets":[0,0]}}',
        b'{"rounds":{"dtype":"I64","shape":[-1],"data_offsets":[0,8]}}',
        b'{"rounds":{"dtype":"I64","shape":[1],"data_offsets":[8,0]}}',
        b'{"rounds":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}',
        b'{"rounds":{"dtype":"X9","shape":[0],"data_offsets":[0,0]}}',
        b'{"rounds":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}}',
        b'{"rounds":{"dtype":"BOOL","shape":[0],"data_offsets":[0,0]}}',
    ],
)
def test_a_hostile_header_is_refused(tmp_path, header):
    refused(tmp_path, raw(header), "safetensors|not a state file|has the type")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**12, 1 << 40])
def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path, length):
    refused(tmp_path, length.to_bytes(8, "little") + b"{}", "damaged")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_state(tmp_path / "nothing", "median")
    with pytest.raises(InputError, match="not a regular file"):
        load_state(tmp_path, "median")


def test_the_header_is_json_that_anybody_can_read(tmp_path):
    data = state_bytes(after_rounds("median"))
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length])["__metadata__"]
    assert json.loads(metadata["version"]) == 1
    assert json.loads(metadata["rule"]) == "median"
    assert unpack(data)[0]["clients"] == names(4)


@pytest.mark.parametrize("name", ALL_RULES)
def test_the_state_of_a_model_of_another_size_is_refused(name, tmp_path):
    state, _ = aggregate(name, np.ones((4, 3)))
    save_state(state, tmp_path / "state")
    loaded = load_state(tmp_path / "state", name)
    assert loaded.parameters == 3
    with pytest.raises(InputError, match="a model of 3 parameters, and the updates have 5"):
        aggregate(name, np.ones((4, 5)), None, loaded)


def test_a_state_file_that_does_not_say_the_size_of_its_model_still_loads(tmp_path):
    state, _ = aggregate("fused", np.ones((4, 3)))
    header, arrays = unpack(state_bytes(state))
    del header["parameters"]  # as version 0.1 wrote it
    (tmp_path / "state").write_bytes(pack(header, arrays))
    loaded = load_state(tmp_path / "state", "fused")
    assert loaded.parameters == 0
    again, _ = aggregate("fused", np.ones((4, 3)), None, loaded)
    assert again.parameters == 3


@pytest.mark.parametrize("parameters", [-1, 2.5, "3", None])
def test_a_size_that_is_no_count_is_refused(parameters, tmp_path):
    header, arrays = unpack(state_bytes(RuleState("median")))
    (tmp_path / "state").write_bytes(pack({**header, "parameters": parameters}, arrays))
    with pytest.raises(InputError, match="number of parameters must be a count"):
        load_state(tmp_path / "state", "median")
