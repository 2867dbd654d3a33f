"""Taking part in a study from a real Chromium: joining, tasks, what is hidden, and what is sent."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from eitr.pages.federated_vocabulary import report
from eitr.taxonomy import NAMES, index_of

from .browser import Extension, unfold, until
from .federation import CODE, NO_STUDY, TERMS_PATH, Federation, Study, federation
from .pages import FOOTBALL, HEALTH, RELIGION, tracked
from .site import Site

TITLE = "Pages about COVID-19"
HEALTH_CLASS, RELIGION_CLASS = index_of("health"), index_of("religion")


@pytest.fixture
def server() -> Iterator[Federation]:
    with federation() as found:
        yield found


@pytest.fixture
def urls(site: Site) -> list[str]:
    return [
        site.put("clinic.test", "/covid", tracked(site, HEALTH)) + "?page=1",
        site.put("church.test", "/", RELIGION),
        site.put("match.test", "/", FOOTBALL),
    ]


@pytest.fixture
def study(server: Federation, urls: list[str]) -> Study:
    server.study = Study(*urls)
    return server.study


@pytest.fixture
def person(extension: Extension, server: Federation, study: Study) -> Extension:
    """Somebody who takes part in the study, and does not contribute."""
    extension.consent(server=server.address, studies=True, contributing=False)
    until(lambda: told(extension), what="the study")
    return extension


def told(extension: Extension, tab: int = -1) -> dict[str, Any] | None:
    """Return what the popup is told about the study."""
    return extension.asking("popup")({"kind": "popup", "tab": tab})["study"]


def task_page(extension: Extension, popup: Any, button: str = "#task-open") -> Any:
    """Open a task by a click in the popup; return its page, once it was read."""
    with extension.context.expect_page() as opened:
        popup.click(button)
    page = opened.value
    page.wait_for_url(lambda url: url.startswith("http"))
    extension.wait_until_read(page)
    return page


def choose(popup: Any, label: int) -> None:
    popup.wait_for_selector("#topic", state="visible")
    popup.select_option("#topic", str(label))
    popup.click("#correct")
    until(lambda: "Thank you" in (popup.text_content("#status") or ""), what="thanks")


def sent(extension: Extension) -> list[dict[str, Any]]:
    return extension.asking("sent")({"kind": "sent"})["answers"]


def sync(extension: Extension) -> None:
    """Bring the study up to date, as the alarm does."""
    extension.learn()


# Joining.


def test_the_popup_on_an_invitation_asks_and_fills_in_server_and_code_after_a_yes(extension, server, study):
    server.spoiled["/join"] = (200, b"<!doctype html><title>Join</title>", {"Content-Type": "text/html"})
    extension.agree()
    page = extension.context.new_page()
    page.goto(f"{server.address}/join#invitation=c0de-_x&study=covid")
    popup = extension.popup(page)
    popup.wait_for_selector("#join", state="visible")
    assert popup.inner_text("#join-question") == f"Take part at {server.address}?"
    before = list(server.asked)
    popup.click("#join-no")
    popup.wait_for_selector("#join", state="hidden")
    settings = extension.asking("options")({"kind": "options"})["settings"]
    assert (settings["server"], settings["invitation"]) == ("", "")
    popup.reload()
    with extension.context.expect_page() as opened:
        popup.click("#join-yes")
    welcome = opened.value
    welcome.wait_for_selector("fieldset:not([disabled])")
    assert welcome.input_value("#server") == server.address
    assert welcome.input_value("#invitation") == "c0de-_x"
    assert not welcome.is_checked("#studies")
    assert server.asked == before
    welcome.check("#studies")
    welcome.click("#save")
    until(lambda: told(extension), what="the study")
    assert server.invitations == ["c0de-_x"]
    assert extension.asking("popup")({"kind": "offer", "tab": extension.tab(page)})["offer"] is None


def test_who_has_agreed_before_joins_with_one_click(person, server, site, urls):
    with federation() as other:
        other.study = Study(urls[0], title="Another study")
        other.spoiled["/join"] = (200, b"<title>Join</title>", {"Content-Type": "text/html"})
        page = person.context.new_page()
        page.goto(f"{other.address}/join#invitation=0ther&study=x")
        popup = person.popup(page)
        popup.wait_for_selector("#join-yes")
        assert server.address in popup.inner_text("#join-before")
        popup.click("#join-yes")
        until(lambda: popup.text_content("#study-title") == "Another study", what="the other study")
        assert other.invitations == ["0ther"]


@pytest.mark.long
def test_another_code_at_the_same_server_enrols_anew(person, server):
    ask = person.asking("popup")
    ask({"kind": "join", "server": server.address, "invitation": "n3w"})
    assert server.invitations == [None, "n3w"]
    assert told(person)["title"] == TITLE
    ask({"kind": "join", "server": server.address, "invitation": "n3w"})
    assert server.enrolled == 2
    exported = person.asking("options")({"kind": "export"})["data"]
    assert len(exported["servers"]) == 2


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("evil.test", "/join#invitation=abc"),
        ("evil.test", "/elsewhere#invitation=abc"),
        ("127.0.0.1", "/join"),
        ("127.0.0.1", "/join#invitation=a%20b"),
        ("127.0.0.1", "/join?x=1#invitation=abc"),
    ],
)
def test_what_is_no_good_invitation_is_not_offered(agreed, site, host, path):
    bare = path.partition("#")[0].partition("?")[0]
    site.put(host, bare, FOOTBALL)
    page = agreed.context.new_page()
    page.goto(site.address(host, path))
    assert agreed.asking("popup")({"kind": "offer", "tab": agreed.tab(page)})["offer"] is None
    popup = agreed.popup(page)
    assert popup.is_hidden("#join")


def test_the_worker_checks_what_it_is_asked_to_join(agreed):
    page = agreed.open("popup", "?tab=-1")
    send = "(message) => chrome.runtime.sendMessage(message)"
    for server, code, problem in (
        ("http://evil.test", "abc", "problem_address_scheme"),
        ("javascript:alert(1)", "abc", "problem_address_scheme"),
        ("https://evil.test", "a b", "problem_link"),
        ("https://evil.test", None, "problem_link"),
    ):
        answer = page.evaluate(send, {"kind": "join", "server": server, "invitation": code})
        assert answer == {"ok": False, "problem": problem}
    assert agreed.asking("options")({"kind": "options"})["settings"]["server"] == ""


def test_the_welcome_page_takes_a_pasted_link(extension, server, study):
    page = extension.open("welcome")
    unfold(page, "#invited")
    page.fill("#link", "https://eitr.example.org/study")
    page.press("#link", "Tab")
    until(lambda: "not an invitation link" in (page.text_content("#status") or ""), what="a complaint")
    page.fill("#link", f" {server.address}/join#invitation=p4sted&study=covid ")
    page.press("#link", "Tab")
    until(lambda: server.address in (page.text_content("#status") or ""), what="the server's name")
    assert (page.input_value("#server"), page.input_value("#invitation")) == (server.address, "p4sted")
    assert server.asked == []
    page.check("#classifying")
    page.check("#studies")
    page.click("#save")
    until(lambda: told(extension), what="the study")
    assert server.invitations == ["p4sted"]


# Consent.


def test_without_the_consent_to_studies_nothing_is_asked(extension, server, study):
    extension.consent(server=server.address, studies=False)
    sync(extension)
    assert told(extension) is None
    assert not [path for path in server.asked if "study" in path or "tasks" in path]


def test_who_wants_studies_but_does_not_contribute_asks_for_the_study_alone(person, server):
    sync(person)
    assert {path.partition(" ")[2] for path in server.asked} == {
        "/api/v2/participants",
        "/api/v2/study",
        "/api/v2/tasks",
    }


@pytest.mark.long
def test_the_alarm_brings_the_study_up_to_date(person, server, study):
    study.facts["title"] = "A new title"
    person.desk.evaluate("chrome.alarms.create('learn', { when: Date.now() })")
    until(lambda: told(person)["title"] == "A new title", what="the new title")


@pytest.mark.long
def test_who_enrols_before_consenting_on_the_site_gets_the_study_later(extension, server, study):
    server.study = None
    extension.consent(server=server.address, studies=True, contributing=False)
    sync(extension)
    assert told(extension) is None
    server.study = study
    sync(extension)
    assert told(extension)["title"] == TITLE


# Tasks.


def test_the_tasks_are_done_one_after_the_other_to_the_completion_code(person, server, study):
    popup = person.open("popup", "?tab=-1")
    popup.wait_for_selector("#study", state="visible")
    assert popup.inner_text("#study-title") == TITLE
    assert popup.inner_text("#study-place") == "Task 1 of 3"
    page = task_page(person, popup)
    until(lambda: study.told == [(101, {"state": "opened"})], what="the opening")
    popup.close()
    popup = person.popup(page)
    popup.wait_for_selector("#task-skip", state="visible")
    choose(popup, RELIGION_CLASS)
    until(lambda: study.told[1:] == [(101, {"state": "labelled"})], what="the answer")
    assert popup.inner_text("#study-hint") == "You have answered this task."
    # The next task is shown in the same tab.
    popup.click("#task-next")
    page.wait_for_url("http://church.test:*/")
    until(lambda: popup.inner_text("#study-place") == "Task 2 of 3", what="the second task")
    popup.wait_for_selector("#task-skip", state="visible")
    popup.click("#task-skip")
    until(lambda: popup.inner_text("#study-hint") == "You skipped this task.", what="the hint")
    popup.click("#task-next")
    page.wait_for_url("http://match.test:*/")
    popup.wait_for_selector("#task-broken", state="visible")
    popup.click("#task-broken")
    until(lambda: study.told[-1] == (103, {"state": "broken"}), what="the end")
    until(lambda: popup.is_visible("#study-end"), what="the end")
    assert popup.inner_text("#study-code") == CODE
    assert popup.get_attribute("#study-page", "href") == f"{server.address}/study/covid/me"
    assert popup.is_hidden("#study-buttons")
    assert [(number, said["state"]) for number, said in study.told] == [
        (101, "opened"),
        (101, "labelled"),
        (102, "opened"),
        (102, "skipped"),
        (103, "opened"),
        (103, "broken"),
    ]


def test_opening_and_reading_a_page_is_no_answer(person, study):
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    popup.close()
    page.reload()
    person.wait_until_read(page)
    sync(person)
    assert [said for _, said in study.told] == [{"state": "opened"}]
    assert told(person)["ended"] == 0


@pytest.mark.long
def test_next_without_an_answer_leaves_the_task_open(person, study, urls):
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    popup.close()
    popup = person.popup(page)
    popup.wait_for_selector("#task-next", state="visible")
    popup.click("#task-next")
    page.wait_for_url(urls[1])
    until(lambda: popup.inner_text("#study-place") == "Task 2 of 3", what="the second task")
    assert told(person)["ended"] == 0
    assert told(person)["next"]["number"] == 1


def test_while_the_next_task_loads_the_page_before_cannot_be_answered(person, study, site, urls):
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    popup.close()
    view = person.view(page)
    site.may_answer.clear()
    ask, tab = person.asking("popup"), person.tab(page)
    loading = ask({"kind": "open-task", "tab": tab, "task": 102})
    assert (loading["study"]["here"]["id"], loading["state"]) == (102, "not-a-page")
    late = {"kind": "label", "document": view["document"], "url": view["url"], "label": 0}
    answer = person.asking_pages["popup"].evaluate("(message) => chrome.runtime.sendMessage(message)", late)
    assert answer == {"ok": False, "problem": "problem_page_gone"}
    site.may_answer.set()
    page.wait_for_url(urls[1])
    person.wait_until_read(page)
    assert told(person, tab)["here"]["id"] == 102
    assert told(person)["ended"] == 0


def test_a_broken_page_is_replaced(person, study, site):
    study.spare.append(site.put("spare.test", "/", HEALTH))
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    popup.close()
    popup = person.popup(page)
    popup.wait_for_selector("#task-broken", state="visible")
    popup.click("#task-broken")
    until(lambda: told(person)["next"] == {"id": 501, "number": 1}, what="the replacement")
    assert told(person)["tasks"] == 3


def test_a_page_that_cannot_be_reached_can_be_reported(person, server, study):
    study.tasks[0]["url"] = "http://127.0.0.1:9/gone"  # where nobody listens
    sync(person)
    popup = person.open("popup", "?tab=-1")
    with person.context.expect_page() as opened:
        popup.click("#task-open")
    popup.close()
    page = opened.value
    tab = until(lambda: failed_tab(person), what="the error page")
    until(lambda: (told(person, tab) or {}).get("here"), what="the task")
    popup = person.open("popup", f"?tab={tab}")
    popup.wait_for_selector("#task-broken", state="visible")
    assert popup.is_hidden("#opinion")
    popup.click("#task-broken")
    until(lambda: study.told[-1] == (101, {"state": "broken"}), what="the report")
    page.close()


def test_a_task_without_a_usable_address_is_broken_and_the_others_go_on(person, study):
    study.tasks[0]["url"] = "http://256.256.256.256/"
    study.spare.append("https://spare.test/")
    sync(person)
    assert told(person)["next"] == {"id": 102, "number": 2}
    sync(person)
    assert study.told == [(101, {"state": "broken"})]
    assert told(person)["next"] == {"id": 501, "number": 1}
    sync(person)
    assert len(study.told) == 1


def test_nothing_is_reported_of_the_tasks_of_a_closed_study(person, study):
    study.facts["status"] = "closed"
    study.tasks[0]["url"] = "http://256.256.256.256/"
    for _ in range(2):
        sync(person)
    assert (study.told, sent(person)) == ([], [])


def test_a_server_that_always_has_other_broken_tasks_is_not_told_without_end(person, server, study):
    person.desk.evaluate(STORE_BROKEN, [server.address, 999])
    for first in (1001, 2001):
        study.tasks = [{"id": first + place, "position": place, "url": "x", "state": "open"} for place in range(1, 4)]
        sync(person)
    sync(person)
    assert [one for one in server.asked if one.startswith("PUT")] == ["PUT /api/v2/tasks/1002"]
    assert len(sent(person)) == 1000


def test_the_list_of_answers_is_not_read_for_each_that_is_sent(person, study):
    study.tasks = [{"id": place, "position": place, "url": "x", "state": "open"} for place in range(1, 11)]
    sync(person)
    person.worker_is_ready().evaluate(COUNT_LISTS)
    sync(person)
    assert len(study.told) == 10
    assert person.worker_is_ready().evaluate("self.lists") < 5


STORE_BROKEN = """([server, count]) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("answers", "readwrite");
    for (let task = 1; task <= count; task += 1) {
      const answer = { server, task, number: 1, step: "ended", state: "broken", time: task, outcome: "taken" };
      change.objectStore("answers").put(answer);
    }
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""
COUNT_LISTS = """() => {
  self.lists = 0;
  const { getAll } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.getAll = function (...which) {
    if (this.name === "answers") self.lists += 1;
    return getAll.apply(this, which);
  };
}"""


