"""The server's commands: start, stop, complain."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select
from typer.testing import CliRunner

import eitr
from eitr.cli import app
from eitr.client import Participant as Person
from eitr.errors import InputError
from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    AuditRow,
    InvitationBatchRow,
    InvitationRow,
    ModelRow,
    ObservationRow,
    ParticipantRow,
    RoundRow,
    RoundStatus,
    SetupLinkRow,
)
from eitr.server.domain.operators import set_password
from eitr.server.settings import read_settings
from tests.server.process import Running
from tests.server.waiting import until


def count(folder: Path, table: type) -> int:
    with Database(f"sqlite:///{folder / 'eitr.db'}").reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_first_start_makes_everything_and_a_second_finds_it(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    with Running("serve", folder).ready() as server:
        link = folder / "setup-link"
        assert re.fullmatch(rf"{server.address}/setup\?code=\S{{40,}}\n", link.read_text())
        assert link.stat().st_mode & 0o777 == 0o600
        assert httpx.get(f"{server.address}/api/v2/model").json()["version"] == 1
        with Person(server.address) as somebody:
            assert somebody.wait_for_round().id == 1
        assert server.stop() == 0
        log = server.log
    code = link.read_text().strip().rpartition("=")[2]
    assert code not in log  # nor anything else that is no line of JSON
    assert [line["message"] for line in map(json.loads, log.splitlines())][:2] == [
        f"EITR runs at {server.address}",
        f"No operator has a password yet: open the link in {link} within an hour, or make one with `eitr operator`",
    ]
    key = (folder / "server.key").read_bytes()
    with Running("serve", folder).ready() as server:
        # There may be two of them: the first one's link still works.
        set_password(Database(f"sqlite:///{folder / 'eitr.db'}"), code, "ada", "a long new password")
        assert httpx.get(f"{server.address}/api/v2/rounds/current").json()["id"] == 1
        assert server.stop() == 0
    assert (folder / "server.key").read_bytes() == key
    assert (folder / "server.key").stat().st_mode & 0o077 == 0
    assert count(folder, ModelRow) == 1


def test_links_have_the_port_of_the_server_that_runs(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    with Running("serve", folder, automatic_rounds="false").ready() as server:
        printed = CliRunner().invoke(app, ["operator", "--folder", str(folder)]).stdout
        assert printed.startswith(f"{server.address}/setup?code=")
        assert (folder / "address").stat().st_mode & 0o777 == 0o600
        assert read_settings(folder=folder).own_address == server.address  # for the links of alerts
        assert read_settings(folder=folder, public_address="https://e.org").own_address == "https://e.org"
        assert server.stop() == 0
    assert not (folder / "address").exists()
    assert read_settings(folder=folder).own_address == "http://127.0.0.1:8000"


def test_at_a_terminal_the_link_is_printed_and_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "eitr", "serve", "--folder", str(folder), "--port", "0"],
        stderr=theirs,
        env={**os.environ, "EITR_WORKER": "false"},
    ) as process:
        os.close(theirs)
        said = b""
        while b"/setup?code=" not in said:
            said += os.read(ours, 10_000)
        process.terminate()
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert said.startswith(b"EITR runs at http://127.0.0.1:")
    assert not (folder / "setup-link").exists()


def test_a_typing_error_in_a_setting_is_one_clear_line(tmp_path: Path) -> None:
    with Running("serve", tmp_path / "server", quoram=30) as server:
        assert server.process.wait(timeout=60) == 2
        assert server.log.strip() == "error: EITR_QUORAM: there is no such setting; did you mean EITR_QUORUM?"


def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    with Running("serve", tmp_path / "one", automatic_rounds="false").ready() as first:
        port = first.address.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "eitr", "serve", "--folder", str(tmp_path / "two"), "--port", port],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 2
        assert "cannot listen" in done.stderr
        assert "Traceback" not in done.stderr


def test_an_interrupt_ends_it_in_good_order(tmp_path: Path) -> None:
    with Running("serve", tmp_path / "server").ready() as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=60) == 0
        assert "Traceback" not in server.log


def test_bad_settings_are_one_clear_line(tmp_path: Path) -> None:
    with Running("serve", tmp_path / "server", quorum="many") as server:
        assert server.process.wait(timeout=60) == 2
        assert "EITR_QUORUM" in server.log
        assert "Traceback" not in server.log


def test_invitations_are_printed_once_and_kept_as_hashes(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    done = CliRunner().invoke(app, ["invite", "3", "--note", "course", "--folder", str(folder)])
    codes = done.stdout.split()
    assert len(set(codes)) == 3
    assert count(folder, InvitationRow) == 3
    stored = (folder / "eitr.db").read_bytes()
    assert not any(code.encode() in stored for code in codes)


def test_a_batch_of_invitations_can_be_trusted_more(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    command = ["invite", "2", "--note", "study", "--folder", str(folder)]
    for more in ([], ["--founders"], ["--founders", "--unbounded"]):
        assert len(CliRunner().invoke(app, [*command, *more]).stdout.split()) == 2
    with Database(f"sqlite:///{folder / 'eitr.db'}").reading() as session:
        batches = session.scalars(select(InvitationBatchRow).order_by(InvitationBatchRow.id)).all()
    trusted = [(one.founders, one.unbounded, one.note, one.who) for one in batches]
    told = ("study", "command line")
    assert trusted == [(False, False, *told), (True, False, *told), (True, True, *told)]


def test_a_link_for_an_operator_can_be_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    links = {CliRunner().invoke(app, ["operator", "--folder", str(folder)]).stdout for _ in range(2)}
    assert len(links) == 2
    assert count(folder, SetupLinkRow) == 1  # only the last one works
    with Database(f"sqlite:///{folder / 'eitr.db'}").reading() as session:
        entries = session.scalars(select(AuditRow).where(AuditRow.action == "made a setup link")).all()
    assert [(one.who, one.detail) for one in entries] == [("command line", {})] * 2


@pytest.mark.parametrize("command", [["operator"], ["invite"], ["alert"], ["alert", "--test"], ["backup", "file.db"]])
def test_a_command_in_the_wrong_folder_makes_no_server(tmp_path: Path, command: list[str]) -> None:
    folder = tmp_path / "server"
    with pytest.raises(InputError, match=re.escape(f"there is no folder {folder}: give the --folder of the server")):
        CliRunner().invoke(app, [*command, "--folder", str(folder)], catch_exceptions=False)
    assert not folder.exists()


@pytest.mark.long
def test_without_a_home_kernels_are_compiled_into_the_folder_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    shutil.copytree(Path(eitr.__file__).parent, installed / "eitr", ignore=shutil.ignore_patterns("__pycache__"))
    for kernels in ("model", "robust"):  # a file where the folder of the cache would be: nobody can write there
        (installed / "eitr" / kernels / "__pycache__").write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/nonexistent")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    folder = tmp_path / "server"

    def compiled() -> set[Path]:
        return set((folder / "kernels").rglob("*.nbc"))

    with Running("serve", folder, rule="fedavg", log_level="debug").ready() as server:
        until(lambda: len(compiled()) > 0, "machine code in the server's folder")
        assert server.stop() == 0
    assert all(path.stat().st_uid == os.geteuid() for path in compiled())


@pytest.mark.long
def test_the_demonstration_shows_attackers_lose_their_weight_and_stops_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = subprocess.run(
        [sys.executable, "-m", "eitr", "demo", "--rounds", "3", "--folder", str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The dashboard: http://127.0.0.1:" in done.stderr
    roles = dict(re.findall(r"^  (\w{8})  (.+)$", done.stderr, re.MULTILINE))
    assert sorted(roles.values()) == ["flips labels"] * 3 + ["honest"] * 6 + ["sends NaN"]
    with Database(f"sqlite:///{folder / 'eitr.db'}").reading() as session:
        assert session.scalar(select(func.count()).select_from(ParticipantRow)) == 10
        abandoned = select(func.count()).select_from(RoundRow).where(RoundRow.status == RoundStatus.ABANDONED)
        assert session.scalar(abandoned) == 0  # the first round waits until kernels are compiled
        seen = session.scalars(select(ObservationRow).where(ObservationRow.round == 3)).all()
    weights = {roles[one.participant[:8]]: [] for one in seen}  # type: ignore[var-annotated]
    for one in seen:
        weights[roles[one.participant[:8]]].append(one.weight)
    assert max(weights["flips labels"]) < min(weights["honest"])
    assert weights["sends NaN"] == [None]
    assert done.stderr.strip().endswith("Everything is stopped.")
