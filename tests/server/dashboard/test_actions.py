"""What an operator can do: once, only from a page of their own session, and written down with their name."""

import hashlib
import re
from typing import Any

import pytest
from lxml import html
from sqlalchemy import select

from eitr.server.db.tables import InvitationRow, ModelRow, RoundRow, RoundStatus
from eitr.server.domain.models import AnotherVersionError
from tests.server.dashboard.conftest import MakeSite
from tests.server.dashboard.example import OPERATOR, ROUNDS, make_operator

OPEN = ROUNDS + 1
SOMEBODY = hashlib.sha256(b"participant 0").hexdigest()[:32]
ACTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/rounds/open", {}),
    (f"/rounds/{OPEN}/close", {}),
    (f"/rounds/{OPEN}/abandon", {"reason": "a test"}),
    ("/models/3/rollback", {}),
    ("/invitations", {"count": "2", "note": "x"}),
    (f"/participants/{SOMEBODY}/mute", {"reason": "a test"}),
    (f"/participants/{SOMEBODY}/ban", {"reason": "a test"}),
    ("/notes/round/1", {"text": "a test"}),
    ("/notes/1/delete", {}),
    ("/pause", {"note": "a test"}),
    ("/resume", {}),
    ("/alerts/test", {}),
    ("/logout", {}),
)


def rounds(site):
    with site.services.database.reading() as session:
        return {one.id: one for one in session.scalars(select(RoundRow))}


@pytest.mark.parametrize(("path", "fields"), ACTIONS)
def test_a_form_without_the_token_of_this_very_session_changes_nothing(site, browser, path, fields):
    make_operator(site.services.database, "grace", "a long new password")
    others = site.signed_in("grace", "a long new password").token()
    mine_elsewhere = site.signed_in().token()
    before, states = site.audit(), {id: one.status for id, one in rounds(site).items()}
    for token in (
        {"other": "1"},
        {"csrf": ""},
        {"csrf": "0" * 64},
        {"csrf": others},
        {"csrf": mine_elsewhere},
        {"csrf": "é"},
    ):
        answer = browser.post(path, {**fields, **token})
        assert answer.status_code == 403, token
        assert answer.headers["content-type"].startswith("text/html")
    assert site.audit() == before
    assert {id: one.status for id, one in rounds(site).items()} == states
    assert browser.get("/").status_code == 200


def test_a_rollback_makes_a_new_version_and_is_written_down(site, browser):
    newest = site.example.newest
    assert "Roll back to version 3?" in browser.get("/models/3/rollback").text
    answer = browser.act("/models/3/rollback")
    assert answer.headers["location"] == f"/models/{newest + 1}?notice=rollback"
    with site.services.database.reading() as session:
        new, old = session.get_one(ModelRow, newest + 1), session.get_one(ModelRow, 3)
        assert (new.origin, new.restored, new.weights) == ("rollback", 3, old.weights)
        assert new.accuracy == old.accuracy
    assert site.audit()[-2][:2] == (OPERATOR, "abandoned a round")  # it trained what was taken back
    assert site.audit()[-1] == (OPERATOR, "rolled back", {"to": 3, "as": newest + 1})
    assert "Rolled back" in browser.get(answer.headers["location"]).text


def test_nobody_rolls_back_to_what_is_current_or_gone(site, browser):
    newest = site.example.newest
    with site.services.database.writing() as session:
        session.get_one(ModelRow, 2).weights = b""
    for version, status in ((newest, 409), (2, 409), (999, 404)):
        assert browser.get(f"/models/{version}/rollback").status_code == status
        assert browser.act(f"/models/{version}/rollback").status_code == status
    assert "no longer kept" in browser.get("/models").text


def test_who_rolls_back_while_another_version_is_published_is_told_so(browser, monkeypatch):
    def too_late(*_):
        raise AnotherVersionError

    monkeypatch.setattr("eitr.server.dashboard.routes.models.roll_back", too_late)
    answer = browser.act("/models/3/rollback")
    assert answer.status_code == 409
    assert "Another version was published at the same moment" in answer.text