def failed_tab(extension: Extension) -> int | None:
    return extension.desk.evaluate(
        """async () => (await chrome.tabs.query({})).find(({ url, title, status }) =>
          status === "complete" && (url + title).includes("127.0.0.1:9"))?.id"""
    )


def test_a_redirection_in_the_same_navigation_is_followed(person, study, site):
    there = site.put("moved.test", "/there", HEALTH)
    jump = f"<!doctype html><title>Jump</title><script>location.replace('{there}')</script>"
    study.tasks[0]["url"] = site.put("moved.test", "/from", jump)
    sync(person)
    popup = person.open("popup", "?tab=-1")
    with person.context.expect_page() as opened:
        popup.click("#task-open")
    page = opened.value
    page.wait_for_url(there)
    person.wait_until_read(page)
    assert told(person, person.tab(page))["here"]["id"] == 101
    assert person.badge(page) == ""
    choose(person.popup(page), HEALTH_CLASS)
    until(lambda: study.told[-1] == (101, {"state": "labelled"}), what="the answer")
    # Where the person goes from there is no task any more.
    elsewhere = site.put("moved.test", "/other", HEALTH)
    page.goto(elsewhere)
    person.wait_for_badge(page, "H")
    assert told(person, person.tab(page))["here"] is None


def test_a_fragment_makes_no_other_page(person, study, urls):
    page = person.context.new_page()
    page.goto(f"{urls[0]}#/route")
    person.wait_until_read(page)
    assert told(person, person.tab(page))["here"]["number"] == 1


