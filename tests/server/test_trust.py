"""Trust is earned in rounds or given with an invitation; newcomers, however many, do not decide."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, select, update

from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    AuditRow,
    InvitationBatchRow,
    InvitationRow,
    ObservationRow,
    ParticipantRow,
    RoundRow,
    RoundStatus,
    RuleStateRow,
    UpdateRow,
)
from eitr.server.domain import round_aggregation
from eitr.server.domain.backup import back_up
from eitr.server.domain.bounds import FIRST_STEPS
from eitr.server.domain.clock import now
from eitr.server.domain.errors import DomainError
from eitr.server.domain.gate import Gate
from eitr.server.domain.round_aggregation import secret_factors
from eitr.server.domain.trust import network_hash, standings, trusted_lately
from tests.server.federation import Clock, Federation
from tests.server.waiting import LONGEST_SECONDS

pytestmark = pytest.mark.either_database

CROWD = "198.51.100.7"
Make = Callable[..., Federation]


@pytest.fixture
def make(address: str, tmp_path: Path) -> Iterator[Make]:
    """A function that makes a federation with bounds."""
    made: list[Federation] = []

    def federation(**given: Any) -> Federation:
        # By this rule everybody who is judged has weight.
        settings = {"bounds": True, "established_rounds": 2, "maximum": 100, "rule": "fedavg", **given}
        made.append(Federation(tmp_path, address, **settings))
        return made[-1]

    yield federation
    for one in made:
        one.close()


def founders(federation: Federation, count: int, *, founders: bool = True, unbounded: bool = False) -> list[str]:
    """Invite people and let them enrol."""
    codes = federation.participants.invite_batch(count, "", who="ada", founders=founders, unbounded=unbounded)
    return sorted(federation.participants.enrol(code, invited_only=True).id for code in codes)


def newcomers(federation: Federation, count: int) -> list[str]:
    """Let many people enrol, in one transaction."""
    ids = [f"{number:032x}" for number in range(10**6, 10**6 + count)]
    with federation.database.writing() as session:
        session.add_all(ParticipantRow(id=id, secret_hash=b"", enrolled=now(), seen=now()) for id in ids)
    return ids


def opened(federation: Federation) -> int:
    number = federation.rounds.open()
    assert number is not None
    return number


def ended(federation: Federation, people: list[str], address: str = "") -> RoundRow:
    """Run a round to its end, at whatever time."""
    number = opened(federation)
    for future in [federation.submit(number, person, address=address) for person in people]:
        future.result(timeout=LONGEST_SECONDS)
    federation.rounds.close(number)
    assert federation.worker().step()
    return found(federation, number)


def found(federation: Federation, number: int) -> RoundRow:
    row = federation.rounds.get(number)
    assert row is not None
    return row


def seen(federation: Federation, number: int) -> dict[str, ObservationRow]:
    with federation.database.reading() as session:
        rows = session.scalars(select(ObservationRow).where(ObservationRow.round == number))
        return {row.participant: row for row in rows}


def established(federation: Federation, person: str) -> bool:
    with federation.database.reading() as session:
        return standings(session, [person], federation.settings.established_rounds)[person].established


@pytest.fixture
def equal_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all secret factors be 1: others put one of four networks above a quarter, and less of a step is left."""
    monkeypatch.setattr(round_aggregation, "SECRET_FACTOR", 0.0)


def test_the_network_of_an_update_is_a_keyed_hash_that_the_end_of_its_round_forgets(make: Make, tmp_path: Path) -> None:
    federation = make()
    people, number = federation.enrol(4), opened(federation)
    for person in people:
        federation.send(number, person, address=CROWD)
    with federation.database.reading() as session:
        kept = set(session.scalars(select(UpdateRow.network)))
    assert kept == {network_hash(federation.key, number, "198.51.100.200")}, "one network has one hash"
    [hash] = kept
    assert hash is not None
    assert hash != network_hash(federation.key, number + 1, CROWD), "in another round it is another"
    back_up(federation.database, federation.settings.folder, tmp_path / "backup.db")
    copy = Database(f"sqlite:///{tmp_path / 'backup.db'}")
    with copy.reading() as session:
        assert set(session.scalars(select(UpdateRow.network))) == {None}
    copy.close()
    federation.rounds.close(number)
    federation.worker().step()
    following = opened(federation)
    federation.send(following, people[0], address=CROWD)
    federation.rounds.abandon(following, "a test", RoundStatus.OPEN)
    with federation.database.reading() as session:
        assert set(session.scalars(select(UpdateRow.network))) == {None}
    if federation.database.file is not None:
        for file in federation.database.file.parent.glob("eitr.db*"):
            assert hash not in file.read_bytes()


