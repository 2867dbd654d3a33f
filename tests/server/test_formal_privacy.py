"""Noise on published models: it is there, what it costs is counted, and rounds stop at the limit."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from eitr.errors import InputError
from eitr.model import Network
from eitr.model.private import PrivatePlan, without_cover
from eitr.model.published_noise import epsilon, longest_step
from eitr.pages.pool import Pool
from eitr.server.db.connection import Database
from eitr.server.db.tables import PoolRow, RoundRow, RoundStatus
from eitr.server.domain import formal_privacy
from eitr.server.domain.backup import back_up, restore
from eitr.server.settings import ServerSettings, read_settings
from tests.server.federation import Federation

pytestmark = pytest.mark.either_database

pytest.importorskip("dp_accounting", reason="noise on published models needs it; install eitr[formal]")

FORMAL: dict[str, Any] = {"rule": "fedavg", "quorum": 4, "maximum": 4, "published_noise": 2.0}
DELTA = 1e-5
NO_NOISE = 1e-12
"""So little that the mean can be compared, where noise is not what is tested."""

Make = Callable[..., Federation]


@pytest.fixture
def make(address: str, tmp_path: Path) -> Iterator[Make]:
    """A function that starts a server with noise on one database, again and again, with other settings."""
    made: list[Federation] = []

    def start(**given: Any) -> Federation:
        made.append(Federation(tmp_path, address, **{**FORMAL, **given}))
        return made[-1]

    yield start
    for one in made:
        one.close()


def ended_round(federation: Federation, *, data: dict[str, bytes] | None = None) -> RoundRow:
    """Let everybody send to a new round, aggregate it, and return it."""
    people = federation.people or federation.enrol(4)
    number = federation.rounds.open()
    assert number is not None
    for person in people:
        federation.send(number, person, (data or {}).get(person))
    assert federation.worker().step()
    found = federation.rounds.get(number)
    assert found is not None
    return found


def spent(federation: Federation) -> formal_privacy.PrivacySpent:
    with federation.database.reading() as session:
        found = formal_privacy.spent(session, federation.settings)
    assert found is not None
    return found


def longest(federation: Federation) -> float:
    assert isinstance(federation.plan, PrivatePlan)
    return longest_step(federation.plan, len(federation.base) - federation.first, federation.settings.published_clip)


def step_of(federation: Federation, round: RoundRow) -> np.ndarray:
    assert round.result is not None
    moved = federation.models.vector(round.result) - federation.base
    assert not moved[: federation.first].any(), "what nobody trains has no noise"
    return moved[federation.first :].astype(np.float64)


def test_the_model_is_the_noisy_mean_of_the_steps(make: Make) -> None:
    federation = make(published_noise=2000.0)
    round = ended_round(federation)
    assert (round.status, round.rule, round.published_noise) == (RoundStatus.PUBLISHED, "fedavg", 2000.0)
    deviation = 2000.0 * longest(federation) / 4
    # 198 numbers: their standard deviation is known to 5 %. The steps themselves are a thousand times shorter.
    assert step_of(federation, round).std() == pytest.approx(deviation, rel=0.25)


def test_a_hostile_update_moves_the_mean_by_its_share_of_the_bound(make: Make) -> None:
    federation = make(published_noise=NO_NOISE)
    people = federation.enrol(4)
    trained = federation.base[federation.first :]
    moved = np.random.default_rng(1).normal(size=len(trained))
    huge = (trained + 1e5 * moved / np.abs(moved).max()).astype("<f4").tobytes()
    # The others send the mean of what cover pages cause, so that nothing of their own is left.
    with federation.database.reading() as session:
        content = session.scalars(select(PoolRow.content)).one()
    pool = Pool.from_bytes(content, width=Network().inputs)
    assert isinstance(federation.plan, PrivatePlan)
    cover = (pool.rows, pool.labels)
    nothing = 2 * trained - without_cover(trained[None], Network(), federation.base, cover, federation.plan)[0]
    quiet = {person: nothing.astype("<f4").tobytes() for person in people[1:]}
    step = step_of(federation, ended_round(federation, data={people[0]: huge, **quiet}))
    assert np.linalg.norm(step) == pytest.approx(longest(federation) / 4, rel=1e-3)
    np.testing.assert_allclose(step / np.linalg.norm(step), moved / np.linalg.norm(moved), atol=1e-3)


def test_epsilon_is_counted_over_rounds_and_survives_a_restart(make: Make) -> None:
    first = make()
    assert spent(first).epsilon == 0.0
    for count in (1, 2):
        ended_round(first)
        assert spent(first).epsilon == pytest.approx(epsilon({2.0: count}, DELTA))
    again = make(published_noise=3.0)
    found = spent(again)
    assert (found.rounds, found.without_noise) == (2, 0)
    assert found.epsilon == pytest.approx(epsilon({2.0: 2}, DELTA))
    assert found.next == pytest.approx(epsilon({2.0: 2, 3.0: 1}, DELTA))
    again.people = first.people
    ended_round(again)
    assert spent(again).epsilon == pytest.approx(epsilon({2.0: 2, 3.0: 1}, DELTA))


def test_epsilon_is_in_backups(make: Make, tmp_path: Path) -> None:
    federation = make()
    ended_round(federation)
    back_up(federation.database, tmp_path, tmp_path / "backup.db")
    folder = tmp_path / "restored"
    settings = ServerSettings(folder=folder, **FORMAL, minimum=2)
    database = Database(settings.database_address)
    restore(tmp_path / "backup.db", database, folder)
    with database.reading() as session:
        found = formal_privacy.spent(session, settings)
    database.close()
    assert found == spent(federation)


def test_quarantined_rounds_count_and_abandoned_ones_do_not(make: Make) -> None:
    federation = make(published_noise=3000.0, margin=0.0)
    rounds = 1
    # So much noise makes nearly every model useless; one in many is better by chance.
    while ended_round(federation).status != RoundStatus.QUARANTINED and rounds < 20:
        rounds += 1
    assert rounds < 20
    assert spent(federation).rounds == rounds
    number = federation.full_round(federation.people[:1])
    federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    assert spent(federation).rounds == rounds


def test_rounds_without_noise_are_told_apart(make: Make) -> None:
    before = make(published_noise=0.0)
    ended_round(before)
    with before.database.reading() as session:
        assert formal_privacy.spent(session, before.settings) is None
    found = spent(make())
    assert (found.rounds, found.without_noise, found.epsilon) == (0, 1, 0.0)


def test_a_round_keeps_its_noise_if_the_settings_change(make: Make) -> None:
    first = make(published_noise=2000.0)
    number = first.full_round(first.enrol(4))
    later = make(published_noise=0.0, rule="fused", maximum=6)
    assert later.worker().step()
    round = later.rounds.get(number)
    assert round is not None
    assert round.rule == "fedavg"
    assert step_of(first, round).std() > 1000 * longest(first) / 4


def test_no_round_opens_beyond_the_limit(make: Make) -> None:
    limit = epsilon({2.0: 2}, DELTA) + 1e-6
    federation = make(epsilon_limit=limit)
    ended_round(federation)
    assert not spent(federation).exhausted
    ended_round(federation)
    found = spent(federation)
    assert found.epsilon <= limit < found.next
    assert found.exhausted
    assert federation.rounds.open() is None
    assert federation.rounds.open_if_due() is None
    assert "EITR_EPSILON_LIMIT" in found.words
    raised = make(epsilon_limit=2 * limit)
    assert raised.rounds.open() is not None


def test_a_round_that_is_under_way_when_the_limit_is_lowered_is_abandoned(make: Make) -> None:
    first = make()
    ended_round(first)
    number = first.full_round(first.people)
    later = make(epsilon_limit=epsilon({2.0: 1}, DELTA) + 1e-6)
    assert later.worker().step()
    round = later.rounds.get(number)
    assert round is not None
    assert round.status == RoundStatus.ABANDONED
    assert "privacy limit" in str(round.reason)
    assert spent(later).rounds == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rule": "fused"}, "cannot be used with the rule 'fused'"),
        ({"rule": "median"}, "cannot be used with the rule 'median'"),
        ({"rule": "centred-clipping"}, "cannot be used with the rule 'centred-clipping'"),
        ({"rule_settings": ["ramp=3"]}, "without EITR_RULE_SETTINGS"),
        ({"maximum": 5}, "set EITR_MAXIMUM to EITR_QUORUM, which is 4"),
        ({"training": "paper"}, "EITR_TRAINING=private"),
        ({"published_noise": -1.0}, "EITR_PUBLISHED_NOISE"),
        ({"published_noise": 0.0, "epsilon_limit": 3.0}, "limits nothing without noise"),
        ({"epsilon_limit": 0.5}, "allows no round"),
    ],
)
def test_settings_that_would_break_the_promise_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_settings(minimum=2, **{**FORMAL, **given})


def test_without_the_package_the_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InputError, match=r"EITR_PUBLISHED_NOISE.*pip install 'eitr\[formal\]'"):
        read_settings(minimum=2, **FORMAL)
    assert read_settings().published_noise == 0.0, "a server without the noise does not need it"
