"""The operator's desk: muting and banning, notes, who has sent, participation, versions compared, and settings."""

import numpy as np
import pytest
from lxml import html
from sqlalchemy import select

from eitr.aggregation.fused.rule import DETECTORS
from eitr.server.dashboard import figures
from eitr.server.dashboard.detectors import WORDS
from eitr.server.dashboard.queries import comparison, rounds
from eitr.server.db.tables import ModelRow, NoteRow, ObservationRow, ParticipantRow, RefusalRow, RoundRow, RoundStatus
from eitr.server.domain.clock import now
from tests.server.dashboard.conftest import MakeSite
from tests.server.dashboard.example import OPERATOR, QUARANTINED, ROUNDS

OPEN = ROUNDS + 1


def text_of(browser, path):
    return " ".join(browser.page(path).text_content().split())


@pytest.fixture(params=["sqlite", "postgresql"])
def any_site(request, make_site: MakeSite):
    """The example on each kind of database."""
    return make_site(database=request.getfixturevalue("empty_postgres")() if request.param == "postgresql" else "")


class TestMeasures:
    @pytest.mark.parametrize(
        ("do", "undo", "column", "said"),
        [
            ("mute", "unmute", "muted", ("muted a participant", "unmuted a participant")),
            ("ban", "lift-ban", "banned", ("banned a participant", "lifted the ban of a participant")),
        ],
    )
    def test_are_taken_and_lifted_with_a_reason(self, site, browser, do, undo, column, said):
        id = site.example.honest[0]
        for action, there, words in ((do, True, said[0]), (undo, False, said[1])):
            assert browser.act(f"/participants/{id}/{action}", reason="").status_code == 400
            answer = browser.act(f"/participants/{id}/{action}", reason="a mistake?")
            assert answer.headers["location"] == f"/participants/{id}?notice={action}"
            with site.services.database.reading() as session:
                assert (getattr(session.get_one(ParticipantRow, id), column) is not None) is there
            assert site.audit()[-1] == (OPERATOR, words, {"participant": id[:8], "reason": "a mistake?"})
            assert browser.act(f"/participants/{id}/{action}", reason="again").status_code == 409
            page = browser.page(answer.headers["location"])
            assert page.xpath("//p[@role='status']")
            assert bool(page.xpath(f"//h1/span[text()='{column}']")) is there
            assert bool(browser.page("/participants").xpath(f"//tr[th/a/@href='/participants/{id}']//span")) is there
        assert "a mistake?" in text_of(browser, f"/participants/{id}")

    def test_are_for_people_who_are_there(self, browser):
        assert browser.act(f"/participants/{'0' * 32}/ban", reason="x").status_code == 404
        assert browser.act(f"/participants/{'0' * 32}/promote", reason="x").status_code == 400

    def test_who_was_left_out_of_a_round_is_shown_with_it(self, site, browser):
        out = site.example.attackers[0]
        with site.services.database.writing() as session:
            session.delete(session.get_one(ObservationRow, (4, out)))
        assert f"Left out, because they were muted or banned: {out[:8]}." in text_of(browser, "/rounds/4")
        assert "left out muted or banned then" in text_of(browser, f"/participants/{out}")


def test_every_detector_is_explained_in_a_sentence():
    for one in DETECTORS:
        assert WORDS[one.name].question.endswith("?"), one.name


