"""Reading a form with one file (multipart/form-data), within bounds.

The handler's path must be among the application's `streamed` paths: other bodies are small and read beforehand.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from fastapi import Request

from eitr.server.web.bodies import body_of
from eitr.server.web.forms import MOST_FIELDS, Form
from eitr.server.web.problems import Problem

KIND = "multipart/form-data"
UNREADABLE = "The form cannot be read."


@dataclass(frozen=True, slots=True)
class Upload:
    """A form that was sent with a file."""

    form: Form
    file: bytes


def upload_of(largest: int, field: str) -> Callable[[Request], Coroutine[Any, Any, Upload]]:
    """Return a dependency that reads such a form; `field` is the name of the file's field."""

    async def read(request: Request) -> Upload:
        kind = request.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != KIND or not kind.isascii() or not kind.isprintable():
            raise Problem("malformed-request", "This address takes a form with a file.")
        body = await body_of(request, largest, f"The file may have at most {largest // 2**20} MiB.")
        message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        parts = list(message.iter_parts()) if message.is_multipart() else []
        if not 1 <= len(parts) <= MOST_FIELDS:
            raise Problem("malformed-request", UNREADABLE)
        fields: dict[str, bytes] = {}
        for part in parts:
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            if not isinstance(name, str) or name in fields or not isinstance(content, bytes):
                raise Problem("malformed-request", UNREADABLE)
            fields[name] = content
        file = fields.pop(field, b"")
        try:
            return Upload(Form({name: value.decode() for name, value in fields.items()}), file)
        except UnicodeDecodeError:
            raise Problem("malformed-request", UNREADABLE) from None

    return read
