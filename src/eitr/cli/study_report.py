"""`eitr study report`: what a study found, anonymised, as HTML, CSV and JSON."""

from pathlib import Path
from typing import Annotated

import typer

from eitr.cli.console import busy, tell
from eitr.cli.extras import needs_extra
from eitr.cli.server import Database, Folder, settings_of_server
from eitr.cli.study import Slug
from eitr.errors import InputError


@needs_extra("server")
def report(
    slug: Slug,
    to: Annotated[Path, typer.Option("--to", help="The folder for the files; it is made if it is not there.")],
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Write what a study found: one HTML page, CSV files, and JSON for machines.

    It holds agreement, reputations, and how each version of the model does on the study's pages; no ids, addresses or
    times. Pages are judged by their archived copies.

    Example: `eitr study report covid-2027 --to report`
    """
    from eitr.server.composition.wiring import prepared_database
    from eitr.server.dashboard.study_report import write_report
    from eitr.server.domain.errors import DomainError
    from eitr.server.domain.keys import Key
    from eitr.server.domain.study.analysis import analysis
    from eitr.server.domain.study.analysis_data import classifiers, study_data
    from eitr.server.domain.study.register import StudyRegister

    chosen = settings_of_server(folder, database)
    found = prepared_database(chosen)[0]
    try:
        with busy("judging versions"):
            data = study_data(found, StudyRegister(found, Key.of(chosen.folder)), slug)
            written = write_report(analysis(data, classifiers(found)), to)
    except DomainError as error:
        raise InputError(error.detail) from None
    finally:
        found.close()
    tell(f"{len(written)} files in {to}; open {written[0]} in a browser.")
