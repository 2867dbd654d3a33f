"""The page where people get the browser extension: the one page of the server that everybody may see."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

import eitr
from eitr.model.private import largest_auc
from eitr.model.round_plan import MOST_USES
from eitr.server.dashboard.guard import present
from eitr.server.dashboard.rendering import page
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

router = APIRouter()
BROWSERS = {"chrome": "Chrome, Chromium, Edge, Brave", "firefox": "Firefox"}


@dataclass(frozen=True, slots=True)
class Package:
    """One file to download."""

    name: str
    browsers: str
    megabytes: float
    sha256: str


@router.get("/extension")
def downloads(server: Server, request: Request) -> Response:
    """Show what there is, with hashes to compare."""
    folder = server.settings.downloads or packaged()
    found = [_package(folder / _file(name), browsers) for name, browsers in BROWSERS.items()]
    return page(
        "extension.html",
        who=present(request),
        packages=[package for package in found if package is not None],
        training=server.settings.training,
        bound=percentage_bound(server.settings.noise),
    )


@router.get("/extension/{file}")
def download(file: str, server: Server) -> Response:
    """Hand out a package. Only the two names are known: nothing of what is asked for becomes part of a path."""
    known = next((name for name in map(_file, BROWSERS) if name == file), None)
    path = (server.settings.downloads or packaged()) / known if known else None
    if path is None or not path.is_file():
        raise Problem("not-found", "There is no such package here.")
    return FileResponse(path, media_type="application/zip", filename=known)


def percentage_bound(noise: float) -> int:
    """Return in how many of 100 cases anybody can be right, at most, about whether a certain page was trained on.

    It is the largest area under the ROC curve, rounded up; a single guess is right less often.
    """
    return math.ceil(100 * largest_auc(noise, MOST_USES))


def packaged(package: Path = Path(eitr.__file__).parent) -> Path:
    """Return the folder with the extension's packages: inside an installed package, or a checkout's `dist`."""
    inside = package / "assets" / "extension"
    return inside if inside.is_dir() else package.parents[1] / "dist"


def _file(browser: str) -> str:
    return f"eitr-{browser}.zip"


def _package(path: Path, browsers: str) -> Package | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return Package(path.name, browsers, len(content) / 1e6, hashlib.sha256(content).hexdigest())
