"""What the build makes of the extension, and what it is made from."""

import gzip
import hashlib
import json
import re
import zipfile
from pathlib import Path

import pytest

import eitr
from eitr.model.classifier import Classifier
from eitr.pages import Vocabulary
from scripts.extension_taxonomy import TARGET, typescript

from .node import ROOT, needs, run

BROWSERS = ("chrome", "firefox")
MAX_BYTES = 75_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("esbuild", "third-party-web", "tldts")
    folder = tmp_path_factory.mktemp("built")
    (folder / "said.txt").write_text(run("node", "extension/build.mjs", "--all", "--to", folder))
    return folder


def test_the_copy_of_the_taxonomy_is_current() -> None:
    assert TARGET.read_text("utf-8") == typescript(), "run python scripts/extension_taxonomy.py"


def test_every_package_is_asked_for_in_one_version_and_the_lock_names_no_host() -> None:
    asked = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert [name for name, version in asked.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
    assert lock["packages"][""]["devDependencies"] == asked


def test_the_lock_knows_what_other_machines_need() -> None:
    # Where a registry lacks the newest builds for other systems, npm leaves them out, and `npm ci` refuses such a lock.
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    known = {path.rpartition("node_modules/")[2] for path in packages}
    wanted = {name for entry in packages.values() for name in entry.get("optionalDependencies", {})}
    assert sorted(wanted - known) == []


def test_building_twice_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    run("node", "extension/build.mjs", "--all", "--to", tmp_path)
    for browser in BROWSERS:
        name = f"eitr-{browser}.zip"
        assert (tmp_path / name).read_bytes() == (built / name).read_bytes()


@pytest.mark.parametrize("browser", BROWSERS)
def test_a_package_holds_what_was_built_and_nothing_of_the_machine(built: Path, browser: str) -> None:
    folder = built / browser
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with zipfile.ZipFile(built / f"eitr-{browser}.zip") as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == files
        assert archive.namelist() == sorted(files)
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {(entry.extra, entry.external_attr, entry.comment) for entry in entries} == {(b"", 0, b"")}
    assert [name for name in files if name.endswith((".map", ".ts", ".mjs"))] == []
    assert [name for name, data in files.items() if name.endswith(".js") and b"sourceMappingURL" in data] == []
    assert b"Public Suffix List" in files["NOTICE.txt"]
    assert b"Patrick Hulce" in files["NOTICE.txt"]


@pytest.mark.parametrize("browser", BROWSERS)
def test_the_manifest_is_that_of_the_browser_and_has_the_version_of_the_python_package(
    built: Path, browser: str
) -> None:
    manifest = json.loads((built / browser / "manifest.json").read_text("utf-8"))
    template = json.loads((ROOT / "extension" / "src" / "manifest.json").read_text("utf-8"))
    assert manifest["version"] == eitr.__version__
    assert manifest["manifest_version"] == 3
    assert manifest["background"] == template[browser]["background"]
    assert not {"common", "chrome", "firefox"} & manifest.keys()


@pytest.mark.parametrize("browser", BROWSERS)
def test_the_model_in_the_package_is_the_one_python_ships(built: Path, browser: str) -> None:
    data = built / browser / "data"
    network, vector = Classifier.shipped().model
    weights = (data / "weights.bin").read_bytes()
    assert weights == vector.astype("<f4").tobytes()
    assert json.loads((data / "model.json").read_text()) == {
        "version": 0,
        "sha256": hashlib.sha256(weights).hexdigest(),
        "layers": list(network.layers),
    }
    assert Vocabulary.load(data / "vocabulary.json").words == Classifier.shipped().vocabulary.words


@pytest.mark.parametrize("browser", BROWSERS)
def test_all_scripts_together_stay_small(built: Path, browser: str) -> None:
    scripts = sorted(path for path in (built / browser).rglob("*.js") if path.parent.name != "data")
    sizes = [len(gzip.compress(path.read_bytes(), 9, mtime=0)) for path in scripts]
    assert sum(sizes) <= MAX_BYTES
    said = re.search(rf"{browser}: +([\d.]+) kB all scripts", (built / "said.txt").read_text())
    assert said is not None
    # Counted by Node.js, too: its gzip writes other bytes than Python's.
    program = """const { gzipSync } = require("node:zlib"), { readFileSync } = require("node:fs");
      const sizes = process.argv.slice(1).map((path) => gzipSync(readFileSync(path), { level: 9 }).length);
      console.log(sizes.reduce((sum, size) => sum + size, 0))"""
    counted = int(run("node", "--eval", program, *scripts).split()[-1])
    assert float(said[1]) == pytest.approx(counted / 1000, abs=0.051)
    assert counted == pytest.approx(sum(sizes), rel=0.01)


def test_a_wish_that_is_not_known_is_refused(tmp_path: Path) -> None:
    needs("esbuild")
    with pytest.raises(AssertionError, match="known: --chrome"):
        run("node", "extension/build.mjs", "--opera", "--to", tmp_path)
    assert list(tmp_path.iterdir()) == []
