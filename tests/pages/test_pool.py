"""The file of cover pages: what is read is what was written, and nothing else is accepted."""

import json
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import eitr
from eitr.errors import InputError
from eitr.pages.pool import HEAD, Pool, vocabulary_digest
from eitr.pages.sparse import SparseRows
from eitr.taxonomy import NAMES, NON_SENSITIVE
from tests.model.golden import DIRECTORY, pool_cases

ASSETS = Path(eitr.__file__).parent / "assets"
DIGEST = vocabulary_digest(b"vocabulary")


def row(*entries: tuple[int, float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([c for c, _ in entries], np.int32), np.array([v for _, v in entries], np.float32)


@pytest.fixture
def pool() -> Pool:
    rows = SparseRows.of([row((1, 0.6), (4, 0.8)), row(), row((0, 1.0)), row((2, 0.1), (3, 0.9), (5, 0.4))], width=6)
    return Pool.of(rows, [3, 0, 5, 1], DIGEST)


def test_what_is_written_is_read_back(pool: Pool) -> None:
    again = Pool.from_bytes(pool.to_bytes(), width=6)
    assert again.to_bytes() == pool.to_bytes()
    np.testing.assert_array_equal(again.rows.dense(), pool.rows.dense())
    assert again.labels.tolist() == [3, 5, 1]  # the page without words is left out
    assert again.vocabulary == DIGEST


def test_vectors_have_length_1_and_are_close_to_the_page(pool: Pool) -> None:
    np.testing.assert_allclose(np.linalg.norm(pool.rows.dense(), axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(pool.rows.dense()[0], [0, 0.6, 0, 0, 0.8, 0], atol=0.005)


def test_different_pages_are_drawn_each_time(pool: Pool) -> None:
    rows, labels = pool.drawn(2)
    assert len(rows) == len(labels) == len(set(map(tuple, rows.dense().tolist()))) == 2
    assert len({tuple(pool.drawn(1)[1]) for _ in range(200)}) == 3
    with pytest.raises(InputError, match="3 pages; 4 cannot be drawn"):
        pool.drawn(4)


def changed(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + bytes([value]) + data[place + 1 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"EPL2" + data[4:], "does not begin with EPL1"),
        (lambda data: data[:10], "does not begin with EPL1"),
        (lambda data: data[:-1], "shorter or longer"),
        (lambda data: data + b"x", "shorter or longer"),
        (lambda data: HEAD.pack(b"EPL1", 0, 0, DIGEST), "is not possible"),
        (lambda data: HEAD.pack(b"EPL1", 2**32 - 1, 2**32 - 1, DIGEST), "is not possible"),
        (lambda data: changed(data, HEAD.size, 6), "unknown class"),
        (lambda data: changed(data, HEAD.size + 3, 3), "counts nothing"),
        (lambda data: changed(data, len(data) - 1, 0), "counts nothing"),
        (lambda data: changed(data, len(data) - 2, 254), "largest weight"),
        (lambda data: changed(data, HEAD.size + 9, 6), "below 6 and in ascending order"),
        (lambda data: changed(data, HEAD.size + 9, 4), "below 6 and in ascending order"),
    ],
)
def test_a_file_that_is_not_a_pool_is_rejected(pool: Pool, change: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pool.from_bytes(change(pool.to_bytes()), width=6)


@pytest.fixture(scope="module")
def shipped() -> Pool:
    return Pool.from_bytes((ASSETS / "pool.bin").read_bytes(), width=1000)


def test_the_shipped_pool_is_for_the_shipped_vocabulary(shipped: Pool) -> None:
    assert shipped.vocabulary == vocabulary_digest((ASSETS / "vocabulary.json").read_bytes())


def test_the_shipped_pool_is_large_small_and_varied(shipped: Pool) -> None:
    counts = Counter(shipped.labels.tolist())
    assert len(shipped) >= 2000
    assert len(shipped.to_bytes()) <= 400_000
    assert all(counts[label] >= 100 for label in range(len(NAMES)))
    assert 0.35 < counts[NON_SENSITIVE] / len(shipped) < 0.65
    distinct = {(row.tobytes()) for row in shipped.rows.dense().round(3)}
    assert len(distinct) > 0.95 * len(shipped)


def test_the_head_is_44_bytes() -> None:
    assert HEAD.size == struct.calcsize("<4sII32s") == 44


def test_the_golden_file_is_what_the_code_reads() -> None:
    stored = json.loads((DIRECTORY / "pool.json").read_text())
    assert stored == pool_cases()
    accepted = [case["name"] for case in stored["files"] if case["pool"] is not None]
    assert accepted == ["good", "one page with only the last word"]
