"""The files for containers, systemd and the hosting service fit the code: settings, commands, paths, versions."""

import ipaddress
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main
import yaml

import eitr
from eitr.cli import app
from eitr.server.settings import described, variable

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()


def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return parsed


def assert_parses(arguments: list[str]) -> None:
    """Assert that the command line accepts these arguments; nothing is run."""
    command: Any = typer.main.get_command(app)
    name, context, rest = command.resolve_command(click.Context(command), arguments)
    context.make_context(name, rest)


@pytest.mark.parametrize("name", ["Containerfile", "compose.yaml", "eitr.service"])
def test_every_setting_that_is_named_exists(name: str) -> None:
    known = {variable(setting) for setting, _ in described()}
    assert set(re.findall(r"\bEITR_[A-Z_]+", (DEPLOY / name).read_text())) - known == set()


def test_every_command_exists() -> None:
    services = compose()["services"]
    assert re.search(r'^ENTRYPOINT \["eitr"\]$', CONTAINERFILE, re.M)
    default = re.search(r'^CMD \["(\w+)"\]$', CONTAINERFILE, re.M)
    service = re.search(r"^ExecStart=(.+)$", (DEPLOY / "eitr.service").read_text(), re.M)
    assert default is not None
    assert service is not None
    assert_parses([default[1]])
    assert_parses(services["server"]["command"])
    assert_parses(services["worker"]["command"])
    assert_parses(shlex.split(service[1])[1:])


def test_every_file_that_the_image_needs_is_there_and_sent_to_the_builder() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.M)
    names = [name for line in copied for name in line.split()]
    assert "src" in names
    assert [name for name in names if not (ROOT / name).exists()] == []
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {name.partition("/")[0] for name in names} == sent


def test_the_proxy_alone_is_believed() -> None:
    found = compose()
    proxy = found["services"]["proxy"]["networks"]["web"]["ipv4_address"]
    for name in ("server", "worker"):
        assert found["services"][name]["environment"]["EITR_PROXIES"] == proxy
        assert "ports" not in found["services"][name]
    subnet = ipaddress.ip_network(found["networks"]["web"]["ipam"]["config"][0]["subnet"])
    assert ipaddress.ip_address(proxy) in subnet
    assert "ports" not in found["services"]["database"]


def test_secrets_come_from_outside_and_every_variable_is_explained() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    head = text.partition("name: eitr")[0]
    names = set(re.findall(r"\$\{(\w+)", text))
    assert names == {"DOMAIN", "DATABASE_PASSWORD", "TLS"}
    assert [name for name in names if not re.search(rf"^#   {name} ", head, re.M)] == []
    passwords = re.findall(r"(?:PASSWORD: |://eitr:)(\S+)", text)
    assert len(passwords) == 2
    assert all(password.startswith("${DATABASE_PASSWORD:?") for password in passwords)


def test_what_is_kept_lies_in_volumes() -> None:
    found = compose()
    mounts = [mount.split(":") for service in found["services"].values() for mount in service["volumes"]]
    named = {mount[0] for mount in mounts if not mount[0].startswith(".")}
    assert named == set(found["volumes"])
    assert [mount[0] for mount in mounts if mount[0].startswith(".") and not (DEPLOY / mount[0]).exists()] == []


def test_images_and_actions_have_versions() -> None:
    images = re.findall(r"^FROM (\S+)", CONTAINERFILE, re.M)
    images += [service["image"] for service in compose()["services"].values() if service["image"] != "eitr"]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    used = re.findall(r"uses: (\S+)", workflow)
    assert used
    assert [name for name in images if not re.search(r":\d", name)] == []
    assert [name for name in used if not re.search(r"@v\d+\.\d+\.\d+$", name)] == []


def test_the_workflow_runs_what_must_pass_and_the_long_tests() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    assert {".ci/run", "make test-long"} <= commands


def test_the_citation_has_the_version_and_the_address_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == eitr.__version__
    assert f'Source = "{citation["repository-code"]}"' in (ROOT / "pyproject.toml").read_text()