class TestNotes:
    def test_are_shown_with_who_and_when_and_can_be_deleted(self, any_site):
        browser, id = any_site.signed_in(), any_site.example.honest[0]
        for where, page, about in (
            (f"participant/{id}", f"/participants/{id}", f"participant {id[:8]}"),
            (f"round/{OPEN}", f"/rounds/{OPEN}", f"round {OPEN}"),
            ("version/2", "/models/2", "version 2"),
        ):
            answer = browser.act(f"/notes/{where}", text="  first line \r\nsecond <b>line</b>")
            assert answer.headers["location"] == f"{page}?notice=note-written"
            assert any_site.audit()[-1] == (OPERATOR, "wrote a note", {"about": about})
            (shown,) = browser.page(page).xpath("//ul[@class='notes']/li")
            assert shown.xpath("./p")[0].text == "first line\nsecond <b>line</b>"
            assert OPERATOR in shown.text_content()
            (delete,) = shown.xpath(".//form/@action")
            assert browser.act(delete).headers["location"] == f"{page}?notice=note-deleted"
            assert any_site.audit()[-1] == (OPERATOR, "deleted a note", {"about": about, "of": OPERATOR})
            assert browser.act(delete).status_code == 404
            assert browser.page(page).xpath("//ul[@class='notes']") == []

    @pytest.mark.parametrize("text", ["", " \n ", "a" * 1001, "a\x00b", "bell \x07"])
    def test_have_a_length_and_are_text(self, site, browser, text):
        before = site.audit()
        assert browser.act("/notes/round/1", text=text).status_code == 400
        assert site.audit() == before

    def test_are_about_something_that_exists(self, browser):
        for where in (f"participant/{'0' * 32}", "round/999", "version/999"):
            assert browser.act(f"/notes/{where}", text="x").status_code == 404
        assert browser.act("/notes/planet/1", text="x").status_code == 404

    def test_leave_with_the_participant(self, site, browser):
        muted = site.example.attackers[1]
        site.services.participants.erase(muted)
        with site.services.database.reading() as session:
            left = session.scalars(select(NoteRow.about)).all()
        assert left == [f"round {QUARANTINED}", "version 3"]


class TestOpenRound:
    def test_shows_who_has_sent_and_when_the_latest_first(self, any_site):
        invalid = any_site.example.idle
        with any_site.services.database.writing() as session:
            session.add(RefusalRow(round=OPEN, participant=invalid, reason="not-finite", received=now()))
        rows = any_site.signed_in().page(f"/rounds/{OPEN}").xpath("//section[@aria-labelledby='who']//tbody/tr")
        senders = [invalid, any_site.example.attackers[1], *reversed(any_site.example.honest[:5])]
        assert [row[0].text_content().strip() for row in rows] == [id[:8] for id in senders]
        assert "rejected: contains NaN or infinity" in " ".join(rows[0].text_content().split())
        assert "muted" in rows[1].text_content()
        assert all("UTC" in row[1].text_content() for row in rows)

    def test_is_for_operators_only(self, site):
        assert site.browser().get(f"/rounds/{OPEN}").status_code == 303

    def test_is_called_paused_in_a_pause_and_its_deadline_too(self, browser):
        browser.act("/pause", note="x")
        for path in ("/live", f"/rounds/{OPEN}"):
            page = browser.page(path)
            assert page.xpath("string(//dd[preceding-sibling::dt[.='Deadline']])") == "paused", path
            assert page.xpath("string((//*[contains(@class, 'state')])[1])") == "paused", path
            assert page.xpath("string(//*[@id='close-needs'])") == "rounds are paused", path
        assert "paused" in browser.page("/rounds").xpath("string(//tbody/tr[1]/td[1])")

    def test_says_what_it_needs_to_be_closed(self, site, browser):
        with site.services.database.writing() as session:
            session.get_one(RoundRow, OPEN).received = 0
        for path in ("/live", f"/rounds/{OPEN}"):
            (needed,) = browser.page(path).xpath("//button[@disabled]/following-sibling::span")
            assert needed.text_content() == "needs at least 1 update"