@pytest.mark.long
def test_an_archived_copy_at_the_server_is_a_task_page(person, server, study):
    server.spoiled["/study/covid/copies/7"] = (200, HEALTH.encode(), {"Content-Type": "text/html"})
    study.tasks[0]["url"] = "/study/covid/copies/7"
    sync(person)
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    assert page.url == f"{server.address}/study/covid/copies/7"
    assert told(person, person.tab(page))["here"]["number"] == 1


# No anchoring, no warnings, no marks.


def test_the_prediction_is_hidden_until_the_person_has_chosen(person, study, urls):
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    view = person.view(page)
    assert (view["state"], view["hidden"], view["verdict"], view["shown"]) == ("ready", True, None, None)
    assert (view["trackers"], view["cannotTell"]) == ([], None)
    person.worker_has_finished()
    assert person.badge(page) == ""
    assert person.spoken(page) == "EITR: task 1 of 3. Choose what this page is about."
    popup = person.popup(page)
    popup.wait_for_selector("#topic", state="visible")
    assert popup.is_hidden("#verdict")
    assert popup.is_hidden("#agree")
    assert popup.is_hidden("#trackers")
    for word in ("diabetes", "insulin", "sure", "%"):
        assert word not in popup.inner_text("main")
    choose(popup, RELIGION_CLASS)
    person.wait_for_badge(page, "R2")
    assert person.view(page)["label"] == RELIGION_CLASS