def test_rounds_are_opened_closed_and_abandoned_by_name(make_site: MakeSite):
    site = make_site(under_way=False, training="paper")  # the example's vocabulary has no pool
    browser = site.signed_in()
    assert "No round is under way" in browser.get("/").text
    assert browser.act("/rounds/open").headers["location"] == "/?notice=opened"
    assert site.audit()[-1] == (OPERATOR, "opened a round", {"round": OPEN})
    assert browser.act("/rounds/open").status_code == 409

    assert browser.act(f"/rounds/{OPEN}/close").status_code == 409  # nothing was received
    with site.services.database.writing() as session:
        session.get_one(RoundRow, OPEN).received = 5
    assert browser.act(f"/rounds/{OPEN}/close").status_code == 303
    assert rounds(site)[OPEN].status == RoundStatus.CLOSING
    assert site.audit()[-1] == (OPERATOR, "closed a round", {"round": OPEN})
    assert browser.act(f"/rounds/{OPEN}/close").status_code == 409

    assert browser.act(f"/rounds/{OPEN}/abandon").status_code == 400  # no reason given
    assert browser.act(f"/rounds/{OPEN}/abandon", reason="  wrong   plan ").status_code == 303
    assert (rounds(site)[OPEN].status, rounds(site)[OPEN].reason) == (RoundStatus.ABANDONED, "wrong   plan")
    assert site.audit()[-1] == (OPERATOR, "abandoned a round", {"round": OPEN, "reason": "wrong   plan"})
    assert browser.act(f"/rounds/{OPEN}/abandon", reason="again").status_code == 409


def test_without_a_pool_no_private_round_opens_and_the_operator_is_told(make_site: MakeSite):
    site = make_site(under_way=False)
    answer = site.signed_in().act("/rounds/open")
    assert answer.status_code == 409
    assert "no pool of cover pages" in answer.text
    assert site.services.rounds.current() is None
    manifest = site.services.models.current().manifest()
    assert (manifest["pool"], manifest["training"]) == (None, {"method": "paper"})


def test_a_round_that_is_being_aggregated_cannot_be_abandoned(site, browser):
    with site.services.database.writing() as session:
        session.get_one(RoundRow, OPEN).status = RoundStatus.AGGREGATING
    assert browser.act(f"/rounds/{OPEN}/abandon", reason="late").status_code == 409
    assert "Abandon it" not in browser.get(f"/rounds/{OPEN}").text


def test_what_does_not_exist_cannot_be_acted_on(browser):
    assert browser.act("/rounds/999/close").status_code == 404
    assert browser.act("/rounds/999/abandon", reason="x").status_code == 404
    assert browser.act(f"/invitations/{'0' * 64}/revoke").status_code == 404
    assert browser.act("/invitations/short/revoke").status_code == 400


def test_codes_are_shown_once_and_work(site, browser):
    answer = browser.act("/invitations", count="3", note="course of 2028")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    page: Any = html.document_fromstring(answer.text)
    codes = page.get_element_by_id("codes").text.split()
    assert len(set(codes)) == 3
    everywhere = browser.get("/invitations").text + browser.get("/audit").text + browser.get("/export/audit.csv").text
    assert "course of 2028" in everywhere
    assert not any(code in everywhere for code in codes)
    made = {"batch": 1, "count": 3, "note": "course of 2028", "founders": False, "unbounded": False}
    assert (OPERATOR, "made invitations", made) in site.audit()
    assert all(site.services.participants.enrol(code, invited_only=True).id for code in codes)


def test_boxes_say_what_the_people_of_a_batch_are_trusted_with(site, browser):
    assert browser.act("/invitations", count="2", note="study", founders="yes", unbounded="yes").status_code == 200
    made = {"batch": 1, "count": 2, "note": "study", "founders": True, "unbounded": True}
    assert (OPERATOR, "made invitations", made) in site.audit()
    assert browser.get("/invitations").text.count("1, founders, no limits") == 2
    assert browser.act("/invitations", count="1", note="", founders="maybe").status_code == 400


@pytest.mark.parametrize("count", ["0", "-1", "201", "1e2", "", "two", "٣", "1" * 5000])
def test_only_so_many_codes_at_a_time(site, browser, count):
    before = site.audit()
    assert browser.act("/invitations", count=count, note="").status_code == 400
    assert site.audit() == before


def test_a_note_is_one_line_of_some_length(browser):
    assert browser.act("/invitations", count="1", note="a" * 201).status_code == 400
    assert browser.act("/invitations", count="1", note="a\nb").status_code == 400


def test_an_invitation_is_revoked_by_name(site, browser):
    with site.services.database.reading() as session:
        unused = session.scalars(select(InvitationRow).where(InvitationRow.note == "")).one()
    assert browser.act(f"/invitations/{unused.hash.hex()}/revoke").headers["location"] == "/invitations?notice=revoked"
    assert site.audit()[-1] == (OPERATOR, "revoked an invitation", {"invitation": unused.hash.hex()[:8]})
    with site.services.database.reading() as session:
        assert session.get_one(InvitationRow, unused.hash).revoked is not None


def test_every_button_of_every_page_does_what_a_post_does(site, browser):
    # All forms that a page shows lead somewhere and carry the token.
    for path in (
        "/",
        "/rounds",
        f"/rounds/{OPEN}",
        "/invitations",
        "/models/3",
        "/models/3/rollback",
        f"/participants/{SOMEBODY}",
    ):
        for form in browser.page(path).forms:
            assert form.method == "POST"
            assert re.fullmatch(r"[0-9a-f]{64}", form.fields["csrf"])
