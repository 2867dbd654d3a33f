"""Parameters as tensors and state_dicts: into a round and back."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from eitr.aggregation import Round, flatten_state_dict, make_rule, unflatten_state_dict
from eitr.errors import BadUpdateError, InputError


def model(seed=0, inputs=2):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(inputs, 3), torch.nn.BatchNorm1d(3)).state_dict()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_tensors_of_any_floating_type_and_with_a_gradient_are_taken(dtype):
    vectors: Any = [torch.tensor([0.5, -2.0], dtype=dtype, requires_grad=True) for _ in range(3)]
    round = Round(vectors[0], vectors, [*"abc"], root=vectors[1])
    assert round.updates.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    np.testing.assert_array_equal(round.updates, [[0.5, -2.0]] * 3)
    np.testing.assert_array_equal(round.base, [0.5, -2.0])
    np.testing.assert_array_equal(round.root, [0.5, -2.0])


def test_a_table_of_half_precision_is_widened():
    tables: list[Any] = [torch.ones(2, 3, dtype=torch.bfloat16), np.ones((2, 3), np.float16)]
    for table in tables:
        assert Round(None, table, ["a", "b"]).updates.dtype == np.float32


def test_a_list_of_state_dicts_is_aggregated_and_the_result_loads_into_the_model():
    base: Any = model()
    clients: Any = [model(seed) for seed in (1, 2, 3)]
    rule = make_rule("median")
    _, result = rule.update(rule.init(), Round(base, clients, [*"abc"]))
    restored = unflatten_state_dict(result.model, base)
    assert list(restored) == list(base)
    expected = torch.stack([client["0.weight"] for client in clients]).median(dim=0).values
    torch.testing.assert_close(restored["0.weight"], expected)
    assert restored["1.num_batches_tracked"] is base["1.num_batches_tracked"]  # a counter, not a parameter
    torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).load_state_dict(restored)


def test_a_state_dict_comes_back_in_its_own_types():
    mixed = {"a": torch.ones(2, 2, dtype=torch.bfloat16), "b": np.ones(3, np.float16), "n": 7}
    restored = unflatten_state_dict(flatten_state_dict(mixed) * 2, mixed)
    assert restored["a"].dtype == torch.bfloat16
    assert restored["b"].dtype == np.float16
    assert restored["n"] == 7
    assert restored["a"].tolist() == [[2, 2], [2, 2]]
    assert restored["b"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("base", [None, model()], ids=["most clients decide", "the base decides"])
def test_a_client_with_another_model_is_named_with_what_differs(base):
    renamed = {name.replace("0.bias", "0.shift"): entry for name, entry in model().items()}
    fewer = dict(list(model().items())[:2])
    clients: Any = [model(inputs=4), model(), renamed, model(), fewer, {"n": torch.tensor(1)}, model()]
    with pytest.raises(BadUpdateError) as caught:
        Round(base, clients, [*"abcdefg"])
    assert caught.value.clients == {
        "a": "sent a model that does not fit: the parameter '0.weight' has the shape (3, 4), not (3, 2)",
        "c": "sent a model that does not fit: the parameter '0.shift' stands where '0.bias' is expected",
        "e": "sent a model that does not fit: there are 2 parameter arrays, not 6",
        "f": "sent a model that does not fit: there are 0 parameter arrays, not 6",
    }


def test_what_is_no_model_is_refused_in_words():
    with pytest.raises(InputError, match="no floating-point parameters"):
        flatten_state_dict({"n": np.array(3)})
    with pytest.raises(InputError, match="'w' has the shape \\(2,\\), not \\(3,\\)"):
        flatten_state_dict({"w": np.zeros(2)}, like={"w": np.zeros(3)})
    with pytest.raises(InputError, match="has 3 parameters, and the vector has the shape \\(2,\\)"):
        unflatten_state_dict(np.zeros(2), {"w": np.zeros(3)})
    ragged: Any = [[1.0, 2.0], [[1.0], [1.0, 2.0]]]
    with pytest.raises(BadUpdateError, match="client 'b' sent a model that does not fit: parameters must be an array"):
        Round(None, ragged, ["a", "b"])


def test_numpy_state_dicts_need_no_torch():
    code = (
        "import sys, numpy as np; from eitr.aggregation import Round, unflatten_state_dict;"
        "one = {'w': np.ones((2, 2)), 'b': np.zeros(2)};"
        "print(Round(one, [one, one], ['a', 'b']).updates.shape, list(unflatten_state_dict(np.ones(6), one)));"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "(2, 6) ['w', 'b']\n"), done.stderr
