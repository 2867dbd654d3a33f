"""`eitr study`: create a study, give it pages and people, and see how it goes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from eitr.cli.console import tell
from eitr.cli.extras import needs_extra
from eitr.cli.server import Database, Folder, settings_of_server
from eitr.errors import InputError

if TYPE_CHECKING:
    from eitr.server.domain.study.services import StudyServices

study = typer.Typer(
    name="study",
    help="Run a study: people label given pages, experts rate them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
WHO = "command line"
WIDEST = 200
"""Short names are copied from the list: it is as wide as it has to be, also where a terminal wraps its lines."""
Slug = Annotated[str, typer.Argument(help="The short name of the study, such as covid-2027.")]


@study.command()
@needs_extra("server")
def create(
    slug: Slug,
    title: Annotated[str, typer.Argument(help="What people read as its title.")],
    seed: Annotated[int | None, typer.Option(help="Which pages people get depends on it (default: random).")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the study, such as collect_labels=true.")
    ] = None,
    founders: Annotated[
        bool, typer.Option("--founders", help="Count its people as established from their first round on.")
    ] = False,
    unbounded: Annotated[
        bool, typer.Option("--unbounded", help="Lift the bounds on newcomers and on networks for them.")
    ] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Create a study as a draft. `docs/study.md` explains its settings.

    Example: `eitr study create covid-2027 "Pages about COVID-19" --set pages_per_person=20 --set reward=true`
    """
    from eitr.server.domain.study.settings import checked_settings

    with _studies(folder, database) as services:
        checked = checked_settings(_assignments(settings or []))
        trusted = {"founders": founders, "unbounded": unbounded}
        made = services.register.create(slug, title, checked, who=WHO, seed=seed, **trusted)
    tell(f"Study {made.slug} created as a draft, with the seed {made.seed}. Next: `eitr study pages {made.slug} FILE`.")


