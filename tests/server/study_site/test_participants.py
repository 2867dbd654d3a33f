"""What a participant does, without scripts: read, consent, give an address, see progress, withdraw."""

import json
import sqlite3

from sqlalchemy import func, select

from eitr.server.db.study_tables import StudyConsentRow, StudyContactRow, StudyPersonRow, StudyTaskRow
from eitr.server.domain.study.consents import ConsentKind, text_hash
from eitr.server.domain.study.tasks import TaskEvent
from tests.server.study_site.conftest import BASE, StudySite
from tests.server.study_site.study import EACH, SLUG

EMAIL = "somebody.unusual@example.org"


def rows(study: StudySite, table: type) -> int:
    with study.services.database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_nothing_is_stored_and_nothing_is_handed_out_before_consent(study):
    visitor, code = study.visitor(), study.study.invite()[0]
    for path in ("", "/start"):
        assert visitor.get(BASE + path).status_code == 200
    for path in ("/me", "/me/withdraw", "/me/data", "/download/eitr-chrome.zip"):
        assert visitor.get(BASE + path).status_code == 403, path
    assert visitor.get("/extension/eitr-chrome.zip").status_code == 403
    refused = visitor.begin(code)
    assert refused.status_code == 400
    assert "To take part, tick the first box." in refused.text
    assert visitor.begin(code, "collection").status_code == 400
    assert "eitr_person" not in visitor.client.cookies
    assert rows(study, StudyPersonRow) == rows(study, StudyConsentRow) == rows(study, StudyTaskRow) == 0


def test_no_box_is_ticked_beforehand(study):
    boxes = study.visitor().page(f"{BASE}/start").xpath("//input[@type='checkbox']")
    assert [box.get("name") for box in boxes] == ["participation", "collection", "terms"]
    assert [box for box in boxes if box.get("checked") is not None] == []


def test_with_consent_somebody_gets_their_page_the_download_and_the_link(study, tmp_path):
    visitor, code = study.visitor(), study.study.invite()[0]
    answer = visitor.begin(code, "participation")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{BASE}/me")
    page = visitor.page(f"{BASE}/me")
    assert page.xpath("//a[@class='button']/@href")[0] == f"{BASE}/download/eitr-chrome.zip"
    assert f"/join#invitation={code}&study={SLUG}" in page.xpath("//a/@href")
    package = visitor.get(f"{BASE}/download/eitr-firefox.zip")
    assert package.content == (tmp_path / "eitr-firefox.zip").read_bytes()
    assert visitor.get(f"{BASE}/download/eitr-opera.zip").status_code == 404


def test_a_consent_is_stored_with_the_version_and_the_hash_of_what_was_shown(study):
    for language in ("en", "de"):
        visitor = study.begun("collection", language=language)
        shown = visitor.page(f"{BASE}/start").xpath("//*[@id='collection-text']")[0]
        progress = study.services.studies.people.progress(study.person(visitor))
        assert progress.language == language
        assert set(progress.consents) == {ConsentKind.PARTICIPATION, ConsentKind.COLLECTION}
        kept = progress.consents[ConsentKind.COLLECTION]
        words = " ".join(shown.text_content().split())
        assert words.startswith("I also agree" if language == "en" else "Ich bin außerdem einverstanden")
        html = (shown.text or "") + "".join(_html(one) for one in shown)
        assert kept.text_hash == text_hash(html.strip() + "\n") or kept.text_hash == text_hash(html.strip())
        assert kept.version == 1


def _html(element) -> str:
    from lxml import html

    return html.tostring(element, encoding="unicode")


def test_a_text_that_changed_meanwhile_must_be_read_again(study):
    visitor, code = study.visitor(), study.study.invite()[0]
    old = visitor.field(f"{BASE}/start", "version")
    study.services.studies.register.texts_changed(SLUG, who="ada")
    refused = visitor.begin(code, "participation", version=old)
    assert refused.status_code == 409
    assert "have changed in the meantime" in refused.text
    assert "checked" not in refused.text
    assert rows(study, StudyPersonRow) == 0
    assert visitor.begin(code, "participation").status_code == 303
    study.services.studies.register.texts_changed(SLUG, who="ada")
    assert "has a new version" in visitor.get(f"{BASE}/me").text
    read = {name: visitor.field(f"{BASE}/me", name) for name in ("version", "shown", "texts")}
    assert visitor.do("/consents/participation/give", **read).status_code == 303
    assert "has a new version" not in visitor.get(f"{BASE}/me").text