def test_without_bounds_no_network_is_stored(federation: Federation) -> None:
    [person], number = federation.enrol(1), opened(federation)
    federation.send(number, person)
    with federation.database.reading() as session:
        assert session.scalars(select(UpdateRow.network)).all() == [None]


def test_who_had_weight_in_enough_rounds_is_established(make: Make) -> None:
    federation = make()
    people = federation.enrol(5)
    for _ in range(2):
        number = ended(federation, people).id
        assert not any(row.established for row in seen(federation, number).values())
    assert all(established(federation, person) for person in people)
    last = ended(federation, people)
    assert all(row.established for row in seen(federation, last.id).values())
    assert last.bounds is not None
    assert (last.bounds["established"], last.bounds["length"]) == (5, 1)


def test_a_round_of_newcomers_is_judged_more_strictly(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    federation = make(established_rounds=1)
    people = federation.enrol(5)
    shares: list[float] = []
    stricter = Gate.stricter

    def noted(gate: Gate, share: float) -> Gate:
        shares.append(share)
        return stricter(gate, share)

    monkeypatch.setattr(Gate, "stricter", noted)
    for _ in range(2):
        ended(federation, people)
    assert shares == [FIRST_STEPS, 1.0]


def test_rounds_that_one_network_had_to_itself_establish_nobody(make: Make) -> None:
    federation = make()
    people = federation.enrol(6)
    for _ in range(3):
        document = ended(federation, people, CROWD).bounds
        assert document is not None
        assert document["networks"] == 1
    assert not any(established(federation, person) for person in people)


def test_rounds_without_bounds_establish_nobody(make: Make) -> None:
    federation = make(bounds=False)
    people = federation.enrol(6)
    for _ in range(2):
        last = ended(federation, people, CROWD)
        assert (last.status, last.bounds) == (RoundStatus.PUBLISHED, None)
    assert not any(established(federation, person) for person in people)


def test_a_quarantined_round_and_one_without_weight_do_not_count(make: Make) -> None:
    federation = make(established_rounds=1)
    [*people, doubted] = federation.enrol(5)
    first = ended(federation, [*people, doubted]).id
    with federation.database.writing() as session:
        session.get_one(ObservationRow, (first, doubted)).weight = 0.0
    assert all(established(federation, person) for person in people)
    assert not established(federation, doubted)
    with federation.database.writing() as session:
        session.get_one(RoundRow, first).result = None
    assert not any(established(federation, person) for person in people)


def test_founders_are_established_at_once_until_their_invitation_is_revoked(make: Make) -> None:
    federation = make()
    people = founders(federation, 5)
    [invited] = founders(federation, 1, founders=False)
    assert all(established(federation, person) for person in people)
    assert not established(federation, invited)
    document = ended(federation, people).bounds
    assert document is not None
    assert document["length"] == 1
    with federation.database.reading() as session:
        hash = session.get_one(ParticipantRow, people[0]).invitation
    assert hash is not None
    assert federation.participants.revoke(hash)
    assert not established(federation, people[0])
    assert established(federation, people[1])


def test_who_comes_back_is_a_newcomer_until_rounds_are_earned_again(make: Make) -> None:
    federation = make()
    people = federation.enrol(4)
    code = federation.participants.invite("")
    gone = federation.participants.enrol(code, invited_only=True).id
    for _ in range(2):
        number = ended(federation, [*people, gone]).id
        with federation.database.writing() as session:
            session.get_one(ObservationRow, (number, gone)).weight = 0.2
    assert established(federation, gone)
    federation.participants.erase(gone)
    back = federation.participants.enrol(code, invited_only=True).id
    assert back != gone
    assert not established(federation, back)  # what the rule remembers does not tell which rounds counted


def test_rounds_that_are_forgotten_or_had_no_bounds_establish_nobody(make: Make) -> None:
    federation = make()
    people = federation.enrol(5)
    for _ in range(2):
        number = ended(federation, people).id
        with federation.database.writing() as session:
            session.get_one(ObservationRow, (number, people[0])).weight = 0.2
    assert established(federation, people[0])
    with federation.database.writing() as session:
        session.execute(update(RoundRow).values(bounds=None))
    assert not established(federation, people[0])
    with federation.database.writing() as session:
        session.execute(delete(ObservationRow))
    assert not established(federation, people[0])


def test_abandoned_rounds_do_not_make_a_federation_a_beginner(make: Make) -> None:
    federation = make(minimum=3)
    people = founders(federation, 6)
    ended(federation, people)
    with federation.database.reading() as session:
        before = trusted_lately(session, 100, 3)
    for _ in range(12):
        number = federation.rounds.open()
        assert number is not None
        federation.rounds.abandon(number, "too few updates", RoundStatus.OPEN)
    with federation.database.writing() as session:  # their invitations alone must not be what counts
        session.execute(update(ParticipantRow).values(seen=datetime(2020, 1, 1, tzinfo=UTC)))
    with federation.database.reading() as session:
        assert trusted_lately(session, 100, 3) == before == 6


def test_a_round_of_whose_updates_too_few_are_judged_is_abandoned(make: Make) -> None:
    federation = make(minimum=4, quorum=4)
    ended(federation, founders(federation, 6))
    with federation.database.reading() as session:
        [one, *_] = session.scalars(select(ParticipantRow.id)).all()
    number = opened(federation)
    for person in [one, *federation.enrol(5)]:
        federation.send(number, person)
    federation.rounds.close(number)
    assert federation.worker().step()
    told = found(federation, number)
    assert told.status == RoundStatus.ABANDONED
    assert "too few updates could be judged: 1 of at least 4" in str(told.reason)


def test_who_is_muted_finds_a_place_like_others(make: Make) -> None:
    federation = make(maximum=8, quorum=8)
    muted, other = founders(federation, 2)
    with federation.database.writing() as session:
        session.get_one(ParticipantRow, muted).muted = datetime.now(UTC)
    number = opened(federation)
    for person in federation.enrol(4):
        federation.send(number, person)
    assert outcomes(federation, number, [muted, other]) == ["None", "None"]


@pytest.mark.usefixtures("equal_factors")
def test_the_first_steps_are_half_as_long(make: Make) -> None:
    federation = make()
    people = federation.enrol(4)
    before = federation.models.vector(1)
    document = ended(federation, people).bounds
    half = federation.models.vector(2) - before
    assert document is not None
    assert document["length"] == 0.5
    whole = Federation(federation.settings.folder, federation.settings.database, rule="fedavg")
    number = opened(whole)
    for person in people:
        step = np.frombuffer(federation.update(person, 1), "<f4") - before[federation.first :]
        whole.send(
            number, person, (before[federation.first :] + half[federation.first :] + step).astype("<f4").tobytes()
        )
    whole.worker().step()
    assert found(whole, number).bounds is None
    moved = whole.models.vector(3) - federation.models.vector(2)
    # The same steps from another base: what cover pages cause there differs a little.
    assert np.linalg.norm(moved) == pytest.approx(2 * np.linalg.norm(half), rel=0.2)
    whole.close()


def shares(federation: Federation, number: int) -> dict[str, float]:
    """Return the share of each participant in the step of a round, with the server's secret factors."""
    weights = {person: row.weight or 0.0 for person, row in seen(federation, number).items()}
    people = sorted(weights)
    effective = secret_factors(people, federation.key, number) * [weights[person] for person in people]
    return dict(zip(people, (effective / effective.sum()).tolist(), strict=True))


def attackers_step(federation: Federation) -> np.ndarray:
    rng = np.random.default_rng(666)
    return rng.normal(0, 0.001, len(federation.base) - federation.first)


@pytest.mark.parametrize("networks", [1, 20])
def test_five_hundred_newcomers_have_a_quarter_of_the_weight_and_honest_people_all_count(
    make: Make, networks: int
) -> None:
    federation = make(maximum=2000, rule="fused")
    honest, sybils, number = founders(federation, 20), newcomers(federation, 500), opened(federation)
    bad = (federation.base[federation.first :] + attackers_step(federation)).astype("<f4").tobytes()
    sent = [federation.submit(number, sybil, bad, f"203.0.{place % networks}.9") for place, sybil in enumerate(sybils)]
    sent += [federation.submit(number, person) for person in honest]
    for future in sent:
        future.result(timeout=LONGEST_SECONDS)
    assert federation.worker().step()
    round = found(federation, number)
    assert round.status == RoundStatus.PUBLISHED
    observed = seen(federation, number)
    share = shares(federation, number)
    assert sum(share[sybil] for sybil in sybils) <= 0.25 + 1e-6
    assert sum(share[person] for person in honest) >= 0.75 - 1e-6
    assert sum(share[person] > 0 for person in honest) > 10
    assert round.bounds is not None
    assert (round.bounds["established"], round.bounds["newcomers"]) == (20, 500)
    assert 1 <= round.bounds["drawn_newcomers"] <= 6
    # Who was not drawn has no weight, and nothing speaks for or against them.
    left_out = [sybil for sybil in sybils if observed[sybil].reputation is None]
    assert len(left_out) == 500 - round.bounds["drawn_newcomers"]
    assert all(observed[sybil].weight == 0 and observed[sybil].established is False for sybil in left_out)
    with federation.database.reading() as session:
        known = set(session.scalars(select(RuleStateRow.participant)))
    assert not known & set(left_out)


def test_a_study_behind_one_address_works_if_its_bounds_are_lifted(make: Make) -> None:
    federation = make(maximum=40)
    people = founders(federation, 30, unbounded=True)
    round = ended(federation, people, CROWD)
    assert round.bounds is not None
    assert (round.bounds["drawn"], round.bounds["length"], round.bounds["unbounded"]) == (30, 1, 30)


def test_founders_of_one_network_have_a_quarter_of_the_weight_otherwise(make: Make) -> None:
    federation = make()
    crowd, others, number = founders(federation, 20), founders(federation, 6), opened(federation)
    for person in crowd:
        federation.send(number, person, address=CROWD)
    for person in others:
        federation.send(number, person)
    federation.rounds.close(number)
    federation.worker().step()
    share = shares(federation, number)
    assert 0 < sum(share[person] for person in crowd) <= 0.25 + 1e-6
    document = found(federation, number).bounds
    assert document is not None
    assert document["bounded_networks"] == 1


@pytest.mark.usefixtures("equal_factors")
def test_who_is_muted_is_not_judged_and_does_not_count_as_established(make: Make) -> None:
    federation = make()
    people = founders(federation, 6)
    with federation.database.writing() as session:
        session.get_one(ParticipantRow, people[0]).muted = datetime.now(UTC)
        session.get_one(ParticipantRow, people[1]).banned = datetime.now(UTC)
    round = ended(federation, people)
    observed = seen(federation, round.id)
    assert not {*people[:2]} & {*observed}  # nothing is noted of them
    assert round.bounds is not None
    assert (round.bounds["established"], round.bounds["length"]) == (4, 0.5)


def is_open(federation: Federation, number: int) -> bool:
    federation.rounds.close_if_due()
    return found(federation, number).status == RoundStatus.OPEN


def test_newcomers_alone_close_a_round_at_its_deadline_only(make: Make, clock: Clock) -> None:
    federation = make()
    number = opened(federation)
    for person in federation.enrol(20):
        federation.send(number, person)
    assert is_open(federation, number)
    clock.forward(federation.settings.round_seconds - 10)
    assert is_open(federation, number)
    clock.forward(11)
    assert not is_open(federation, number)


def test_one_founder_is_enough_where_there_is_one(make: Make) -> None:
    federation = make()
    [founder], number = founders(federation, 1), opened(federation)
    for person in federation.enrol(3):
        federation.send(number, person)
    federation.send(number, founder)
    assert not is_open(federation, number)


def test_a_round_waits_for_as_many_established_people_as_there_were_lately(make: Make, clock: Clock) -> None:
    federation = make(quorum=4)
    people = federation.enrol(6)
    for _ in range(3):
        ended(federation, people)
    number = opened(federation)
    for person in federation.enrol(10):
        federation.send(number, person)
    for person in people[:3]:
        federation.send(number, person)
        assert is_open(federation, number)
    federation.send(number, people[3])
    assert not is_open(federation, number)


def test_a_full_round_closes_though_newcomers_have_places_of_people_who_are_awaited(make: Make) -> None:
    federation = make(maximum=6, quorum=6)
    people, number = founders(federation, 6), opened(federation)
    assert outcomes(federation, number, [*federation.enrol(3), *people[:2]]) == ["None"] * 5
    assert is_open(federation, number)
    assert outcomes(federation, number, people[2:4]) == ["None", "round-closed"]
    assert not is_open(federation, number)


def test_a_full_round_that_counts_no_established_person_stays_open(make: Make) -> None:
    federation = make(maximum=4, quorum=4, minimum=2)
    muted, number = founders(federation, 2), opened(federation)
    with federation.database.writing() as session:
        session.execute(update(ParticipantRow).values(muted=now()))
    assert outcomes(federation, number, [*federation.enrol(2), *muted]) == ["None"] * 4
    assert is_open(federation, number)


def test_established_people_who_stay_away_are_awaited_until_the_deadline(make: Make, clock: Clock) -> None:
    federation = make(quorum=4)
    people = federation.enrol(6)
    for _ in range(3):
        ended(federation, people)
    for _ in range(3):
        number = opened(federation)
        federation.rounds.abandon(number, "nobody came", RoundStatus.OPEN)
    number = opened(federation)
    for person in [people[0], *federation.enrol(3)]:
        federation.send(number, person)
    assert is_open(federation, number)  # rounds to which nobody came do not end the waiting
    clock.forward(federation.settings.round_seconds + 1)
    assert not is_open(federation, number)


def outcomes(federation: Federation, number: int, people: list[str], address: str = "") -> list[str]:
    futures = [federation.submit(number, person, address=address) for person in people]
    errors = [future.exception(timeout=LONGEST_SECONDS) for future in futures]
    return [error.code if isinstance(error, DomainError) else str(error) for error in errors]


def test_newcomers_take_half_of_a_round_and_established_people_find_a_place(make: Make) -> None:
    federation = make(maximum=20)
    honest, sybils, number = founders(federation, 10), newcomers(federation, 60), opened(federation)
    told = outcomes(federation, number, sybils)
    assert told.count("None") == 10
    assert told.count("round-closed") == 50
    assert outcomes(federation, number, honest) == ["None"] * 10
    assert found(federation, number).received == 20
    assert outcomes(federation, number, sybils[:1]) in (["None"], ["round-closed"])


def test_one_network_takes_a_quarter_of_a_round_unless_it_is_not_bounded(make: Make) -> None:
    federation = make(maximum=40)
    study, neighbour = founders(federation, 12, founders=False, unbounded=True), founders(federation, 1)
    sybils, number = newcomers(federation, 30), opened(federation)
    assert outcomes(federation, number, sybils, CROWD).count("None") == 10
    assert outcomes(federation, number, [*study, *neighbour], CROWD) == ["None"] * 13
    assert outcomes(federation, number, federation.enrol(5)) == ["None"] * 5


def test_what_was_received_is_received_though_there_is_no_place_any_more(make: Make) -> None:
    federation = make(maximum=4)
    people, number = federation.enrol(3), opened(federation)
    assert outcomes(federation, number, people[:2]) == ["None"] * 2
    assert outcomes(federation, number, people[2:]) == ["round-closed"]
    assert outcomes(federation, number, people[:1]) == ["None"]


def test_with_formal_privacy_there_are_no_bounds(make: Make) -> None:
    pytest.importorskip("dp_accounting")
    federation = make(published_noise=4.0, minimum=4, quorum=4, maximum=4)
    people, number = federation.enrol(4), opened(federation)
    assert outcomes(federation, number, people, CROWD) == ["None"] * 4
    assert federation.worker().step()
    round = found(federation, number)
    assert round.status == RoundStatus.PUBLISHED
    assert round.bounds is None


def test_a_batch_is_one_row_and_one_entry_of_the_audit_log(make: Make) -> None:
    federation = make()
    codes = federation.participants.invite_batch(3, "course", who="ada", founders=True, unbounded=False)
    with federation.database.reading() as session:
        batch = session.scalars(select(InvitationBatchRow)).one()
        assert (batch.note, batch.who, batch.founders, batch.unbounded) == ("course", "ada", True, False)
        count = select(func.count()).select_from(InvitationRow).where(InvitationRow.batch == batch.id)
        assert session.scalar(count) == len(set(codes)) == 3
        entry = session.scalars(select(AuditRow).where(AuditRow.action == "made invitations")).one()
    detail = {"batch": batch.id, "count": 3, "note": "course", "founders": True, "unbounded": False}
    assert (entry.who, entry.detail) == ("ada", detail)
