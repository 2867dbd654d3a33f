"""The documents name only what exists: files, headings, commands, options, make targets and settings."""

import importlib.util
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from eitr.cli.commands import app

pytest.importorskip("pydantic_settings", reason="the settings are those of the server; install eitr[server]")

from eitr.server.settings import described, variable
from eitr.server.web.problems import KINDS

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("extension/dist", "deploy/.env")
"""Paths that documents may name although no checkout holds them: commands in the documents write them."""
PATH = re.compile(r"(?<![\w./-])(?:src|tests|docs|extension|scripts|benchmarks|deploy)/[\w./*-]*")
OTHER_VARIABLES = {"EITR_SETTINGS", "EITR_DATA", "EITR_THREADS", "EITR_PLUGINS"}
"""Variables that are not settings of the server."""


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def written_here() -> list[Path]:
    """Return the documents that people write; those under docs/results are made by the lab."""
    return [path for path in documents() if ROOT / "docs" / "results" not in path.parents]


def code_in(text: str) -> list[str]:
    """Return the lines of code blocks, continued ones joined, and everything between backticks."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            if lines and lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1] + line.strip()
            else:
                lines.append(line.strip())
    return [*lines, *re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)]


def anchors_of(path: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    broken = []
    for path in documents():
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", path.read_text("utf-8")):
            if "://" in target:
                continue
            found = (path.parent / target).resolve() if target else path
            if not found.exists() or (anchor and anchor not in anchors_of(found)):
                broken.append(f"{path.relative_to(ROOT)}: {target}#{anchor}")
    assert broken == []


def test_every_path_that_is_named_exists() -> None:
    missing = []
    for path in written_here():
        for code in code_in(path.read_text("utf-8")):
            for named in PATH.findall(code):
                name = named.rstrip(".")
                found = any(list(folder.glob(name.rstrip("/"))) for folder in (ROOT, path.parent))
                if not found and not name.startswith(GENERATED):
                    missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (path.name, target)
        for path in written_here()
        for code in code_in(path.read_text("utf-8"))
        for target in re.findall(r"(?:^|[;&] ?)make ([a-z][a-z-]*)", code)
    }
    assert {target for _, target in named} >= {"run", "test", "demo"}
    assert {(document, target) for document, target in named if target not in targets} == set()


def test_every_command_and_option_that_is_named_exists() -> None:
    wrong, seen = [], set()
    for path in written_here():
        for code in code_in(path.read_text("utf-8")):
            for words in eitr_commands(code):
                command, rest = command_of(words)
                seen.add(command.name)
                options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
                unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in options]
                if unknown or (hasattr(command, "commands") and rest and not rest[0].startswith("-")):
                    wrong.append(f"{path.relative_to(ROOT)}: {code}")
    assert {"serve", "aggregate", "classify", "run"} <= seen
    assert wrong == []


def eitr_commands(code: str) -> list[list[str]]:
    """Return the arguments of each call of `eitr` in a line of code."""
    found = []
    for part in re.split(r"\s(?:&&|\||>|#)(?:\s|$)", code):
        match = re.match(r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?eitr (?=[a-z-])(.*)", part)
        if match:
            found.append(shlex.split(match[1]))
    return found


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that some words name, as deep as they go, and the words that are left."""
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def test_every_module_to_run_exists() -> None:
    modules = {
        module
        for path in written_here()
        for code in code_in(path.read_text("utf-8"))
        for module in re.findall(r"python3? -m ((?:eitr|benchmarks|scripts)[\w.]*)", code)
    }
    assert "eitr.initial" in modules
    assert [name for name in sorted(modules) if importlib.util.find_spec(name) is None] == []


def test_every_setting_that_is_named_exists() -> None:
    settings = {variable(name) for name, _ in described()} | OTHER_VARIABLES
    unknown = [
        f"{path.name}: {name}"
        for path in written_here()
        for name in re.findall(r"\bEITR_[A-Z_]+\b", path.read_text("utf-8"))
        if name not in settings
    ]
    assert unknown == []


def test_the_readme_lists_every_document() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    unlisted = [path.name for path in (ROOT / "docs").glob("*.md") if f"(docs/{path.name})" not in readme]
    assert unlisted == []


def test_the_diagram_has_the_layers_that_import_linter_checks() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    diagram = re.findall(r"[a-z]+", "".join(re.findall(r"^ {4}[a-z ]*?\|(.+)\|$", text, re.MULTILINE)))
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [contract for contract in contracts if contract["type"] == "layers"]
    (whole,) = [contract for contract in layers if contract["containers"] == ["eitr"]]
    names = [name.strip() for layer in whole["layers"] for name in layer.split("|") if layer != "__main__"]
    assert diagram == names
    parts = [
        f"`src/{contract['containers'][0].replace('.', '/')}/{name.strip()}"
        for contract in layers
        if contract is not whole
        for layer in contract["layers"]
        for name in layer.split("|")
        if name.strip() not in ("__main__", "demo")
    ]
    assert [part for part in parts if f"{part}`" not in text and f"{part}.py`" not in text] == []


def test_the_glossary_is_in_order_and_defines_each_word_once() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(words) > 40
    assert words == sorted(set(words), key=str.lower)


def test_the_table_of_problems_is_that_of_the_server() -> None:
    text = (ROOT / "docs" / "http-protocol.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(kind.slug, str(kind.status), kind.title) for kind in KINDS.values()]


def test_the_privacy_policy_shows_what_an_update_reveals(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "privacy.md").read_text("utf-8")
    snippet = re.search(r"```python\n(.*?)```\n\nprints `(.*?)`", text, re.DOTALL)
    assert snippet
    exec(snippet[1], {})
    assert capsys.readouterr().out.strip() == snippet[2]
