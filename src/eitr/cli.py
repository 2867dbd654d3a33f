"""The command line: parses, calls, prints. Everything it does can be done from Python with the same few calls."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eitr import __version__
from eitr.errors import InputError

app = typer.Typer(
    name="eitr",
    help="Recognise sensitive web pages, learn to do so together, and survive poisoning clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except InputError as error:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), " ".join(str(error).split())))
        sys.exit(2)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        sys.exit(0)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def rules(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False) -> None:
    """List the aggregation rules and their settings.

    Example: `eitr rules --json`
    """
    from eitr.aggregation.registry import RULES
    from eitr.aggregation.settings import settings_of, spelled

    listed: list[dict[str, Any]] = [
        {
            "name": rule.name,
            "summary": rule.summary,
            "settings": [
                {"name": spelled(item), "default": item.default, "allowed": bounds.describe(), "help": bounds.help}
                for item, bounds in settings_of(rule)
            ],
        }
        for rule in RULES.values()
    ]
    if as_json:
        print(json.dumps(listed, indent=2))
        return
    table = Table("rule", "setting", "default", "allowed", "meaning", box=None, pad_edge=False)
    for entry in listed:
        table.add_row(Text(entry["name"], "bold"), "", "", "", Text(entry["summary"], "italic"))
        for one in entry["settings"]:
            table.add_row("", one["name"], str(one["default"]), one["allowed"], one["help"])
    Console().print(table)


@app.command()
def aggregate(
    rule: Annotated[str, typer.Option(help="The rule; `eitr rules` lists them.")],
    updates: Annotated[Path, typer.Option(help="(clients, parameters) float32 or float64, a .npy file.")],
    out: Annotated[Path, typer.Option(help="Where the new parameters go, a .npy file.")],
    report: Annotated[Path, typer.Option(help="Where the report goes, a JSON file.")],
    clients: Annotated[Path | None, typer.Option(help="Client ids, one a line, in the order of the updates.")] = None,
    counts: Annotated[Path | None, typer.Option(help="Claimed sample counts, one a line.")] = None,
    base: Annotated[Path | None, typer.Option("--global", help="Global parameters of the round, .npy.")] = None,
    root: Annotated[Path | None, typer.Option(help="Parameters trained on trusted data, .npy.")] = None,
    state: Annotated[Path | None, typer.Option(help="What the rule remembers: read if there, then replaced.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the rule, name=value.")] = None,
    index: Annotated[int, typer.Option("--round", help="The number of the round.", min=0)] = 0,
) -> None:
    """Combine the updates of a round into new parameters.

    Bad input gives one line and exit status 2; then nothing is written and the state is as it was.

    Example: `eitr aggregate --rule reputation --updates U.npy --state memory.safetensors --out model.npy
    --report report.json --set kappa=0.3`
    """
    from eitr.aggregate import Job, run

    job = Job(
        rule=rule,
        updates=updates,
        out=out,
        report=report,
        clients=clients,
        counts=counts,
        base=base,
        root=root,
        state=state,
        settings=tuple(settings or ()),
        index=index,
    )
    with _busy("aggregating"):
        finished = run(job)
    Console(stderr=True).print(
        f"{rule}: {len(finished['clients'])} clients, {finished['seconds']:.3f} s; see {out} and {report}"
    )


@contextmanager
def _busy(what: str) -> Iterator[None]:
    """Show that work goes on, where somebody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))