@study.command()
@needs_extra("server")
def pages(
    slug: Slug,
    file: Annotated[Path, typer.Argument(help="A CSV file with the column url, and if wanted topic, truth and copy.")],
    copies: Annotated[
        Path | None, typer.Option(help="The folder of the HTML files that the column copy names.")
    ] = None,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Import the pages of a study. If a line has a mistake, nothing is imported and all mistakes are told.

    Example: `eitr study pages covid-2027 pages.csv --copies archive/`
    """
    with _studies(folder, database) as services:
        done = services.pages.import_file(slug, file, who=WHO, copies=copies)
    tell(f"{done.added} pages added, {done.changed} changed, {done.copies} archived copies stored.")


@study.command()
@needs_extra("server")
def check(
    slug: Slug,
    archive: Annotated[
        bool, typer.Option("--archive", help="Keep a copy of each live page that has none, as text without scripts.")
    ] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Ask every page of a study whether it is still there. Dead pages are given to nobody unless they have a copy.

    Example: `eitr study check covid-2027 --archive`
    """
    with _studies(folder, database) as services:
        found = services.pages.check(
            slug, lambda page, state, why: print(f"{state}\t{page.url}\t{why}", flush=True), who=WHO, archive=archive
        )
    tell(", ".join(f"{count} {state}" for state, count in sorted(found.items())) or "The study has no pages.")


@study.command()
@needs_extra("server")
def invite(
    slug: Slug,
    count: Annotated[int, typer.Argument(help="How many people to invite.", min=1, max=100_000)],
    links: Annotated[bool, typer.Option("--links", help="Print whole links instead of codes.")] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Make invitations to a study and print one per line. Save them: the server keeps only hashes.

    Example: `eitr study invite covid-2027 50 --links > links.txt`
    """
    with _studies(folder, database) as services:
        codes = services.register.invite(slug, count, who=WHO)
    start = f"{settings_of_server(folder, database).own_address}/study/{slug}/start#code="
    for code in codes:
        print(f"{start}{code}" if links else code)


@study.command(name="open")
@needs_extra("server")
def open_(slug: Slug, folder: Folder = None, database: Database = None) -> None:
    """Open a study: people can begin and label.

    Example: `eitr study open covid-2027`
    """
    with _studies(folder, database) as services:
        services.register.open(slug, who=WHO)
    tell(f"Study {slug} is open.")


@study.command()
@needs_extra("server")
def close(slug: Slug, folder: Folder = None, database: Database = None) -> None:
    """Close a study: nobody begins or labels any more. Its data are deleted when they are old enough.

    Example: `eitr study close covid-2027`
    """
    with _studies(folder, database) as services:
        services.register.close(slug, who=WHO)
    tell(f"Study {slug} is closed.")


@study.command()
@needs_extra("server")
def raters(
    slug: Slug,
    names: Annotated[list[str] | None, typer.Argument(help="Experts to add; none: list those there are.")] = None,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Add experts who rate the pages of a study, and print a link for each; or list them.

    Examples: `eitr study raters covid-2027 Ada Grace`, `eitr study raters covid-2027`
    """
    with _studies(folder, database) as services:
        if not names:
            services.register.get(slug)
            for rater in services.raters.all(slug):
                print(f"{rater.name}\t{rater.rated}")
            return
        tokens = [(name, services.raters.add(slug, name, who=WHO)) for name in names]
    address = settings_of_server(folder, database).own_address
    for name, token in tokens:
        print(f"{name}\t{address}/study/{slug}/rate#token={token}")


@study.command()
@needs_extra("server")
def codes(
    slug: Slug,
    given: Annotated[list[str], typer.Argument(metavar="CODE...", help="Completion codes that people gave you.")],
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Say of completion codes whether they are valid, and not whose they are.

    Example: `eitr study codes covid-2027 1A2B3C4D5E6F`
    """
    with _studies(folder, database) as services:
        services.register.get(slug)
        found = services.people.check_codes(slug, given)
    for one in found:
        again = f", given {one.times} times" if one.times > 1 else ""
        print(f"{one.code}\t{'valid' if one.valid else 'not valid'}{again}")


@study.command(name="list")
@needs_extra("server")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """List the studies of a server with their counts.

    Example: `eitr study list`
    """
    with _studies(folder, database) as services:
        found = [(one, services.monitor.of(one)) for one in services.register.all()]
    if as_json:
        listed = [
            {"study": one.slug, "title": one.title, "status": one.status.value, **asdict(counts)}
            for one, counts in found
        ]
        print(json.dumps(listed, indent=2))
        return
    columns = ("invited", "consented", "installed", "started", "finished", "withdrawn")
    table = Table("study", "status", *columns, "minutes", box=None, pad_edge=False, collapse_padding=True)
    for one, counts in found:
        minutes = "" if counts.median_minutes is None else f"{counts.median_minutes:.1f}"
        table.add_row(one.slug, one.status.value, *(str(getattr(counts, name)) for name in columns), minutes)
    Console(width=WIDEST).print(table)


@contextmanager
def _studies(folder: Path | None, database: str | None) -> Iterator["StudyServices"]:
    """Give the studies of a server; what they refuse becomes an error of the command line."""
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.domain.errors import DomainError
    from eitr.server.domain.keys import Key
    from eitr.server.domain.study.services import StudyServices

    chosen = settings_of_server(folder, database)
    found = prepared_database(chosen)[0]
    try:
        yield StudyServices.of(found, Key.of(chosen.folder), chosen)
    except DomainError as error:
        raise InputError(error.detail) from None
    finally:
        found.close()


def _assignments(given: list[str]) -> dict[str, Any]:
    """Return settings as texts and lists; the study's own checks read them as what they should be."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise InputError(f"a setting is written name=value, not {one!r}")
        found[name] = tuple(part.strip() for part in value.split(",")) if name == "languages" else value
    return found
