"""Commands that need an optional part of the package say which, where it is not installed."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from eitr.errors import InputError

Arguments = ParamSpec("Arguments")
Output = TypeVar("Output")


def needs_extra(extra: str) -> Callable[[Callable[Arguments, Output]], Callable[Arguments, Output]]:
    """Return a decorator for a command: a missing third-party package becomes one line that names the extra."""

    def decorate(command: Callable[Arguments, Output]) -> Callable[Arguments, Output]:
        @wraps(command)
        def checked(*arguments: Arguments.args, **options: Arguments.kwargs) -> Output:
            try:
                return command(*arguments, **options)
            except ModuleNotFoundError as error:
                if error.name is None or error.name.partition(".")[0] == "eitr":
                    raise
                raise InputError(
                    f"this command needs the Python package {error.name}, which is not installed: "
                    f"pip install 'eitr[{extra}]'"
                ) from error

        return checked

    return decorate
