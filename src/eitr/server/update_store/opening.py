"""The store that a setting names."""

from pathlib import Path

from eitr.server.update_store.folder import FolderStore
from eitr.server.update_store.interface import UpdateStore
from eitr.server.update_store.s3 import SCHEME, S3Store


def open_store(address: str, default: Path, owner: str) -> UpdateStore:
    """Return the store at an address: `s3://BUCKET/PREFIX`, a folder, or, if it is empty, the default folder.

    `owner` says which server this is, in hexadecimal digits: a store serves one.
    """
    if address.startswith(SCHEME):
        return S3Store(address, owner)
    return FolderStore(Path(address) if address else default, owner)
