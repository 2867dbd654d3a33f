"""What is in the folder of a server's updates, seen from outside."""

from pathlib import Path

from eitr.server.composition.wiring import UPDATES
from eitr.server.db.tables import UpdateRow
from eitr.server.update_store.interface import MARKER


def object_files(folder: Path) -> list[Path]:
    """Return the files with updates in the folder of a server."""
    return sorted(path for path in (folder / UPDATES).rglob("*") if path.is_file() and path.name != MARKER)


def stored_bytes(folder: Path, row: UpdateRow) -> bytes:
    """Return the bytes of an update."""
    assert row.object is not None
    content = (folder / UPDATES / row.object.partition("/")[2]).read_bytes()
    return content[row.offset : row.offset + row.size]
