"""Every page: it answers, it is well made, it shows what is in the database, and nothing in it runs."""

import csv
import io
import itertools
import re
from typing import Any

import pytest
from lxml import html
from sqlalchemy import func, select

from eitr.server.dashboard import spreadsheet
from eitr.server.dashboard.detectors import detector
from eitr.server.dashboard.queries import listing, participants
from eitr.server.db.tables import AuditRow, InvitationRow, ObservationRow, ParticipantRow, RefusalRow, RoundRow
from tests.server.dashboard.conftest import MakeSite
from tests.server.dashboard.example import ABANDONED, QUARANTINED, ROUNDS, make_operator
from tests.server.dashboard.pages import paths

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}"
EXPORTS = ("participants", "rounds", "observations", "models", "audit")


def assert_well_made(text, where):
    page: Any = html.document_fromstring(text)
    assert text.startswith("<!doctype html>"), where
    assert page.get("lang") == "en", where
    assert len(page.xpath("//h1")) == 1, where
    assert len(page.xpath("//main")) == 1, where
    assert page.xpath("//title")[0].text_content().strip(), where
    assert page.xpath("//*[@style] | //style | //script[not(@src)]") == [], where
    assert [name for one in page.xpath("//*") for name in one.attrib if name.startswith("on")] == [], where
    addresses = page.xpath("//@src | //link/@href | //form/@action | //a/@href")
    assert [one for one in addresses if not re.match(r"(/(?!/)|#)", one)] == [], where
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids)), where
    labelled = {one.get("for") for one in page.xpath("//label")}
    fields = page.xpath("//input[@type != 'hidden' or not(@type)] | //textarea | //select")
    assert [one.get("name") for one in fields if one.get("id") not in labelled] == [], where
    for reference in page.xpath("//@aria-labelledby | //@aria-describedby"):
        assert set(reference.split()) <= set(ids), where
    levels = [int(one.tag[1]) for one in page.xpath("//h1 | //h2 | //h3 | //h4")]
    assert levels[0] == 1, where
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), where
    for table in page.xpath("//table"):
        assert len(table.xpath("./caption")) == 1, where
        assert table.xpath(".//th[not(@scope)]") == [], where
    for drawing in page.xpath("//svg[not(@aria-hidden)]"):
        assert drawing.get("role") == "img", where
        assert drawing.xpath("./title"), where
        assert drawing.xpath("./desc"), where


def test_every_page_answers_and_is_well_made(site, browser):
    for path in paths(site.example).values():
        answer = browser.get(path)
        assert answer.status_code == (404 if path == "/rounds/999" else 200), path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert_well_made(answer.text, path)


def test_the_pages_before_signing_in_and_after_making_codes_are_well_made(site, browser):
    for path in ("/login", "/setup", "/setup?code=abc"):
        assert_well_made(site.browser().get(path).text, path)
    assert_well_made(site.browser().sign_in(password="wrong").text, "/login")
    assert_well_made(browser.act("/invitations", count="2", note="x").text, "/invitations")


def test_an_empty_server_says_what_to_do_next(make_site: MakeSite):
    browser = make_site(empty=True).signed_in()
    for path, said in (
        ("/", "No round yet: open one above"),
        ("/", "Nobody takes part yet"),
        ("/rounds", "No round yet: open one now"),
        ("/participants", "they enrol by themselves"),
        ("/invitations", "No invitation yet: make some"),
        ("/models", "shipped"),
        ("/audit", "published the shipped model"),
    ):
        text = browser.get(path).text
        assert said in text, path
        assert_well_made(text, path)


def test_every_page_answers_on_postgresql(make_site: MakeSite, empty_postgres):
    site = make_site(database=empty_postgres())
    browser = site.signed_in()
    orders = [f"/participants?sort={one}&order=down" for one in ("reputation", "rounds", "replaced", "refused", "seen")]
    for path in [*paths(site.example).values(), "/live", *orders]:
        assert browser.get(path).status_code == (404 if path == "/rounds/999" else 200), path
    for name in EXPORTS:
        assert browser.get(f"/export/{name}.csv").text.count("\r\n") > 1, name


