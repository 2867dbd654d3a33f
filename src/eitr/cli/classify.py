"""`eitr classify`: what a page is about, how sure the model is, and which words led to it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from eitr.cli.console import printable, tell
from eitr.errors import InputError
from eitr.taxonomy import NON_SENSITIVE, TOPICS, index_of

if TYPE_CHECKING:
    from eitr.model import Classifier
    from eitr.model.classifier import Prediction, Reason

LANGUAGE_NAMES = {
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
    "foreign": "of its language",
}

MOST_REPORTED = 20
"""Bad lines or files that are reported one by one; of the others only the number is told."""


def classify(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|FOLDER|URL|-...",
            help="Pages: HTML or text files, also gzip; folders of them; http(s) addresses; - for stdin.",
            show_default=False,
        ),
    ] = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="ROWS.jsonl[.gz]", help="Many pages, one JSON object per line; - for stdin.")
    ] = None,
    words: Annotated[
        int, typer.Option(help="How many of the words that led to a page's answer to print, at most 8.", min=0)
    ] = 8,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for machines, one object per page. (--jsonl always does.)")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End at the first bad line or file.")] = False,
) -> None:
    """Say what pages are about, how sure the model is, and which words led to it.

    There are three answers: a sensitive topic, not sensitive, or that the model cannot tell. These are the answers that
    the browser extension shows with its default settings.

    Pages stay on this machine: nothing is sent anywhere, except that a URL is fetched from its server.

    Of several pages, each gets a line; a page that is named twice gets one. A folder stands for the files below it that
    end in .html, .htm, .xhtml or .txt, also with .gz.

    Rows may have any of title, description, keywords and text. Their other fields are passed through (a field `label`
    as `given_label`) next to these:

    * `line`: the number of the row's line.
    * `label`, `probabilities`: the most probable class, however probable, and the probabilities of all.
    * `shown`: the answer, if it is a sensitive topic; otherwise null.
    * `cannot_tell`: why the model cannot tell; null if it can. `language`: the page is in a language it does not know.
    `words`: the page has too few words it knows, or it seems not to be sensitive but is in a language of which the
    model knows too few words to be sure. `close`: no class is probable enough.
    * `known_words`, `language`: how many words of the page the model knows, and the page's language.

    If `shown` and `cannot_tell` are both null, the answer is "not sensitive". With --json, pages have the same fields,
    with `file`, `title` and `words` instead of `line`.

    Bad lines and files are reported on standard error and left out; the exit status is then 2. With --strict the first
    one ends the job.

    Examples:

    * `eitr classify page.html`
    * `eitr classify saved/ other.txt.gz --json`
    * `curl -s https://example.org | eitr classify -`
    * `eitr classify --jsonl rows.jsonl.gz > labels.jsonl`
    """
    if bool(sources) == (jsonl is not None):
        raise InputError("give pages (files, folders, URLs or -) or rows (--jsonl ROWS.jsonl)")
    from eitr.model.classifier import MAX_REASONS, Classifier

    if words > MAX_REASONS:
        tell(f"--words {words}: no more than {MAX_REASONS} words are printed")
    classifier = Classifier.shipped()
    problems = _Problems(strict)
    if jsonl is not None:
        _classify_rows(classifier, jsonl, problems)
    elif sources is not None:
        _classify_pages(classifier, sources, words, as_json, problems)


class _Problems:
    """Reports what is left out and goes on; where it is strict, the first problem ends the job."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._count = 0

    def report(self, error: InputError) -> None:
        if self._strict:
            raise error
        self._count += 1
        if self._count <= MOST_REPORTED:
            tell(f"left out: {printable(str(error))}")

    def fail_if_any(self, what: Callable[[int], str]) -> None:
        if self._count:
            raise InputError(f"{what(self._count)} left out")


def _classify_rows(classifier: "Classifier", path: Path, problems: _Problems) -> None:
    """Print the rows of a file with their labels."""
    from eitr.cli.bulk import classified

    for row in classified(classifier, path, problems.report):
        print(json.dumps(row))
    problems.fail_if_any(lambda bad: f"{path}: {bad} bad line{'s were' if bad > 1 else ' was'}")


