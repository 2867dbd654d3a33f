"""The study site against strangers and mistakes: forms, cookies, codes, hostile words, languages, the group's texts."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from sqlalchemy import func, select, update

from eitr.errors import InputError
from eitr.server.db.study_tables import StudyPageRow, StudyPersonRow, StudyRatingRow
from eitr.server.domain import limits
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.page_state import PageState
from eitr.server.study_site import texts
from eitr.server.study_site.disclosure import points_above_share
from eitr.server.study_site.errors import SENTENCES
from eitr.server.study_site.texts import NAMES as TEXTS
from eitr.server.study_site.texts import Texts
from eitr.taxonomy import NAMES
from tests.server.dashboard.test_pages import EVIL
from tests.server.study_site.conftest import BASE
from tests.server.study_site.study import PAGES, SLUG, TITLE

PACKAGE = Path(texts.__file__).parent
OWN_PAGES = ("/me", "/me/withdraw")


def people(study) -> int:
    with study.services.database.reading() as session:
        return session.scalar(select(func.count()).select_from(StudyPersonRow)) or 0


def rater(study, name="Ada", language="en"):
    visitor = study.visitor(language)
    token = study.study.rater(name)
    answer = visitor.post(f"{BASE}/rate", {"csrf": visitor.token(f"{BASE}/rate"), "token": token})
    assert answer.status_code == 303
    return visitor


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_page_is_well_made_in_both_languages(study, language):
    visitor = study.begun(language=language)
    pages = ["", "/start", "/withdrawn", "/rate", *OWN_PAGES]
    for path in [BASE + page for page in pages] + ["/join", "/study/nothing"]:
        answer = visitor.get(path)
        page: Any = html.document_fromstring(answer.text)
        assert page.get("lang") == answer.headers["content-language"] == language, path
        assert len(page.xpath("//h1")) == len(page.xpath("//main")) == 1, path
        assert page.xpath("//*[@style] | //style | //script[not(@src)]") == [], path
        ids = page.xpath("//@id")
        assert len(ids) == len(set(ids)), path
        labelled = {one.get("for") for one in page.xpath("//label")}
        fields = page.xpath("//input[@type != 'hidden' or not(@type)]")
        assert [one.get("name") for one in fields if one.get("id") not in labelled] == [], path
        assert answer.headers["cache-control"] == "no-store"
        assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_the_browser_chooses_the_language_and_the_visitor_can_change_it(study):
    visitor = study.visitor("de-AT,en;q=0.5")
    assert "Mitmachen" in visitor.get(BASE).text
    assert "Take part" in visitor.get(f"{BASE}?language=en").text
    assert "Take part" in visitor.get(f"{BASE}/start").text
    assert "Mitmachen" in study.visitor("fr, de;q=0.3").get(BASE).text
    assert "Take part" in study.visitor("fr").get(f"{BASE}?language=<script>").text


def test_a_study_in_one_language_offers_no_other(make_study):
    visitor = make_study(languages=("de",)).visitor("en")
    page = visitor.page(BASE)
    assert page.get("lang") == "de"
    assert page.xpath("//nav") == []


def test_both_languages_say_the_same_things():
    english, german = (tomllib.loads((PACKAGE / "texts" / f"{code}.toml").read_text()) for code in ("en", "de"))
    assert {section: set(names) for section, names in english.items()} == {
        section: set(names) for section, names in german.items()
    }
    for section, sentences in english.items():
        for name, sentence in sentences.items():
            assert set(re.findall(r"{\w+}", sentence)) == set(re.findall(r"{\w+}", german[section][name])), name


def test_every_sentence_is_used():
    code = "\n".join(path.read_text() for path in [*PACKAGE.rglob("*.py"), *PACKAGE.glob("templates/*.html")])
    sentences = tomllib.loads((PACKAGE / "texts" / "en.toml").read_text())
    made = {
        *(f"topics.{name}" for name in NAMES),
        *(f"about.{name}" for name in NAMES),
        *(f"consents.{kind}" for kind in ConsentKind),
        *(f"me.step_{name}" for name in ("consent", "install", "join", "tasks", "done")),
        *(f"me.{name}" for name in ("done", "next", "later")),
        *(f"install.picture_chrome_{name}" for name in ("developer", "load")),
        *(f"install.{name}" for name in ("chrome", "firefox")),
        *(f"connect.question_{name}" for name in ("read", "contribute", "studies")),
        *(f"problem.{name}" for name in SENTENCES.values()),
    }
    named = {f"{section}.{name}" for section, names in sentences.items() for name in names}
    assert made <= named
    unused = []
    for one in sorted(named - made):
        section, name = one.split(".")
        if not re.search(rf"[\"']{section}[\"'],[^)]*[\"']{name}[\"']", code):
            unused.append(one)
    assert unused == []


def test_the_consent_says_what_updates_reveal(make_study):
    assert (points_above_share(4.0, 2), points_above_share(4.0, 1)) == (20, 14)
    text = " ".join(make_study().visitor().get(f"{BASE}/start").text.split())
    assert "guessed right at most 20 percentage points more often than its share" in text
    assert "in 70 of 100 cases instead of 50" in text
    assert "We know which pages you were given" in text


def test_without_noise_the_consent_says_that_labels_are_revealed(make_study):
    text = " ".join(make_study(server={"training": "paper"}).visitor().get(f"{BASE}/start").text.split())
    assert "these numbers can therefore reveal my labels." in text
    assert "percentage points" not in text


def test_forms_of_other_sites_and_without_a_token_are_refused(study):
    visitor, code = study.visitor(), study.study.invite()[0]
    page = f"{BASE}/start"
    fields = {name: visitor.field(page, name) for name in ("csrf", "version", "shown", "texts")}
    fields |= {"code": code, "participation": "yes"}
    assert visitor.post(page, {**fields, "csrf": "0" * 64}).status_code == 403
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert visitor.post(page, fields, foreign).status_code == 403
    stranger = study.visitor()
    assert stranger.post(page, fields).status_code == 403  # the field without its cookie
    assert people(study) == 0
    one, other = study.begun(), study.begun()
    token = one.token(f"{BASE}/me/withdraw")
    for path in ("/withdraw", "/contact", "/contact/delete", "/consents/collection/give", "/code"):
        sent = {"sure": "yes", "email": "a@example.org", "version": "1", "shown": "en", "code": "x"}
        assert one.post(f"{BASE}/me{path}", sent).status_code == 403, path
        assert other.post(f"{BASE}/me{path}", {**sent, "csrf": token}).status_code == 403, path
        assert study.visitor().post(f"{BASE}/me{path}", {**sent, "csrf": token}).status_code == 403, path
    assert people(study) == 2


@pytest.mark.parametrize("cookie", ["", "x", "A" * 300, "'; drop table study_people; --", "%00"])
def test_wrong_cookies_open_nothing(study, cookie):
    study.begun()
    stranger = study.visitor()
    for name in ("eitr_person", "eitr_rater"):
        stranger.client.cookies.set(name, cookie, path=BASE)
    for path in (*OWN_PAGES, "/me/data", "/download/eitr-chrome.zip"):
        assert stranger.get(BASE + path).status_code == 403, path
    assert stranger.get(f"{BASE}/rate/1").status_code == 303


def test_the_cookie_of_one_study_opens_no_other(study):
    visitor = study.begun()
    study.services.studies.register.create("other", "Another study", who="ada")
    visitor.client.cookies.set("eitr_person", visitor.client.cookies["eitr_person"], path="/study/other")
    assert visitor.get("/study/other/me").status_code == 403


def test_cookies_are_for_this_study_and_not_for_scripts(study):
    answer = study.visitor()
    begun = answer.begin(study.study.invite()[0], "participation")
    set_cookies = begun.headers.get_list("set-cookie")
    assert len(set_cookies) == 2
    for one in set_cookies:
        assert "HttpOnly" in one
        assert "SameSite=lax" in one
        assert f"Path={BASE}" in one


def test_wrong_codes_are_counted(study, monkeypatch):
    monkeypatch.setattr(limits, "WRONG_CODES", 3)
    visitor = study.visitor()
    codes = [visitor.begin(f"wrong-{n}", "participation").status_code for n in range(4)]
    assert codes == [403, 403, 403, 429]
    refused = visitor.begin("wrong", "participation")
    assert "Too many wrong codes" in refused.text
    assert "Retry-After" in refused.headers
    token = {"csrf": visitor.token(f"{BASE}/rate"), "token": "wrong"}
    assert visitor.post(f"{BASE}/rate", token).status_code == 429
    assert study.visitor(network="198.51.100.7").begin("wrong", "participation").status_code == 403
    # Whoever has a valid code gets in, whatever others do in their network.
    assert visitor.begin(study.study.invite()[0], "participation").status_code == 303


def test_a_code_of_another_study_or_of_none_is_refused(study):
    register = study.services.studies.register
    register.create("other", "Another study", who="ada")
    codes = [register.invite("other", 1, who="ada")[0], study.services.participants.invite("anybody"), "", EVIL[:90]]
    for code in codes:
        answer = study.visitor().begin(code, "participation")
        assert answer.status_code in (400, 403)
        assert "<script>alert" not in answer.text
    assert people(study) == 0


def test_hostile_words_are_shown_as_words(make_study):
    study = make_study(group=EVIL, contact=EVIL, purpose=EVIL)
    study.services.studies.register.change(SLUG, who="ada", title=EVIL)
    visitor = study.begun()
    reading = rater(study, EVIL[:90])
    shown = [visitor.get(BASE + path).text for path in ("", "/start", *OWN_PAGES)]
    for text in [*shown, reading.get(f"{BASE}/rate/1").text]:
        page: Any = html.document_fromstring(text)
        assert page.xpath("//img | //script[not(@src)] | //@onerror") == []
        assert "{{ 7*7 }}" in text
        assert "&lt;script&gt;alert(1)" in text


def test_archived_copies_run_nothing_and_carry_no_cookie(study):
    pages = study.services.studies.pages
    first = pages.all(SLUG)[0].id
    pages.store_copy(
        SLUG, first, b"<title>Flu</title><script>alert(1)</script><p onclick='x()'>Rest and drink a lot</p>"
    )
    answer = study.visitor().get(f"{BASE}/copies/{first}")
    assert answer.status_code == 200
    assert "Rest and drink" in answer.text
    assert "alert" not in answer.text
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "set-cookie" not in answer.headers
    assert study.visitor().get(f"{BASE}/copies/999").status_code == 404


def test_raters_see_one_page_after_the_other_and_nothing_of_others(study):
    ada, grace = rater(study, "Ada"), rater(study, "Grace")
    for number in range(1, PAGES + 1):
        where = ada.get(f"{BASE}/rate").headers["location"]
        assert where == f"{BASE}/rate/{number}"
        answer = ada.post(where, {"csrf": ada.token(where), "label": "religion"})
        assert answer.status_code == 303
    assert "All pages are rated" in ada.get(f"{BASE}/rate").text
    seen = grace.get(f"{BASE}/rate/1").text
    assert "checked" not in seen
    assert "0 of 12 rated" in seen
    assert "topic 0" not in seen  # neither topic nor truth is shown
    again = ada.page(f"{BASE}/rate/1")
    assert again.xpath("//input[@checked]/@value") == ["religion"]


def test_raters_are_not_asked_about_dead_pages_without_a_copy(study):
    ada, raters, pages = rater(study), study.services.studies.raters, study.services.studies.pages
    first, second, third, fourth, *_ = (page.id for page in pages.all(SLUG))
    pages.store_copy(SLUG, third, b"<p>Masks")
    seen = ada.token(f"{BASE}/rate/{fourth}")
    ada.post(f"{BASE}/rate/{first}", {"csrf": ada.token(f"{BASE}/rate/{first}"), "label": "health"})
    with study.services.database.writing() as session:
        dead = StudyPageRow.id.in_((first, second, third, fourth))
        session.execute(update(StudyPageRow).where(dead).values(state=PageState.DEAD))
    # The first was rated, and the third has a copy.
    assert ada.get(f"{BASE}/rate").headers["location"] == f"{BASE}/rate/{third}"
    page = ada.page(f"{BASE}/rate/{third}")
    assert f"1 of {PAGES - 2} rated" in page.text_content()
    assert page.xpath("//a[@id='back']/@href") == [f"{BASE}/rate/{first}"]
    assert ada.get(f"{BASE}/rate/{second}").status_code == 404
    [one] = raters.all(SLUG)
    assert (one.rated, one.asked) == (1, PAGES - 2)
    # What was shown before can still be rated.
    assert ada.post(f"{BASE}/rate/{fourth}", {"csrf": seen, "label": "health"}).status_code == 303
    [one] = raters.all(SLUG)
    assert (one.rated, one.asked) == (2, PAGES - 1)
    for _ in range(PAGES - 3):
        where = ada.get(f"{BASE}/rate").headers["location"]
        ada.post(where, {"csrf": ada.token(where), "label": "health"})
    assert ada.page(f"{BASE}/rate").xpath("//a[@class='button quiet']/@href") == [f"{BASE}/rate/{first}"]


def test_raters_go_on_where_they_were_and_may_decide_later(study):
    ada = rater(study)
    page = ada.page(f"{BASE}/rate/1")
    assert page.xpath("//a[@id='later']/@href") == [f"{BASE}/rate/2"]
    ada.post(f"{BASE}/rate/2", {"csrf": ada.token(f"{BASE}/rate/2"), "label": "health"})
    assert ada.get(f"{BASE}/rate").headers["location"] == f"{BASE}/rate/1"
    missing = ada.post(f"{BASE}/rate/1", {"csrf": ada.token(f"{BASE}/rate/1")})
    assert (missing.status_code, "Choose a topic" in missing.text) == (400, True)
    assert ada.post(f"{BASE}/rate/1", {"csrf": ada.token(f"{BASE}/rate/1"), "label": "cats"}).status_code == 400
    assert ada.post(f"{BASE}/rate/1", {"label": "health"}).status_code == 403
    assert ada.get(f"{BASE}/rate/{PAGES + 1}").status_code == 404
    assert ada.post(f"{BASE}/rate/leave", {"csrf": ada.token(f"{BASE}/rate/1")}).status_code == 303
    assert ada.get(f"{BASE}/rate/1").status_code == 303
    with study.services.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(StudyRatingRow)) == 1


def test_a_closed_study_takes_no_ratings(study):
    ada = rater(study)
    token = ada.token(f"{BASE}/rate/1")
    study.services.studies.register.close(SLUG, who="ada")
    assert ada.post(f"{BASE}/rate/1", {"csrf": token, "label": "health"}).status_code == 409


def test_the_groups_own_texts_sentences_and_logo_are_used(make_study, tmp_path):
    own = tmp_path / "own"
    (own / "de").mkdir(parents=True)
    (own / "de" / "information.html").write_text("<h2>Worum es geht</h2><p>{{ title }}: eigene Worte</p>")
    (own / "en.toml").write_text('[start]\ntitle = "Join our study"\n')
    (own / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    study = make_study(server={"study_templates": own})
    german = study.visitor("de").get(BASE).text
    assert f"{TITLE}: eigene Worte" in german
    assert "/study-logo" in german
    english = study.visitor().get(f"{BASE}/start").text
    assert "Join our study" in english
    assert "What the study is about" in english
    logo = study.visitor().get("/study-logo")
    assert logo.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in logo.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("en/information.html", "{% if title %}<p>", "en/information.html, line 1"),
        ("de/thanks.html", "<p>{{ unknown }}</p>", "de/thanks.html: 'unknown' is undefined"),
        ("en/reward.html", "{{ ''.__class__.__mro__ }}", "en/reward.html"),
        ("en/reward.html", "{{ 1 / 0 }}", "en/reward.html: division by zero"),
        ("en/reward.html", "{% if reward and not group %}{{ nobody }}{% endif %}", "en/reward.html: 'nobody'"),
        ("de/thanks.html", "{% if uses == 1 and noisy %}{{ nobody }}{% endif %}", "de/thanks.html: 'nobody'"),
        ("en/consent_particpation.html", "<p>I agree.</p>", "to en/consent_participation.html?"),
        ("information.html", "<p>Read this.</p>", "information.html replaces nothing"),
        ("fr.toml", "[start]", "fr.toml replaces nothing"),
        ("fr/thanks.html", "<p>Merci</p>", "fr/thanks.html replaces nothing"),
        ("Logo.PNG", "", "to logo.png?"),
        ("en.toml", "[start", "en.toml"),
        ("en.toml", '[start]\ntitel = "Typing error"', "nothing is called start.titel"),
        ("en.toml", '[start]\ntitle = "{nobody}"', "start.title may use these names in braces: none"),
        ("en.toml", '[me]\nprogress_line = "{done of"', "me.progress_line is no text"),
        ("en.toml", "[start]\ntitle = 3", "start.title is no text"),
        ("en.toml", '[me]\nprogress_line = "{done:.1%}"', "me.progress_line is no text"),
        ("en.toml", '[me]\nprogress_line = "{done!z}"', "me.progress_line is no text"),
        ("en.toml", 'title = "outside"', "sentences stand in a section"),
    ],
)
def test_a_mistake_in_the_groups_texts_is_told_at_the_start(tmp_path, file, content, told):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(InputError, match="EITR_STUDY_TEMPLATES") as error:
        Texts(tmp_path)
    assert told in str(error.value)


def test_other_files_stay_and_texts_may_include_each_other(tmp_path):
    (tmp_path / "README.md").write_text("What these texts are.")
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "thanks.html").write_text("{% include 'en/reward.html' %}<p>Thank you.</p>")
    assert "Thank you." in Texts(tmp_path).text("en", "thanks", texts.sample_values(True))


def test_texts_that_change_while_the_server_runs_wait_for_its_next_start(tmp_path):
    path = tmp_path / "en" / "thanks.html"
    path.parent.mkdir()
    path.write_text("<p>Thank you.</p>")
    found = Texts(tmp_path)
    path.write_text("<p>{{ unknown }}</p>")
    os.utime(path, (0, 0))
    assert "Thank you." in found.text("en", "thanks", texts.sample_values(True))


def test_a_folder_that_is_not_there_is_told_at_the_start(tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        Texts(tmp_path / "nowhere")


def test_every_text_can_be_overridden_and_is_documented():
    document = (Path(__file__).parents[3] / "docs" / "study.md").read_text()
    assert {path.stem for path in (PACKAGE / "texts" / "en").iterdir()} == set(TEXTS)
    assert {path.stem for path in (PACKAGE / "texts" / "de").iterdir()} == set(TEXTS)
    assert [name for name in TEXTS if f"`{name}.html`" not in document] == []
    assert [name for name in texts.sample_values(True) if f"`{name}`" not in document] == []


def test_join_shows_the_address_and_asks_for_no_code(make_site):
    site = make_site(empty=True, public_address="https://eitr.example.org")
    page = site.browser().page("/join")
    assert page.xpath("//input[@id='server']/@value") == ["https://eitr.example.org"]
    assert page.xpath("//form") == []


def test_without_a_study_there_is_no_site_and_the_download_is_open(make_site, tmp_path):
    (tmp_path / "eitr-chrome.zip").write_bytes(b"PK")
    stranger = make_site(empty=True, downloads=tmp_path).browser()
    assert stranger.get(BASE).status_code == 404
    assert stranger.get("/study/").status_code == 404
    assert stranger.get("/extension/eitr-chrome.zip").status_code == 200
