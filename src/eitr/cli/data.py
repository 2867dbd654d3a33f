"""`eitr data`: list the data sets, check and prepare data, show how they are divided among clients."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from eitr.cli.console import add_row, printable, tell
from eitr.cli.file_options import reads_files
from eitr.cli.plugin_option import Plugins
from eitr.errors import InputError

if TYPE_CHECKING:
    from eitr.datasets.own.check import Findings
    from eitr.datasets.own.options import FileOptions

data = typer.Typer(
    name="data",
    help="Data sets of labelled pages: list them, check or prepare one for the lab, divide one among clients.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Folder = Annotated[Path | None, typer.Option(help="The folder with the data sets' files (default: EITR_DATA).")]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file .jsonl, .csv or .tsv (also .gz), a folder of HTML files with labels.csv, a prepared .npz file, "
        "or a data set (`eitr data list`).",
    ),
]
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
        add_row(table, Text(row["name"], "bold"), row["summary"], row["needs"], row["licence"])
    Console().print(table)


@data.command()
@reads_files
def check(
    name: Data,
    files: "FileOptions",
    data_dir: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plugin: Plugins = None,
) -> None:
    """Say what data hold and what is wrong with them: pages by class and split, duplicates, bad lines.

    The exit status is 0 if the lab can use the data as they are, and 2 if not.

    Examples: `eitr data check pages.csv --text-column body --label-map "news=non-sensitive,doctor=health"`,
    `eitr data check saved-pages --json`
    """
    from eitr.datasets.own.check import check as check_data

    found = check_data(name, files, data_dir=data_dir)
    if as_json:
        print(json.dumps({"usable": found.usable, **asdict(found)}, indent=2))
    else:
        _print_findings(found)
    if not found.usable:
        raise typer.Exit(2)


def _print_findings(found: "Findings") -> None:
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"{printable(found.path)}: {found.format}, {found.pages} pages")
    if found.pages:
        _print_counts(console, found)
    for line in found.named_bad_lines:
        console.print(f"{'left out' if found.left_out else 'bad line'}: {printable(line)}")
    if found.bad_lines > len(found.named_bad_lines):
        console.print(f"and {found.bad_lines - len(found.named_bad_lines)} more bad lines")
    for problem in found.problems:
        console.print(Text.assemble(("problem: ", "bold red"), printable(problem)))
    if found.bad_lines and not found.left_out:
        console.print(f"bad lines: {found.bad_lines}; correct them, or leave them out with --skip-bad")
    if found.usable:
        console.print("The lab can use these data.")


def _print_counts(console: Console, found: "Findings") -> None:
    table = Table("class", Column("train", justify="right"), Column("test", justify="right"), box=None, pad_edge=False)
    for name, counts in found.classes.items():
        table.add_row(name, str(counts["train"]), str(counts["test"]))
    console.print(table)
    console.print(f"split: {found.split}")
    console.print(
        f"words: {found.words} different, {found.words_per_page:.1f} per page; {found.empty_pages} pages without any"
    )
    console.print(
        f"duplicates: {found.duplicates}; {found.test_pages_seen_in_training} test pages are also training pages, "
        f"{found.duplicates_of_other_class} have another class elsewhere"
    )


@data.command()
@reads_files
def prepare(
    name: Data,
    files: "FileOptions",
    out: Annotated[Path, typer.Option(help="Where the vectors go, an .npz file.")],
    data_dir: Folder = None,
    size: Size = None,
    words: Annotated[
        int | None, typer.Option(help="How many words the vectors have.  [default: 1000]", min=1, max=100_000)
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            help="For lab runs with the same `--start`: take the words of that model's vocabulary (`shipped`, or a "
            "folder with model.safetensors and vocabulary.json).  [default: random]",
            metavar="MODEL",
            show_default=False,
        ),
    ] = "random",
    seed: Annotated[int, typer.Option(help="Seed of the choice of pages and of the split.", min=0)] = 0,
    plugin: Plugins = None,
) -> None:
    """Turn a data set or your own data into vectors that the lab reads with numpy alone.

    Examples: `eitr data prepare news-sections --data-dir ~/data --out news-sections.npz`,
    `eitr data prepare pages.csv --label-map "doctor=health" --out pages.npz`,
    `eitr data prepare news-sections --data-dir ~/data --start shipped --out news-sections.npz`
    """
    from eitr.datasets.interface import save_examples
    from eitr.datasets.registry import load
    from eitr.lab.runs.start import find_start

    model = find_start(start)
    if model is not None and words is not None:
        raise InputError("the model of --start has its own words: leave out --words")
    examples = load(
        name,
        data_dir=data_dir,
        size=size,
        words=words or 1000,
        seed=seed,
        options=files,
        vocabulary=None if model is None else model.classifier.vocabulary,
    )
    save_examples(examples, out)
    tests = int(np.count_nonzero(examples.test))
    tell(f"{len(examples.rows) - tests} pages to train on, {tests} to test on, in {out}")


@data.command()
@reads_files
def partition(
    name: Data,
    files: "FileOptions",
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

    examples = load(name, data_dir=data_dir, size=size, options=files)
    labels = examples.labels[~examples.test]
    parts = dirichlet_partition(labels, clients, alpha, seed)
    plot_partition(labels, parts, examples.classes, out)
    smallest, largest = min(map(len, parts)), max(map(len, parts))
    tell(f"{clients} clients with {smallest} to {largest} pages; see {out}")
