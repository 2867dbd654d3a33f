"""Studies in the dashboard: made, run, and ended by an operator, and closed to everybody else."""

import csv
import io
import re
import threading
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from lxml import html

from eitr.server.dashboard.page_checks import PageChecks
from eitr.server.dashboard.queries.agreement import agreement
from eitr.server.domain.errors import BusyError
from eitr.server.domain.study.contacts import KEY_FILE
from eitr.server.domain.study.page_state import PageState
from eitr.server.domain.study.pages_list import StudyPage
from tests.server.dashboard.test_pages import EVIL, assert_well_made
from tests.server.receivers import MailReceiver
from tests.server.study_site.study import EACH, PAGES, SLUG, TITLE, ExampleStudy

DESK = f"/studies/{SLUG}"
FORM = {
    "title": "A new study",
    "slug": "new",
    "group": "Group",
    "contact": "group@example.org",
    "purpose": "Two\nlines",
    "pages_per_person": "10",
    "alpha": "0,5",
    "spread_over": "topic",
    "least_ratings": "2",
    "uses_per_page": "3",
    "copies": "dead",
    "language_en": "yes",
    "reward": "yes",
}


@pytest.fixture
def desk(make_site, tmp_path):
    """An operator who has a study."""
    site = make_site(empty=True, study_private_pages=True)
    return SimpleNamespace(
        site=site, studies=site.services.studies, study=ExampleStudy(site.services, tmp_path), operator=site.signed_in()
    )


def upload(desk, content: bytes, token: str | None = None):
    fields = {"csrf": desk.operator.token() if token is None else token}
    headers = {"Origin": desk.operator.address, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    files = {"file": ("pages.csv", content, "text/csv")}
    return desk.operator.client.post(f"{DESK}/pages", data=fields, files=files, headers=headers)


def links_in(answer) -> list[str]:
    found = re.search(r"<textarea[^>]*>([^<]*)</textarea>", answer.text)
    assert found is not None, answer.text
    return found[1].split()


def begun(desk, count=1):
    """Return people who have consented and given an address."""
    people = []
    for number, code in enumerate(desk.study.invite(count)):
        start = desk.studies.people.start(SLUG, code, "en", {"participation": "text"}, 1)
        desk.studies.contacts.store(start.person, f"person{number}@example.org")
        people.append(start.person)
    return people


def test_strangers_are_sent_to_the_sign_in_page(desk):
    stranger = desk.site.browser()
    for path in ("/studies", "/new-study", DESK, f"{DESK}/pages", f"{DESK}/experts", f"{DESK}/rewards.csv"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["location"][:6]) == (303, "/login"), path


def test_every_action_needs_the_token_of_the_session(desk):
    actions = (
        "open",
        "close",
        "texts-changed",
        "settings",
        "invitations",
        "reminders",
        "contacts/delete",
        "check",
        "codes",
    )
    for path in (*actions, "raters", "raters/1/remove", "decisions/1", "truth"):
        assert desk.operator.post(f"{DESK}/{path}", {"sure": "yes"}).status_code == 403, path
    assert desk.operator.post("/new-study", FORM).status_code == 403
    assert upload(desk, b"url\nhttps://a.example/", token="0" * 64).status_code == 403
    assert len(desk.studies.pages.all(SLUG)) == PAGES


def test_every_page_is_well_made(desk):
    for path in ("/studies", "/new-study", DESK, f"{DESK}/pages", f"{DESK}/settings", f"{DESK}/experts"):
        answer = desk.operator.get(path)
        assert answer.status_code == 200, path
        assert_well_made(answer.text, path)
    assert desk.operator.get("/studies/nothing").status_code == 404


def test_a_study_is_made_changed_opened_and_closed(desk):
    answer = desk.operator.act("/new-study", **FORM)
    assert answer.headers["location"] == "/studies/new?notice=made"
    made = desk.studies.register.get("new")
    assert (made.settings.alpha, made.settings.spread_over, made.settings.purpose) == (0.5, "topic", "Two\nlines")
    assert (made.settings.languages, made.settings.hide_prediction) == (("en",), False)
    assert desk.operator.act("/studies/new/open").status_code == 400  # it has no pages
    changed = {name: value for name, value in FORM.items() if name != "slug"} | {"purpose": "Another"}
    assert desk.operator.act("/studies/new/settings", **changed).status_code == 303
    assert desk.studies.register.get("new").consent_version == 2
    assert desk.operator.act("/studies/new/texts-changed").status_code == 303
    assert desk.studies.register.get("new").consent_version == 3
    assert desk.operator.act(f"{DESK}/close").status_code == 303
    assert desk.studies.register.get(SLUG).status == "closed"
    assert desk.operator.act(f"{DESK}/open").status_code == 303
    assert desk.studies.register.get(SLUG).status == "open"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"slug": "No Spaces"}, "short name"),
        ({"slug": SLUG}, "There is a study"),
        ({"alpha": "many"}, "alpha"),
        ({"spread_over": "colour"}, "spread_over"),
        ({"language_en": ""}, "at least one language"),
        ({"title": ""}, "title"),
    ],
)
def test_a_mistake_in_the_form_is_told_and_nothing_is_made(desk, wrong, told):
    answer = desk.operator.act("/new-study", **{**FORM, **wrong})
    assert answer.status_code == 400
    assert told in answer.text
    assert [one.slug for one in desk.studies.register.all()] == [SLUG]


