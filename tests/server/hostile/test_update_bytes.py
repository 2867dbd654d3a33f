"""Bytes that are not an update are refused, noted once, and change nothing."""

import base64
import contextlib
import gzip
import itertools
import zlib
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from eitr.model.update_encoding import DIFFERENCE, PARAMETERS
from eitr.server.db.tables import RefusalRow, UpdateRow
from tests.server.cases import naming
from tests.server.hostile.conftest import (
    Person,
    RunningServer,
    base_vector,
    digest_of,
    problem,
    sound,
    update_head,
)

SIZE = base_vector().size


def spoiled(value: float, where: int, encoding: str = PARAMETERS) -> bytes:
    """A sound update but for one number."""
    kind = "<f4" if encoding == PARAMETERS else "<f2"
    values = (base_vector() if encoding == PARAMETERS else np.zeros(SIZE)).astype(kind)
    values[where] = value
    return values.tobytes()


def in_chunks(data: bytes, size: int = 100_000) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.fixture(scope="module")
def round(server: RunningServer) -> int:
    """An open round."""
    return server.open_round()


def assert_no_trace(server: RunningServer, person: Person) -> None:
    """There is neither an update of a participant nor a note of one that was refused."""
    assert server.count(UpdateRow, participant=person.id) == server.count(RefusalRow, participant=person.id) == 0


def assert_refused_once(server: RunningServer, round: int, person: Person, reason: str) -> None:
    """There is one note of it, no update, and a sound update is still received."""
    noted = server.rows(RefusalRow, round=round, participant=person.id)
    assert [one.reason for one in noted] == [reason]
    assert server.count(UpdateRow, participant=person.id) == 0
    assert server.put(person, round, sound()).status_code == 202
    assert server.count(UpdateRow, round=round, participant=person.id) == 1
    assert server.count(RefusalRow, participant=person.id) == 1


