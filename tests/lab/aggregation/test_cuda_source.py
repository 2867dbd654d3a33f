"""The CUDA kernels, run on emulated warps: what they compute, without a GPU, against the compiled rules.

`emulated_gpu.hpp` makes every thread of a block a fiber. `benchmarks/gpu_aggregation.py` compares the
same kernels on a real GPU.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the lab computes with torch; install eitr[lab]")

from eitr.lab.aggregation import cuda_columns  # noqa: E402
from eitr.robust.confidence import confidence_bound  # noqa: E402
from eitr.robust.detection import detect  # noqa: E402
from eitr.robust.reweighting import reweight  # noqa: E402

HERE = Path(__file__).parent
SOURCE = Path(cuda_columns.__file__).with_name("columns.cu")
DELTA, LAMBDA, VARPI = 0.1, 2.0, 2.0

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to build the emulated GPU with")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder, libraries = tmp_path_factory.mktemp("emulated"), {}

    def build(clients, task):
        if (clients, task) not in libraries:
            library = folder / f"columns_{clients}_{task}.so"
            defines = [f"-DM={clients}", f"-DTASK={cuda_columns.TASKS[task]}", f'-DSOURCE="{SOURCE}"']
            command = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", *defines]
            subprocess.run([*command, "-x", "c++", str(HERE / "emulated_gpu.hpp"), "-o", str(library)], check=True)
            libraries[clients, task] = ctypes.CDLL(str(library))
        return libraries[clients, task]

    return build


def updates(clients, columns, seed=0):
    """Ordinary values, a shifted third, ties of nearly half, and columns that are constant, straight or far out."""
    random = np.random.default_rng(seed + clients)
    values = random.normal(0, 0.1, (2, clients, columns)).astype(np.float32)
    values[:, : clients // 3, columns // 4 : columns // 2] += 0.3
    values[:, : max(1, clients // 2 - 1), columns // 2 : 3 * columns // 4] = 0.01
    values[:, 0, :3] += 7
    values[:, :, -1] = 0
    values[:, :, -2] = np.arange(clients) * 0.01
    values[1] *= 3
    return values


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def run(library, values, *, reach=np.inf, drop=0):
    runs, clients, columns = values.shape
    width, threads = cuda_columns.shape(clients)
    across = -(-columns // width)
    made = {
        "accepted": np.zeros(values.shape, np.bool_),
        "medians": np.zeros((runs, columns)),
        "negative": np.zeros((runs, clients), np.int32),
        "restricted": np.zeros_like(values),
        "scores": np.zeros((runs, across, clients)),
        "models": np.zeros((runs, columns), np.float32),
    }
    bounds = np.tile(confidence_bound(clients, LAMBDA), (runs, 1))
    given = [np.full(runs, reach), np.full(runs, DELTA), bounds, np.full(runs, drop, np.int32)]
    arrays = [address(array) for array in (values, *given, *made.values())]
    library.run_columns(across, runs, threads, *arrays, columns)
    return made


CLIENTS = [3, 10, *(pytest.param(count, marks=pytest.mark.long) for count in (4, 16, 17, 34, 100, 101))]
"""Each number is compiled for itself; above 16 clients a warp shares a column."""


@pytest.mark.parametrize("clients", CLIENTS)
def test_detection_decides_as_the_compiled_rule_does(built, clients):
    values = updates(clients, 40)
    found = run(built(clients, "detect"), values, reach=VARPI / 2)
    for one in range(2):
        right = detect(values[one], np.arange(clients), varpi=VARPI, delta=DELTA, lambda_=LAMBDA, rescale="median")
        assert np.array_equal(found["accepted"][one], right.accepted)
        assert np.array_equal(found["negative"][one], right.negative)
        assert found["medians"][one] == pytest.approx(right.median, abs=1e-12)


@pytest.mark.parametrize("clients", [10, pytest.param(17, marks=pytest.mark.long)])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_nan_or_an_infinity_does_not_keep_the_kernels_busy_for_ever(built, clients, number):
    values = np.full((1, clients, 8), number, np.float32)
    assert run(built(clients, "detect"), values)["accepted"].shape == values.shape


@pytest.mark.parametrize("clients", CLIENTS[1:6])
def test_reweighting_scores_and_restricts_as_the_compiled_rule_does(built, clients):
    values = updates(clients, 40)
    found = run(built(clients, "reweight"), values)
    for one in range(2):
        right = reweight(values[one], np.arange(clients), delta=DELTA, lambda_=LAMBDA)
        assert found["scores"].sum(axis=1)[one] == pytest.approx(right.scores, rel=1e-6)
        assert found["restricted"][one] == pytest.approx(right.restricted, abs=1e-6)


@pytest.mark.parametrize("clients", CLIENTS[:6])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_middle_of_a_column_is_its_trimmed_mean(built, clients, share):
    drop = min(int(share * clients), (clients - 1) // 2)
    values = updates(clients, 40)
    found = run(built(clients, "middle"), values, drop=drop)
    kept = np.sort(values.astype(np.float64), axis=1)[:, drop : clients - drop]
    assert found["models"] == pytest.approx(kept.mean(axis=1), abs=1e-6)


@pytest.mark.parametrize("rectify", [0, 1])
def test_means_are_weighted_rectified_and_stay_in_range(built, rectify):
    values = updates(10, 40)
    runs, clients, columns = values.shape
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.ones(clients), runs)
    medians, accepted = np.median(values.astype(np.float64), axis=1), random.random(values.shape) < 0.7
    models, reach = np.zeros((runs, columns), np.float32), np.full(runs, 1.0 if rectify else np.inf)
    arrays = [address(array) for array in (values, shares, medians, reach, accepted, models)]
    built(clients, "detect").run_means(-(-columns // 256), runs, 256, *arrays, rectify, columns)
    kept = np.clip(values, medians[:, None] - reach[0], medians[:, None] + reach[0])
    kept = np.where(accepted, kept, medians[:, None]) if rectify else values.astype(np.float64)
    assert models == pytest.approx((shares[:, :, None] * kept).sum(axis=1), abs=1e-6)


def test_blocks_have_the_shape_that_the_source_says():
    assert cuda_columns.shape(16) == (128, 128)
    assert [cuda_columns.shape(clients) for clients in (17, 128, 129, 256, 257, 400)] == [
        (32, 256), (32, 256), (16, 256), (16, 256), (8, 128), (8, 128),
    ]  # fmt: skip


def test_without_a_gpu_the_kernels_are_not_used():
    assert not cuda_columns.available(torch.device("cpu"), 10)
