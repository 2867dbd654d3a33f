"""The wheel and the sdist, installed into empty environments: the package alone, and with each extra."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from scripts.setup import TORCH
from tests.extension.node import needs
from tests.server.process import Running

ROOT = Path(__file__).parents[2]
BROWSERS = ("chrome", "firefox")
SAMPLE = ROOT / "src" / "eitr" / "assets" / "sample.html"
LOCK = ROOT / "requirements.lock"


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and what it asked for."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def eitr(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        """Run the installed command, away from the checkout."""
        command = [str(self.folder / "bin" / "eitr"), *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.folder, env=bare_environment(), capture_output=True, text=True, check=False
        )


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EITR_"))}


def run(*command: object, cwd: Path = ROOT) -> str:
    ran = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `dist` that `make dist` fills, built in a copy of the checkout."""
    needs("esbuild", "third-party-web", "tldts")
    copy = tmp_path_factory.mktemp("release")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    (copy / "node_modules").symlink_to((ROOT / "node_modules").resolve())
    run(sys.executable, "scripts/build_release.py", cwd=copy)
    return copy / "dist"


def installed(release: Path, folder: Path, extra: str = "") -> Installed:
    """Make an empty environment and install the wheel with an extra; pip where uv cannot, as in set-up."""
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
    made = Installed(folder)
    pip = (sys.executable, "-m", "pip", "--python", made.python, "install", "--quiet", "--constraint", LOCK)
    if extra in ("lab", "dev"):
        run(*pip, TORCH)
    wheel = f"{next(release.glob('*.whl'))}{f'[{extra}]' if extra else ''}"
    uv = (sys.executable, "-m", "uv", "pip", "install", "--python", made.python, "--quiet", "--constraint", LOCK, wheel)
    if subprocess.run([*map(str, uv)], capture_output=True, check=False).returncode != 0:
        run(*pip, wheel)
    assert made.python.startswith(str(folder))
    found = subprocess.run(
        [made.python, "-c", "import eitr; print(eitr.__file__)"],
        cwd=folder,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(str(folder))
    return made


def assert_core_works(made: Installed) -> None:
    classified = made.eitr("classify", SAMPLE, "--json")
    assert classified.returncode == 0, classified.stderr
    assert json.loads(classified.stdout)["label"] == "health"
    listed = made.eitr("rules", "--json")
    assert listed.returncode == 0, listed.stderr
    assert "fused" in [rule["name"] for rule in json.loads(listed.stdout)]


def assert_asks_for(extra: str, made: Installed, *arguments: str) -> None:
    """Assert that a command ends with one line that names the extra."""
    refused = made.eitr(*arguments)
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.endswith(f"which is not installed: pip install 'eitr[{extra}]'\n")
    assert len(refused.stderr.splitlines()) == 1


def assert_lab_lists(made: Installed) -> None:
    listed = made.eitr("lab", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert "convergence" in [experiment["id"] for experiment in json.loads(listed.stdout)]


def test_the_wheel_holds_the_extension_and_the_sdist_builds_the_same_wheel(release: Path, tmp_path: Path) -> None:
    wheel, source = next(release.glob("*.whl")), next(release.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        for browser in BROWSERS:
            name = f"eitr-{browser}.zip"
            assert archive.read(f"eitr/assets/extension/{name}") == (release / name).read_bytes()
        assert "eitr/py.typed" in archive.namelist()
    with tarfile.open(source) as archive_of_sources:
        archive_of_sources.extractall(tmp_path, filter="data")
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, cwd=unpacked)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_package_alone_classifies_and_says_what_the_rest_needs(release: Path, tmp_path: Path) -> None:
    made = installed(release, tmp_path / "environment")
    assert_core_works(made)
    for command in ("serve", "worker", "demo", "settings", "operator", "invite"):
        assert_asks_for("server", made, command)
    assert_lab_lists(made)
    assert_asks_for("lab", made, "lab", "run", "weights")


@pytest.mark.long
def test_the_server_extra_serves_the_extension_and_runs_the_demonstration(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = installed(release, tmp_path / "environment", "server")
    assert_core_works(made)
    assert_lab_lists(made)
    assert_asks_for("lab", made, "lab", "run", "weights")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with Running("serve", tmp_path / "server", "--no-worker", python=made.python) as server:
        server.ready()
        assert httpx.get(f"{server.address}/healthz").status_code == 200
        page = httpx.get(f"{server.address}/extension").text
        for browser in BROWSERS:
            name = f"eitr-{browser}.zip"
            content = httpx.get(f"{server.address}/extension/{name}").content
            assert content == (release / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() in page
        assert server.stop() == 0
    shown = made.eitr("demo", "--rounds", 1)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"http://127\.0\.0\.1:\d+", shown.stderr)


@pytest.mark.long
def test_the_lab_extra_lists_experiments_and_has_no_server(release: Path, tmp_path: Path) -> None:
    made = installed(release, tmp_path / "environment", "lab")
    assert_core_works(made)
    assert_lab_lists(made)
    assert_asks_for("server", made, "serve")


@pytest.mark.long
def test_the_dev_extra_has_everything(release: Path, tmp_path: Path) -> None:
    made = installed(release, tmp_path / "environment", "dev")
    assert_core_works(made)
    assert_lab_lists(made)
    assert made.eitr("settings", "--json").returncode == 0
    run(sys.executable, "-m", "uv", "pip", "check", "--python", made.python)