def test_it_stays_hidden_on_a_task_that_was_skipped_or_judged_before_the_study(agreed, server, study, urls):
    page = agreed.context.new_page()
    page.goto(urls[0])
    agreed.wait_for_badge(page, "H2")
    view = agreed.view(page)
    agreed.asking("popup")({"kind": "label", "document": view["document"], "url": view["url"], "label": HEALTH_CLASS})
    agreed.consent(server=server.address, studies=True, contributing=False)
    until(lambda: told(agreed), what="the study")
    tab = agreed.tab(page)
    assert agreed.view(page)["hidden"] is True
    assert told(agreed, tab)["here"]["state"] == "open"
    agreed.asking("popup")({"kind": "end-task", "tab": tab, "task": 101, "state": "skipped"})
    assert agreed.view(page)["hidden"] is True
    choose(agreed.popup(page), HEALTH_CLASS)
    until(lambda: study.told[-1] == (101, {"state": "labelled"}), what="the answer")


@pytest.mark.long
def test_a_study_may_show_the_prediction_and_agreeing_is_an_answer(person, study, urls):
    study.facts["hide_prediction"] = False
    sync(person)
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_for_badge(page, "H2")
    popup = person.popup(page)
    popup.wait_for_selector("#agree", state="visible")
    popup.click("#agree")
    until(lambda: study.told == [(101, {"state": "labelled"})], what="the answer")


