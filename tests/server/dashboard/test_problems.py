"""What is wrong is on the overview and, in short, on every page; alerts and the pause have their forms."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from eitr.server.db.tables import AlertRow, RoundRow
from eitr.server.domain.clock import now
from tests.server.dashboard.conftest import MakeSite
from tests.server.dashboard.example import OPERATOR, QUARANTINED, ROUNDS
from tests.server.dashboard.pages import paths
from tests.server.receivers import HttpReceiver

OPEN = ROUNDS + 1


@pytest.fixture
def http():
    found = HttpReceiver()
    yield found
    found.close()


def listed(page):
    return [one.xpath("string(.//strong)") for one in page.xpath("//section[@id='problems']//li")]


def quarantine(site):
    with site.services.database.writing() as session:
        last = update(RoundRow).where(RoundRow.id >= QUARANTINED, RoundRow.id < OPEN)
        session.execute(last.values(status="quarantined", result=None))


def test_the_overview_says_what_is_wrong_and_what_to_do_and_every_page_how_much(make_site: MakeSite):
    site = make_site(training="paper")  # the example's vocabulary has no pool
    quarantine(site)
    browser = site.signed_in()
    page = browser.page("/")
    first = page.xpath("//section[@id='problems']//li")[0]
    assert first.xpath("string(.//*[@class='state'])") == "Serious"  # not by its colour alone
    assert first.xpath("string(.//strong)").startswith("4 rounds in a row were quarantined")
    assert "it says which class lost" in first.text_content()
    assert first.xpath(".//a/@href") == [f"/rounds/{ROUNDS}"]
    count = len(listed(page))
    words = f"{count} problem{'' if count == 1 else 's'}"
    assert page.xpath("string(//section[@id='problems']/h2)") == words
    for name, path in paths(site.example).items():
        if name not in ("problem", "extension"):  # what is not there, and what everybody can read
            assert browser.page(path).xpath("string(//a[@class='wrong'])") == words, name
    assert "validation pages of the package" in page.xpath("string(//details[@class='suggestions'])")


def test_without_problems_nothing_is_said(make_site: MakeSite, tmp_path):
    site = make_site(empty=True)
    page = site.signed_in().page("/")
    assert listed(page) == []
    assert page.xpath("//a[@class='wrong']") == []
    assert len(page.xpath("//details[@class='suggestions']//li")) == 1


def test_rounds_are_paused_and_resumed_by_name(make_site: MakeSite):
    site = make_site(training="paper")
    browser = site.signed_in()
    assert browser.act("/resume").status_code == 409
    assert browser.act("/pause").status_code == 400  # no reason given
    assert browser.act("/pause", note="an <b>attack</b>?").headers["location"] == "/?notice=paused"
    assert site.audit()[-1] == (OPERATOR, "paused rounds", {"note": "an <b>attack</b>?"})
    assert browser.act("/pause", note="again").status_code == 409
    assert site.services.rounds.current() is None
    page = browser.page("/")
    assert any(one.startswith("Rounds have been paused since") for one in listed(page))
    assert f"Paused by {OPERATOR}: an <b>attack</b>?" in page.text_content()
    assert page.xpath("//form[@action='/pause']") == []
    for path in ("/rounds/open", f"/rounds/{OPEN}/close"):
        answer = browser.act(path)
        assert answer.status_code == 409
        assert "Rounds are paused" in answer.text
    assert browser.act("/resume").headers["location"] == "/?notice=resumed"
    assert site.audit()[-1][:2] == (OPERATOR, "resumed rounds")
    assert site.services.rounds.current().id == OPEN


def test_participants_are_told_that_there_is_no_round(make_site: MakeSite):
    site = make_site(training="paper")
    browser = site.signed_in()
    assert browser.get("/api/v2/rounds/current").status_code == 200
    browser.act("/pause", note="x")
    answer = browser.get("/api/v2/rounds/current")
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/no-round")
    assert answer.headers["retry-after"] == "60"


def test_a_test_alert_is_sent_and_its_fate_shown(make_site: MakeSite, http):
    site = make_site(alert_webhook=http.address)
    browser = site.signed_in()
    assert "None was sent yet" in browser.get("/alerts").text
    assert "Test alert by webhook: delivered." in browser.act("/alerts/test").text
    assert http.received[0].document["kind"] == "test"
    assert site.audit()[-1] == (OPERATOR, "sent a test alert", {"webhook": "delivered"})
    http.status = 500
    answer = browser.act("/alerts/test").text
    assert "Test alert by webhook: the answer had the status 500." in answer
    assert "s3cret" not in answer


def test_without_channels_the_page_says_what_to_set(site, browser):
    assert "EITR_ALERT_WEBHOOK" in browser.get("/alerts").text
    assert browser.act("/alerts/test").status_code == 409


def test_alerts_and_their_deliveries_are_listed_newest_first(site, browser):
    moment = now()
    failed = {"attempts": 3, "next": moment.isoformat(), "error": "the answer had the status 500"}
    with site.services.database.writing() as session:
        session.add(
            AlertRow(
                kind="paused",
                text="It was paused.",
                raised=moment - timedelta(days=1),
                ended=moment - timedelta(hours=20),
                delivered={"e-mail": {"raised": {"attempts": 1, "at": moment.isoformat()}}},
            )
        )
        session.flush()
        session.add(
            AlertRow(
                kind="disk@here",
                active=True,
                text="It is full.",
                raised=moment,
                delivered={"webhook": {"raised": failed}},
            )
        )
    page = browser.page("/alerts")
    rows = [" ".join(one.text_content().split()) for one in page.xpath("//tbody/tr")]
    assert rows[0].startswith("It is full.")
    assert rows[0].endswith("not yet webhook: not sent, 3 attempts: the answer had the status 500")
    assert "e-mail: sent" in rows[1]
    problem = "An alert could not be delivered by webhook: the answer had the status 500."
    assert problem in listed(browser.page("/"))