class TestWhatIsShown:
    def test_the_live_round(self, browser):
        for path in ("/", "/live"):
            page: Any = html.document_fromstring(browser.get(path).text)
            text = page.text_content()
            assert "Round 9 is open" in text
            assert "6 of 10 updates received" in " ".join(text.split())

    def test_the_live_part_is_a_part_not_a_page(self, browser):
        text = browser.get("/live").text
        assert "<html" not in text
        assert text.lstrip().startswith("<div")

    def test_participants_with_reputation_rounds_replaced_values_and_refusals(self, site, browser):
        rows = browser.page("/participants").xpath("//table[caption='All participants']/tbody/tr")
        cells = {row[0].text_content().strip(): [cell.text_content().strip() for cell in row[1:5]] for row in rows}
        worst = site.example.attackers[0]
        with site.services.database.reading() as session:
            seen = session.scalars(
                select(ObservationRow).where(ObservationRow.participant == worst).order_by(ObservationRow.round)
            ).all()
        share = sum(one.negative for one in seen) / sum(one.negative + one.positive for one in seen)
        reputation, rounds, replaced, refused = cells[worst[:8]]
        assert reputation == f"{seen[-1].reputation:.2f}"
        assert int(rounds) == len(seen)
        assert replaced == f"{100 * share:.1f} % in {len(seen)}"
        assert refused == "0"
        assert cells[site.example.attackers[-1][:8]][3] == "2"
        assert cells[site.example.idle[:8]] == ["–", "0", "–", "0"]

    def test_participants_with_the_trust_in_them_and_the_note_of_their_invitation(self, site, browser):
        people = site.services.participants
        [code] = people.invite_batch(1, "Ann & <team>", who="ada", founders=True, unbounded=True)
        founder = people.enrol(code, invited_only=True).id
        told = {}
        for _ in range(2):
            rows = browser.page("/participants?sort=seen&order=down").xpath("//tbody/tr")
            words = {row[0].text_content().strip(): row[-1].text_content().strip() for row in rows}
            page = " ".join(browser.page(f"/participants/{founder}").text_content().split())
            told[words[founder[:8]]] = page
            assert words[site.example.idle[:8]].startswith("newcomer (course of 2027")
            assert "invitation: Ann & <team>" in page
            with site.services.database.reading() as session:
                hash = session.get_one(ParticipantRow, founder).invitation
            people.revoke(hash)
        assert list(told) == ["founder, bounds lifted (Ann & <team>)", "newcomer (Ann & <team>)"]
        assert "Trustfounder, bounds lifted" in told["founder, bounds lifted (Ann & <team>)"]

    @pytest.mark.parametrize("order", ["up", "down"])
    @pytest.mark.parametrize("sort", ["reputation", "participant", "rounds", "replaced", "refused", "seen"])
    def test_participants_are_sorted(self, site, browser, sort, order):
        with site.services.database.reading() as session:
            everybody = participants.summary(session)
        found = participants.sorted_page(everybody, sort, descending=order == "down").rows
        column = {"participant": "id", "replaced": "replaced_share"}.get(sort, sort)
        values = [getattr(one, column) for one in found]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=order == "down")
        assert values[: len(known)] == known  # who has none comes last
        page = browser.page(f"/participants?sort={sort}&order={order}")
        assert [one.get("aria-sort") for one in page.xpath("//th[@aria-sort]")] == [
            "ascending" if order == "up" else "descending"
        ]
        assert page.xpath("//tbody/tr/th/a/@href")[0] == f"/participants/{found[0].id}"

    def test_long_lists_have_pages(self, site, browser, monkeypatch):
        monkeypatch.setattr(listing, "PER_PAGE", 5)
        first = browser.page("/participants?sort=rounds&order=down")
        assert "1 to 5 of 13" in first.text_content()
        (following,) = first.xpath("//a[@rel='next']/@href")
        second, last = browser.page(following), browser.page("/participants?page=3&sort=rounds&order=down")
        shown = [one for page in (first, second, last) for one in page.xpath("//tbody/tr/th/a/text()")]
        assert len(set(shown)) == 13
        assert last.xpath("//a[@rel='next']") == []
        assert "11 to 13 of 13" in browser.page("/participants?page=99").text_content()
        assert browser.get("/participants?page=0").status_code == 400

    def test_why_each_participant_was_judged_so(self, site, browser):
        page = browser.page("/rounds/4")
        with site.services.database.reading() as session:
            seen = session.get_one(ObservationRow, (4, site.example.attackers[-1]))
        (row,) = page.xpath(f"//tr[th/a/@href='/participants/{seen.participant}']")
        text = " ".join(row.text_content().split())
        assert "rejected: the update holds a NaN or an infinity" in text
        assert f"Suspicion {100 * seen.opinions['fused']['disbelief']:.0f} %" in text
        for name, one in seen.opinions.items():
            told = f"{100 * one['belief']:.0f} % {100 * one['uncertainty']:.0f} % {100 * one['disbelief']:.0f} %"
            words = detector(name)
            assert f"{words.title} {words.question} {told}" in text

    def test_why_a_round_ended_without_a_model(self, browser):
        assert "would fall from" in browser.page(f"/rounds/{QUARANTINED}").text_content()
        assert "too few updates: 3 of at least 5" in browser.page(f"/rounds/{ABANDONED}").text_content()

    def test_versions_with_the_difference_to_the_one_before(self, site, browser):
        rows = browser.page("/models").xpath("//table[caption[contains(., 'All versions')]]/tbody/tr")
        assert [row[0].text_content() for row in rows] == [str(v) for v in range(site.example.newest, 0, -1)]
        assert "rollback to" in rows[0].text_content()
        assert "current" in rows[0].text_content()
        assert rows[0].xpath(".//a[contains(@href, 'rollback')]") == []
        assert rows[-1][3].text_content() == "–"
        assert re.fullmatch(r"[+−±]\d\.\d points", rows[-2][3].text_content())

    def test_a_participant_is_called_by_eight_characters(self, site, browser):
        for path in paths(site.example).values():
            texts = list(html.document_fromstring(browser.get(path).text).itertext())
            for id in (*site.example.honest, *site.example.attackers):
                assert not any(id[:9] in text for text in texts), path

    def test_rounds_without_anything_a_rule_said(self, site, browser):
        with site.services.database.writing() as session:
            for one in session.scalars(select(ObservationRow)):
                one.weight = one.positive = one.negative = one.reputation = one.opinions = None
        for path in paths(site.example).values():
            assert browser.get(path).status_code in (200, 404), path


