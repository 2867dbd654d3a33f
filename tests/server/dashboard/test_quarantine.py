"""A quarantined round on the dashboard: the reason, three actions, and what became of it."""

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select

from eitr.model.private import PrivatePlan
from eitr.model.round_plan import plan_document
from eitr.server.db.tables import AuditRow, CandidateRow, ModelRow, RoundRow, RoundStatus
from eitr.server.domain.candidates import Decision
from eitr.server.domain.clock import now
from tests.server.dashboard.conftest import MakeSite, Site
from tests.server.dashboard.example import OPERATOR

REASON = "Compared with version 1: Politics would fall from 91 to 84 of 100 pages."


def quarantined(site: Site, *, scale: float = 3000.0) -> int:
    """Write a quarantined round with its candidate: the first version and noise."""
    moment = now()
    with site.services.database.writing() as session:
        vector = np.frombuffer(session.get_one(ModelRow, 1).weights, "<f4").copy()
        vector[-198:] += np.random.default_rng(0).normal(0, scale, 198).astype(np.float32)
        half = {"accuracy": 0.5, "by_class": {}}
        round = RoundRow(
            status=RoundStatus.QUARANTINED,
            base=1,
            opened=moment,
            deadline=moment + timedelta(days=1),
            ended=moment,
            minimum=1,
            quorum=1,
            maximum=1,
            grace_seconds=0.0,
            plan=plan_document(PrivatePlan()),
            reason=REASON,
            score={
                "before": half,
                "after": half,
                "length": 1.0,
                "corrected": False,
                "pages": "x",
                "best": 1,
                "newest": 1,
            },
        )
        session.add(round)
        session.flush()
        session.add(CandidateRow(round=round.id, weights=vector.tobytes()))
        return round.id


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """A server with the shipped model, on which nothing has happened yet."""
    return make_site(empty=True)


def decision(site: Site, number: int) -> tuple[str | None, int | None]:
    with site.services.database.reading() as session:
        found = session.get_one(RoundRow, number)
        return found.decision, found.result


def test_the_page_of_the_round_says_why_and_what_to_do(site, browser):
    number = quarantined(site)
    text = browser.get(f"/rounds/{number}").text
    assert REASON in text
    places = [text.index(f">{label}<") for label in ("Discard", "Retry with a shorter step", "Publish anyway")]
    assert places == sorted(places), "what changes nothing comes first"
    with site.services.database.writing() as session:
        session.delete(session.get_one(CandidateRow, number))
    assert "The model of this round is not kept." in browser.get(f"/rounds/{number}").text
    for path in ("publish", "retry"):
        assert browser.get(f"/rounds/{number}/{path}").status_code == 409


def test_a_model_is_discarded_once(site, browser):
    number = quarantined(site)
    answer = browser.act(f"/rounds/{number}/discard")
    assert answer.headers["location"] == f"/rounds/{number}?notice=discarded"
    assert decision(site, number) == (Decision.DISCARDED, None)
    assert site.audit()[-1] == (OPERATOR, "discarded the model of a round", {"round": number})
    assert "The model was discarded." in browser.get(f"/rounds/{number}").text
    for path in ("discard", "retry"):
        assert browser.act(f"/rounds/{number}/{path}").status_code == 409
    assert browser.act(f"/rounds/{number}/publish", note="x").status_code == 409


def test_publishing_anyway_asks_first_and_needs_a_reason(site, browser):
    number = quarantined(site)
    under_way = site.services.rounds.open()
    asked = browser.get(f"/rounds/{number}/publish").text
    assert REASON in asked
    assert f"Round {under_way} is open" in asked
    assert browser.act(f"/rounds/{number}/publish").status_code == 400
    assert browser.act(f"/rounds/{number}/publish", note="a\nb").status_code == 400
    assert decision(site, number) == (None, None)
    answer = browser.act(f"/rounds/{number}/publish", note="the pages are <old>")
    assert answer.headers["location"] == "/models/2?notice=anyway"
    assert decision(site, number) == (Decision.PUBLISHED_ANYWAY, 2)
    with site.services.database.reading() as session:
        entry = session.scalars(select(AuditRow).where(AuditRow.action == "published anyway")).one()
        assert (entry.who, entry.detail["note"]) == (OPERATOR, "the pages are <old>")
    assert "The model was published anyway." in browser.get(f"/rounds/{number}").text
    assert "version 2" in browser.get(f"/rounds/{number}").text
    assert "&lt;old&gt;" in browser.get("/audit").text


def test_a_retry_asks_first(site, browser):
    number = quarantined(site)
    assert f'href="/rounds/{number}/retry"' in browser.get(f"/rounds/{number}").text
    assert f'action="/rounds/{number}/retry"' not in browser.get(f"/rounds/{number}").text
    assert "abandoned" not in browser.get(f"/rounds/{number}/retry").text
    under_way = site.services.rounds.open()
    asked = browser.get(f"/rounds/{number}/retry").text
    assert REASON in asked
    assert f"Round {under_way} is open" in asked
    assert "it will be abandoned" in asked
    assert f'action="/rounds/{number}/retry"' in asked
    assert browser.get("/rounds/999/retry").status_code == 404
    assert decision(site, number) == (None, None)


def test_a_retry_publishes_what_passes_and_says_so_if_nothing_does(site, browser, monkeypatch):
    monkeypatch.setattr("eitr.server.domain.decisions.RETRIED", (0.75, 0.5))
    number = quarantined(site)
    answer = browser.act(f"/rounds/{number}/retry")
    assert answer.status_code == 409
    assert "nothing was published" in answer.text
    assert "would fall from" in answer.text
    assert decision(site, number) == (None, None)
    harmless = quarantined(site, scale=0.001)
    assert browser.act(f"/rounds/{harmless}/retry").headers["location"] == f"/rounds/{harmless}?notice=shortened"
    assert decision(site, harmless) == (Decision.SHORTENED, 2)
    text = browser.get(f"/rounds/{harmless}?notice=shortened").text
    assert "The model was moved by 75.0 % of the step." in text
    assert decision(site, number) == (Decision.SUPERSEDED, None)
    assert "before another version was published" in browser.get(f"/rounds/{number}").text


@pytest.mark.parametrize("action", ["discard", "retry", "publish"])
def test_nothing_is_decided_without_a_session_or_its_token(site, browser, action):
    number = quarantined(site)
    path = f"/rounds/{number}/{action}"
    assert browser.post(path, {"note": "x", "csrf": "0" * 64}).status_code == 403
    assert site.browser().post(path, {"note": "x"}).headers["location"].startswith("/login")
    assert decision(site, number) == (None, None)
    assert browser.act(f"/rounds/999/{action}", note="x").status_code == 404