class TestEndedRound:
    @pytest.mark.parametrize(
        ("values", "shown", "counted"),
        [
            ({"decision": "discarded"}, "quarantined, discarded", "1, 1 discarded"),
            (
                {"decision": "published anyway", "result": 2},
                "quarantined, then published anyway",
                "1, 1 then published",
            ),
            ({"decision": "shortened", "result": 2}, "quarantined, then published shorter", "1, 1 then published"),
            ({"decision": "superseded"}, "quarantined", "1"),
        ],
    )
    def test_says_what_was_decided_about_it(self, site, browser, values, shown, counted):
        with site.services.database.writing() as session:
            found = session.get_one(RoundRow, QUARANTINED)
            for name, value in values.items():
                setattr(found, name, value)
            found.score = {**found.score, "length": 0.5}
        assert browser.page(f"/rounds/{QUARANTINED}").xpath("string(//h1/span)") == shown
        row = f"//tr[th/a[@href='/rounds/{QUARANTINED}']]/td[1]"
        assert browser.page("/rounds").xpath(f"normalize-space({row})") == shown
        assert browser.page("/").xpath("string(//dd[preceding-sibling::dt[.='Quarantined']])") == counted

    def test_does_not_call_a_step_whole_that_the_bounds_shortened(self, site, browser):
        judged = {
            "established": 9,
            "newcomers": 1,
            "drawn": 10,
            "drawn_newcomers": 1,
            "networks": 3,
            "bounded_networks": 1,
        }
        told = []
        for number, bounded, taken in ((8, 1.0, 1.0), (8, 0.25, 1.0), (8, 0.25, 0.5), (QUARANTINED, 0.25, 1.0)):
            with site.services.database.writing() as session:
                found = session.get_one(RoundRow, number)
                found.bounds = {**judged, "length": bounded}
                found.score = {**found.score, "length": taken, "corrected": False}
            told.append(browser.page(f"/rounds/{number}").xpath("string(//section[@aria-labelledby='accuracy']/p)"))
        assert told == [
            "The whole step was taken.",
            "All that the bounds left of the step was taken.",
            "The model was moved by 50.0 % of what the bounds left of the step. All of that would have lost too much "
            "accuracy.",
            "After all that the bounds left of the step; shorter ones lose too much, too.",
        ]

    def test_says_who_was_not_drawn(self, site, browser):
        somebody = site.example.honest[0]
        with site.services.database.writing() as session:
            session.get_one(RoundRow, 8).bounds = {
                "established": 9, "newcomers": 1, "drawn": 9, "drawn_newcomers": 0, "bounded_networks": 0, "length": 1.0
            }  # fmt: skip
            seen = session.get_one(ObservationRow, (8, somebody))
            seen.weight, seen.reputation, seen.opinions, seen.established = 0.0, None, None, False
        rows = browser.page("/rounds/8").xpath("//section[@aria-labelledby='who']//tbody/tr[contains(., 'not drawn')]")
        assert [row[0].text_content().split()[0] for row in rows] == [somebody[:8]]
        assert rows[0][-1].text_content().strip() == "not drawn: newcomers have at most a quarter"


class TestParticipation:
    def test_counts_every_round_newest_first(self, any_site):
        example = any_site.example
        with any_site.services.database.writing() as session:
            session.delete(session.get_one(ObservationRow, (8, example.attackers[0])))  # muted then
            # Somebody who sent nothing valid has no weight.
            session.add(ObservationRow(round=8, participant=example.idle, refused=True, reputation=0.1))
        with any_site.services.database.reading() as session:
            found = rounds.participation(session, 50)
            seen = session.scalars(select(ObservationRow).where(ObservationRow.round == 8)).all()
            chart = figures.participation(session)
        assert [one.round for one in found] == list(range(OPEN, 0, -1))
        last = found[1]
        assert (last.left_out, last.rejected, last.judged) == (1, 1, True)
        assert last.without_weight == sum(one.weight == 0 for one in seen)
        assert last.established == sum(one.established is True for one in seen)
        counted = last.established_counted + last.newcomers_counted + last.other_counted
        assert counted + last.without_weight + last.left_out == last.received
        assert [(one.judged, one.received) for one in found if not one.judged] == [(False, 6), (False, 3)]
        oldest = found[-1]
        assert (oldest.established, oldest.newcomers, oldest.other_counted) == (0, 0, oldest.received)  # not noted then
        assert [row[0] for row in chart.rows] == [str(one.round) for one in found]
        assert chart.rows[0][1:] == (RoundStatus.OPEN, "6", "–", "–", "–", "–", "–")

    def test_rules_without_weights_count_everybody(self, site):
        with site.services.database.writing() as session:
            for one in session.scalars(select(ObservationRow).where(ObservationRow.round == 8)):
                one.weight = None
        with site.services.database.reading() as session:
            last = rounds.participation(session, 2)[1]
        assert last.established_counted == last.received
        assert last.without_weight == last.rejected == 0


