"""The schema goes forward, with data in it; never back."""

from pathlib import Path

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import JSON, Connection, LargeBinary, String, func, inspect, make_url, select, text

from eitr.aggregation.fused.rule import SKETCH
from eitr.aggregation.reputation_model import HISTORY
from eitr.errors import InputError
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import RewriteRow
from eitr.server.db.tables import AuditRow, Base, RoundRow, RoundStatus, RuleStateRow, UpdateRow
from eitr.server.domain.rule_states import packed, unpacked
from eitr.server.domain.study.erasure import PARTICIPANT_TABLES, STUDY_TABLES
from tests.server.conftest import new_postgres_database
from tests.server.raw_files import files_with
from tests.server.waiting import until

PLAN = '{"epochs": 10}'
FIRST, NEWEST = "0001", "0009"


def test_the_migrations_lead_to_the_tables(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database)
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    assert schema.revision(database) == NEWEST


def test_upgrading_twice_changes_nothing(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database)
    schema.upgrade(database)
    assert schema.revision(database) == NEWEST


def test_an_old_database_keeps_its_data(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database, FIRST)
    with database.engine.begin() as connection:
        connection.execute(text("INSERT INTO vocabularies VALUES ('v', :content)"), {"content": b"{}"})
        connection.execute(
            text(
                "INSERT INTO models (version, created, origin, layers, weights, sha256, vocabulary) "
                "VALUES (1, '2026-01-01', 'shipped', '[2, 6]', :weights, 's', 'v')"
            ),
            {"weights": b"\0" * 72},
        )
        connection.execute(
            text(
                "INSERT INTO participants (id, secret_hash, enrolled, seen) "
                "VALUES ('ann', :hash, '2026-01-01', '2026-01-01')"
            ),
            {"hash": b"\1" * 32},
        )
    assert NEWEST != FIRST
    schema.upgrade(database)
    with database.engine.connect() as connection:
        assert connection.scalar(text("SELECT weights FROM models")) == b"\0" * 72
        assert connection.scalar(text("SELECT id FROM participants")) == "ann"
    indexes = {one["name"] for one in inspect(database.engine).get_indexes("observations")}
    assert indexes == {"ix_observations_participant_round"}


def test_what_was_remembered_with_a_public_seed_is_dropped_and_reputations_stay(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database, "0002")
    memories = {
        "fused": {SKETCH: np.ones(4096, np.float32), HISTORY: np.array([0.75, np.nan])},
        "foolsgold": {"steps": np.ones(50, np.float32)},
    }
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO participants (id, secret_hash, enrolled, seen) "
                "VALUES ('ann', :hash, '2026-01-01', '2026-01-01')"
            ),
            {"hash": b"1"},
        )
        for rule, arrays in memories.items():
            connection.execute(
                text("INSERT INTO memories VALUES ('ann', :rule, 3, :arrays)"), {"rule": rule, "arrays": packed(arrays)}
            )
    schema.upgrade(database)
    with database.reading() as session:
        fused, foolsgold = (session.get_one(RuleStateRow, ("ann", rule)) for rule in memories)
    assert (fused.rounds, fused.projection, fused.last_round) == (3, None, None)
    assert set(unpacked(fused.arrays)) == {HISTORY}
    np.testing.assert_array_equal(unpacked(fused.arrays)[HISTORY], memories["fused"][HISTORY])
    assert unpacked(foolsgold.arrays) == {}


def test_a_database_of_a_newer_program_is_left_alone(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database)
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="newer EITR"):
        schema.upgrade(database)


def test_a_database_that_cannot_be_reached_is_an_error_in_words(tmp_path: Path) -> None:
    database = Database(f"postgresql+psycopg:///none?host={tmp_path}")
    with pytest.raises(InputError, match="cannot be reached"):
        database.check()


def test_every_table_has_its_place(empty_address: str) -> None:
    database = Database(empty_address)
    schema.upgrade(database)
    assert set(inspect(database.engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}


def test_postgresql_keeps_no_samples_of_what_belongs_to_people(postgres: str) -> None:
    database = Database(new_postgres_database(postgres))
    schema.upgrade(database, "0008")
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO participants (id, secret_hash, enrolled, seen) "
                "VALUES ('ann-who-leaves', 'a', '2026-01-01', '2026-01-01'), ('ben', 'b', '2026-01-01', '2026-01-01')"
            )
        )
        connection.execute(text("ANALYZE"))
        assert _sampled(connection) >= {("participants", "id")}
        connection.execute(text("DELETE FROM participants WHERE id = 'ann-who-leaves'"))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as alone:
        alone.execute(text("VACUUM FULL participants"))
    assert files_with(database, b"ann-who-leaves"), "the statistics have the name"
    schema.upgrade(database)
    until(lambda: _purged(database), what="nobody is in the way")
    assert not files_with(database, b"ann-who-leaves")
    with database.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
        tables = {one.__tablename__ for one in (*PARTICIPANT_TABLES, *STUDY_TABLES)}
        assert not {(table, column) for table, column in _sampled(connection) if table in tables} & _texts(tables)
        targets = text(
            "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
            "WHERE a.attstattarget = 0 AND a.attnum > 0 AND c.relkind = 'r'"
        )
        assert {tuple(row) for row in connection.execute(targets)} == _texts(tables)