def test_nobody_is_warned_on_task_pages_and_their_hosts_are_not_remembered(person, study, urls, site):
    other = site.put("clinic.test", "/", tracked(site, HEALTH))
    study.facts["hide_prediction"] = False
    sync(person)
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_for_badge(page, "H2")
    person.worker_has_finished()
    options = person.asking("options")
    assert options({"kind": "options"})["rememberedHosts"] == 0
    # The host is remembered for another page; the task opens all the same, the other page does not.
    page.goto(other)
    person.wait_for_badge(page, "H2")
    until(lambda: options({"kind": "options"})["rememberedHosts"] == 1, what="the host")
    page.close()
    person.worker_has_finished()
    popup = person.open("popup", "?tab=-1")
    page = task_page(person, popup)
    assert page.url == urls[0]
    popup.close()
    page.close()
    person.worker_has_finished()
    page = person.context.new_page()
    page.goto(other)
    page.wait_for_url("chrome-extension://**")


@pytest.mark.long
def test_links_are_not_marked_on_task_pages(person, study, urls):
    person.asking("options")({"kind": "change", "settings": {"linkMarks": True}})
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    person.worker_has_finished()
    assert not person.marks_links(page)


# What is sent.


def test_the_class_stays_here_unless_the_person_consented_to_its_collection(person, study, urls):
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    popup = person.popup(page)
    until(lambda: "stays in this browser" in popup.inner_text("#study-answers"), what="where answers go")
    choose(popup, HEALTH_CLASS)
    until(lambda: study.told == [(101, {"state": "labelled"})], what="the answer")
    # Not even a request that was refused had it.
    assert study.received == [b'{"state":"labelled"}']
    study.facts["collect"] = True
    sync(person)
    until(lambda: "is sent to the study" in popup.inner_text("#study-answers"), what="where answers go")
    choose(popup, RELIGION_CLASS)
    until(lambda: study.told[1:] == [(101, {"state": "labelled", "label": "religion"})], what="the class")
    until(lambda: sent(person)[0]["outcome"] == "taken", what="the outcome")
    listed = person.open("sent")
    assert "Task 1: answered, with your class: Religion." in listed.inner_text("#answers")
    assert [said["label"] for said in sent(person)] == [RELIGION_CLASS]


def test_a_consent_that_was_withdrawn_meanwhile_keeps_the_class_here(person, study, urls):
    study.facts["collect"] = True
    sync(person)
    study.facts["collect"] = False
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    choose(person.popup(page), HEALTH_CLASS)
    until(lambda: study.told == [(101, {"state": "labelled"})], what="the answer without the class")
    until(lambda: told(person)["collect"] is False, what="the news")
    assert sent(person)[0]["label"] is None


@pytest.mark.long
def test_every_class_is_sent_by_its_name(person, study, site):
    pages = [site.put(f"page{number}.test", "/", HEALTH) for number in range(len(NAMES))]
    study.facts["collect"] = True
    study.tasks = Study(*pages).tasks
    sync(person)
    page = person.context.new_page()
    for label, url in enumerate(pages):
        page.goto(url)
        person.wait_until_read(page)
        view = person.view(page)
        person.asking("popup")({"kind": "label", "document": view["document"], "url": view["url"], "label": label})
    until(lambda: len(study.told) == len(NAMES), what="all answers")
    assert [said["label"] for _, said in study.told] == list(NAMES)


def answer_first_task(extension: Extension, urls: list[str]) -> None:
    page = extension.context.new_page()
    page.goto(urls[0])
    extension.wait_until_read(page)
    choose(extension.popup(page), HEALTH_CLASS)
    page.close()


@pytest.mark.parametrize("answer", [(503, b"", {"Retry-After": "1"}), (200, b"", {})], ids=["busy", "gone"])
def test_an_answer_that_could_not_be_sent_is_sent_later_and_once(person, server, study, urls, answer):
    if answer[0] == 200:  # the server hangs up before it answers
        answer = broken_connection
    server.spoiled["/api/v2/tasks/101"] = answer
    answer_first_task(person, urls)
    until(lambda: "PUT /api/v2/tasks/101" in server.asked, what="an attempt")
    person.worker_has_finished()
    assert study.told == []
    assert told(person)["ended"] == 1
    person.kill_worker()
    server.spoiled.clear()
    sync(person)
    assert study.told == [(101, {"state": "labelled"})]
    sync(person)
    assert len(study.told) == 1
    assert [said["outcome"] for said in sent(person)] == ["taken"]