def test_nobody_agrees_to_other_words_than_they_were_shown(study):
    register, code = study.services.studies.register, study.study.invite()[0]
    late, visitor = study.visitor(), study.begun()
    old = late.field(f"{BASE}/start", "texts")
    read = {name: visitor.field(f"{BASE}/me", name) for name in ("version", "shown", "texts")}
    before = register.get(SLUG).consent_version
    register.change(SLUG, who="ada", pages_per_person=10)  # people who began keep theirs: no new version
    assert register.get(SLUG).consent_version == before
    refused = late.begin(code, "participation", texts=old)
    assert refused.status_code == 409
    assert "have changed in the meantime" in refused.text
    refused = late.begin(code, "collection", texts=old)
    assert refused.status_code == 409
    assert "checked" not in refused.text
    assert visitor.do("/consents/collection/give", **read).status_code == 409
    assert rows(study, StudyPersonRow) == 1
    assert late.begin(code, "participation").status_code == 303


def test_consents_can_be_given_and_withdrawn_later(study):
    visitor = study.begun()
    people, person = study.services.studies.people, study.person(visitor)
    read = {name: visitor.field(f"{BASE}/me", name) for name in ("version", "shown", "texts")}
    answer = visitor.do("/consents/collection/give", **read)
    assert answer.headers["location"] == f"{BASE}/me?done=consent-given#consents"
    assert people.progress(person).allows(ConsentKind.COLLECTION)
    assert visitor.do("/consents/collection/withdraw").status_code == 303
    assert not people.progress(person).allows(ConsentKind.COLLECTION)
    assert visitor.do("/consents/participation/withdraw").status_code == 400
    assert visitor.do("/consents/everything/give", **read).status_code == 400


def test_a_consent_that_is_not_asked_for_any_more_can_be_taken_back(study):
    visitor = study.begun("collection")
    people, person = study.services.studies.people, study.person(visitor)
    task = study.services.studies.tasks.all(person)[0]
    study.services.studies.tasks.note(person, task.id, TaskEvent.LABELLED, "health")
    study.services.studies.register.change(SLUG, who="ada", collect_labels=False)
    page = visitor.get(f"{BASE}/me").text
    assert "/consents/collection/withdraw" in page
    assert "/consents/collection/give" not in page
    read = {name: visitor.field(f"{BASE}/me", name) for name in ("version", "shown", "texts")}
    assert visitor.do("/consents/participation/give", **read).status_code == 303
    assert "has a new version" not in visitor.get(f"{BASE}/me").text
    assert visitor.do("/consents/collection/withdraw").status_code == 303
    assert people.export(person)["tasks"][0]["label"] is None
    assert "/consents/collection/" not in visitor.get(f"{BASE}/me").text


def test_a_study_that_collects_nothing_does_not_ask_for_it(make_study):
    study = make_study(collect_labels=False, collect_terms=False, reward=False)
    visitor = study.visitor()
    assert visitor.page(f"{BASE}/start").xpath("//input[@type='checkbox']/@name") == ["participation"]
    assert "We do not collect labels in this study." in visitor.get(BASE).text
    visitor = study.begun()
    page = visitor.get(f"{BASE}/me").text
    assert 'id="reward"' not in page
    assert visitor.do("/contact", email=EMAIL).status_code == 400
    assert rows(study, StudyContactRow) == 0
    read = {name: visitor.field(f"{BASE}/start", name) for name in ("version", "shown", "texts")}
    assert visitor.do("/consents/collection/give", **read).status_code == 400


def test_the_address_is_stored_and_never_shown(study):
    visitor = study.begun()
    assert visitor.do("/contact", email="no address").status_code == 400
    assert visitor.do("/contact", email=EMAIL).status_code == 303
    page = visitor.get(f"{BASE}/me?done=contact-saved").text
    assert "The address was saved." in page
    assert "An address is stored." in page
    assert EMAIL not in page
    assert study.services.studies.contacts.reward_list(SLUG) == [(EMAIL, False)]
    assert visitor.do("/contact/delete").status_code == 303
    assert study.services.studies.contacts.reward_list(SLUG) == []


def test_progress_thanks_and_the_code_of_completion(study):
    visitor = study.begun()
    assert "pages done" not in visitor.get(f"{BASE}/me").text
    person = study.person(visitor)
    study.study.label(person, 1)
    assert f"1 of {EACH} pages done" in visitor.get(f"{BASE}/me").text
    study.study.label(person, EACH)
    page = visitor.get(f"{BASE}/me").text
    code = study.services.studies.people.progress(person).completion_code
    assert code
    assert code in page
    assert "Thank you" in page


