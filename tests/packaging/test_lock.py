"""The lock file covers what pyproject.toml asks for, and names no machine."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import setup

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11.0", "3.12.0", "3.13.0", "3.14.0")
SYSTEMS = ("linux", "darwin", "win32")
ENVIRONMENTS = [
    {
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "platform_machine": "x86_64",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python in PYTHONS
    for system in SYSTEMS
]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def asked() -> list[Requirement]:
    """Return every requirement of the package, of the build and of each locked extra: not `flower` and `ray`."""
    declared = project()
    extras = declared["project"]["optional-dependencies"]
    lists = [
        declared["project"]["dependencies"],
        declared["build-system"]["requires"],
        *(needed for extra, needed in extras.items() if extra not in ("flower", "ray")),
    ]
    found = [Requirement(text) for one in lists for text in one]
    return [one for one in found if one.name != "eitr"]


def locked() -> list[Requirement]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.lstrip().startswith("#")]


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda one: f"{one['sys_platform']}-{one['python_version']}")
def test_every_requirement_has_one_locked_version_in_its_range(environment: dict[str, str]) -> None:
    versions: dict[str, list[str]] = {}
    for pin in locked():
        if applies(pin, environment):
            versions.setdefault(canonicalize_name(pin.name), []).append(str(pin.specifier).removeprefix("=="))
    assert [name for name, found in versions.items() if len(found) != 1] == []
    wanting = [
        str(one)
        for one in asked()
        if applies(one, environment)
        and not any(one.specifier.contains(version) for version in versions.get(canonicalize_name(one.name), []))
    ]
    assert wanting == [], "run make lock"


def test_the_lock_holds_exact_versions_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) and pin.url is None for pin in locked())
    assert not re.search(r"://|^\s*-|\.whl", text, re.M)


def test_set_up_installs_the_torch_of_the_lab_and_the_tools_of_the_lock() -> None:
    assert setup.TORCH in project()["project"]["optional-dependencies"]["lab"]
    assert {Requirement(tool).name for tool in setup.TOOLS} <= {pin.name for pin in locked()}
