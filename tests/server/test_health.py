"""What is wrong is found, said in words, and no longer said when it is over."""

from datetime import timedelta

import pytest
from sqlalchemy import delete

from eitr.server.db.tables import CandidateRow, ModelRow, ObservationRow, ParticipantRow, PoolRow, RoundRow, RoundStatus
from eitr.server.domain import health, moderation, switches
from eitr.server.domain.clock import now
from eitr.server.domain.health import Severity
from eitr.server.domain.moderation import Measure
from eitr.server.domain.rounds import TOO_FEW
from tests.server.federation import Federation

pytestmark = pytest.mark.either_database


def found(federation, **settings):
    chosen = federation.settings.model_copy(update=settings)
    with federation.database.reading() as session:
        return {one.kind: one for one in health.problems(session, chosen)}


def score(accuracy, health_accuracy=0.9):
    return {"accuracy": accuracy, "by_class": {"health": health_accuracy, "politics": accuracy}}


def add_round(federation, status, *, before=0.9, after=0.9, class_after=0.9, pages="p", **values):
    """Add a round that has ended just now, and the version it led to."""
    judges = {} if pages is None else {"pages": pages}
    judged = status in (RoundStatus.PUBLISHED, RoundStatus.QUARANTINED)
    with federation.database.writing() as session:
        base = federation.models.current().version if "base" not in values else values.pop("base")
        row = RoundRow(
            status=status,
            base=base,
            opened=now() - timedelta(hours=1),
            deadline=now() + timedelta(hours=1),
            minimum=2,
            quorum=4,
            maximum=6,
            grace_seconds=0,
            plan={},
            received=1,
            ended=now(),
            score={"before": score(before), "after": score(after, class_after), **judges} if judged else None,
            **values,
        )
        session.add(row)
        session.flush()
        if status == RoundStatus.PUBLISHED:
            old = session.get_one(ModelRow, 1)
            row.result = base + 1
            session.add(
                ModelRow(
                    version=row.result,
                    created=now(),
                    origin="round",
                    round=row.id,
                    layers=old.layers,
                    weights=old.weights,
                    sha256=old.sha256,
                    vocabulary=old.vocabulary,
                    accuracy=after,
                    class_accuracy={},
                )
            )
        return row.id


def publish(federation, version, **values):
    return add_round(federation, RoundStatus.PUBLISHED, base=version - 1, **values)


def test_a_new_server_has_no_problems_and_one_advice(federation) -> None:
    assert {kind: one.severity for kind, one in found(federation).items()} == {"validation": Severity.ADVICE}
    assert found(federation, validation_pages=federation.settings.folder / "mine.jsonl") == {}


def test_rounds_quarantined_in_a_row_are_a_problem_until_one_is_published_or_decided(federation) -> None:
    publish(federation, 2)
    add_round(federation, RoundStatus.QUARANTINED)
    assert "quarantined" not in found(federation)
    add_round(federation, RoundStatus.ABANDONED, reason="the model was rolled back")
    last = add_round(federation, RoundStatus.QUARANTINED)
    one = found(federation)["quarantined"]
    assert one.severity == Severity.WARNING
    assert one.what.startswith("2 rounds in a row were quarantined")
    assert one.link == f"/rounds/{last}"
    for _ in range(2):
        last = add_round(federation, RoundStatus.QUARANTINED)
    assert found(federation)["quarantined"].severity == Severity.SERIOUS
    with federation.database.writing() as session:
        session.get_one(RoundRow, last - 1).decision = "discarded"
    assert found(federation)["quarantined"].what.startswith("4 rounds"), "an older one does not end it"
    with federation.database.writing() as session:
        session.get_one(RoundRow, last).decision = "discarded"
    assert "quarantined" not in found(federation)
    with federation.database.writing() as session:  # it was published, and another round has ended since
        session.get_one(RoundRow, last).result = 3
    add_round(federation, RoundStatus.QUARANTINED)
    assert "quarantined" not in found(federation)