class TestInjection:
    """Whatever text gets into the database, it is shown as text."""

    @pytest.fixture
    def poisoned(self, site):
        # A session's name is the operator's: the name itself is the attack.
        name = EVIL[:100]
        make_operator(site.services.database, name, "a long new password")
        with site.services.database.writing() as session:
            for one in session.scalars(select(InvitationRow)):
                one.note = EVIL
            for one in session.scalars(select(RoundRow)):
                one.reason = one.rule = EVIL
            for one in session.scalars(select(RefusalRow)):
                one.reason = EVIL
            for one in session.scalars(select(ObservationRow)):
                one.opinions = {EVIL: {"belief": 0.1, "disbelief": 0.2, "uncertainty": 0.7}}
            for one in session.scalars(select(AuditRow)):
                one.who = one.action = EVIL
                one.detail = {EVIL: EVIL, "list": [EVIL]}
        return site.signed_in(name, "a long new password")

    def test_it_is_escaped_on_every_page(self, site, poisoned):
        shown = 0
        for path in paths(site.example).values():
            text = poisoned.get(path).text
            assert "<script>alert" not in text, path
            assert "<img" not in text, path
            shown += text.count("&lt;script&gt;alert(1)")
            assert_well_made(text, path)
        assert shown > 30

    def test_it_is_escaped_where_it_comes_back_at_once(self, poisoned):
        for answer in (
            poisoned.act("/invitations", count="1", note=EVIL),
            poisoned.act(f"/rounds/{ROUNDS + 1}/abandon", reason=EVIL),
            poisoned.get(f"/rounds/{ROUNDS + 1}?notice={EVIL}"),
        ):
            assert "<script>alert" not in answer.text

    def test_it_is_escaped_before_anybody_is_signed_in(self, site):
        stranger = site.browser()
        for answer in (
            stranger.sign_in(name=EVIL, password="wrong"),
            stranger.get(f"/login?next=/{EVIL}&notice={EVIL}"),
            stranger.get(f"/setup?code={EVIL}"),
            stranger.get(f"/{EVIL}"),
        ):
            assert "<script>alert" not in answer.text
            assert "<img" not in answer.text


