"""Models: a manifest that changes, files that never do."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from eitr.model.files import to_safetensors
from eitr.model.tfjs import to_tfjs
from eitr.server.api.documents import Manifest, problems
from eitr.server.api.etags import NOT_MODIFIED, IfNoneMatch, matches
from eitr.server.domain import pools
from eitr.server.domain.models import PublishedModel
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

FOR_EVER = "public, max-age=31536000, immutable"
BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    **NOT_MODIFIED,
    **problems("unknown-version"),
}
JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}}},
    **NOT_MODIFIED,
    **problems("unknown-version"),
}
POOL: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    **NOT_MODIFIED,
    **problems("unknown-pool"),
}
HIGHEST_VERSION = 2**31

router = APIRouter(tags=["models"])
Version = Annotated[int, Path(ge=1, lt=HIGHEST_VERSION)]


@router.get("/model", response_model=Manifest, responses={**NOT_MODIFIED, **problems()})
async def manifest(server: Server, seen: IfNoneMatch = None) -> Response:
    """Return what the current model is and where its files are; ask with `If-None-Match`, as often as you like."""
    current = server.models.known()
    if current is None:
        current = await run_in_threadpool(server.models.current)
    headers = {"ETag": current.etag, "Cache-Control": "no-cache"}
    if matches(seen, current.etag):
        return Response(status_code=304, headers=headers)
    return Response(current.text, headers=headers, media_type="application/json")


@router.get("/models/{version}/weights", response_class=Response, responses=BINARY)
def weights(server: Server, version: Version, request: Request) -> Response:
    """Return the parameters: float32, little-endian."""
    found = _known(server, version)
    return _file(request, _weights(server, version), found.sha256, "application/octet-stream")


@router.get("/models/{version}/vocabulary", response_class=Response, responses=JSON)
def vocabulary(server: Server, version: Version, request: Request) -> Response:
    """Return words, their weights and their forms."""
    found = _known(server, version)
    return _file(request, server.models.vocabulary(found.vocabulary) or b"", found.vocabulary, "application/json")


@router.get(
    "/models/{version}/model.safetensors",
    response_class=Response,
    responses=BINARY,
)
def safetensors(server: Server, version: Version, request: Request) -> Response:
    """Return the whole model as one safetensors file."""
    found = _known(server, version)
    _weights(server, version)
    data = to_safetensors(found.network, server.models.vector(version))
    return _file(request, data, f"{found.sha256}-safetensors", "application/octet-stream")


@router.get("/models/{version}/tfjs/model.json", response_class=Response, responses=JSON)
def tfjs(server: Server, version: Version, request: Request) -> Response:
    """Return the topology for TF.js (`tf.loadLayersModel`)."""
    found = _known(server, version)
    _weights(server, version)
    document, _ = to_tfjs(found.network, server.models.vector(version))
    return _file(request, document, f"{found.sha256}-tfjs", "application/json")


@router.get(
    "/models/{version}/tfjs/weights.bin",
    response_class=Response,
    responses=BINARY,
)
def tfjs_weights(server: Server, version: Version, request: Request) -> Response:
    """Return the parameters for TF.js."""
    return weights(server, version, request)


@router.get("/pools/{sha256}", response_class=Response, responses=POOL)
def pool(server: Server, sha256: Annotated[str, Path(max_length=64)], request: Request) -> Response:
    """Return public pages as vectors, which participants draw cover pages from."""
    data = pools.content_of(server.database, sha256)
    if data is None:
        raise Problem("unknown-pool", "The manifest names the pool of the current model.")
    return _file(request, data, sha256, "application/octet-stream")


def _known(server: Services, version: int) -> PublishedModel:
    found = server.models.version(version)
    if found is None:
        raise Problem("unknown-version", f"There is no version {version}.")
    return found


def _weights(server: Services, version: int) -> bytes:
    data = server.models.weights(version)
    if data is None:
        raise Problem("unknown-version", f"The parameters of version {version} are no longer kept.")
    return data


def _file(request: Request, data: bytes, name: str, media_type: str) -> Response:
    etag = f'"{name}"'
    headers = {"ETag": etag, "Cache-Control": FOR_EVER}
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=media_type)
