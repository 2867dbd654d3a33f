"""`eitr study refresh`: give the model the words of a study that it does not know."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.cli.console import busy, tell
from eitr.cli.extras import needs_extra
from eitr.cli.server import Database, Folder, settings_of_server
from eitr.cli.study import WHO, Slug


@needs_extra("server")
def refresh(
    slug: Slug,
    pages: Annotated[
        list[Path] | None,
        typer.Option("--pages", metavar="ROWS.jsonl[.gz]", help="Labelled public pages to learn the new words from."),
    ] = None,
    words: Annotated[int, typer.Option(help="How many new words, at most.", min=1, max=500)] = 50,
    min_clients: Annotated[int, typer.Option(help="Leave out words that fewer people reported.", min=2)] = 3,
    publish: Annotated[bool, typer.Option("--publish", help="Publish the result as a new version.")] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Give the newest model the words that a study's people reported, and learn their weights.

    Words come from people who consented to report terms; weights from public pages, cover pages and labels of people
    who consented to their collection. As many old words make way. The result is compared on the validation pages as
    any other version; it is published only with --publish, and only if it loses nothing.

    Examples: `eitr study refresh covid-2027`, `eitr study refresh covid-2027 --pages public.jsonl.gz --publish`
    """
    from eitr.datasets.jsonl import labelled_rows
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.domain.gate import Gate
    from eitr.server.domain.study.refresh import Refresh

    chosen = settings_of_server(folder, database)
    found, validation = prepared_database(chosen)
    try:
        public = [row for path in pages or [] for row in labelled_rows(path)]
        gate = Gate(validation, chosen.margin, chosen.class_margin)
        with busy("learning new words"):
            made = Refresh(found, gate).prepare(slug, public, words=words, min_clients=min_clients)
        tell(f"{len(made.words)} new words, reported by at least {min_clients} of {made.reports} people:")
        print(" ".join(made.words))
        tell(f"{len(made.gone)} words make way: {' '.join(made.gone)}")
        tell(
            f"Learned from {made.public} public pages, {made.collected} pages with collected labels and "
            f"{0 if made.pool is None else len(made.pool)} cover pages. Validation pages: "
            f"{100 * made.before.accuracy:.1f} % before, {100 * made.after.accuracy:.1f} % after."
        )
        if made.pool is None:
            tell("The version before it has no cover pages, so the new one has none either.")
        if publish:
            tell(f"Published as version {Refresh(found, gate).publish(made, slug, who=WHO)}.")
        elif made.reason is not None:
            tell(f"It cannot be published. {made.reason}")
        else:
            tell("Nothing is changed. Publish it with --publish.")
    finally:
        found.close()
