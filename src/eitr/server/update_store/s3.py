"""Updates in a bucket of an S3-compatible server, through `obstore` (the extra `s3`).

Credentials, region and endpoint come from the standard variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
AWS_ENDPOINT_URL): they are no settings of EITR, so they are neither shown nor stored.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from eitr.errors import InputError
from eitr.server.update_store.interface import (
    MARKER,
    MissingObjectError,
    Range,
    StoredObject,
    StoreUnavailableError,
    id_in,
    new_marker,
    object_at,
    path_of,
)

SCHEME = "s3://"
REQUEST_SECONDS = 10
RETRY_SECONDS = 15
"""Altogether less than writers wait for each other: whoever holds a lock meanwhile does not make them fail."""


class S3Store:
    """A store under a prefix of a bucket."""

    def __init__(self, address: str, owner: str) -> None:
        try:
            import obstore
            from obstore.store import S3Store as Bucket
        except ImportError as error:
            raise InputError("EITR_UPDATE_STORE=s3://... needs the extra s3: pip install 'eitr[s3]'") from error
        self._obstore: Any = obstore
        self._errors: Any = obstore.exceptions
        parts = urlsplit(address)
        options: Any = {"timeout": timedelta(seconds=REQUEST_SECONDS)}
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):  # whoever writes it knows the network
            options["allow_http"] = True
        retries: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
        try:
            self._bucket: Any = Bucket(
                parts.netloc, prefix=parts.path.strip("/") or None, client_options=options, retry_config=retries
            )
            self.id = id_in(self._marker(owner, address), owner, address)
        except InputError:
            raise
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise InputError(
                f"{address}: updates cannot be kept here ({_first_line(error)}); look at the bucket, and at "
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
            ) from None

    def put(self, name: str, parts: Sequence[bytes | bytearray]) -> None:
        """Write an object; when this returns, the server has it."""
        self._put(path_of(name, self.id), b"".join(parts))

    def get(self, name: str) -> bytes:
        """Return an object; raise a `MissingObjectError` if there is none."""
        try:
            return bytes(self._obstore.get(self._bucket, path_of(name, self.id)).bytes())
        except (self._errors.NotFoundError, FileNotFoundError):
            raise MissingObjectError(name) from None
        except self._errors.BaseError as error:
            raise StoreUnavailableError(f"an update could not be read: {_first_line(error)}") from None

    def overwrite(self, name: str, ranges: Sequence[Range]) -> None:
        """Overwrite parts of an object with zeros; one that is not there any more is fine."""
        try:
            content = bytearray(self.get(name))
        except MissingObjectError:
            return
        for start, count in ranges:
            place, end = max(0, start), min(start + count, len(content))
            content[place:end] = bytes(max(0, end - place))
        self._put(path_of(name, self.id), bytes(content))

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there any more is fine."""
        try:
            self._obstore.delete(self._bucket, path_of(name, self.id))
        except (self._errors.NotFoundError, FileNotFoundError):
            return
        except self._errors.BaseError as error:
            raise StoreUnavailableError(f"an update could not be deleted: {_first_line(error)}") from None

    def objects(self) -> Iterator[StoredObject]:
        """Yield all objects."""
        try:
            for some in self._obstore.list(self._bucket):
                for one in some:
                    found = object_at(one["path"], self.id, one["last_modified"])
                    if found is not None:
                        yield found
        except self._errors.BaseError as error:
            raise StoreUnavailableError(f"updates could not be listed: {_first_line(error)}") from None

    def _put(self, path: str, content: bytes) -> None:
        try:
            # In one request: a multipart upload that a crash interrupts would stay, and no list shows it.
            self._obstore.put(self._bucket, path, content, use_multipart=False)
        except self._errors.BaseError as error:
            raise StoreUnavailableError(f"an update could not be written: {_first_line(error)}") from None

    def _marker(self, owner: str, address: str) -> str:
        """Return the marker; refuse a bucket that keeps what is deleted."""
        try:
            found = self._obstore.get(self._bucket, MARKER)
        except (self._errors.NotFoundError, FileNotFoundError):
            # Another process may be faster.
            with contextlib.suppress(self._errors.AlreadyExistsError, self._errors.PreconditionError):
                self._obstore.put(self._bucket, MARKER, new_marker(owner).encode(), mode="create", use_multipart=False)
            found = self._obstore.get(self._bucket, MARKER)
        version = found.meta.get("version")
        if version not in (None, "null"):
            raise InputError(
                f"{address}: the bucket keeps old versions, so that nothing in it is ever deleted: choose one without "
                "versioning"
            )
        return bytes(found.bytes()).decode("ascii", errors="replace")


def _first_line(error: BaseException) -> str:
    """Return the beginning of an error: what follows may repeat the request."""
    return str(error).partition("\n")[0][:200]
