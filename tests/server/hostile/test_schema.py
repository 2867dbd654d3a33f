"""The API does what its OpenAPI document says, whatever is sent to it."""

import contextlib
import itertools
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from eitr.model.update_encoding import WIDTHS
from tests.server.hostile.conftest import RunningServer, is_guarded

ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
FEW = settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=200)


@schemathesis.serializer(*WIDTHS)
def as_bytes(_context: Any, value: Any) -> bytes:
    """Send bytes as they are, and anything else as text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


OPERATIONS = [
    "POST /api/v2/participants",
    "GET /api/v2/me/export",
    "GET /api/v2/me/rounds",
    "DELETE /api/v2/me",
    "GET /api/v2/model",
    "GET /api/v2/models/{version}/weights",
    "GET /api/v2/models/{version}/vocabulary",
    "GET /api/v2/models/{version}/model.safetensors",
    "GET /api/v2/models/{version}/tfjs/model.json",
    "GET /api/v2/models/{version}/tfjs/weights.bin",
    "GET /api/v2/pools/{sha256}",
    "GET /api/v2/rounds/current",
    "PUT /api/v2/rounds/{id}/update",
    "GET /api/v2/study",
    "PUT /api/v2/study/terms",
    "GET /api/v2/tasks",
    "PUT /api/v2/tasks/{id}",
]


@pytest.fixture(scope="module")
def api(server: RunningServer) -> Any:
    """The API as its document describes it; a round is open."""
    server.open_round()
    return schemathesis.openapi.from_url(f"{server.running.address}/api/v2/openapi.json")


def test_every_operation_is_known_here(api: Any) -> None:
    assert {found.ok().label for found in api.get_all_operations()} == set(OPERATIONS)


def assert_promises(api: Any, server: RunningServer, operation: str, how: settings) -> None:
    """Send valid and invalid requests, as a new participant and as a stranger: answers are as promised."""
    for mode, known in itertools.product(GenerationMode, (True, False)):
        with contextlib.suppress(Unsatisfiable):  # a request without parts cannot be invalid
            assert_promises_to(api, server, operation, how, mode, known=known)


def assert_promises_to(
    api: Any, server: RunningServer, operation: str, how: settings, mode: GenerationMode, *, known: bool
) -> None:
    """Send requests of one kind, as somebody who is known or not."""
    method, path = operation.split()
    checks = ALWAYS if known else [*ALWAYS, ignored_auth]

    @how
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        answer = case.call_and_validate(headers=server.enrol().headers if known else {}, checks=checks)
        assert is_guarded({name: values[0] for name, values in answer.headers.items()})

    check()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_everybody_gets_what_is_promised(api: Any, server: RunningServer, operation: str) -> None:
    assert_promises(api, server, operation, FEW)


@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS)
def test_everybody_gets_what_is_promised_however_often_they_ask(
    api: Any, server: RunningServer, operation: str
) -> None:
    assert_promises(api, server, operation, MANY)
