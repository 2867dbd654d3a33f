"""The options of every command that reads the user's own files: columns, labels, bad lines."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from eitr.cli.console import printable, tell
from eitr.datasets.own.options import HELP, take_options
from eitr.errors import InputError

Output = TypeVar("Output")

MOST_REPORTED = 20
"""Bad lines that are reported one by one; of the others only the number is told."""


def _option(name: str, text: str) -> inspect.Parameter:
    switch = name == "skip_bad"
    kind = (
        Annotated[bool, typer.Option("--skip-bad", help=text)]
        if switch
        else Annotated[str | None, typer.Option(help=text)]
    )
    default = False if switch else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def reads_files(command: Callable[..., Output]) -> Callable[..., Output]:
    """Return a command with the options of files; it gets them as one `FileOptions`, its argument `files`."""

    @wraps(command)
    def with_options(**given: Any) -> Output:
        skipped = _SkippedLines()
        try:
            files = take_options(given, skipped)
            return command(**given, files=files)
        finally:
            skipped.tell_total()

    # Typer reads the options from the signature: that of the command, with ours in the place of `files`.
    signature = inspect.signature(command)
    parameters = [one for one in signature.parameters.values() if one.name != "files"]
    parameters += [_option(name, text) for name, text in HELP.items()]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


class _SkippedLines:
    """Reports bad lines that are left out, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, error: InputError) -> None:
        self._count += 1
        if self._count <= MOST_REPORTED:
            tell(f"left out: {printable(str(error))}")

    def tell_total(self) -> None:
        if self._count:
            tell(f"{self._count} bad line{'s were' if self._count > 1 else ' was'} left out")
