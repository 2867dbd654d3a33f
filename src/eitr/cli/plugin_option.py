"""The option `--plugin` of every command that looks up rules, attacks, data sets or experiments by name."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.plugins import load_plugin


def _load(context: typer.Context, paths: list[Path] | None) -> list[Path] | None:
    if not context.resilient_parsing:  # not while the shell completes a command
        for path in paths or ():
            load_plugin(path)
    return paths


Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="A Python file with rules, attacks, data sets or experiments of your own; repeatable.",
        callback=_load,
    ),
]