def test_a_quarantined_round_waits_for_a_decision(federation) -> None:
    number = add_round(federation, RoundStatus.QUARANTINED)
    assert "undecided" not in found(federation), "its model is not kept"
    with federation.database.writing() as session:
        session.add(CandidateRow(round=number, weights=b""))
    one = found(federation)["undecided"]
    assert (one.severity, one.link) == (Severity.ADVICE, f"/rounds/{number}")
    assert one.what.startswith(f"Round {number} waits for your decision")
    add_round(federation, RoundStatus.QUARANTINED)
    assert {"quarantined", "undecided"} & set(found(federation)) == {"quarantined"}
    with federation.database.writing() as session:
        session.execute(delete(CandidateRow))
    add_round(federation, RoundStatus.PUBLISHED)
    assert "undecided" not in found(federation)


def test_a_fall_of_accuracy_is_measured_from_the_best_version_that_the_same_pages_judged(federation) -> None:
    publish(federation, 2, before=0.99, after=0.99, pages="other pages")
    publish(federation, 3, before=0.90, after=0.93)
    publish(federation, 4, before=0.93, after=0.92)
    assert "accuracy" not in found(federation)
    publish(federation, 5, before=0.92, after=0.84)
    one = found(federation)["accuracy"]
    assert one.severity == Severity.SERIOUS
    assert "84.0 %, 9.0 points below version 3, the best so far" in one.what
    assert "roll back to it" in one.do
    publish(federation, 6, before=0.92, after=0.92, class_after=0.75)
    one = found(federation)["accuracy"]
    assert one.severity == Severity.WARNING
    assert "On pages about health it is 15.0 points below" in one.what
    with federation.database.writing() as session:  # the operator chose it
        session.get_one(ModelRow, 6).origin = "rollback"
    assert "accuracy" not in found(federation)


@pytest.mark.parametrize("pages", ["p", None])  # None: rounds of older programs do not say which pages judged
def test_the_first_version_can_be_the_best(federation, pages) -> None:
    publish(federation, 2, before=0.91, after=0.87, pages=pages)
    assert "4.0 points below version 1, the best so far" in found(federation)["accuracy"].what


def test_rounds_with_too_few_updates_say_what_to_change(federation) -> None:
    for _ in range(2):
        add_round(federation, RoundStatus.ABANDONED, reason=f"{TOO_FEW}: 1 of at least 2")
    assert found(federation)["too-few"].severity == Severity.ADVICE  # nobody has enrolled yet: nothing is broken
    federation.enrol(1)
    one = found(federation)["too-few"]
    assert one.severity == Severity.WARNING
    assert one.what.startswith("2 rounds in a row were abandoned because too few people sent an update: 1 update; ")
    assert "EITR_MINIMUM" in one.do
    assert one.do.startswith("Invite more people")
    federation.enrol(1)
    assert "EITR_ROUND_SECONDS" in found(federation)["too-few"].do
    publish(federation, 2)
    assert "too-few" not in found(federation)


def test_failures_of_the_aggregation_are_told(federation) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.rounds.close(number)
    federation.rounds.claim("somebody")
    federation.rounds.failed(number, "somebody")
    assert "failed once. It is tried again" in found(federation)["failing"].what
    federation.rounds.abandon(number, "failed", RoundStatus.AGGREGATING)
    assert "was abandoned because its aggregation failed once" in found(federation)["failing"].what


