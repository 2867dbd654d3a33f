"""The cache of compiled functions: never stale, never in the way."""

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from eitr.compiled import JIT, compiled
from tests.kernels import ROOT, SOURCES, compile_all, prune

needs_the_jit = pytest.mark.skipif(not JIT, reason="nothing is compiled or cached with the JIT off")


def test_a_compiled_function_computes_what_it_says():
    @compiled
    def triangle(n):
        total = 0
        for i in range(n + 1):
            total += i
        return total

    assert triangle(100) == 5050


@pytest.mark.skipif(JIT, reason="with the JIT on the function is compiled")
def test_with_the_jit_off_a_function_stays_as_it_is():
    def plain(n):
        return n

    assert compiled(plain) is plain


@pytest.fixture
def package(tmp_path):
    """A package of two modules: a function in one inlines a constant and a function of the other."""
    folder = tmp_path / "twofiles"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    write(
        folder,
        "inner",
        """
        from eitr.compiled import compiled

        FACTOR = 2

        @compiled
        def scale(x):
            return FACTOR * x
        """,
    )
    write(
        folder,
        "outer",
        """
        from eitr.compiled import compiled
        from twofiles.inner import FACTOR, scale

        @compiled
        def both(x):
            return scale(x) + FACTOR
        """,
    )
    return folder


def write(folder, module, text):
    (folder / f"{module}.py").write_text(textwrap.dedent(text))


PROGRAM = """
from twofiles.outer import both
print(both(10), sum(both.stats.cache_hits.values()) if hasattr(both, "stats") else None)
"""


def call(package, program=PROGRAM, *, home=None, **environment):
    """Run the function in a new process: (result, cache hits)."""
    env = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")}
    env |= {
        "PYTHONPATH": os.pathsep.join([str(package.parent), *sys.path]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home or package.parent),
    }
    result = subprocess.run(
        [sys.executable, "-c", program], env=env | environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    value, hits = result.stdout.split()
    return int(value), hits


@needs_the_jit
def test_what_was_compiled_is_loaded_until_a_file_of_the_folder_has_other_content(package):
    inner, outer = package / "inner.py", package / "outer.py"
    assert call(package) == (22, "0")
    for path in package.glob("*.py"):  # a new time alone changes nothing
        os.utime(path)
    assert call(package) == (22, "1")
    # The file of the function stays as it is; the other one, which it inlines, comes with its old time.
    source, old, untouched = inner.read_text(), inner.stat(), outer.stat().st_mtime_ns
    inner.write_text(source.replace("FACTOR = 2", "FACTOR = 3"))
    os.utime(inner, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert outer.stat().st_mtime_ns == untouched
    assert call(package) == (33, "0")
    assert call(package) == (33, "1")


@needs_the_jit
def test_where_no_cache_can_be_written_functions_still_work(package, tmp_path):
    # Files stand where folders for a cache would be made: neither root nor anybody else can write there.
    (package / "__pycache__").write_text("")
    nowhere = tmp_path / "no-home"
    nowhere.write_text("")
    assert call(package, home=nowhere) == (22, "0")
    assert (package / "__pycache__").is_file()


@pytest.mark.long
@needs_the_jit
def test_where_no_cache_can_be_written_a_folder_can_be_given(package, tmp_path):
    (package / "__pycache__").write_text("")
    nowhere = tmp_path / "no-home"
    nowhere.write_text("")
    given = f"import pathlib, eitr.compiled\neitr.compiled.cache_in(pathlib.Path({str(tmp_path / 'given')!r}))\n"
    program = PROGRAM.replace("print", f"{given}print", 1)
    assert call(package, program, home=nowhere) == (22, "0")
    assert list((tmp_path / "given").rglob("*.nbc"))
    assert call(package, program, home=nowhere) == (22, "1")
    # Where there is a cache already, it stays.
    shutil.rmtree(tmp_path / "given")
    assert call(package, program, home=tmp_path) == (22, "0")
    assert not (tmp_path / "given").exists()


@needs_the_jit
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_read_only_folder_without_a_home_still_works(package, tmp_path):
    mount = subprocess.run(["mount", "--bind", "-o", "ro", package, package], capture_output=True, check=False)
    if mount.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", package], check=True)
        assert call(package, home="/proc/nonexistent") == (22, "0")
        assert not list(package.rglob("*.nbc"))
    finally:
        subprocess.run(["umount", package], check=True)


@needs_the_jit
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_full_disk_under_the_cache_does_not_stop_the_work(package, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        (disk / "ballast").write_bytes(bytes(8192))
        assert call(package, NUMBA_CACHE_DIR=str(disk))[0] == 22
    finally:
        subprocess.run(["umount", disk], check=True)


@needs_the_jit
def test_a_numba_without_the_stamp_means_no_cache(monkeypatch):
    class Dispatcher:
        def enable_caching(self):
            raise AttributeError

        def __call__(self, x):
            return x

    made = []

    def njit(**options):
        assert options == {"nogil": True}
        made.append(Dispatcher())
        return lambda function: made[-1]

    monkeypatch.setattr("eitr.compiled.numba.njit", njit)
    assert compiled(lambda x: x) is made[1]


@needs_the_jit
@pytest.mark.long
def test_the_folder_can_be_moved(package, tmp_path):
    call(package)
    moved = tmp_path / "elsewhere" / "twofiles"
    shutil.copytree(package, moved)
    write(moved, "inner", (moved / "inner.py").read_text().replace("FACTOR = 2", "FACTOR = 4"))
    assert call(moved)[0] == 44
    assert call(package) == (22, "1")


@pytest.mark.long
@needs_the_jit
def test_pruning_deletes_what_an_edit_made_useless_and_nothing_else(package, tmp_path):
    cache = tmp_path / "cache"
    call(package, NUMBA_CACHE_DIR=str(cache))
    old = set(cache.rglob("*.nb?"))
    for module in ("inner", "outer"):  # one line further down, a function has another name in the cache
        write(package, module, "\n" + (package / f"{module}.py").read_text())
    call(package, NUMBA_CACHE_DIR=str(cache))
    new = set(cache.rglob("*.nb?")) - old
    assert len(old) == len(new) == 4  # an index and machine code, for two functions
    prune(cache, [package])
    assert set(cache.rglob("*.nb?")) == new
    assert call(package, NUMBA_CACHE_DIR=str(cache)) == (22, "1")


@needs_the_jit
def test_every_kernel_is_compiled_before_the_tests_start():
    compile_all()
    missing, found = [], 0
    for folder in SOURCES:
        for path in folder.glob("*.py"):
            module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
            for name, kernel in vars(module).items():
                if hasattr(kernel, "py_func") and kernel.py_func.__module__ == module.__name__:
                    found += 1
                    missing += [] if Path(kernel._cache._cache_file._index_path).exists() else [f"{path.stem}.{name}"]
    assert missing == []
    assert found > 40


def test_with_the_jit_off_another_process_gets_the_same_numbers(package):
    assert call(package, NUMBA_DISABLE_JIT="1") == (22, "None")
    assert not list(Path(package).rglob("*.nbi"))
