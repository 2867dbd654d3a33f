import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.model import Network, load, save
from eitr.model.files import SIZE_LIMIT, from_safetensors, to_safetensors
from eitr.taxonomy import NAMES

NETWORK = Network((10, 4, 6))
VECTOR = NETWORK.initial(1)
DATA = to_safetensors(NETWORK, VECTOR)


def rewritten(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The same file with another header."""
    length = int.from_bytes(DATA[:8], "little")
    header = json.loads(DATA[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + DATA[8 + length :]


def metadata(**values: str) -> bytes:
    return rewritten(lambda header: header["__metadata__"].update(values))


def test_a_model_is_the_same_after_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for network in (Network(), NETWORK, Network((3, 6))):
        vector = network.initial(3)
        save(path, network, vector)
        loaded = load(path)
        assert loaded.network == network
        assert loaded.vector.tobytes() == vector.tobytes()
        assert loaded.vector.flags.writeable


def test_the_library_reads_our_tensors_and_metadata(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save(path, NETWORK, VECTOR)
    tensors = safetensors.numpy.load_file(path)
    assert sorted(tensors) == ["dense_0/bias", "dense_0/kernel", "dense_1/bias", "dense_1/kernel"]
    assert (tensors["dense_1/kernel"] == NETWORK.split(VECTOR)[1].kernel).all()
    with safetensors.safe_open(path, framework="numpy") as file:
        described = {name: json.loads(value) for name, value in file.metadata().items()}
    assert described == {"format": "eitr-model", "version": 1, "layers": [10, 4, 6], "classes": list(NAMES)}


def test_a_file_of_the_library_with_its_own_order_of_tensors_is_read() -> None:
    tensors = safetensors.numpy.load(DATA)
    names = {"format": '"eitr-model"', "version": "1", "layers": "[10,4,6]", "classes": json.dumps(NAMES)}
    foreign = safetensors.numpy.save(tensors, metadata=names)
    assert from_safetensors(foreign).vector.tobytes() == VECTOR.tobytes()


def test_the_same_model_has_the_same_bytes_in_every_process() -> None:
    program = (
        "import hashlib; from eitr.model import Network; from eitr.model.files import to_safetensors; "
        "n = Network((10, 4, 6)); print(hashlib.sha256(to_safetensors(n, n.initial(1))).hexdigest())"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == hashlib.sha256(DATA).hexdigest()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a safetensors file"),
        (b"PK\x03\x04" * 100, "not a safetensors file"),
        (DATA[:-1], "not a safetensors file"),
        (DATA + b"\0", "not a safetensors file"),
        ((2**63).to_bytes(8, "little") + DATA[8:], "not a safetensors file"),
        (rewritten(lambda header: header.pop("__metadata__")), "description is missing"),
        (metadata(format='"pt"'), "another format"),
        (metadata(format="pt"), "not a safetensors file"),
        (metadata(version="2"), "version is not 1"),
        (metadata(classes='["health"]'), "classes are not health, politics"),
        (metadata(classes=json.dumps(NAMES[::-1])), "in that order"),
        (metadata(layers='"10"'), "list of whole numbers"),
        (metadata(layers="[10, 4.0, 6]"), "list of whole numbers"),
        (metadata(layers="[" * 100_000), "not a safetensors file"),
        (metadata(layers="[]"), "2 to 64 layers"),
        (metadata(layers="[10, 1000000000000, 6]"), "width must be between"),
        (metadata(layers="[10, 5, 6]"), "not those of the layers"),
        (rewritten(lambda header: header["dense_0/bias"].update(dtype="I32")), "has the type I32"),
        (
            rewritten(lambda header: header.update(other=header.pop("dense_0/bias"))),
            "not those of the layers",
        ),
        (to_safetensors(NETWORK, VECTOR)[:-4] + b"\0\0\xc0\x7f", "NaN"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(deadline=None)
@given(st.binary(max_size=400), st.integers(0, len(DATA) - 1))
def test_any_bytes_give_a_model_or_one_clear_error(noise: bytes, place: int) -> None:
    for data in (noise, DATA[:place] + noise + DATA[place + len(noise) :]):
        with contextlib.suppress(InputError):
            model = from_safetensors(data)
            assert model.vector.shape == (model.network.size,)
            assert np.isfinite(model.vector).all()


def test_a_large_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as stream:
        stream.truncate(SIZE_LIMIT * 1000)
    with pytest.raises(InputError, match="larger than"):
        load(path)


def test_a_missing_file_a_directory_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("nothing", "No such file"), (".", "not a regular"), ("pipe", "not a regular")):
        with pytest.raises(InputError, match=message):
            load(tmp_path / name)


def test_a_network_with_other_classes_or_a_wrong_vector_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for network, vector in (
        (Network((3, 2)), Network((3, 2)).initial(0)),
        (NETWORK, np.zeros(3, np.float32)),
    ):
        with pytest.raises(InputError):
            save(path, network, vector)
    assert not path.exists()