def broken_connection() -> Any:
    raise ConnectionResetError


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_is_killed_while_it_sends_loses_nothing(person, server, study, urls, when):
    reached, go = threading.Event(), threading.Event()

    def stop(path: str) -> None:
        if path == "/api/v2/tasks/101":
            reached.set()
            assert go.wait(60)

    setattr(server, when, stop)
    answer_first_task(person, urls)
    assert reached.wait(60)
    person.kill_worker()
    setattr(server, when, lambda path: None)
    go.set()
    sync(person)
    assert set(map(str, study.told)) == {str((101, {"state": "labelled"}))}
    assert [said["outcome"] for said in sent(person)] == ["taken"]
    assert told(person)["ended"] == 1
    assert person.asking("options")({"kind": "options"})["learning"]["pages"] == 1


@pytest.mark.long
def test_a_refused_answer_is_not_sent_again(person, server, study, urls):
    server.spoiled["/api/v2/tasks/101"] = (409, {"type": "/problems/task-ended", "status": 409}, {})
    answer_first_task(person, urls)
    until(lambda: [said["outcome"] for said in sent(person)] == ["refused"], what="the refusal")
    sync(person)
    assert server.asked.count("PUT /api/v2/tasks/101") == 1
    assert told(person)["ended"] == 0


# The words of task pages.


def answer(extension: Extension, url: str, label: int) -> None:
    """Say what a page is about."""
    page = extension.context.new_page()
    page.goto(url)
    extension.wait_until_read(page)
    view = extension.view(page)
    extension.asking("popup")({"kind": "label", "document": view["document"], "url": view["url"], "label": label})
    page.close()


def finish(extension: Extension, study: Study, urls: list[str]) -> None:
    """Label two tasks and skip the third."""
    answer(extension, urls[0], HEALTH_CLASS)
    answer(extension, urls[1], RELIGION_CLASS)
    page = extension.context.new_page()
    page.goto(urls[2])
    extension.wait_until_read(page)
    tab = extension.tab(page)
    extension.asking("popup")({"kind": "end-task", "tab": tab, "task": 103, "state": "skipped"})
    until(lambda: study.told[-1] == (103, {"state": "skipped"}), what="the last answer")
    page.close()
    sync(extension)


def reports_of_words(extension: Extension) -> list[dict[str, Any]]:
    return extension.asking("sent")({"kind": "sent"})["terms"]


def test_words_of_labelled_task_pages_are_sent_once_and_of_no_other_page(person, study, urls, site):
    study.facts["terms"] = True
    sync(person)
    answer(person, site.put("own.test", "/", "<title>Own</title><p>Zebrafish insulin diabetes hospital"), HEALTH_CLASS)
    finish(person, study, urls)
    (sent_report,) = map(json.loads, study.terms)
    stored = person.asking("options")({"kind": "export"})["data"]["labelled_pages"]
    own = [[word for word, count in page["words"] for _ in range(count)] for page in stored if "study" in page]
    assert (len(stored), len(own)) == (3, 2)
    expected = report(own)
    assert (sent_report["samples"], sent_report["documents"]) == (2, expected.documents)
    assert sent_report["weights"] == pytest.approx(expected.weights)
    assert "zebrafish" not in sent_report["weights"]
    sync(person)
    person.kill_worker()
    sync(person)
    assert len(study.terms) == 1
    listed = person.open("sent")
    listed.wait_for_selector("#of-studies", state="visible")
    assert f"Words ({len(expected.weights)}) of task pages that you labelled (2)" in listed.inner_text("#answers")
    # Who takes the consent back and gives it again is asked for the words again: the server has deleted them.
    study.facts["terms"] = False
    sync(person)
    assert len(study.terms) == 1
    study.facts["terms"] = True
    sync(person)
    sync(person)
    assert study.terms == study.terms[:1] * 2
    assert [one["outcome"] for one in reports_of_words(person)] == ["taken", "taken"]


def test_no_word_is_sent_without_consent_or_before_the_tasks_are_done(person, server, study, urls):
    popup = person.open("popup", "?tab=-1")
    popup.wait_for_selector("#study", state="visible")
    assert popup.text_content("#study-terms") == ""
    finish(person, study, urls)
    assert told(person)["ended"] == 3
    assert study.received == [b'{"state":"labelled"}', b'{"state":"labelled"}', b'{"state":"skipped"}']
    assert (study.terms, reports_of_words(person)) == ([], [])
    assert not [path for path in server.asked if "terms" in path]
    # With the consent, but with a task that is open again.
    study.facts["terms"] = True
    study.tasks[2] |= {"id": 501, "state": "open"}
    sync(person)
    until(lambda: "the words of the task pages" in (popup.text_content("#study-terms") or ""), what="what is sent")
    assert (told(person)["ended"], study.terms) == (2, [])
    # The consent may come last.
    study.tasks[2] |= {"id": 103, "state": "skipped"}
    sync(person)
    assert len(study.terms) == 1