class TestComparison:
    def test_tells_what_each_version_makes_of_the_pages(self, site, browser):
        pages = site.services.validation
        with site.services.database.reading() as session:
            found = comparison.comparison(session, pages, 2, 5)
        assert found.pages == len(pages.labels) == sum(sum(row.counts) for row in found.after)
        right = [sum(row.counts[row.place] for row in rows) for rows in (found.before, found.after)]
        assert right[1] - right[0] == len(found.better) - len(found.worse)
        assert found.accuracy[0].after == pytest.approx(right[1] / found.pages)
        assert all(one.before == one.label != one.after for one in found.worse)
        assert all(one.after == one.label != one.before for one in found.better)
        page = browser.page("/models/compare?from=2&to=5")
        for id, changed in (("worse", found.worse), ("better", found.better)):
            rows = page.xpath(f"//section[@aria-labelledby='{id}']//tbody/tr")
            assert [row[0].text_content() for row in rows] == [one.title for one in changed]
        cells = page.xpath("//section[@aria-labelledby='confusion-after']//tbody//td/text()")
        assert cells == [str(count) for row in found.after for count in row.counts]

    def test_says_what_is_known_when_parameters_are_gone(self, site, browser):
        with site.services.database.writing() as session:
            session.get_one(ModelRow, 2).weights = b""
            noted = session.get_one(ModelRow, 2).accuracy
        text = text_of(browser, "/models/compare?from=2&to=5")
        assert "version 2 are no longer kept" in text
        assert f"{100 * noted:.1f} %" in text
        assert "confuses" not in text

    def test_is_reached_from_models_and_rounds_and_asks_for_versions_that_exist(self, site, browser):
        links = {*browser.page("/models").xpath("//a/@href"), *browser.page("/rounds/4").xpath("//a/@href")}
        assert {"/models/compare?from=4&to=5", "/models/compare?from=7&to=8"} <= links
        newest = site.example.newest
        assert f"Version {newest - 1} compared with version {newest}" in text_of(browser, "/models/compare")
        assert "No page was lost." in text_of(browser, "/models/compare?from=3&to=3")
        for query, status in (("from=999&to=2", 404), ("from=2&to=999", 404), ("from=0&to=1", 400), ("from=x", 400)):
            assert browser.get(f"/models/compare?{query}").status_code == status, query

    def test_the_shipped_model_is_as_good_as_it_was_when_published(self, make_site: MakeSite):
        site = make_site(empty=True)
        with site.services.database.reading() as session:
            found = comparison.comparison(session, site.services.validation, 1, 1)
            noted = session.get_one(ModelRow, 1)
        assert found.accuracy[0].after == pytest.approx(noted.accuracy)
        assert np.isclose(found.accuracy[1].after, noted.class_accuracy["health"])


class TestSettings:
    def rows(self, browser, id):
        rows = browser.page("/settings").xpath(f"//section[@aria-labelledby='{id}']//tbody/tr")
        return {row[0].xpath("./code")[0].text: [cell.text_content().strip() for cell in row[1:]] for row in rows}

    def test_changed_ones_come_first_with_their_source(self, make_site: MakeSite, monkeypatch):
        monkeypatch.setenv("EITR_QUORUM", "33")
        browser = make_site(metrics_token="very secret token").signed_in()
        chosen, untouched = self.rows(browser, "chosen"), self.rows(browser, "untouched")
        assert chosen["EITR_QUORUM"] == ["33", "20", "environment"]
        assert chosen["EITR_METRICS_TOKEN"] == ["(hidden)", "(empty)", "option"]
        assert untouched["EITR_MINIMUM"] == ["5", "5", "default"]
        assert not set(chosen) & set(untouched)
        page = html.tostring(browser.page("/settings")).decode()
        assert "very secret token" not in page
        assert page.index("EITR_QUORUM") < page.index("EITR_MINIMUM")

    def test_the_password_of_the_database_is_not_shown(self, make_site: MakeSite, empty_postgres):
        address = empty_postgres().replace("://postgres:@", "://postgres:passw0rd@")
        browser = make_site(database=address).signed_in()
        value = self.rows(browser, "chosen")["EITR_DATABASE"][0]
        assert "passw0rd" not in browser.get("/settings").text
        assert "(hidden)" in value

    def test_how_to_add_private_validation_pages_is_said(self, browser):
        assert browser.page("/settings").xpath("//a[@href='/models#validation']")
        text = text_of(browser, "/models")
        assert "Add validation pages of your own." in text
        assert "EITR_VALIDATION_PAGES=pages.jsonl" in text
