"""A command whose packages are missing says which extra brings them; other errors stay errors."""

import sys

import pytest

from eitr.cli.extras import needs_extra
from eitr.errors import InputError


@needs_extra("server")
def command(module: str) -> str:
    __import__(module)
    return module


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    message = r"needs the Python package uvicorn, which is not installed: pip install 'eitr\[server\]'"
    with pytest.raises(InputError, match=message):
        command("uvicorn")


def test_a_command_that_has_everything_returns_what_it_returned() -> None:
    assert command("json") == "json"


def test_a_module_of_ours_that_is_missing_is_a_bug_and_stays_one() -> None:
    with pytest.raises(ModuleNotFoundError):
        command("eitr.nonsense")
