"""Replies as they come: whatever is wrong with one is said, and nothing of it is used."""

import io

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict

from eitr.errors import InputError
from eitr.flower.replies import Expected, read_reply

MODEL = {"kernel": np.zeros((4, 5), np.float32), "bias": np.zeros(5, np.float32)}
EXPECTED = Expected(MODEL, 1000)


def record(**changed):
    arrays = {"bias": Array(np.ones(5, np.float32)), "kernel": Array(np.ones((4, 5), np.float32)), **changed}
    return ArrayRecord({name: array for name, array in arrays.items() if array is not None})


def content(arrays=None, metrics=None):
    return RecordDict(
        {"arrays": arrays or record(), "metrics": MetricRecord({"num-examples": 10}) if metrics is None else metrics}
    )


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def sent(data, stype="numpy.ndarray"):
    return Array("float32", (5,), stype, data)


def test_a_good_reply_is_read_in_the_order_of_the_model():
    found = read_reply(content(), EXPECTED)
    assert list(found.arrays) == ["kernel", "bias"]
    assert found.arrays["kernel"].tolist() == np.ones((4, 5)).tolist()
    assert found.examples == 10


def zipped():
    stream = io.BytesIO()
    np.savez(stream, bias=np.ones(5, np.float32))
    return stream.getvalue()


def huge():
    """Return a header that names terabytes."""
    return saved(np.ones(5, np.float32)).replace(b"(5,), }        ", b"(5000000000000,), }")


BAD = {
    "no records": (RecordDict(), "no array record"),
    "no metrics": (RecordDict({"arrays": record()}), "no metric record"),
    "config instead of arrays": (RecordDict({"arrays": ConfigRecord(), "metrics": MetricRecord()}), "no array record"),
    "an array is missing": (content(record(bias=None)), "other arrays than the model has: 'bias'"),
    "an array too many": (content(record(more=Array(np.ones(1)))), "other arrays than the model has: 'more'"),
    "another shape": (content(record(bias=Array(np.ones((5, 1), np.float32)))), r"shape \(5, 1\), not \(5,\)"),
    "another type": (content(record(bias=Array(np.ones(5, np.float16)))), "type float16, not float32"),
    "integers": (content(record(bias=Array(np.ones(5, np.int32)))), "type int32, not float32"),
    "another shape than declared": (content(record(bias=sent(saved(np.ones(6, np.float32))))), r"shape \(6,\)"),
    "no bytes": (content(record(bias=sent(b""))), "no array"),
    "any bytes": (content(record(bias=sent(b"\x80\x04K\x01."))), "no array"),
    "an archive": (content(record(bias=sent(zipped()))), "no array"),
    "a pickle": (content(record(bias=sent(saved(np.array([{}] * 5))))), "type object"),
    "too few numbers": (content(record(bias=sent(saved(np.ones(5, np.float32))[:-4]))), "fewer numbers"),
    "terabytes": (content(record(bias=sent(huge()))), r"shape \(5000000000000,\)"),
    "too many bytes": (content(record(bias=sent(bytes(10_000)))), "10000 bytes for the array 'bias', which takes 20"),
    "another serialisation": (content(record(bias=sent(b"", "torch"))), "as 'torch', not as 'numpy.ndarray'"),
    "no claim": (content(metrics=MetricRecord()), "no whole number 'num-examples'"),
    "a claim that is no whole number": (content(metrics=MetricRecord({"num-examples": 1.5})), "no whole number"),
    "a list": (content(metrics=MetricRecord({"num-examples": [1, 2]})), "no whole number"),
    "no examples": (content(metrics=MetricRecord({"num-examples": 0})), "claims 0 examples: from 1 to 1000"),
    "1e12 examples": (content(metrics=MetricRecord({"num-examples": 10**12})), "claims 1000000000000 examples"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_reply_is_refused_with_a_reason(case):
    reply, reason = BAD[case]
    with pytest.raises(InputError, match=reason):
        read_reply(reply, EXPECTED)
