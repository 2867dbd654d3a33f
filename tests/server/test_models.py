"""Versions are added, never changed."""

import hashlib

import numpy as np
import pytest
from sqlalchemy import select

from eitr.model.classifier import Classifier
from eitr.server.db.tables import AuditRow, ModelRow, RoundStatus
from eitr.server.domain.models import publish, publish_first, roll_back
from eitr.server.domain.retention import Retention
from eitr.server.domain.round_aggregation import NothingSentError, RoundAggregation
from tests.server.federation import Federation


def test_version_one_is_the_shipped_model_and_is_published_once(federation: Federation) -> None:
    publish_first(federation.database, federation.scoring)
    shipped = Classifier.shipped()
    current = federation.models.current()
    assert current.version == 1
    assert np.array_equal(federation.models.vector(1), shipped.model.vector)
    assert current.model.sha256 == hashlib.sha256(shipped.model.vector.astype("<f4").tobytes()).hexdigest()
    with federation.database.reading() as session:
        score = session.scalars(select(ModelRow.accuracy)).one()
    assert score is not None
    assert score > 0.8


def test_rolling_back_makes_old_weights_a_new_version(federation: Federation) -> None:
    federation.full_round(federation.enrol(4))
    federation.worker().step()
    assert roll_back(federation.database, 1, "ann") == 3
    assert np.array_equal(federation.models.vector(3), federation.models.vector(1))
    assert not np.array_equal(federation.models.vector(2), federation.models.vector(1))
    with federation.database.reading() as session:
        assert session.get_one(ModelRow, 3).restored == 1
        last = session.scalars(select(AuditRow).order_by(AuditRow.id.desc())).first()
    assert last is not None
    assert (last.who, last.action, last.detail) == ("ann", "rolled back", {"to": 1, "as": 3})


def test_there_is_no_way_back_to_a_version_that_never_was(federation: Federation) -> None:
    assert roll_back(federation.database, 7, "ann") is None


def test_old_weights_are_deleted_and_the_rest_stays(address: str, tmp_path) -> None:
    federation = Federation(tmp_path, address, keep_models=2)
    for _ in range(4):
        roll_back(federation.database, 1, "ann")
    Retention(federation.database, federation.settings).run()
    kept = [federation.models.weights(version) is not None for version in range(1, 6)]
    assert kept == [True, False, False, True, True]
    assert roll_back(federation.database, 2, "ann") is None
    federation.close()


def test_the_weights_that_a_round_under_way_began_with_are_kept(address: str, tmp_path) -> None:
    federation = Federation(tmp_path, address, keep_models=1)
    roll_back(federation.database, 1, "ann")
    assert federation.rounds.open() is not None
    with federation.database.writing() as session:  # newer versions, by whatever way, while the round is open
        for _ in range(3):
            publish(session, origin="round", vector=federation.base, like=session.get_one(ModelRow, 1))
    Retention(federation.database, federation.settings).run()
    kept = [federation.models.weights(version) is not None for version in range(1, 6)]
    assert kept == [True, True, False, False, True]
    federation.close()


def test_a_round_under_way_cannot_undo_a_roll_back(federation: Federation) -> None:
    people = federation.enrol(4)
    number = federation.full_round(people)
    federation.rounds.close_if_due()
    assert federation.rounds.claim("worker") == number
    roll_back(federation.database, 1, "ann")
    aggregation = RoundAggregation(
        federation.database,
        federation.updates,
        federation.settings.make_rule(),
        federation.gate(),
        federation.key,
    )
    with pytest.raises(NothingSentError):
        aggregation.run(number, "worker")
    found = federation.rounds.get(number)
    assert found is not None
    assert (found.status, found.reason) == (RoundStatus.ABANDONED, "the model was rolled back to version 1")
    assert federation.models.current().version == 2
    assert federation.rounds.open() is not None