class _Classified(NamedTuple):
    """A page's prediction and what is told about it."""

    source: str
    title: str
    prediction: "Prediction"
    reasons: "list[Reason]"

    def why_not(self) -> str | None:
        """Return why the model cannot tell what the page is about; None if it can."""
        from eitr.model.answer import LEAST_KNOWN

        known, language = self.prediction.known_words, self.prediction.language
        match self.prediction.cannot_tell:
            case None:
                return None
            case "language":
                return "the page is in a language the model does not know"
            case "words" if known < LEAST_KNOWN:
                return f"the model knows {'only one word' if known else 'no word'} of the page"
            case "words":
                tongue = LANGUAGE_NAMES[language]
                return f"it seems not to be sensitive, but the model knows too little {tongue} to be sure"
            case "close":
                return self._too_close()

    def _too_close(self) -> str:
        """Return how sure the model is of the most probable class, and how sure it would have to be."""
        from eitr.model.answer import LEAST_SURE, THRESHOLD, least_threshold

        label, known, language = self.prediction.label, self.prediction.known_words, self.prediction.language
        topic = TOPICS[index_of(label)]
        harmless = topic is TOPICS[NON_SENSITIVE]
        needed = LEAST_SURE if harmless else max(THRESHOLD, least_threshold(language, known))
        # Rounded down: 44.9 % must not read like the 45 % that are needed.
        sure = math.floor(100 * self.prediction.probabilities[label])
        return f"most probably {topic.title.lower()}, but only {sure} % sure, where {100 * needed:.0f} % are needed"


def _classify_pages(
    classifier: "Classifier", sources: list[str], words: int, as_json: bool, problems: _Problems
) -> None:
    """Print what each page is about: in full where there is one, else on a line each."""
    from eitr.cli.fetch import named_pages

    names = list(named_pages(sources, problems.report)) if len(sources) > 1 else list(named_pages(sources))
    alone = names == sources and len(names) == 1
    printed = 0
    for name in names:
        try:
            found = _classify_page(classifier, name)
        except InputError as error:
            if alone:
                raise
            problems.report(error)
            continue
        printed += 1
        if as_json:
            _print_json(found, words)
        elif alone:
            _print_prediction(found, words)
        else:
            _print_line(found, words)
    problems.fail_if_any(lambda bad: f"{bad} of {printed + bad} files {'were' if bad > 1 else 'was'}")


def _classify_page(classifier: "Classifier", source: str) -> _Classified:
    from eitr.cli.fetch import fetch
    from eitr.pages.extract import extract

    document = fetch(source)
    try:
        page = extract(document.data, content_type=document.content_type)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    return _Classified(source, page.title, classifier.classify([page])[0], classifier.reasons(page))


def _print_json(found: _Classified, words: int) -> None:
    from eitr.cli.bulk import as_fields

    content = {
        "file": found.source,
        **as_fields(found.prediction),
        "words": [{"word": reason.word, "weight": round(reason.weight, 4)} for reason in found.reasons[:words]],
        "title": found.title,
    }
    print(json.dumps(content))


def _print_line(found: _Classified, words: int) -> None:
    """Print the answer on one line: how sure the model is, the file, and the words; or why it cannot tell."""
    label, why_not = found.prediction.label, found.why_not()
    if why_not:
        answer, sure, details = "cannot tell", "", why_not
    else:
        answer, sure = label, f"{100 * found.prediction.probabilities[label]:3.0f} %"
        details = ", ".join(reason.word for reason in found.reasons[:words])
    print(f"{answer:<18}  {sure:<5}  {printable(found.source)}{f'  ({details})' if details else ''}")


def _print_prediction(found: _Classified, words: int) -> None:
    """Print a prediction for people: the answer, one bar per class, and the words that led to it."""
    console = Console()
    title = (found.title.splitlines() or ["(a page without a title)"])[0]
    console.print(Text.assemble("\n", (printable(title), "bold")))
    console.print(_answer(found))
    for topic in TOPICS:
        share = found.prediction.probabilities[topic.name]
        bar = "█" * round(40 * share)
        console.print(Text.assemble(f"{topic.title:<20}", f"{100 * share:5.1f} %  ", (bar, topic.colour)))
    reasons = [reason.word for reason in found.reasons[:words]]
    if found.prediction.cannot_tell or not words:
        return
    if reasons:
        console.print(Text.assemble("\nWords that led to it: ", (", ".join(reasons), "italic"), "\n"))
    else:
        console.print("\nNo single word led to it.\n")


def _answer(found: _Classified) -> Text:
    """Return which of the three answers it is, as a sentence with the badge before it."""
    if why_not := found.why_not():
        grey = TOPICS[NON_SENSITIVE].colour
        return Text.assemble((" ? ", f"bold white on {grey}"), " ", ("Cannot tell", "bold"), f": {why_not}.\n")
    topic = TOPICS[index_of(found.prediction.label)]
    sure = f"{100 * found.prediction.probabilities[topic.name]:.0f} % sure"
    return Text.assemble(
        (f" {topic.letter or '–'} ", f"bold white on {topic.colour}"),
        " ",
        (topic.title, "bold"),
        f", {sure}: the page is about {topic.about}.\n",
    )
