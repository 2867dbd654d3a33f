"""The server's key: keyed hashes, which nobody can compute without it."""

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from eitr.errors import InputError
from eitr.io.private import create_folder

BYTES = 32
FILE = "server.key"


class Key:
    """Computes keyed hashes, different ones for each purpose."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    @classmethod
    def of(cls, folder: Path) -> "Key":
        """Read the key of a server's folder; make it at the first start."""
        return cls(made_key(folder, FILE))

    def hash(self, purpose: str, value: str) -> bytes:
        """Return the keyed hash of a text; of another purpose it is another hash."""
        return hmac.digest(self._secret, f"{purpose}\0{value}".encode(), hashlib.sha256)


def made_key(folder: Path, name: str) -> bytes:
    """Return the random bytes of a key file; make it if it is not there."""
    path = folder / name
    create_folder(folder)
    if not path.exists():
        fresh = folder / f".{name}.{secrets.token_hex(8)}"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        # Of two processes that start at once, one puts its file in place and both read it.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return read_key(path)


def read_key(path: Path) -> bytes:
    """Return the bytes of a key file."""
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if len(secret) != BYTES:
        raise InputError(f"{path}: a key has {BYTES} bytes, this file has {len(secret)}: restore it from a backup")
    return secret


def new_secret() -> str:
    """Return a secret of 256 bits that can stand in a URL or a header."""
    return secrets.token_urlsafe(BYTES)


def secret_hash(secret: str) -> bytes:
    """Return the hash of a secret that is stored. Secrets are long and random, so plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).digest()


def same(one: bytes, other: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one, other)
