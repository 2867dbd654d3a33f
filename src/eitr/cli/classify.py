"""`eitr classify`: what a page is about, how sure the model is, and which words led to it."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from eitr.cli.console import printable, tell
from eitr.errors import InputError
from eitr.taxonomy import TOPICS, index_of

MOST_REPORTED = 20
"""Bad lines that are reported one by one; of the others only the number is told."""


def classify(
    source: Annotated[
        str | None, typer.Argument(metavar="FILE|URL|-", help="A page: a file, an http(s) address, or - for stdin.")
    ] = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="ROWS.jsonl[.gz]", help="Many pages, one JSON object per line; - for stdin.")
    ] = None,
    words: Annotated[int, typer.Option(help="How many of the words that led to it to print.", min=0)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say what a page is about, how sure the model is, and which words led to it.

    The page stays on this machine: nothing is sent anywhere, except that a URL is fetched from its server.

    Rows may have any of title, description, keywords and text; their other fields are passed through (a field `label`
    as `given_label`) next to `line`, `label` and `probabilities`. Bad lines are reported and left out; the exit status
    is then 2.

    Examples: `eitr classify page.html`, `curl -s https://example.org | eitr classify -`,
    `eitr classify --jsonl rows.jsonl.gz > labels.jsonl`
    """
    if (source is None) == (jsonl is None):
        raise InputError("give one page (FILE, URL or -) or many (--jsonl ROWS.jsonl)")
    if jsonl is not None:
        _classify_rows(jsonl)
        return
    from eitr.cli.fetch import fetch
    from eitr.model import Classifier
    from eitr.pages.extract import extract

    document = fetch(source or "")
    page = extract(document.data, content_type=document.content_type)
    classifier = Classifier.shipped()
    prediction, reasons = classifier.classify([page])[0], classifier.reasons(page)[:words]
    if as_json:
        found = [{"word": reason.word, "weight": round(reason.weight, 4)} for reason in reasons]
        print(
            json.dumps(
                {
                    "label": prediction.label,
                    "probabilities": prediction.probabilities,
                    "words": found,
                    "title": page.title,
                }
            )
        )
        return
    _print_prediction(page.title, prediction.label, prediction.probabilities, [reason.word for reason in reasons])


def _classify_rows(path: Path) -> None:
    """Print the rows of a file with their labels; report bad lines and go on."""
    from eitr.cli.bulk import classified
    from eitr.model import Classifier

    bad = 0

    def report(error: InputError) -> None:
        nonlocal bad
        bad += 1
        if bad <= MOST_REPORTED:
            tell(f"left out: {printable(str(error))}")

    for row in classified(Classifier.shipped(), path, report):
        print(json.dumps(row))
    if bad:
        raise InputError(f"{path}: {bad} bad line{'s were' if bad > 1 else ' was'} left out")


def _print_prediction(title: str, label: str, probabilities: dict[str, float], words: list[str]) -> None:
    """Print a prediction for people: one bar per class, the reasons below."""
    console = Console()
    topic = TOPICS[index_of(label)]
    console.print(Text.assemble("\n", (printable((title.splitlines() or ["(a page without a title)"])[0]), "bold")))
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
