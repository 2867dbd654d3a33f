"""The commands of `eitr`, and how errors are shown."""

import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from eitr import __version__
from eitr.cli import aggregate, classify, rules, server, study_refresh, study_report, vocabulary
from eitr.cli.console import printable
from eitr.cli.data import data
from eitr.cli.flower import flower
from eitr.cli.lab import lab
from eitr.cli.study import study
from eitr.errors import InputError

app = typer.Typer(
    name="eitr",
    help="Recognise sensitive web pages, learn to do so together, and survive poisoning clients.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for command in (rules.rules, aggregate.aggregate, classify.classify, vocabulary.vocabulary, *server.COMMANDS):
    app.command()(command)
app.add_typer(data)
app.add_typer(lab)
app.add_typer(flower)
study.command()(study_refresh.refresh)
study.command()(study_report.report)
app.add_typer(study)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except InputError as error:
        _complain(str(error))
    except OSError as error:  # a full disk behind standard output, say; a closed pipe is Typer's business
        _complain(f"{error.filename or 'cannot write the output'}: {error.strerror or error}")


def _complain(message: str) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), printable(message)))
    sys.exit(2)


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