def test_pages_are_uploaded_all_or_none(desk):
    wrong = upload(desk, b"url,truth\nhttps://a.example/,cats\nftp://b.example/,health\nhttps://c.example/,health\n")
    assert wrong.status_code == 400
    assert "Nothing was imported." in wrong.text
    assert "line 2 has the truth" in wrong.text
    assert "line 3 has the url" in wrong.text
    assert "/tmp" not in wrong.text
    assert len(desk.studies.pages.all(SLUG)) == PAGES
    assert upload(desk, b"url,truth\nhttps://a.example/,health\n").status_code == 303
    assert len(desk.studies.pages.all(SLUG)) == PAGES + 1
    for content in (b"", b"\xff\xfe\x00", b"nothing\n1\n", b'url\n"https://a'):
        assert upload(desk, content).status_code == 400, content
    assert upload(desk, b"x" * (9 << 20)).status_code == 413


def test_a_form_that_is_no_upload_is_refused(desk):
    token = desk.operator.token()
    assert desk.operator.post(f"{DESK}/pages", {"csrf": token}).status_code == 400
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--x--", b"--x\r\n\r\nnothing\r\n--x--", b"--x\r\nContent-Disposition: form-data\r\n\r\n1"):
        answer = desk.operator.client.post(f"{DESK}/pages", content=body, headers=headers)
        assert answer.status_code in (400, 403), body


def test_pages_are_checked_beside_the_requests(desk):
    assert desk.operator.act(f"{DESK}/check").headers["location"] == f"{DESK}/pages?notice=checking"
    assert "The check has started." in desk.operator.get(f"{DESK}/pages?notice=checking").text


def test_one_check_of_a_study_runs_at_a_time(desk):
    go = threading.Event()
    checks = PageChecks(SimpleNamespace(check=lambda *_, **__: go.wait(60)))  # type: ignore[arg-type]
    thread = checks.start(SLUG, archive=False, who="ada")
    assert checks.running(SLUG)
    with pytest.raises(BusyError):
        checks.start(SLUG, archive=False, who="ada")
    go.set()
    thread.join(60)
    assert not checks.running(SLUG)


def test_links_are_shown_once_and_work(desk):
    answer = desk.operator.act(f"{DESK}/invitations", count="2", note=EVIL)
    links = links_in(answer)
    assert len(links) == 2
    assert "<script>alert" not in answer.text
    code = links[0].partition("#code=")[2]
    assert links[0].partition("#")[0].endswith(f"/study/{SLUG}/start")
    assert desk.studies.people.start(SLUG, code, "en", {"participation": "text"}, 1).person
    page = desk.operator.get(DESK).text
    assert code not in page
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)") == 2
    assert desk.operator.act(f"{DESK}/invitations", count="0").status_code == 400


def test_a_note_takes_no_address_and_then_no_link_is_made(desk):
    answer = desk.operator.act(f"{DESK}/invitations", count="1", note="for ann@example.org")
    assert answer.status_code == 400
    assert "must not have an e-mail address" in answer.text
    assert desk.studies.monitor.of(desk.studies.register.get(SLUG)).invited == 0


def test_a_study_whose_key_is_lost_is_shown_and_its_addresses_can_be_deleted(desk):
    first, _ = begun(desk, 2)
    desk.study.label(first, EACH)
    (desk.site.services.settings.folder / KEY_FILE).unlink()
    page = desk.operator.get(DESK)
    assert page.status_code == 200
    assert "2 people have given an e-mail address" in page.text
    assert "e-mail to 1 person" in page.text
    assert desk.operator.act(f"{DESK}/contacts/delete", sure="yes").status_code == 303
    assert desk.studies.contacts.counts(SLUG) == (0, 0)


