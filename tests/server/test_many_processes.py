"""Several servers and workers share one PostgreSQL: every round is aggregated once."""

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from eitr.client import Participant
from eitr.errors import InputError
from eitr.server.composition.serve import _listen
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, ModelRow, ObservationRow, RoundRow, RoundStatus
from eitr.server.domain.keys import BYTES, FILE
from eitr.server.settings import read_settings
from tests.server.conftest import new_postgres_database
from tests.server.process import Running
from tests.server.test_kills import vector

PEOPLE, ROUNDS = 8, 4


@pytest.mark.long
def test_two_servers_and_two_workers_aggregate_every_round_once(tmp_path: Path, postgres: str) -> None:
    database = new_postgres_database(postgres)
    settings: dict[str, Any] = {
        "minimum": PEOPLE,
        "quorum": PEOPLE,
        "maximum": PEOPLE,
        "pause_seconds": 0,
        "poll_seconds": 0.02,
        "margin": 1,
        "training": "paper",
    }
    # Folders of their own, as on several machines: the key is copied, and the update store is shared.
    settings["update_store"] = tmp_path / "updates"
    for name in ("one", "two", "three", "four"):
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / FILE).write_bytes(b"k" * BYTES)
    with (
        Running("serve", tmp_path / "one", "--no-worker", "--database", database, **settings) as one,
        Running("serve", tmp_path / "two", "--no-worker", "--database", database, **settings) as two,
        Running("worker", tmp_path / "three", "--database", database, **settings) as three,
        Running("worker", tmp_path / "four", "--database", database, **settings) as four,
    ):
        addresses = [one.ready().address, two.ready().address]

        def live(person: int) -> None:
            with Participant(addresses[person % 2]) as me:
                me.enrol()
                last = 0
                for number in range(1, ROUNDS + 1):
                    # Now at one server, now at the other: they are the same.
                    with Participant(addresses[(person + number) % 2], id=me.id, secret=me.secret) as here:
                        last_round = here.wait_for_round(after=last, seconds=600, every=0.05)
                        here.send_bytes(last_round.id, vector(number, person).astype("<f4").tobytes())
                        last = last_round.id
                me.wait_for_round(after=last, seconds=600, every=0.05)

        threads = [threading.Thread(target=live, args=(person,)) for person in range(PEOPLE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [process.stop() for process in (one, two, three, four)] == [0, 0, 0, 0]
    with Database(database).reading() as session:
        ended = session.scalars(
            select(RoundRow).where(RoundRow.status == RoundStatus.PUBLISHED).order_by(RoundRow.id)
        ).all()
        assert len(ended) == ROUNDS
        assert all(found.received == PEOPLE and found.attempts == 1 for found in ended)
        published = session.scalars(select(AuditRow).where(AuditRow.action == "published a round")).all()
        assert [entry.detail["round"] for entry in published] == [found.id for found in ended]
        assert session.scalars(select(ModelRow.version).order_by(ModelRow.version)).all() == list(range(1, ROUNDS + 2))
        assert len(session.scalars(select(ObservationRow.participant)).all()) == PEOPLE * ROUNDS


def test_processes_share_a_port_only_where_they_can_share_a_database() -> None:
    with pytest.raises(InputError, match="EITR_SHARE_PORT"):
        read_settings(share_port=True)
    database = "postgresql+psycopg://nobody@localhost/eitr"
    with _listen(read_settings(port=0)) as first:
        port = first.getsockname()[1]
    with _listen(read_settings(port=port, database=database, share_port=True)):
        with pytest.raises(InputError, match="cannot listen"):
            _listen(read_settings(port=port, database=database))
        _listen(read_settings(port=port, database=database, share_port=True)).close()


@pytest.mark.parametrize("address", ["s3://KEY:SECRET@eitr/updates", "gs://eitr", "s3://", "s3://eitr/../other?x=1"])
def test_an_update_store_that_is_none_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="EITR_UPDATE_STORE: write a folder, or s3://") as error:
        read_settings(update_store=address)
    assert "SECRET" not in str(error.value)