def test_an_operator_is_told_if_the_role_may_not_remove_statistics(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    address = make_url(new_postgres_database(postgres))
    role = f"guest_{address.database}"
    owner = Database(address.render_as_string(hide_password=False))
    schema.upgrade(owner)
    with owner.engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(text(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}"))
        connection.execute(text("INSERT INTO rewrites (name, mark) VALUES ('pg_statistic', 'a'), ('of tomorrow', 'b')"))
    guest = Database(address.set(username=role).render_as_string(hide_password=False))

    def left() -> list[str]:
        guest.purge()
        with owner.reading() as session:
            return list(session.scalars(select(RewriteRow.name)))

    until(lambda: left() == ["of tomorrow"], what="a mark that a newer version made is all that is left")
    assert "VACUUM FULL pg_statistic" in caplog.text
    caplog.clear()
    guest.purge()
    assert "VACUUM" not in caplog.text, "it is said once"
    for database in (guest, owner):
        database.close()


def _purged(database: Database) -> bool:
    database.purge()
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(RewriteRow)) == 0


def _sampled(connection: Connection) -> set[tuple[str, str]]:
    """Return the columns with statistics."""
    found = connection.execute(text("SELECT tablename, attname FROM pg_stats WHERE schemaname = current_schema()"))
    return {(table, column) for table, column in found}


def _texts(tables: set[str]) -> set[tuple[str, str]]:
    """Return the columns of these tables that hold texts, bytes or documents."""
    kinds = (String, LargeBinary, JSON)
    return {
        (table, column.name)
        for table in tables
        for column in Base.metadata.tables[table].columns
        if isinstance(column.type, kinds)
    }


def test_a_round_of_protocol_1_is_abandoned_and_reputations_stay(
    empty_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(empty_address)
    schema.upgrade(database, "0003")
    reputations = packed({HISTORY: np.array([0.75, 0.5])})
    with database.engine.begin() as connection:
        for statement in (
            "INSERT INTO vocabularies VALUES ('v', :data)",
            "INSERT INTO models (version, created, origin, layers, weights, sha256, vocabulary) "
            "VALUES (1, '2026-01-01', 'shipped', '[2, 6]', :data, 's', 'v')",
            "INSERT INTO participants (id, secret_hash, enrolled, seen) "
            "VALUES ('ann', :data, '2026-01-01', '2026-01-01')",
            "INSERT INTO memories VALUES ('ann', 'fused', 3, :data, NULL, 1)",
            *(
                "INSERT INTO rounds (id, state, under_way, base, opened, deadline, minimum, quorum, maximum, "
                "grace_seconds, plan, received, attempts, owner) VALUES "
                f"({id}, '{state}', {under_way}, 1, '2026-01-01', '2026-01-02', 1, 1, 1, 0, '{PLAN}', 1, 0, 'w')"
                for id, state, under_way in ((1, "published", "NULL"), (2, "aggregating", "true"))
            ),
            "INSERT INTO updates (id, round, participant, sha256, encoding, size, received) "
            "VALUES (7, 2, 'ann', :data, 'e', 4, '2026-01-01')",
            'INSERT INTO octets ("update", data) VALUES (7, :data)',
        ):
            given = {"data": reputations} if ":data" in statement else {}
            connection.execute(text(statement), given)
    with caplog.at_level("WARNING", "eitr.server"):
        schema.upgrade(database)
    assert "round 2 was abandoned: the server was upgraded" in caplog.text
    with database.reading() as session:
        ended, abandoned = (session.get_one(RoundRow, id) for id in (1, 2))
        assert ended.status == RoundStatus.PUBLISHED
        assert (abandoned.status, abandoned.under_way, abandoned.owner) == (RoundStatus.ABANDONED, None, None)
        assert abandoned.ended is not None
        assert "version 2 of the protocol" in str(abandoned.reason)
        assert ended.plan == abandoned.plan == {"method": "paper", "epochs": 10}
        assert session.scalars(select(UpdateRow.object)).all() == [None]
        assert session.get_one(UpdateRow, 7).participant == "ann", "that it was received stays known"
        assert session.get_one(RuleStateRow, ("ann", "fused")).arrays == reputations
        entry = session.scalars(select(AuditRow)).one()
        assert (entry.action, entry.detail["round"]) == ("abandoned a round", 2)


def test_a_round_whose_updates_were_in_the_database_is_abandoned(
    empty_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(empty_address)
    schema.upgrade(database, "0007")
    with database.engine.begin() as connection:
        for statement in (
            "INSERT INTO vocabularies VALUES ('v', :data)",
            "INSERT INTO models (version, created, origin, layers, weights, sha256, vocabulary) "
            "VALUES (1, '2026-01-01', 'shipped', '[2, 6]', :data, 's', 'v')",
            "INSERT INTO participants (id, secret_hash, enrolled, seen) "
            "VALUES ('ann', :data, '2026-01-01', '2026-01-01')",
            "INSERT INTO rounds (id, state, under_way, base, opened, deadline, minimum, quorum, maximum, "
            "grace_seconds, plan, received, attempts) VALUES "
            f"(3, 'open', true, 1, '2026-01-01', '2026-01-02', 1, 1, 1, 0, '{PLAN}', 1, 0)",
            "INSERT INTO updates (id, round, participant, sha256, encoding, size, received, network) "
            "VALUES (7, 3, 'ann', :data, 'e', 4, '2026-01-01', :data)",
            'INSERT INTO octets ("update", data) VALUES (7, :data)',
        ):
            connection.execute(text(statement), {"data": b"data"} if ":data" in statement else {})
    with caplog.at_level("WARNING", "eitr.server"):
        schema.upgrade(database)
    assert "round 3 was abandoned: the server was upgraded" in caplog.text
    with database.reading() as session:
        assert session.get_one(RoundRow, 3).status == RoundStatus.ABANDONED
        kept = session.get_one(UpdateRow, 7)
        assert (kept.participant, kept.object, kept.network) == ("ann", None, None)
        assert session.scalars(select(AuditRow)).one().detail["round"] == 3
    assert "octets" not in inspect(database.engine).get_table_names()
