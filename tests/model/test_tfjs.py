import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.model import Network, load_tfjs, predict, save_tfjs
from eitr.model.tfjs import from_tfjs, to_tfjs
from eitr.pages.sparse import SparseRows

from .conftest import RunNode
from .examples import page_like_rows

HERE = Path(__file__).parent
NETWORK = Network((10, 4, 6))
VECTOR = NETWORK.initial(1)


def random_rows(count: int, width: int) -> SparseRows:
    """Rows with a number in every column, unlike any page."""
    values = np.random.default_rng(2).normal(size=(count, width)).astype(np.float32)
    columns = np.arange(width, dtype=np.int32)
    return SparseRows.of([(columns, row) for row in values], width=width)


@pytest.mark.parametrize("layers", [(1000, 256, 32, 6), (12, 6)])
@pytest.mark.parametrize("kind", ["pages", "random"])
def test_the_real_tfjs_predicts_the_same_and_what_it_saves_is_read_back(
    tmp_path: Path, run_node: RunNode, layers: tuple[int, ...], kind: str
) -> None:
    if not (HERE.parent.parent / "node_modules" / "@tensorflow" / "tfjs").is_dir():
        pytest.skip("@tensorflow/tfjs is not installed; run npm ci")
    network = Network(layers)
    vector = network.initial(8) * np.float32(4)
    width = network.inputs
    rows = page_like_rows(20, width, words=min(60, width)) if kind == "pages" else random_rows(10, width)
    exported, saved = tmp_path / "exported", tmp_path / "saved"
    inputs, outputs = tmp_path / "inputs.json", tmp_path / "outputs.json"
    exported.mkdir()
    saved.mkdir()
    save_tfjs(exported, network, vector)
    inputs.write_text(json.dumps(rows.dense().tolist()))
    run_node(HERE / "tfjs_predict.mjs", exported, inputs, outputs, saved)
    found = np.array(json.loads(outputs.read_text()))
    expected = predict(network, vector, rows)
    assert expected.std() > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    again = load_tfjs(saved)
    assert again.network == network
    assert again.vector.tobytes() == vector.tobytes()


def test_a_model_is_the_same_after_a_round_trip(tmp_path: Path) -> None:
    save_tfjs(tmp_path, NETWORK, VECTOR)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "weights.bin"]
    loaded = load_tfjs(tmp_path)
    assert loaded.network == NETWORK
    assert loaded.vector.tobytes() == VECTOR.tobytes()


def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = json.loads(to_tfjs(NETWORK, VECTOR)[0])
    change(document)
    return json.dumps(document).encode()


def layers_of(document: dict[str, Any]) -> Any:
    return document["modelTopology"]["model_config"]["config"]["layers"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("userDefinedMetadata"), "description is missing"),
        (lambda d: d["userDefinedMetadata"].update(eitr=[]), "description is missing"),
        (lambda d: d["userDefinedMetadata"]["eitr"].update(classes=[]), "classes are not"),
        (lambda d: d["userDefinedMetadata"]["eitr"].update(layers=[10, 5, 6]), "topology"),
        (lambda d: d.update(modelTopology=None), "topology"),
        (lambda d: d["modelTopology"]["model_config"].update(class_name="Functional"), "topology"),
        (lambda d: d["modelTopology"]["model_config"].update(config=[]), "topology"),
        (lambda d: layers_of(d)[0]["config"].update(activation="tanh"), "topology"),
        (lambda d: layers_of(d)[0]["config"].update(use_bias=False), "topology"),
        (lambda d: layers_of(d)[1].update(class_name="BatchNormalization"), "topology"),
        (lambda d: layers_of(d).append(7), "topology"),
        (lambda d: layers_of(d).pop(), "topology"),
        (lambda d: d.update(weightsManifest={}), "weights"),
        (lambda d: d["weightsManifest"].append({}), "weights"),
        (lambda d: d["weightsManifest"][0].update(paths=["../../etc/passwd"]), "weights"),
        (lambda d: d["weightsManifest"][0]["weights"].reverse(), "weights"),
        (lambda d: d["weightsManifest"][0]["weights"][0].update(shape=[4, 10]), "weights"),
        (lambda d: d["weightsManifest"][0]["weights"][0].update(quantization={"dtype": "uint8"}), "weights"),
    ],
)
def test_a_model_that_is_not_ours_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_tfjs(changed(change), VECTOR.tobytes())


@pytest.mark.parametrize(
    ("model", "message"),
    [(b"", "not JSON"), (b"\xff\xfe{", "not JSON"), (b"[" * 100_000, "not JSON"), (b"[]", "description")],
)
def test_a_damaged_topology_is_refused(tmp_path: Path, model: bytes, message: str) -> None:
    (tmp_path / "model.json").write_bytes(model)
    (tmp_path / "weights.bin").write_bytes(VECTOR.tobytes())
    with pytest.raises(InputError, match=message) as caught:
        load_tfjs(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [(b"", "weights"), (VECTOR.tobytes() + b"\0\0\0\0", "weights"), (b"\xff" * 4 * NETWORK.size, "NaN")],
)
def test_damaged_weights_are_refused(weights: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_tfjs(to_tfjs(NETWORK, VECTOR)[0], weights)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    save_tfjs(tmp_path, NETWORK, VECTOR)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match="No such file"):
        load_tfjs(tmp_path)