def test_the_monitor_counts_and_lists_who_has_not_finished(desk):
    first, second, _ = begun(desk, 3)
    desk.study.label(first, EACH)
    desk.study.label(second, 1)
    page = desk.operator.page(DESK)
    numbers = [int(one.text) for one in page.xpath("//*[@class='funnel']//strong")]
    assert numbers == [3, 3, 2, 2, 1]
    states = [one.text for one in page.xpath("//section[@aria-labelledby='left']//tbody//span")]
    assert sorted(states) == ["consented", "started"]
    assert "@example.org" not in re.sub(r"study@example\.org|group@example\.org", "", desk.operator.get(DESK).text)


def test_the_reward_list_has_addresses_and_nothing_that_joins_them_to_labels(desk):
    first, _ = begun(desk, 2)
    desk.study.label(first, EACH)
    desk.studies.register.close(SLUG, who="ada")
    assert desk.operator.page(DESK).xpath("//a[@download]/@href") == [f"{DESK}/rewards.csv"]
    answer = desk.operator.get(f"{DESK}/rewards.csv")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows == [["email", "finished"], ["person0@example.org", "yes"], ["person1@example.org", "no"]]
    assert desk.operator.act(f"{DESK}/contacts/delete").headers["location"].endswith("not-sure")
    assert len(desk.studies.contacts.reward_list(SLUG)) == 2
    assert desk.operator.act(f"{DESK}/contacts/delete", sure="yes").status_code == 303
    assert desk.studies.contacts.reward_list(SLUG) == []
    assert ("ada", "deleted the e-mail addresses of a study", {"study": SLUG, "addresses": 2}) in desk.site.audit()


def test_completion_codes_are_valid_or_not_and_tell_nothing_else(desk):
    first, second = begun(desk, 2)
    desk.study.label(first, EACH)
    desk.study.label(second, EACH - 1)
    code = desk.studies.people.progress(first).completion_code
    answer = desk.operator.act(f"{DESK}/codes", codes=f" {code.lower()} \r\n0123456789AB\n\n{EVIL.replace(' ', '')}")
    assert_well_made(answer.text, "codes")
    shown: Any = html.fromstring(answer.text)
    cells = [one.text_content() for one in shown.xpath("//tbody//*[self::th or self::td]")]
    assert cells[:4] == [code, "valid", "0123456789AB", "not valid"]
    assert cells.count("valid") == 1
    for trace in (first, "@example.org", EVIL):
        assert trace not in answer.text
    twice = desk.operator.act(f"{DESK}/codes", codes=f"{code}\n0123\n{code.lower()}").text
    assert "1 of 2 codes is valid" in twice
    assert twice.count("given 2 times") == 1
    assert desk.operator.act(f"{DESK}/codes", codes=" ").status_code == 400
    desk.studies.people.withdraw(first)
    assert "0 of 1 code is valid" in desk.operator.act(f"{DESK}/codes", codes=code).text


def test_there_is_no_reward_list_while_people_label(desk):
    desk.study.label(begun(desk)[0], EACH)
    answer = desk.operator.get(f"{DESK}/rewards.csv")
    assert (answer.status_code, "close it first" in answer.text) == (400, True)
    assert "@example.org" not in answer.text
    assert desk.operator.page(DESK).xpath("//a[@download]") == []


def test_reminders_reach_those_who_have_not_finished_one_by_one(make_site, tmp_path):
    with closing(MailReceiver()) as mail:
        mail.refused = {"person2@example.org"}
        site = make_site(
            empty=True,
            smtp_host="localhost",
            smtp_port=mail.port,
            smtp_security="none",
            smtp_from="eitr@example.org",
        )
        desk = SimpleNamespace(
            studies=site.services.studies, study=ExampleStudy(site.services, tmp_path), operator=site.signed_in()
        )
        done, *_ = begun(desk, 4)
        desk.study.label(done, EACH)
        answer = desk.operator.act(f"{DESK}/reminders", subject="Please go on", text="Open your page.\nThank you.")
        assert answer.headers["location"] == f"{DESK}?notice=reminded"
        assert "example.org" not in answer.text
        letters = mail.mails
    assert sorted(one["To"] for one in letters) == ["person1@example.org", "person3@example.org"]
    assert {one["Subject"] for one in letters} == {"Please go on"}
    assert "Thank you." in letters[0].get_content()
    assert ("ada", "sent reminders", {"study": SLUG, "sent": 2, "refused": 1}) in site.audit()


