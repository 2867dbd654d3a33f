import errno
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from eitr.errors import InputError
from eitr.io.atomic import write_atomically, write_together


def test_content_is_written_and_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    write_atomically(target, b"old")
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_of_the_disk_keeps_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(InputError, match=r"cannot write .*state: No space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupt_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_write_that_the_system_cuts_short_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")
    program = (
        "import sys, pathlib; from eitr.io.atomic import write_atomically; "
        "write_atomically(pathlib.Path(sys.argv[1]), bytes(1 << 20))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(target)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert "InputError: cannot write" in result.stderr
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "state", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_device_or_a_directory_is_never_replaced(tmp_path: Path) -> None:
    for target in (Path(os.devnull), tmp_path):
        with pytest.raises(InputError, match="not a regular file"):
            write_atomically(target, b"new")
    assert Path(os.devnull).is_char_device()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*nowhere.*No such file"):
        write_atomically(tmp_path / "nowhere" / "state", b"new")


def test_a_directory_that_cannot_be_synced_does_not_lose_the_new_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "state"

    def fail(*_: object) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr("eitr.io.atomic.os.open", fail)
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"


def test_when_the_second_file_cannot_take_its_name_the_first_gets_its_content_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, new = tmp_path / "first", tmp_path / "second", tmp_path / "new"
    first.write_bytes(b"old first")
    second.write_bytes(b"old second")
    rename = Path.replace

    def busy(self: Path, target: Path) -> Path:
        if target == second:
            raise OSError(16, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(InputError, match="second: Device or resource busy"):
        write_together({first: b"1", new: b"2", second: b"3"})
    assert first.read_bytes() == b"old first"
    assert second.read_bytes() == b"old second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


def test_several_files_are_written_also_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    (tmp_path / "a").write_bytes(b"old")
    write_together({tmp_path / "a": b"new a", tmp_path / "b": b"new b"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new a", "b": b"new b"}
