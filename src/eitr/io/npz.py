"""Named arrays in one .npz file whose bytes depend on its content alone, read without trusting it.

numpy's own reader is made for files of one's own: a header that promises terabytes makes it ask for them. Here
nothing is reserved for what a header says, only for what the file holds, and nothing is ever unpickled.
"""

import io
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.io.atomic import write_atomically

LIMIT: Final = 4 << 30
"""The arrays of one file are at most this many bytes together."""

_ALWAYS: Final = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every member: with the real time, equal arrays would give different bytes."""
_KINDS: Final = "bifuU"
"""Booleans, integers, floats and strings; no objects, which would have to be unpickled."""

_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, MemoryError, NotImplementedError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, tokenize.TokenError),
)
"""What the libraries raise for a bad archive, and for a bad header."""


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a file of the arrays in their order, uncompressed: compressed bytes depend on the library's version."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", _ALWAYS)
            # The system that wrote a file and the mode of its members are part of the bytes, too.
            member.create_system, member.external_attr = 3, 0o644 << 16
            with archive.open(member, "w", force_zip64=True) as stream:
                plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
                np.lib.format.write_array(stream, plain, (1, 0), allow_pickle=False)
    return buffer.getvalue()


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the arrays, all of it or nothing."""
    write_atomically(path, npz_bytes(arrays))


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read a file of arrays, of exactly these names where names are given; anything else is an InputError."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a regular file")
        with zipfile.ZipFile(path) as archive:
            return _arrays(archive, names, path.stat().st_size)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    except _DAMAGE as error:
        raise InputError(f"{path}: not an .npz file, or a damaged one") from error


def _arrays(archive: zipfile.ZipFile, names: Collection[str] | None, size: int) -> dict[str, NDArray[Any]]:
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise InputError("two arrays have the same name")
    if names is not None and members.keys() != set(names):
        raise InputError(f"must hold exactly the arrays {', '.join(names)}")
    total = sum(member.file_size for member in members.values())
    # Deflate packs at most about a thousand bytes into one: more is a lie about the sizes.
    if total > min(LIMIT, 1100 * size):
        raise InputError(f"its arrays claim {total} bytes, more than such a file can hold")
    arrays = {}
    for name in members if names is None else names:
        with archive.open(members[name]) as stream:
            arrays[name] = _array(stream, name)
    return arrays


def _array(stream: IO[bytes], name: str) -> NDArray[Any]:
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"the array {name} is of a format that is not known here")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read_header(stream)
    if kind.kind not in _KINDS or (by_columns and len(shape) > 1):
        raise InputError(f"the array {name} must hold plain numbers or strings, row by row, not {kind}")
    wanted = prod(shape) * kind.itemsize
    if min(shape, default=1) < 0:
        raise InputError(f"the array {name} has a negative size")
    # What the header promises is not reserved: a member is read at most to its end.
    data = stream.read(wanted + 1)
    if len(data) != wanted:
        raise InputError(f"the array {name} is cut off, or its header is wrong")
    if wanted == 0:
        return np.empty(shape, kind.newbyteorder("="))
    return np.frombuffer(bytearray(data), kind).reshape(shape).astype(kind.newbyteorder("="), copy=False)