class TestExports:
    def rows(self, browser, name):
        answer = browser.get(f"/export/{name}.csv")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert re.fullmatch(rf'attachment; filename="eitr-{name}-[\d-]+\.csv"', answer.headers["content-disposition"])
        return list(csv.DictReader(io.StringIO(answer.text)))

    def test_all_rows_are_there_however_they_are_cut(self, site, browser, monkeypatch):
        whole = {name: self.rows(browser, name) for name in EXPORTS[:-1]}
        with site.services.database.reading() as session:
            observed = session.scalar(select(func.count()).select_from(ObservationRow))
        assert [len(rows) for rows in whole.values()] == [13, ROUNDS + 1, observed, site.example.newest]
        monkeypatch.setattr(spreadsheet, "BATCH", 4)
        assert {name: self.rows(browser, name) for name in EXPORTS[:-1]} == whole

    def test_who_exported_what_is_written_down(self, site, browser):
        self.rows(browser, "participants")
        assert site.audit()[-1] == ("ada", "exported participants", {})

    def test_an_unknown_table_is_not_found(self, browser):
        assert browser.get("/export/operators.csv").status_code == 404

    @pytest.mark.parametrize(
        "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "=cmd|' /C calc'!A0", "＝1"]
    )
    def test_no_text_is_a_formula(self, site, browser, text):
        with site.services.database.writing() as session:
            session.get_one(RoundRow, 1).reason = text
            session.scalars(select(AuditRow)).first().who = text
        assert self.rows(browser, "rounds")[0]["reason"] == f"'{text}"
        assert self.rows(browser, "audit")[0]["who"] == f"'{text}"

    def test_numbers_stay_numbers(self, site, browser):
        with site.services.database.writing() as session:
            session.get_one(ObservationRow, (1, site.example.attackers[0])).weight = -0.5
        found = {row["participant"]: row for row in self.rows(browser, "observations") if row["round"] == "1"}
        assert found[site.example.attackers[0]]["weight"] == "-0.5"

    def test_no_secret_is_exported(self, browser):
        everything = "".join(browser.get(f"/export/{name}.csv").text for name in EXPORTS)
        assert "hash" not in everything
        assert "password_hash" not in everything


class TestProblems:
    def test_people_get_pages_and_programs_get_documents(self, site, browser):
        for path in ("/rounds/999", "/models/999", f"/participants/{'0' * 32}", "/no/such/page", "/rounds/x"):
            answer = browser.get(path)
            assert answer.status_code in (400, 404), path
            assert answer.headers["content-type"].startswith("text/html"), path
            assert_well_made(answer.text, path)
        for path in ("/api/v2/nothing", "/api/v2/models/999/weights", "/api/v2/rounds/999/update"):
            answer = browser.get(path)
            assert answer.headers["content-type"] == "application/problem+json", path
        assert site.browser().client.get("/nothing").headers["content-type"] == "application/problem+json"

    def test_a_failure_is_a_page_that_says_nothing_of_its_cause(self, browser, monkeypatch):
        def broken(*_: object) -> None:
            raise RuntimeError("the secret cause")

        monkeypatch.setattr("eitr.server.dashboard.queries.rounds.listed", broken)
        answer = browser.get("/rounds")
        assert answer.status_code == 500
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert_well_made(answer.text, "500")
        assert "secret cause" not in answer.text

    def test_static_files_come_from_one_folder_only(self, browser):
        assert browser.get("/static/dashboard.css").status_code == 200
        assert browser.get("/static/live.js").headers["content-type"].startswith("text/javascript")
        for path in ("/static/../rendering.py", "/static/%2e%2e/rendering.py", "/static/..%2frendering.py"):
            assert browser.get(path).status_code == 404
