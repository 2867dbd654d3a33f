"""The packages of the browser extension that a server offers."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import eitr
from eitr.server.settings import ServerSettings

BROWSERS = {"chrome": "Chrome, Chromium, Edge, Brave", "firefox": "Firefox"}


@dataclass(frozen=True, slots=True)
class Package:
    """One file to download."""

    name: str
    browser: str
    browsers: str
    megabytes: float
    sha256: str


def offered(settings: ServerSettings) -> list[Package]:
    """Return what there is to download."""
    found = (_package(_folder(settings), browser) for browser in BROWSERS)
    return [package for package in found if package is not None]


def package_file(settings: ServerSettings, file: str) -> Path | None:
    """Return where a package is. Only the two names are known: nothing of what is asked for becomes part of a path."""
    known = next((name for name in map(_file, BROWSERS) if name == file), None)
    path = _folder(settings) / known if known else None
    return path if path is not None and path.is_file() else None


def packaged(package: Path = Path(eitr.__file__).parent) -> Path:
    """Return the folder with the extension's packages: inside an installed package, or a checkout's `dist`."""
    inside = package / "assets" / "extension"
    return inside if inside.is_dir() else package.parents[1] / "dist"


def _folder(settings: ServerSettings) -> Path:
    return settings.downloads or packaged()


def _file(browser: str) -> str:
    return f"eitr-{browser}.zip"


def _package(folder: Path, browser: str) -> Package | None:
    path = folder / _file(browser)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return Package(path.name, browser, BROWSERS[browser], len(content) / 1e6, hashlib.sha256(content).hexdigest())
