"""`eitr serve`, `worker`, `demo`, `settings`, `operator`, `invite`, `alert`, `backup` and `restore`."""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from eitr.cli.console import tell
from eitr.cli.extras import needs_extra
from eitr.errors import InputError

ENVIRONMENT_FILE = "EITR_SETTINGS"


Database = Annotated[str | None, typer.Option(help="postgresql+psycopg://user@host/name (default: SQLite).")]
Folder = Annotated[Path | None, typer.Option(help="Where the server keeps its key and its SQLite database.")]


@needs_extra("server")
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on; 0 for any.", min=0, max=65535)] = None,
    folder: Folder = None,
    database: Database = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Run no rounds; `eitr worker` does.")] = False,
) -> None:
    """Run the server: API, rounds and dashboard.

    Everything else is set by environment variables or the file that EITR_SETTINGS names: `eitr settings` lists them.

    Examples: `eitr serve`, `eitr serve --port 9000 --folder /srv/eitr`,
    `EITR_QUORUM=50 eitr serve --database postgresql+psycopg://eitr@db/eitr --no-worker`
    """
    from eitr.server.composition.serve import serve as run

    run(_settings(host=host, port=port, folder=folder, database=database, worker=False if no_worker else None), tell)


@needs_extra("server")
def worker(folder: Folder = None, database: Database = None) -> None:
    """Run rounds for servers that were started with --no-worker.

    Example: `eitr worker --database postgresql+psycopg://eitr@db/eitr`
    """
    from eitr.server.composition.serve import work

    work(_settings(folder=folder, database=database), tell)


@needs_extra("server")
def demo(
    folder: Annotated[Path | None, typer.Option(help="Folder of the database (default: deleted at the end).")] = None,
    port: Annotated[int, typer.Option(help="The port of the dashboard; 0 for any.", min=0, max=65535)] = 0,
    rounds: Annotated[int | None, typer.Option(help="Stop after this many new models.", min=1)] = None,
) -> None:
    """Watch a federation under attack: a server and ten participants on this machine, four of them bad.

    Example: `eitr demo --port 8000`
    """
    import tempfile

    from eitr.server.demo import run

    if folder is not None:
        run(folder, port=port, rounds=rounds, tell=tell)
        return
    with tempfile.TemporaryDirectory(prefix="eitr-demo-") as temporary:
        run(Path(temporary), port=port, rounds=rounds, tell=tell)


@needs_extra("server")
def settings(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False) -> None:
    """List the server's settings, their values and their meaning.

    Example: `EITR_QUORUM=50 eitr settings`
    """
    from eitr.server.settings import described, shown, variable

    now = _settings()
    listed: list[dict[str, Any]] = [
        {
            "variable": variable(name),
            "value": getattr(now, name),
            "default": field.default,
            "source": now.source(name),
            "help": field.description,
        }
        for name, field in described()
    ]
    if as_json:
        for one in listed:  # addresses can have passwords in them
            one["value"] = shown(one["value"]) if isinstance(one["value"], str) else one["value"]
        print(json.dumps(listed, indent=2, default=str))
        return
    table = Table("variable", "value", "from", "meaning", box=None, pad_edge=False)
    for one in listed:
        changed = "bold" if one["value"] != one["default"] else ""
        table.add_row(one["variable"], shown(one["value"]), one["source"], one["help"], style=changed)
    Console().print(table)


@needs_extra("server")
def operator(folder: Folder = None, database: Database = None) -> None:
    """Print a one-time link that sets an operator's password: for a second operator, or if one was forgotten.

    Example: `eitr operator`
    """
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.domain.operators import setup_link

    chosen = settings_of_server(folder, database)
    code = setup_link(prepared_database(chosen)[0], again=True, who="command line")
    print(f"{chosen.own_address}/setup?code={code}")