def test_excluded_participants_are_counted_and_nobody_is_named(federation) -> None:
    people = federation.enrol(6)
    number = publish(federation, 2)
    with federation.database.writing() as session:
        for place, person in enumerate(people):
            weight = 0.0 if place < 2 else 0.25
            session.add(ObservationRow(round=number, participant=person, weight=weight, established=False))
    one = found(federation)["excluded"]
    assert one.severity == Severity.WARNING
    assert one.what == f"2 of 6 participants had no weight in round {number}: nothing of their updates is in the model."
    assert "All 6 participants" in found(federation, bounds=True)["newcomers"].what
    assert "newcomers" not in found(federation, bounds=False), "then newcomers are like everybody else"
    assert "newcomers" not in found(federation, bounds=True, published_noise=20.0)
    with federation.database.writing() as session:
        session.get_one(ParticipantRow, people[0]).muted = now()
        session.get_one(ObservationRow, (number, people[5])).established = True
    again = found(federation, bounds=True)
    assert again["excluded"].severity == Severity.ADVICE
    assert "newcomers" not in again
    told = " ".join(f"{one.what} {one.do} {one.link}" for one in again.values())
    assert [person for person in people if person[:8] in told] == []


def test_networks_that_shorten_every_step_are_an_advice(federation) -> None:
    bounds = {"bounded_networks": 1, "length": 0.25}
    for version in (2, 3):
        publish(federation, version, bounds=bounds)
    assert "networks" not in found(federation, bounds=True)
    add_round(federation, RoundStatus.ABANDONED, reason="a test")
    last = add_round(federation, RoundStatus.QUARANTINED, bounds={"bounded_networks": 2, "length": 0.4})
    one = found(federation, bounds=True)["networks"]
    assert one.severity == Severity.ADVICE
    assert "The bounds shortened the steps of the last 3 aggregated rounds to 40% or less" in one.what
    assert "eitr invite N --unbounded" in one.do
    assert "networks" not in found(federation, bounds=False), "then the next rounds have no bounds"
    for other in (None, {"bounded_networks": 0, "length": 0.25}, {"bounded_networks": 1, "length": 0.5}):
        with federation.database.writing() as session:
            session.get_one(RoundRow, last).bounds = other
        assert "networks" not in found(federation, bounds=True)


@pytest.mark.parametrize("status", [RoundStatus.OPEN, RoundStatus.CLOSING, RoundStatus.AGGREGATING, None])
def test_a_missing_worker_is_noticed_by_what_it_did_not_do(federation, clock, status) -> None:
    number = federation.full_round(federation.enrol(4))  # its quorum: it is due at once
    if status in (RoundStatus.CLOSING, RoundStatus.AGGREGATING):
        federation.rounds.close(number)
    if status == RoundStatus.AGGREGATING:
        federation.rounds.claim("somebody")
    if status is None:
        federation.rounds.abandon(number, "a test", RoundStatus.OPEN)
    assert "worker" not in found(federation)
    clock.forward(health.LATE.total_seconds() + federation.settings.lease_seconds + 1)
    one = found(federation)["worker"]
    assert one.severity == Severity.SERIOUS
    assert "eitr worker" in one.do
    if status is None:
        assert "worker" not in found(federation, automatic_rounds=False)
    switches.pause(federation.database, "ada", "")
    assert "worker" not in found(federation)
    switches.resume(federation.database, "ada")
    federation.worker().step()
    assert "worker" not in found(federation)


def test_no_worker_is_missed_while_a_round_waits_for_established_people(federation, clock) -> None:
    federation.full_round(federation.enrol(4))  # its quorum, and all of them are newcomers
    clock.forward(health.LATE.total_seconds() + 1)
    assert "worker" in found(federation, bounds=False)
    assert "worker" not in found(federation, bounds=True)
    clock.forward(federation.settings.round_seconds)
    assert "worker" in found(federation, bounds=True)


def test_no_worker_is_missed_while_a_round_waits_in_the_place_of_the_muted(federation, clock) -> None:
    people = federation.enrol(5)
    number = federation.full_round(people[:4])
    moderation.take(federation.database, people[0], Measure.MUTED, "ada", "why")
    clock.forward(health.LATE.total_seconds() + 1)
    federation.rounds.close_if_due()
    assert federation.rounds.current().id == number
    assert "worker" not in found(federation, bounds=False)
    federation.send(number, people[4])
    clock.forward(health.LATE.total_seconds() + federation.settings.grace_seconds + 1)
    assert "worker" in found(federation, bounds=False)


