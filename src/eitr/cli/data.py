"""`eitr data`: list the data sets, prepare one for a bare machine, show how it is divided among clients."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from eitr.cli.console import tell
from eitr.cli.plugin_option import Plugins

data = typer.Typer(
    name="data",
    help="Data sets of labelled pages: list them, prepare one for the lab, divide one among clients.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Folder = Annotated[Path | None, typer.Option(help="The folder with the data sets' files (default: EITR_DATA).")]
Size = Annotated[int | None, typer.Option(help="Use at most this many pages, keeping the share of each class.", min=1)]


@data.command("list")
def list_sources(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plugin: Plugins = None,
) -> None:
    """List the data sets, what each needs and under which licence.

    Example: `eitr data list`
    """
    from eitr.datasets.registry import SOURCES

    rows = [
        {"name": one.name, "summary": one.summary, "needs": one.needs, "licence": one.licence}
        for one in SOURCES.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(Column("name", no_wrap=True), "what", "needs", "licence", box=None, pad_edge=False)
    for row in rows:
        table.add_row(Text(row["name"], "bold"), row["summary"], row["needs"], row["licence"])
    Console().print(table)


@data.command()
def prepare(
    name: Annotated[str, typer.Argument(help="A data set; `eitr data list` shows them.")],
    out: Annotated[Path, typer.Option(help="Where the vectors go, an .npz file.")],
    data_dir: Folder = None,
    size: Size = None,
    words: Annotated[int, typer.Option(help="How many words the vectors have.", min=1, max=100_000)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the choice of pages and of the split.", min=0)] = 0,
    plugin: Plugins = None,
) -> None:
    """Turn a data set into vectors that the lab reads with numpy alone.

    Example: `eitr data prepare news-sections --data-dir ~/data --out news-sections.npz`
    """
    from eitr.datasets.interface import save_examples
    from eitr.datasets.registry import load

    examples = load(name, data_dir=data_dir, size=size, words=words, seed=seed)
    save_examples(examples, out)
    tests = int(np.count_nonzero(examples.test))
    tell(f"{len(examples.rows) - tests} pages to train on, {tests} to test on, in {out}")


@data.command()
def partition(
    name: Annotated[str, typer.Argument(help="A data set, or a prepared .npz file.")],
    out: Annotated[Path, typer.Option(help="Where the figure goes, an .svg file.")],
    clients: Annotated[int, typer.Option(help="How many clients.", min=1)] = 10,
    alpha: Annotated[float, typer.Option(help="Concentration of the Dirichlet distribution; small is skewed.")] = 0.9,
    seed: Annotated[int, typer.Option(help="The seed of the partition.", min=0)] = 0,
    data_dir: Folder = None,
    size: Size = None,
    plugin: Plugins = None,
) -> None:
    """Draw which classes each client gets, as one stacked bar per client.

    Example: `eitr data partition builtin --clients 10 --alpha 0.9 --out partition.svg`
    """
    from eitr.datasets.partition import dirichlet_partition, plot_partition
    from eitr.datasets.registry import load

    examples = load(name, data_dir=data_dir, size=size)
    labels = examples.labels[~examples.test]
    parts = dirichlet_partition(labels, clients, alpha, seed)
    plot_partition(labels, parts, examples.classes, out)
    smallest, largest = min(map(len, parts)), max(map(len, parts))
    tell(f"{clients} clients with {smallest} to {largest} pages; see {out}")