@needs_extra("server")
def invite(
    count: Annotated[int, typer.Argument(help="How many codes to make.", min=1, max=100_000)] = 1,
    note: Annotated[str, typer.Option(help="For whom they are; only the operator sees it.")] = "",
    founders: Annotated[
        bool, typer.Option("--founders", help="Count them as established from their first round on.")
    ] = False,
    unbounded: Annotated[
        bool, typer.Option("--unbounded", help="Lift the bounds on newcomers and on networks for them.")
    ] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Make invitations and print their codes, one per line. Save them: the server keeps only hashes.

    Examples: `eitr invite 8 --note "our team" --founders`,
    `eitr invite 50 --note "study behind one address" --founders --unbounded > codes.txt`
    """
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.domain.keys import Key
    from eitr.server.domain.participants import Participants

    chosen = settings_of_server(folder, database)
    found = prepared_database(chosen)[0]
    participants = Participants(found, Key.of(chosen.folder))
    trusted = {"founders": founders, "unbounded": unbounded}
    for code in participants.invite_batch(count, note, who="command line", **trusted):
        print(code)


@needs_extra("server")
def alert(
    test: Annotated[bool, typer.Option("--test", help="Send a test alert on every channel that is set up.")] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """List what is wrong with the server and what to do about it, or send a test alert.

    Examples: `eitr alert`, `eitr alert --test`
    """
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.domain.alerts import Alerts, found_problems
    from eitr.server.domain.audit import note as note_action

    chosen = settings_of_server(folder, database)
    found = prepared_database(chosen)[0]
    if not test:
        with found.reading() as session:
            problems = found_problems(session, chosen)
        for problem in problems:
            print(f"{problem.severity.word}: {problem.what} {problem.aside}".rstrip() + f"\n  What to do: {problem.do}")
        if not problems:
            print("Nothing is wrong.")
        return
    outcomes = {one.channel: one.error or "delivered" for one in Alerts(found, chosen).test()}
    if not outcomes:
        raise InputError("no alerts are set up: set EITR_ALERT_WEBHOOK, or EITR_ALERT_EMAIL and EITR_SMTP_HOST")
    note_action(found, "command line", "sent a test alert", **outcomes)
    for channel, outcome in outcomes.items():
        print(f"{channel}: {outcome}")
    if set(outcomes.values()) != {"delivered"}:
        raise typer.Exit(1)


@needs_extra("server")
def backup(
    target: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Back up the database and the server's key into one file. The server may be running.

    Example: `eitr backup /backups/eitr-$(date +%F).db`
    """
    from eitr.server.domain.backup import back_up

    chosen = settings_of_server(folder, database)
    rows = back_up(_reached(chosen), chosen.folder, target)
    tell(f"{rows} rows in {target}. It holds the server's key: keep it as safe as the server.")


@needs_extra("server")
def restore(
    source: Annotated[Path, typer.Argument(help="A file that `eitr backup` wrote.")],
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Restore a backup into an empty database, SQLite or PostgreSQL. Nothing is overwritten.

    Examples: `eitr restore eitr-2027-01-31.db --folder /srv/eitr`,
    `eitr restore eitr-2027-01-31.db --database postgresql+psycopg://eitr@db/eitr`
    """
    from eitr.server.domain.backup import restore as run

    chosen = _settings(folder=folder, database=database)
    tell(f"{run(source, _reached(chosen), chosen.folder)} rows restored.")


def _reached(settings: Any) -> Any:
    from eitr.server.db.connection import Database

    found = Database(settings.database_address)
    found.check()
    return found


def settings_of_server(folder: Path | None, database: str | None) -> Any:
    """Return the settings of a server that was started before: a command in the wrong folder must not make one."""
    chosen = _settings(folder=folder, database=database)
    if not chosen.folder.is_dir():
        raise InputError(f"there is no folder {chosen.folder}: give the --folder of the server")
    return chosen


def _settings(**given: Any) -> Any:
    from eitr.server.settings import read_settings

    named = os.environ.get(ENVIRONMENT_FILE)
    return read_settings(Path(named) if named else None, **given)


COMMANDS = (serve, worker, demo, settings, operator, invite, alert, backup, restore)