def test_no_worker_is_missed_at_once_when_the_last_one_awaited_is_muted(federation, clock) -> None:
    codes = federation.participants.invite_batch(4, "", who="ada", founders=True)
    founders = [federation.participants.enrol(code, invited_only=True).id for code in codes]
    federation.full_round([*founders[:3], *federation.enrol(2)])
    clock.forward(health.LATE.total_seconds() + 1)
    assert "worker" not in found(federation, bounds=True)
    moderation.take(federation.database, founders[3], Measure.MUTED, "ada", "why")
    assert "worker" not in found(federation, bounds=True)
    clock.forward(health.LATE.total_seconds() + federation.settings.grace_seconds + 1)
    assert "worker" in found(federation, bounds=True)


def test_a_server_whose_rounds_the_operator_opens_is_reminded_after_days(federation, clock) -> None:
    add_round(federation, RoundStatus.ABANDONED, reason="a test")
    clock.forward(health.IDLE.total_seconds() - 60)
    assert "idle" not in found(federation, automatic_rounds=False)
    clock.forward(120)
    assert found(federation, automatic_rounds=False)["idle"].severity == Severity.ADVICE


def test_a_pause_is_said_with_its_reason_apart(federation) -> None:
    switches.pause(federation.database, "ada", "an attack?")
    one = found(federation)["paused"]
    assert one.aside == "Paused by ada: an attack?"
    assert "ada" not in one.what + one.do


def test_a_full_disk_is_said_with_the_machine_that_has_it(federation, monkeypatch) -> None:
    monkeypatch.setattr(health, "LITTLE_SPACE", 1 << 60)
    (kind,) = [kind for kind in found(federation) if kind.startswith("disk@")]
    assert found(federation)[kind].severity == Severity.WARNING
    monkeypatch.setattr(health, "HARDLY_ANY_SPACE", 1 << 60)
    assert found(federation)[kind].severity == Severity.SERIOUS


def test_a_model_without_a_pool_lets_no_round_open(federation, clock) -> None:
    add_round(federation, RoundStatus.ABANDONED, reason="a test")
    with federation.database.writing() as session:
        session.execute(delete(PoolRow))
    assert found(federation)["no-pool"].severity == Severity.SERIOUS
    clock.forward(health.LATE.total_seconds() + 1)
    assert "worker" not in found(federation)  # none could open a round
    assert "no-pool" not in found(federation, training="paper")


def test_the_privacy_limit_is_said(address, tmp_path) -> None:
    federation = Federation(
        tmp_path, address, rule="fedavg", published_noise=20.0, epsilon_limit=1.0, quorum=4, maximum=4
    )
    assert "epsilon" not in found(federation)
    with federation.database.writing() as session:
        session.add_all(
            RoundRow(
                status=RoundStatus.PUBLISHED,
                base=1,
                opened=now(),
                deadline=now(),
                minimum=2,
                quorum=4,
                maximum=4,
                grace_seconds=0,
                plan={},
                received=4,
                ended=now(),
                published_noise=20.0,
                published_clip=1.1,
            )
            for _ in range(100)
        )
    one = found(federation)["epsilon"]
    assert "EITR_EPSILON_LIMIT is 1" in one.what
    assert "worker" not in found(federation)
    federation.close()


def test_the_most_serious_comes_first_and_then_the_newest(federation) -> None:
    switches.pause(federation.database, "ada", "")
    publish(federation, 2, before=0.95, after=0.8)
    for _ in range(2):
        add_round(federation, RoundStatus.QUARANTINED)
    with federation.database.reading() as session:
        kinds = [one.kind for one in health.problems(session, federation.settings)]
    assert kinds == ["accuracy", "quarantined", "paused", "validation"]