def test_without_a_mail_server_or_addresses_no_reminder_is_sent(desk):
    begun(desk)
    answer = desk.operator.act(f"{DESK}/reminders", subject="Please go on", text="Text")
    assert (answer.status_code, "EITR_SMTP_HOST" in answer.text) == (400, True)


def test_experts_agree_are_decided_about_and_become_the_truth(desk):
    raters = desk.studies.raters
    for place, name in enumerate(("Ada", "Grace", "Mary")):
        link = links_in(desk.operator.act(f"{DESK}/raters", name=name))[0]
        rater = raters.find(SLUG, link.partition("#token=")[2])
        for number, page in enumerate(raters.pages(rater.id)):
            label = ("health", "politics", "religion")[place] if number == 0 else ("health", "religion")[number % 2]
            raters.rate(rater.id, page.id, label)
    page = desk.operator.page(f"{DESK}/experts")
    facts = [one.text for one in page.xpath("//section[@aria-labelledby='agreement']//dd")]
    assert float(facts[0]) > 0.7
    assert facts[2:] == [str(PAGES), str(PAGES - 1)]
    assert len(page.xpath("//section[@aria-labelledby='agreement']//tbody/tr")) == 3
    disputed = desk.studies.pages.all(SLUG)[0].id
    assert page.xpath("//select/@id") == [f"label-{disputed}"]
    assert desk.operator.act(f"{DESK}/decisions/{disputed}", label="cats").status_code == 400
    assert desk.operator.act(f"{DESK}/decisions/{disputed}", label="ethnicity").status_code == 303
    assert desk.operator.act(f"{DESK}/truth").status_code == 303
    truths = [one.truth for one in desk.studies.pages.all(SLUG)]
    assert truths == ["ethnicity"] + [("health", "religion")[number % 2] for number in range(1, PAGES)]
    agreed = list(csv.reader(io.StringIO(desk.operator.get(f"{DESK}/agreed.csv").text)))
    assert agreed[0] == ["url", "truth"]
    assert len(agreed) == PAGES + 1
    removed = next(one.id for one in raters.all(SLUG) if one.name == "Mary")
    assert desk.operator.act(f"{DESK}/raters/{removed}/remove").status_code == 303
    assert [one.name for one in raters.all(SLUG)] == ["Ada", "Grace"]


def test_without_ratings_there_is_no_agreement(desk):
    assert "Kappa needs pages" in desk.operator.get(f"{DESK}/experts").text
    assert desk.operator.act(f"{DESK}/truth").status_code == 400


def test_the_most_frequent_class_is_agreed_if_half_of_the_pairs_agree():
    pages = [StudyPage(n, f"https://{n}.example/", None, None, PageState.UNKNOWN, None, False) for n in range(3)]
    four = {"a": {0: "health", 1: "health"}, "b": {0: "health", 1: "health"}, "c": {0: "health", 1: "politics"}}
    found = agreement(pages, {**four, "d": {0: "politics", 1: "politics", 2: "religion"}}, {1: "politics"})
    assert found.labels == {0: "health", 1: "politics"}  # 3 of 6 pairs; decided; one rating is no agreement
    assert [one.id for one in found.disputed] == [1]
    assert found.kappa is not None


def test_a_decision_counts_only_as_long_as_raters_disagree():
    pages = [StudyPage(0, "https://0.example/", None, None, PageState.UNKNOWN, None, False)]
    assert agreement(pages, {"a": {0: "health"}, "b": {0: "politics"}}, {0: "religion"}).labels == {0: "religion"}
    assert agreement(pages, {"a": {0: "health"}, "b": {0: "health"}}, {0: "religion"}).labels == {0: "health"}


def test_titles_and_pages_cannot_run_scripts(desk):
    upload(desk, f"url,topic\nhttps://a.example/?{EVIL.replace(' ', '').replace(',', '')},=1+1\n".encode())
    desk.studies.register.change(SLUG, who="ada", title=EVIL)
    desk.studies.raters.add(SLUG, EVIL[:90], who="ada")
    for path in ("/studies", DESK, f"{DESK}/pages", f"{DESK}/experts", f"{DESK}/settings", "/extension"):
        text = desk.operator.get(path).text
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path


def test_the_list_shows_title_and_counts(desk):
    begun(desk, 2)
    row = desk.operator.page("/studies").xpath("//tbody/tr")[0]
    assert row.xpath("./th")[0].text_content() == TITLE
    assert [one.text for one in row.xpath("./td[@class='number']")] == [str(PAGES), "2", "2", "0"]