def test_somebody_who_lost_the_cookie_comes_back_with_the_code(study):
    code = study.study.invite()[0]
    first, second = study.visitor(), study.visitor()
    first.begin(code, "participation")
    second.begin(code, "participation")
    assert second.get(f"{BASE}/me").status_code == 200
    assert first.get(f"{BASE}/me").status_code == 403
    assert rows(study, StudyPersonRow) == 1


def test_a_browser_that_lost_the_code_can_type_it_in(study):
    visitor = study.begun()
    visitor.client.cookies.delete("eitr_invitation")
    assert "/join#invitation" not in visitor.get(f"{BASE}/me").text
    assert visitor.do("/code", code="abc<&>").status_code == 303
    assert f"/join#invitation=abc%3C%26%3E&amp;study={SLUG}" in visitor.get(f"{BASE}/me").text
    assert visitor.do("/code", code="☃").status_code == 400


def test_people_get_what_is_stored_about_them(study):
    visitor = study.begun("collection")
    visitor.do("/contact", email=EMAIL)
    answer = visitor.get(f"{BASE}/me/data")
    assert answer.headers["content-type"] == "application/json"
    kept = json.loads(answer.text)
    assert kept["email_stored"] is True
    assert "secret" not in answer.text


def test_no_page_and_no_file_has_the_address_next_to_labels(study):
    visitor = study.begun("collection")
    person = study.person(visitor)
    visitor.do("/contact", email=EMAIL)
    study.study.label(person, 2)
    for path in ("/me", "/me/data", "/me/withdraw"):
        assert EMAIL not in visitor.get(f"{BASE}{path}").text
    assert json.loads(visitor.get(f"{BASE}/me/contact").text) == {"email": EMAIL}


def test_withdrawal_asks_once_more_and_then_deletes_everything(study, tmp_path):
    visitor = study.begun("collection", "terms")
    person = study.person(visitor)
    visitor.do("/contact", email=EMAIL)
    study.study.label(person, 2)
    question = visitor.get(f"{BASE}/me/withdraw")
    assert "Withdraw now, and delete everything?" in question.text
    kept = visitor.do("/withdraw")
    assert kept.status_code == 400
    assert "Nothing was deleted." in kept.text
    assert rows(study, StudyPersonRow) == 1
    done = visitor.do("/withdraw", sure="yes")
    assert done.headers["location"] == f"{BASE}/withdrawn"
    assert "You have withdrawn" in visitor.get(f"{BASE}/withdrawn").text
    assert "eitr_person" not in visitor.client.cookies
    assert visitor.get(f"{BASE}/me").status_code == 403
    for table in (StudyPersonRow, StudyConsentRow, StudyTaskRow, StudyContactRow):
        assert rows(study, table) == 0
    stored = b"".join(path.read_bytes() for path in study.services.settings.folder.glob("eitr.db*"))
    assert b"studies" in stored
    for secret in (person, EMAIL):
        assert secret.encode() not in stored


def test_whoever_withdrew_cannot_begin_again_with_the_same_code(study):
    code, visitor = study.study.invite()[0], study.visitor()
    visitor.begin(code, "participation")
    visitor.do("/withdraw", sure="yes")
    assert visitor.begin(code, "participation").status_code == 403


def test_a_closed_study_takes_nobody_but_lets_people_withdraw(study):
    visitor = study.begun()
    study.services.studies.register.close(SLUG, who="ada")
    assert "This study is closed" in visitor.get(f"{BASE}/me").text
    stranger = study.visitor()
    assert stranger.page(f"{BASE}/start").xpath(f"//form[@action = '{BASE}/start']") == []
    assert visitor.do("/withdraw", sure="yes").status_code == 303


def test_the_database_is_the_one_that_is_searched(study):
    # The test above would pass with any file: this one shows that what is stored can be found there.
    visitor = study.begun()
    with sqlite3.connect(study.services.settings.folder / "eitr.db") as found:
        assert found.execute("select id from study_people").fetchall() == [(study.person(visitor),)]


def test_somebody_who_lost_the_cookie_can_withdraw_from_a_closed_study(study):
    code = study.study.invite()[0]
    assert study.visitor().begin(code, "participation").status_code == 303
    study.services.studies.register.close(SLUG, who="ada")
    visitor = study.visitor()
    page = f"{BASE}/start"
    [form] = visitor.page(page).xpath("//form[contains(@action, '/start/back')]")
    sent = {"csrf": visitor.token(page), "code": "guess"}
    refused = visitor.post(form.get("action"), sent)
    assert (refused.status_code, "eitr_person" in visitor.client.cookies) == (403, False)
    assert visitor.post(form.get("action"), {**sent, "code": code}).headers["location"] == f"{BASE}/me"
    assert visitor.do("/withdraw", sure="yes").status_code == 303
    assert rows(study, StudyPersonRow) == 0