def test_one_nan_or_infinity_is_enough_to_refuse_all(server: RunningServer, round: int) -> None:
    for value in [np.nan, np.inf, -np.inf]:
        for where in [0, SIZE // 2, SIZE - 1]:
            with naming(value, where):
                person = server.enrol()
                assert problem(server.put(person, round, spoiled(value, where))) == "not-finite"
                assert_refused_once(server, round, person, "not-finite")


def test_a_difference_must_be_finite_in_half_precision(server: RunningServer, round: int) -> None:
    for value in [np.nan, np.inf, -np.inf, 1e5]:
        with naming(value):
            person = server.enrol()
            with np.errstate(over="ignore"):
                data = spoiled(value, SIZE - 1, DIFFERENCE)
            assert problem(server.put(person, round, data, DIFFERENCE)) == "not-finite"
            assert_refused_once(server, round, person, "not-finite")


def test_every_pattern_of_a_nan_is_one(server: RunningServer, round: int, person: Person) -> None:
    for bits in (0x7F800001, 0x7FC00000, 0xFFFFFFFF, 0xFF800001):
        values = base_vector().astype("<f4")
        values.view("<u4")[7] = bits
        assert problem(server.put(person, round, values.tobytes())) == "not-finite"
    assert_refused_once(server, round, person, "not-finite")


def test_a_number_beyond_a_million_is_refused(server: RunningServer, round: int) -> None:
    for value in [1.0001e6, -1.0001e6, 3e38, -3e38]:
        with naming(value):
            person = server.enrol()
            assert problem(server.put(person, round, spoiled(value, 3))) == "too-great"
            assert_refused_once(server, round, person, "too-great")


def test_the_greatest_and_the_smallest_numbers_are_received(server: RunningServer, round: int) -> None:
    for value, encoding in [
        (1e6, PARAMETERS),
        (-1e6, PARAMETERS),
        (1e-45, PARAMETERS),
        (-0.0, PARAMETERS),
        (65504, DIFFERENCE),
    ]:
        with naming(value, encoding):
            person = server.enrol()
            data = spoiled(value, 3, encoding)
            answer = server.put(person, round, data, encoding)
            assert (answer.status_code, answer.json()["round"]) == (202, round)
            [kept] = server.rows(UpdateRow, round=round, participant=person.id)
            assert (kept.size, kept.encoding) == (len(data), encoding)
            assert server.stored(kept) == data
            assert server.count(RefusalRow, participant=person.id) == 0


def test_an_update_of_another_length_is_refused(server: RunningServer, round: int) -> None:
    for length in [0, 1, 4 * SIZE - 4, 4 * SIZE - 1, 4 * SIZE + 1, 4 * SIZE + 4, 8 * SIZE, 2 * SIZE]:
        for chunked in [False, True]:
            with naming(length, chunked):
                person = server.enrol()
                data = (sound() * 2)[:length]
                sent = in_chunks(data) if chunked else data
                assert problem(server.put(person, round, sent, digest=digest_of(data))) == "wrong-length"
                assert_refused_once(server, round, person, "wrong-length")


def test_an_update_in_chunks_is_received(server: RunningServer, round: int, person: Person) -> None:
    data = sound()
    assert server.put(person, round, in_chunks(data, 1009), digest=digest_of(data)).status_code == 202
    assert server.count(UpdateRow, round=round, participant=person.id) == 1


def test_chunks_without_end_are_refused_as_soon_as_there_are_too_many(
    server: RunningServer, round: int, person: Person
) -> None:
    head = update_head(person, round, sound(), "Transfer-Encoding: chunked")
    before = server.megabytes
    with server.connect() as connection:
        connection.sendall(head)
        chunk = b"f4240\r\n" + bytes(1_000_000) + b"\r\n"
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(100):
                connection.sendall(chunk)
    assert [one.reason for one in server.rows(RefusalRow, participant=person.id)] == ["wrong-length"]
    assert server.megabytes - before < 60
    assert server.healthy()


def test_an_announced_length_that_is_wrong_is_refused_before_the_bytes_come(
    server: RunningServer, round: int, person: Person
) -> None:
    heard = server.say(update_head(person, round, sound(), f"Content-Length: {1 << 40}"))
    assert [one.slug for one in heard.answers] == ["wrong-length"]
    assert_refused_once(server, round, person, "wrong-length")


def test_less_than_announced_is_no_evidence_for_the_connection_may_have_failed(
    server: RunningServer, round: int, person: Person
) -> None:
    data = sound()
    server.say(update_head(person, round, data, f"Content-Length: {len(data)}"), data[:-1], close=True)
    assert server.count(UpdateRow, participant=person.id) == server.count(RefusalRow, participant=person.id) == 0
    assert server.put(person, round, data).status_code == 202


def test_more_than_announced_is_not_part_of_the_update(server: RunningServer, round: int, person: Person) -> None:
    data = sound()
    heard = server.say(update_head(person, round, data, f"Content-Length: {len(data)}"), data + b"GARBAGE\r\n\r\n")
    assert heard.statuses[0] == 202
    assert server.rows(UpdateRow, participant=person.id)[0].size == len(data)


def test_an_unfinished_chunk_is_no_update(server: RunningServer, round: int, person: Person) -> None:
    data = sound()
    head = update_head(person, round, data, "Transfer-Encoding: chunked")
    server.say(head, f"{len(data):x}\r\n".encode() + data, close=True)
    assert server.count(UpdateRow, participant=person.id) == 0


def test_a_chunk_of_impossible_size_ends_the_connection(server: RunningServer, round: int) -> None:
    for size in [b"-1", b"zz", b"ffffffffffffffffff", b"0x10", b" 10", b""]:
        with naming(size):
            person = server.enrol()
            head = update_head(person, round, sound(), "Transfer-Encoding: chunked")
            heard = server.say(head, size + b"\r\n" + bytes(100))
            assert heard.closed
            assert 202 not in heard.statuses
            assert server.count(UpdateRow, participant=person.id) == 0
            assert server.healthy()


def test_bytes_that_are_not_those_of_the_digest_are_refused(server: RunningServer, round: int, person: Person) -> None:
    assert problem(server.put(person, round, sound(), digest=digest_of(sound(1)))) == "wrong-digest"
    assert_refused_once(server, round, person, "wrong-digest")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_garbled_digest_is_malformed_and_no_evidence(server: RunningServer, round: int) -> None:
    for digest in [
        "",
        "sha-256",
        "sha-256=",
        "sha-256=::",
        f"sha-256=:{_encoded(bytes(31))}:",
        f"sha-256=:{_encoded(bytes(33))}:",
        f"sha-256=:{_encoded(bytes(64))}:",
        f"sha-256=:{bytes(32).hex()}:",
        f"sha-256={_encoded(bytes(32))}",
        f"sha-256=:{_encoded(bytes(32))}",
        f"sha-512=:{_encoded(bytes(64))}:",
        f"md5=:{_encoded(bytes(16))}:",
        f"sha-256=:{'=' * 44}:",
        f"sha-256=:{'A' * 44}:",
        f"sha-256=:{'A' * 42}==:",
        f"sha-256=:A{'=' * 43}:",
        "sha-256=:" + "A" * 1000 + ":",
        "' OR 1=1 --",
        "\u00ff" * 50,
    ]:
        with naming(digest):
            person = server.enrol()
            assert problem(server.put(person, round, sound(), digest=digest.encode("latin-1"))) == "malformed-request"  # type: ignore[arg-type]
            assert (
                server.count(RefusalRow, participant=person.id) == server.count(UpdateRow, participant=person.id) == 0
            )


def test_the_digest_of_another_algorithm_is_not_taken_for_one_of_sha_256(
    server: RunningServer, round: int, person: Person
) -> None:
    """A name that only ends alike is another name."""
    data = sound()
    assert problem(server.put(person, round, data, digest=f"x{digest_of(data)}")) == "malformed-request"


def test_a_digest_among_others_is_found(server: RunningServer, round: int, person: Person) -> None:
    data = sound()
    several = f"sha-512=:{_encoded(bytes(64))}:, {digest_of(data)}"
    assert server.put(person, round, data, digest=several).status_code == 202


def test_an_update_without_a_digest_is_malformed(server: RunningServer, round: int, person: Person) -> None:
    assert problem(server.put(person, round, iter([sound()]), digest=None)) == "malformed-request"
    assert server.count(RefusalRow, participant=person.id) == 0


def test_another_media_type_is_not_understood(server: RunningServer, round: int) -> None:
    for kind in [
        None,
        "",
        "application/json",
        "application/octet-stream",
        "text/html",
        "multipart/form-data; boundary=x",
        f"{PARAMETERS}x",
        f"x{PARAMETERS}",
        f"{PARAMETERS},{DIFFERENCE}",
        "*/*",
        "application/vnd.eitr.parameters/../json",
        "<script>alert(1)</script>",
    ]:
        with naming(kind):
            person = server.enrol()
            answer = server.put(person, round, sound(), kind)
            assert problem(answer) == "unsupported-encoding"
            assert "<" not in answer.text
            assert (
                server.count(RefusalRow, participant=person.id) == server.count(UpdateRow, participant=person.id) == 0
            )


def test_case_and_parameters_of_the_media_type_do_not_matter(server: RunningServer, round: int) -> None:
    for kind in [f"{PARAMETERS}; charset=utf-8", f"{PARAMETERS};q=1", PARAMETERS.upper(), f"{PARAMETERS} ;x"]:
        with naming(kind):
            person = server.enrol()
            assert server.put(person, round, sound(), kind).status_code == 202
            assert server.rows(UpdateRow, participant=person.id)[0].encoding == PARAMETERS


@cache
def _bomb(coding: str) -> bytes:
    zeros = bytes(40_000_000)
    if coding == "deflate":
        return zlib.compress(zeros, 9)
    return gzip.compress(zeros, 9) if coding == "gzip" else b"\xce\xb2\xcf\x81" * 1000


def test_what_is_compressed_is_refused_and_never_unpacked(server: RunningServer, round: int) -> None:
    for coding in ["gzip", "x-gzip", "deflate", "br", "zstd", "GZIP", "identity, gzip", ""]:
        with naming(coding):
            person = server.enrol()
            before, data = server.megabytes, _bomb(coding)
            assert problem(server.put(person, round, data, Content_Encoding=coding)) == "unsupported-encoding"
            assert server.megabytes - before < 40
            assert (
                server.count(RefusalRow, participant=person.id) == server.count(UpdateRow, participant=person.id) == 0
            )


def test_what_is_compressed_is_refused_before_it_came(server: RunningServer, round: int, person: Person) -> None:
    heard = server.say(update_head(person, round, b"", "Content-Encoding: gzip", f"Content-Length: {4 * SIZE}"))
    assert [one.slug for one in heard.answers] == ["unsupported-encoding"]


def test_a_compressed_request_to_enrol_is_not_unpacked(server: RunningServer) -> None:
    before = server.megabytes
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = server.http.post("/api/v2/participants", content=_bomb("gzip"), headers=headers)
    assert problem(answer) == "malformed-request"
    assert server.megabytes - before < 40


def test_ten_invalid_updates_are_one_refusal_with_the_first_reason(
    server: RunningServer, round: int, person: Person
) -> None:
    invalid = itertools.cycle([sound()[:-4], spoiled(np.nan, 1), spoiled(1e9, 1)])
    slugs = [problem(server.put(person, round, data)) for data in itertools.islice(invalid, 10)]
    assert slugs[:3] == ["wrong-length", "not-finite", "too-great"]
    assert_refused_once(server, round, person, "wrong-length")


def test_invalid_in_two_rounds_is_noted_in_both(server: RunningServer, person: Person) -> None:
    first = server.open_round()
    assert problem(server.put(person, first, b"")) == "wrong-length"
    second = server.open_round()
    assert problem(server.put(person, second, b"")) == "wrong-length"
    assert {one.round for one in server.rows(RefusalRow, participant=person.id)} == {first, second}
