"""Reading a form: plain fields, each once, within bounds."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from eitr.server.web.middleware import LARGEST_BODY
from eitr.server.web.problems import Problem

MOST_FIELDS = 20
KIND = "application/x-www-form-urlencoded"


class Form:
    """The fields of a form that was sent."""

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields

    def text(self, name: str, *, longest: int = 200, needed: str = "") -> str:
        """Return a field without the spaces around it; `needed` is what to say when it is empty."""
        value = self._fields.get(name, "").strip()
        if needed and not value:
            raise Problem("malformed-request", needed)
        if len(value) > longest or not value.isprintable():
            raise Problem("malformed-request", f"“{name}” is one line of at most {longest} characters.")
        return value

    def prose(self, name: str, *, longest: int, needed: str = "") -> str:
        """Return a field of several lines; `needed` is what to say when it is empty."""
        value = "\n".join(line.rstrip() for line in self._fields.get(name, "").strip().splitlines())
        if not value:
            raise Problem("malformed-request", needed)
        if len(value) > longest or not value.replace("\n", "").isprintable():
            raise Problem("malformed-request", f"“{name}” is text of at most {longest} characters.")
        return value

    def secret(self, name: str) -> str:
        """Return a field as it was typed: spaces count in a password."""
        return self._fields.get(name, "")

    def number(self, name: str, least: int, most: int) -> int:
        """Return a whole number."""
        value = self._fields.get(name, "").strip()
        if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
            raise Problem("malformed-request", f"“{name}” is a whole number from {least} to {most}.")
        return int(value)

    def checked(self, name: str) -> bool:
        """Say whether a box is checked."""
        value = self._fields.get(name, "")
        if value not in ("", "yes"):
            raise Problem("malformed-request", f"“{name}” is a box: checked (yes) or not sent.")
        return value == "yes"


async def form(request: Request) -> Form:
    """Return the form of a request. What is too long is not read to its end, whatever its length was said to be."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != KIND:
        raise Problem("malformed-request", "This address takes forms.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise Problem("too-large", f"At most {LARGEST_BODY} bytes.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Problem("malformed-request", "The form cannot be read.") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Problem("malformed-request", "A field was sent twice.")
    return Form(fields)


SubmittedForm = Annotated[Form, Depends(form)]