@pytest.mark.parametrize("status", [403, 404])
def test_a_refused_report_of_words_ends_quietly(person, server, study, urls, status):
    study.facts["terms"] = True
    slug = {403: "consent-needed", 404: "not-found"}[status]
    server.spoiled[TERMS_PATH] = (status, {"type": f"/problems/{slug}", "status": status}, {})
    finish(person, study, urls)
    sync(person)
    assert server.asked.count(f"PUT {TERMS_PATH}") == 1
    assert [one["outcome"] for one in reports_of_words(person)] == ["refused"]
    assert person.asking("options")({"kind": "options"})["studyNote"] == ""
    assert told(person)["ended"] == 3


def test_a_worker_that_is_killed_while_it_sends_words_sends_the_same_again(person, server, study, urls):
    finish(person, study, urls)
    reached, go = threading.Event(), threading.Event()

    def stop(path: str) -> None:
        if path == TERMS_PATH:
            reached.set()
            assert go.wait(60)

    server.before = stop
    study.facts["terms"] = True
    person.desk.evaluate("chrome.alarms.create('learn', { when: Date.now() })")
    assert reached.wait(60)
    person.kill_worker()
    server.before = lambda path: None
    go.set()
    sync(person)
    until(lambda: len(study.terms) == 2, what="both attempts")
    assert len(set(study.terms)) == 1
    assert [one["outcome"] for one in reports_of_words(person)] == ["taken"]


def test_export_and_deletion_include_the_study(person, server, study, urls):
    answer_first_task(person, urls)
    until(lambda: study.told, what="the answer")
    options = person.asking("options")
    until(lambda: options({"kind": "export"})["data"]["task_answers"][0]["outcome"] == "taken", what="the outcome")
    exported = options({"kind": "export"})["data"]
    assert exported["study"]["study"]["title"] == TITLE
    assert exported["task_answers"][0]["task"] == 101
    options({"kind": "erase", "server": True})
    exported = options({"kind": "export"})["data"]
    assert (exported["study"], exported["task_answers"], exported["servers"]) == (None, [], [])


# The end of a study.


@pytest.mark.parametrize(
    "answer", [NO_STUDY, (401, {"type": "/problems/unauthorized", "status": 401}, {})], ids=["withdrawn", "deleted"]
)
def test_who_is_no_longer_in_the_study_leaves_it_cleanly(person, server, study, urls, answer):
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    for path in ("/api/v2/study", "/api/v2/tasks", "/api/v2/tasks/101"):
        server.spoiled[path] = answer
    choose(person.popup(page), RELIGION_CLASS)
    until(lambda: told(person) is None, what="the end of the study")
    person.wait_for_badge(page, "R2")
    asked = len(server.asked)
    sync(person)
    assert len(server.asked) == asked
    popup = person.popup(page)
    assert popup.is_hidden("#study")
    assert study.told == []


def test_who_comes_back_to_the_study_tells_of_the_same_tasks_again(person, study):
    study.tasks[0]["url"] = "http://256.256.256.256/"
    ask, choices = person.asking("popup"), person.asking("options")
    told_once = [(101, {"state": "broken"}), (102, {"state": "opened"})]
    for times in (1, 2):
        sync(person)
        ask({"kind": "open-task", "task": 102, "tab": -1})
        sync(person)
        assert sorted(study.told, key=str) == sorted(times * told_once, key=str)
        choices({"kind": "change", "settings": {"studies": False}})
        study.tasks[0]["state"] = "open"
        choices({"kind": "change", "settings": {"studies": True}})


def test_a_closed_study_says_so_and_its_pages_are_ordinary_again(person, study, urls):
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    assert person.badge(page) == ""
    study.facts["status"] = "closed"
    sync(person)
    person.wait_for_badge(page, "H2")
    popup = person.popup(page)
    popup.wait_for_selector("#study", state="visible")
    assert popup.inner_text("#study-place") == "This study has ended. Thank you for taking part."
    assert popup.is_hidden("#study-buttons")


def test_who_takes_the_consent_back_sends_nothing_that_waited(person, server, study, urls):
    server.spoiled["/api/v2/tasks/101"] = (503, b"", {})
    answer_first_task(person, urls)
    until(lambda: "PUT /api/v2/tasks/101" in server.asked, what="an attempt")
    choices = person.asking("options")
    choices({"kind": "change", "settings": {"studies": False}})
    server.spoiled.clear()
    asked = len(server.asked)
    sync(person)
    assert (len(server.asked), study.told, told(person)) == (asked, [], None)


# A hostile server.

BAD_URLS = ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "chrome://settings", "//x.test/", 7)
BAD_TASKS: list[Any] = [
    {"tasks": [{"id": n, "position": n, "url": "https://x.test/", "state": "open"} for n in range(1, 1002)]},
    {"tasks": {"0": {}}},
    [],
    b"[" * 50_000,
    b"x" * (9 << 20),
    b"\xff\xfe",
]


