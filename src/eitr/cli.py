"""The command line: parses, calls, prints. Everything it does can be done from Python with the same few calls."""

import json
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eitr import __version__
from eitr.datasets.commands import data
from eitr.errors import InputError
from eitr.lab.commands import lab
from eitr.server import commands as server
from eitr.taxonomy import TOPICS, index_of

app = typer.Typer(
    name="eitr",
    help="Recognise sensitive web pages, learn to do so together, and survive poisoning clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(data)
app.add_typer(lab)
server.add_to(app)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit status 2."""
    try:
        app()
    except InputError as error:
        _complain(str(error))
    except OSError as error:  # a full disk behind standard output, say; a closed pipe is Typer's business
        _complain(f"cannot write the output: {error.strerror or error}")


def _complain(message: str) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), _printable(message)))
    sys.exit(2)


def _printable(text: str) -> str:
    """Return a text on one line and without control characters: a page's title must not steer the terminal."""
    return "".join(character for character in " ".join(text.split()) if unicodedata.category(character)[0] != "C")


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
    from eitr.settings import settings_of, spelled

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
    updates: Annotated[Path, typer.Option(help="(clients, parameters) float32 or float64, a .npy file.")],
    out: Annotated[Path, typer.Option(help="Where the new parameters go, a .npy file.")],
    report: Annotated[Path, typer.Option(help="Where the report goes, a JSON file.")],
    rule: Annotated[str, typer.Option(help="The rule; `eitr rules` lists them.")] = "fused",
    clients: Annotated[Path | None, typer.Option(help="Client ids, one a line, in the order of the updates.")] = None,
    counts: Annotated[Path | None, typer.Option(help="Claimed sample counts, one a line.")] = None,
    base: Annotated[Path | None, typer.Option("--global", help="Global parameters of the round, .npy.")] = None,
    root: Annotated[Path | None, typer.Option(help="Parameters trained on trusted data, .npy.")] = None,
    state: Annotated[Path | None, typer.Option(help="What the rule remembers: read if there, then replaced.")] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Pages of known class that `fused` may ask: JSON lines of title, text, label."),
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="The model's vocabulary, for --validation; else the shipped one.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the rule, name=value.")] = None,
    index: Annotated[int, typer.Option("--round", help="The number of the round.", min=0)] = 0,
) -> None:
    """Combine the updates of a round into new parameters.

    Bad input gives one line and exit status 2; then nothing is written and the state is as it was.

    Example: `eitr aggregate --global base.npy --updates U.npy --state memory.safetensors --out model.npy
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
        validation=validation,
        vocabulary=vocabulary,
        settings=tuple(settings or ()),
        index=index,
    )
    with _busy("aggregating (the first run compiles the kernels, which takes some seconds)"):
        finished = run(job)
    _tell(f"{rule}: {len(finished['clients'])} clients, {finished['seconds']:.3f} s; see {out} and {report}")


@app.command()
def classify(
    source: Annotated[
        str | None, typer.Argument(metavar="FILE|URL|-", help="A page: a file, an http(s) address, or - for stdin.")
    ] = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="ROWS.jsonl[.gz]", help="Many pages, one JSON object a line; - for stdin.")
    ] = None,
    words: Annotated[int, typer.Option(help="How many words to name as reasons.", min=0)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say what a page is about, how sure the model is, and which words led to it.

    The page stays on this machine: nothing is sent anywhere, except that a URL is fetched from its server.

    Rows may have any of title, description, keywords and text; their other fields are passed through (a field `label`
    as `given_label`) next to `label` and `probabilities`.

    Examples: `eitr classify page.html`, `curl -s https://example.org | eitr classify -`,
    `eitr classify --jsonl rows.jsonl.gz > verdicts.jsonl`
    """
    if (source is None) == (jsonl is None):
        raise InputError("give one page (FILE, URL or -) or many (--jsonl ROWS.jsonl)")
    from eitr.classifier import Classifier

    if jsonl is not None:
        from eitr.many import classified

        for row in classified(Classifier.shipped(), jsonl):
            print(json.dumps(row))
        return
    from eitr.fetch import fetch
    from eitr.pages.extract import extract

    document = fetch(source or "")
    page = extract(document.data, content_type=document.content_type)
    classifier = Classifier.shipped()
    verdict, reasons = classifier.classify([page])[0], classifier.reasons(page)[:words]
    if as_json:
        found = [{"word": reason.word, "weight": round(reason.weight, 4)} for reason in reasons]
        print(
            json.dumps(
                {
                    "label": verdict.label,
                    "probabilities": verdict.probabilities,
                    "words": found,
                    "title": page.title,
                }
            )
        )
        return
    _print_verdict(page.title, verdict.label, verdict.probabilities, [reason.word for reason in reasons])


def _print_verdict(title: str, label: str, probabilities: dict[str, float], words: list[str]) -> None:
    """Print a verdict for people: a bar a class, the reasons below."""
    console = Console()
    topic = TOPICS[index_of(label)]
    console.print(Text.assemble("\n", (_printable((title.splitlines() or ["(a page without a title)"])[0]), "bold")))
    sure = f"{100 * probabilities[label]:.0f} % sure"
    badge = f" {topic.letter} " if topic.letter else " – "
    console.print(
        Text.assemble(
            (badge, f"bold white on {topic.colour}"),
            " ",
            (topic.title, "bold"),
            f", {sure}: the page is about {topic.about}.\n",
        )
    )
    for other in TOPICS:
        share = probabilities[other.name]
        bar = "█" * round(40 * share)
        console.print(Text.assemble(f"{other.title:<20}", f"{100 * share:5.1f} %  ", (bar, other.colour)))
    if words:
        console.print(Text.assemble("\nWords that led to it: ", (", ".join(words), "italic"), "\n"))
    else:
        console.print("\nThe page has none of the words the model knows.\n")


@app.command()
def vocabulary(
    rows: Annotated[list[Path], typer.Argument(metavar="ROWS.jsonl[.gz]...", help="Pages, one JSON object a line.")],
    out: Annotated[Path, typer.Option(help="Where the vocabulary goes, a JSON file.")],
    size: Annotated[int, typer.Option(help="How many words.", min=1, max=100_000)] = 1000,
    federated: Annotated[
        bool, typer.Option("--federated", help="Each file is one client, which tells only the weights of its terms.")
    ] = False,
    min_clients: Annotated[
        int, typer.Option(help="Federated: terms of fewer clients never leave the ranking.", min=1)
    ] = 3,
) -> None:
    """Choose the words that weigh most (TF-IDF), in one place or as a federation of clients.

    Examples: `eitr vocabulary pages.jsonl.gz --out vocabulary.json`,
    `eitr vocabulary ann.jsonl bob.jsonl eve.jsonl --federated --out vocabulary.json`
    """
    from eitr.many import central_vocabulary, federated_vocabulary

    with _busy("ranking words"):
        if federated:
            chosen = federated_vocabulary(rows, size=size, min_clients=min_clients)
        else:
            chosen = central_vocabulary(rows, size=size)
    chosen.save(out)
    _tell(f"{len(chosen)} words in {out}, the weightiest: {', '.join(chosen.words[:10])}")


def _tell(message: str) -> None:
    Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(message)


@contextmanager
def _busy(what: str) -> Iterator[None]:
    """Show that work goes on, where somebody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
