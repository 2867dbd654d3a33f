"""What every update store does: a folder, and a bucket of a real S3 server."""

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from eitr.errors import InputError
from eitr.server.update_store.folder import FolderStore
from eitr.server.update_store.interface import (
    MissingObjectError,
    StoreUnavailableError,
    UpdateStore,
    new_name,
)
from eitr.server.update_store.opening import open_store
from tests.server.s3_server import BUCKET, SECRET, S3Server

OWNER = "0123456789abcdef"


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.long)])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty store, of each kind in turn."""
    if request.param == "folder":
        return str(tmp_path / "updates")
    for name, value in request.getfixturevalue("s3").environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}/updates"


def opened(place: str, owner: str = OWNER) -> UpdateStore:
    return open_store(place, Path("never used"), owner)


def test_an_object_is_what_was_put_until_it_is_deleted(place: str) -> None:
    store = opened(place)
    first, second = new_name(store, 7), new_name(store, 8)
    store.put(first, [b"abc", bytearray(b""), b"defg"])
    store.put(second, [bytes(3_000_000)])
    assert store.get(first) == b"abcdefg"
    assert len(store.get(second)) == 3_000_000
    assert sorted((one.name, one.round) for one in store.objects()) == sorted([(first, 7), (second, 8)])
    for _ in range(2):  # the second time, it is not there any more
        store.delete(first)
    with pytest.raises(MissingObjectError):
        store.get(first)
    assert [one.name for one in store.objects()] == [second]


def test_parts_of_an_object_are_overwritten_and_the_rest_stays(place: str) -> None:
    store = opened(place)
    name = new_name(store, 1)
    store.put(name, [b"abcdefgh"])
    store.overwrite(name, [(1, 2), (6, 100)])
    assert store.get(name) == b"a\0\0def\0\0"
    store.overwrite(new_name(store, 1), [(0, 1)])
    assert [one.name for one in store.objects()] == [name]


@pytest.mark.parametrize("name", ["{id}/1/../../key", "{id}/1/" + "A" * 32, "/etc/passwd", "{id}/01/" + "a" * 32, ""])
def test_a_name_that_is_none_reaches_nothing(tmp_path: Path, name: str) -> None:
    """What the database says may come from a backup that somebody changed."""
    store = opened(str(tmp_path / "updates"))
    (tmp_path / "key").write_bytes(b"secret")
    hostile = name.format(id=store.id)
    for call in (
        store.get,
        store.delete,
        lambda name: store.overwrite(name, [(0, 9)]),
        lambda name: store.put(name, []),
    ):
        with pytest.raises(MissingObjectError):
            call(hostile)
    assert (tmp_path / "key").read_bytes() == b"secret"


def test_a_store_is_the_same_one_for_all_processes_that_open_it(place: str) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(opened(place).id)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len({*found, opened(place).id}) == 1


def test_a_store_serves_one_server_and_one_place(place: str) -> None:
    store = opened(place)
    with pytest.raises(InputError, match="another key"):
        opened(place, owner="fedcba9876543210")
    with pytest.raises(StoreUnavailableError, match="another store"):
        store.get("0" * 16 + "/1/" + "a" * 32)


def test_an_object_is_on_the_disk_when_put_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path / "updates", OWNER)
    synced: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{file}").readlink()))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    name = new_name(store, 3)
    store.put(name, [b"data"])
    path = tmp_path / "updates" / name.partition("/")[2]
    assert synced == [str(tmp_path / "updates"), str(path), str(path.parent)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_deleted_file_is_overwritten_first(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "updates", OWNER)
    name = new_name(store, 3)
    store.put(name, [b"x" * 3_000_000])
    os.link(tmp_path / "updates" / name.partition("/")[2], tmp_path / "kept")
    store.delete(name)
    assert (tmp_path / "kept").read_bytes() == bytes(3_000_000)
    assert sorted(path.name for path in (tmp_path / "updates").iterdir()) == ["store"], "the round's folder is gone"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path / "updates", OWNER)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(StoreUnavailableError, match="No space left"):
        store.put(new_name(store, 3), [b"data"])
    assert list(store.objects()) == []


@pytest.mark.long
def test_wrong_credentials_are_an_error_without_the_secret(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (s3.environment | {"AWS_SECRET_ACCESS_KEY": SECRET + "x"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="AWS_ACCESS_KEY_ID") as error:
        opened(f"s3://{BUCKET}/wrong")
    assert SECRET not in str(error.value)


@pytest.mark.long
def test_a_bucket_that_keeps_old_versions_is_refused(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """rclone knows no versions, so that its answer is changed to that of a server that does."""
    import obstore

    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    real = obstore.get

    class Versioned:
        def __init__(self, found: Any) -> None:
            self.meta, self.bytes = {**found.meta, "version": "3HL4kqtJlcpXroDTDmJ"}, found.bytes

    monkeypatch.setattr(obstore, "get", lambda *given: Versioned(real(*given)))
    with pytest.raises(InputError, match="keeps old versions"):
        opened(f"s3://{BUCKET}/versions")