def test_addresses_that_are_not_of_web_pages_lead_nowhere(person, server, study):
    listed = [{"id": n, "position": n, "url": url, "state": "open"} for n, url in enumerate(BAD_URLS, 1)]
    server.spoiled["/api/v2/tasks"] = (200, {"tasks": listed}, {})
    sync(person)
    assert (told(person)["tasks"], told(person)["ended"], told(person)["next"]) == (len(BAD_URLS), len(BAD_URLS), None)
    pages = len(person.context.pages)
    popup = person.open("popup", "?tab=-1")
    assert popup.is_hidden("#task-open")
    popup.close()
    assert len(person.context.pages) == pages


def test_tasks_that_make_no_sense_change_nothing(person, server, study):
    before = told(person)
    for bad in BAD_TASKS:
        server.spoiled["/api/v2/tasks"] = (200, bad, {})
        sync(person)
        assert told(person) == before
    for bad in ({}, [], {**study.facts, "title": "<b>" * 100}, {**study.facts, "page": "https://evil.test/"}):
        server.spoiled["/api/v2/study"] = (200, bad if isinstance(bad, dict) else b"[]", {})
        sync(person)
        assert told(person) == before
    server.spoiled.clear()
    study.facts["title"] = "<b>Bold</b>"
    sync(person)
    popup = person.open("popup", "?tab=-1")
    assert popup.inner_text("#study-title") == "<b>Bold</b>"


def test_redirections_of_the_server_are_not_followed(person, server, study):
    with federation() as other:
        other.study = Study("https://evil.test/", title="Stolen")
        server.spoiled["/api/v2/study"] = (307, b"", {"Location": f"{other.address}/api/v2/study"})
        sync(person)
        assert (told(person)["title"], other.asked) == (TITLE, [])


def test_a_page_cannot_answer_or_join_for_the_person(person, server, study, urls):
    page = person.context.new_page()
    page.goto(urls[0])
    person.wait_until_read(page)
    tab = person.tab(page)
    before = list(server.asked)
    for message in (
        {"kind": "join", "server": "https://evil.test", "invitation": "abc"},
        {"kind": "offer", "tab": tab},
        {"kind": "open-task", "tab": tab, "task": 101},
        {"kind": "end-task", "tab": tab, "task": 101, "state": "skipped"},
    ):
        answer = person.desk.evaluate(
            """async ([tabId, message]) => (await chrome.scripting.executeScript({ target: { tabId }, args: [message],
              func: async (message) => String(await chrome.runtime.sendMessage(message).catch(() => "silence")) }))[0]
              .result""",
            [tab, message],
        )
        assert answer in ("silence", "undefined"), message
    assert server.asked == before
    assert told(person)["ended"] == 0
    assert person.asking("options")({"kind": "options"})["settings"]["server"] == server.address


# Training.


def test_task_pages_are_used_in_as_many_rounds_as_the_study_says_and_others_in_two(extension, server, study, urls):
    study.facts["uses_per_page"] = 4
    extension.consent(server=server.address, studies=True)
    until(lambda: told(extension), what="the study")
    answer_first_task(extension, urls)
    extension.store_labelled_pages(1)
    used = []
    for turn in range(1, 7):
        server.round = turn
        if extension.learn()["learning"]["last"] == "learning_sent":
            used.append(extension.asking("sent")({"kind": "sent"})["sent"][0]["pages"])
    assert used == [2, 2, 1, 1]
    counts = extension.asking("options")({"kind": "export"})["data"]["used_pages"]
    assert sorted(counts.values()) == [2, 4]


def test_the_limit_of_a_study_holds_only_at_its_server_and_while_one_is_in_it(extension, server, study, urls):
    study.facts["uses_per_page"] = 10
    extension.consent(server=server.address, studies=True)
    until(lambda: told(extension), what="the study")
    answer_first_task(extension, urls)
    for turn in (1, 2, 3):
        server.round = turn
        assert extension.learn()["learning"]["last"] == "learning_sent"
    server.study = None
    extension.learn()  # which leaves the study
    until(lambda: told(extension) is None, what="the end of the study")
    server.round = 5
    assert extension.learn()["learning"]["last"] == "learning_no_pages"


def test_options_and_popup_say_what_a_higher_limit_means(person, study):
    study.facts["uses_per_page"] = 10
    sync(person)
    options = person.open("options")
    text = options.inner_text("#study")
    assert "used in up to 10 rounds" in text
    assert "more than 87 of 100 cases" in text
    assert "in more than 72" in text
    assert "the figures are 70 and 60" in text
    popup = person.open("popup", "?tab=-1")
    popup.click("#study-more summary")
    assert "87 of 100" in popup.inner_text("#study-limit")
    study.facts["uses_per_page"] = 2
    sync(person)
    options.reload()
    options.wait_for_selector("#study", state="visible")
    assert "more often than for other pages" not in options.inner_text("#study")
    options.check("#allLayers")
    until(lambda: "no limit holds" in options.inner_text("#study-limit"), what="the warning")
