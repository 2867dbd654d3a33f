"""Set the project up: `.venv` with Python packages; for development also `node_modules` and browsers.

`python3 scripts/setup.py` installs what the server needs, `python3 scripts/setup.py --dev` everything that tests and
the lab need, torch included. Versions are those of `requirements.lock`, which `make lock` renews. A second run does
nothing unless something changed. Needs nothing but Python itself.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
OLDEST_PYTHON = (3, 11)
OLDEST_NODE = (20, 19)
BROWSERS = {"chromium": "chromium", "firefox-esr": "firefox-esr"}
"""What the tests of the extension and of the dashboard drive, by command, and Debian's package of it."""
LOCK = "requirements.lock"
"""Exact versions of all Python packages, as constraints: only what is asked for is installed."""
PYTHON_SOURCES = ("pyproject.toml", LOCK)
TOOLS = ("editables", "hatchling", "uv")
"""What builds and installs the package; hatchling needs editables for an editable install."""
INDEX_ADVICE = "check that the Python package index can be reached"
TORCH = "torch==2.13.0"
"""Installed by itself and first: asked for by another package, its newest CUDA build may come instead."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", action="store_true", help="also what tests, benchmarks and the lab need")
    dev = parser.parse_args().dev
    start = time.monotonic()
    check_python()
    if dev:
        check_node()
    done = [install_python(dev), dev and install_node(), dev and install_browsers()]
    if any(done):
        say(f"set up in {time.monotonic() - start:.0f} s")


def check_python() -> None:
    """Say plainly if Python is too old."""
    if sys.version_info < OLDEST_PYTHON:
        stop(
            f"Python {written(OLDEST_PYTHON)} or newer is needed, this is {sys.version.split()[0]}.",
            "Install a newer one and run: make PYTHON=python3.12 ...",
        )


def check_node() -> None:
    """Say plainly if Node.js is missing or too old, and how to get it."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        stop(
            f"Node.js {written(OLDEST_NODE)} or newer with npm is needed and not on the PATH.",
            "Debian: apt-get install nodejs npm; macOS: brew install node; else see the Node.js web site.",
        )
    version = subprocess.run([str(node), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < OLDEST_NODE:
        stop(f"Node.js {written(OLDEST_NODE)} or newer is needed, this is {version}.", "Install a newer one.")


def install_python(dev: bool) -> bool:
    """Fill `.venv`; a whole set-up serves the small one too."""
    if up_to_date(VENV, dev, *PYTHON_SOURCES):
        return False
    if not PYTHON.exists() or subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True).returncode:
        say(f"making a virtual environment in {VENV.name}")
        try:
            venv.create(VENV, with_pip=True, clear=True, symlinks=os.name != "nt")
        except subprocess.CalledProcessError:
            shutil.rmtree(VENV, ignore_errors=True)
            stop("Python cannot make a virtual environment.", "Debian: apt-get install python3-venv")
    say("installing the tools that install the rest")
    run(pip(*TOOLS), INDEX_ADVICE)
    if dev:
        say(f"installing {TORCH}")
        run(pip(TORCH), "see README.md, 'torch', for machines with other builds")
    say("installing eitr and what it needs" + (" for development and tests" if dev else ""))
    install_eitr("dev" if dev else "server")
    stamp(VENV, dev, *PYTHON_SOURCES)
    return True


def install_eitr(extra: str) -> None:
    """Install the package itself, editable, and its dependencies: with uv, or with pip where uv cannot.

    uv is several times faster, but does not read pip's configuration, where some machines name their package index.
    """
    wanted = ["--no-build-isolation", "--editable", f"{ROOT}[{extra}]"]
    uv = [str(PYTHON), "-m", "uv", "pip", "install", "--python", str(PYTHON), "--quiet", "--compile-bytecode"]
    if subprocess.run([*uv, "--constraint", LOCK, *wanted], cwd=ROOT, check=False).returncode != 0:
        say("uv could not install them, trying pip")
        run(pip(*wanted), INDEX_ADVICE)


def pip(*wanted: str) -> list[str]:
    """Return a pip command that installs the locked versions."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    return [str(PYTHON), "-m", "pip", "install", *quiet, "--constraint", LOCK, *wanted]


def install_node() -> bool:
    """Fill `node_modules`."""
    folder = ROOT / "node_modules"
    if up_to_date(folder, True, "package-lock.json"):
        return False
    say("installing JavaScript packages")
    npm = [shutil.which("npm") or "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    run(npm, "check that the npm registry can be reached")
    folder.mkdir(exist_ok=True)
    stamp(folder, True, "package-lock.json")
    return True


def install_browsers() -> bool:
    """Get the browsers that tests need, where that is allowed; elsewhere say how, and let those tests be skipped."""
    missing = [package for command, package in BROWSERS.items() if shutil.which(command) is None]
    if not missing:
        return False
    apt = shutil.which("apt-get")
    if apt is None or os.name == "nt" or os.geteuid() != 0:
        say(
            f"no {' and no '.join(missing)}: tests in browsers are skipped; Debian: apt-get install {' '.join(missing)}"
        )
        return False
    say(f"installing {' and '.join(missing)}, for tests")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "--yes", "--quiet", "--no-install-recommends", *missing]
    for command in ([apt, "update", "--quiet"], install):
        if subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            say(f"failed: {' '.join(command)}; tests in browsers are skipped")
            return False
    return True


def written(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def up_to_date(folder: Path, dev: bool, *sources: str) -> bool:
    kinds = ("dev",) if dev else ("dev", "small")
    return any(note(folder, kind).exists() and note(folder, kind).read_text() == digest(*sources) for kind in kinds)


def stamp(folder: Path, dev: bool, *sources: str) -> None:
    note(folder, "small").unlink(missing_ok=True)
    note(folder, "dev" if dev else "small").write_text(digest(*sources))


def note(folder: Path, kind: str) -> Path:
    return folder / f".eitr-setup-{kind}"


def digest(*sources: str) -> str:
    return hashlib.sha256(b"".join((ROOT / source).read_bytes() for source in sources)).hexdigest()


def run(command: list[str], advice: str) -> None:
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        stop(f"failed: {' '.join(command)}", advice)


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def stop(problem: str, advice: str) -> None:
    print(f"setup: {problem}\nsetup: {advice}", file=sys.stderr, flush=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
