"""Taking part from a real Chromium: whatever the server does, and whenever the worker is killed."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from .browser import PATIENCE_SECONDS, Extension, until
from .federation import NO_ROUND, WEIGHTS, Federation, federation
from .site import served

STEPS = (
    "/api/v1/participants",
    "/api/v1/model",
    "/api/v1/models/1/weights",
    "/api/v1/models/1/vocabulary",
    "/api/v1/rounds/current",
    "/api/v1/rounds/1/update",
)
CLINIC = "<!doctype html><title>Clinic</title><p>Diabetes, insulin and the doctor in the hospital.</p>"
FAILURES = ("learning_unreachable", "learning_not_understood", "learning_refused")
STORED = """(key) => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const asked = opening.result.transaction("kept").objectStore("kept").get(key);
    asked.onsuccess = () => { opening.result.close(); done(asked.result ?? null) };
  };
})"""
SPOILED = {
    "fails": (500, b"", {}),
    "busy": (503, b"", {"Retry-After": "3600"}),
    "garbage": (200, b"<html>\x00\xff not what you expect", {}),
    "nested": (200, b"[" * 50_000, {}),
    "empty": (200, b"{}", {}),
    "long": (200, b"x" * 2_000_000, {}),
}


@pytest.fixture
def server() -> Iterator[Federation]:
    with federation() as found:
        yield found


@pytest.fixture
def contributing(extension: Extension, server: Federation) -> Extension:
    """A browser whose user contributes and has labelled six pages."""
    extension.consent(server=server.address)
    extension.store_labelled_pages(6)
    return extension


def sent(extension: Any) -> list[dict[str, Any]]:
    ask = extension.asking("sent")
    return ask({"kind": "sent"})["sent"]


def test_one_update_a_round_is_learned_sent_and_listed(contributing, server):
    view = contributing.learn()
    assert view["learning"]["last"] == "learning_sent"
    assert view["model"]["version"] == 1
    (listed,) = sent(contributing)
    assert server.updates == {1: [listed["sha256"]]}
    assert (listed["round"], listed["base"], listed["bytes"], listed["pages"]) == (1, 1, len(WEIGHTS) // 2, 6)
    assert contributing.learn()["learning"]["last"] == "learning_already_sent"
    server.version, server.round = 2, 2
    assert contributing.learn()["model"]["version"] == 2
    assert sorted(server.updates) == [1, 2]
    assert server.enrolled == 1


def test_the_alarm_makes_the_browser_take_part(contributing, server):
    contributing.desk.evaluate("chrome.alarms.create('learn', { when: Date.now() })")
    until(lambda: server.updates, what="an update")
    ask = contributing.asking("options")
    until(lambda: ask({"kind": "options"})["learning"]["last"] == "learning_sent", what="the end")


def test_nothing_is_asked_of_the_server_without_consent_to_contribute(agreed, server):
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"server": server.address}})
    agreed.store_labelled_pages(6)
    assert agreed.learn()["learning"]["last"] == ""
    assert server.asked == []


def test_four_pages_are_the_least(contributing, server):
    contributing.desk.evaluate("""() => new Promise((done) => { const opening = indexedDB.open("eitr");
      opening.onsuccess = () => { const change = opening.result.transaction("pages", "readwrite");
        for (const n of [0, 1, 2]) change.objectStore("pages").delete(`page ${n}`);
        change.oncomplete = () => { opening.result.close(); done(null) } } })""")
    assert contributing.learn()["learning"]["last"] == "learning_few_pages"
    assert server.updates == {}


@pytest.mark.parametrize("moment", ["before", pytest.param("after", marks=pytest.mark.long)])
@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_any_step_loses_nothing_and_sends_nothing_twice(contributing, server, step, moment):
    there, killed = threading.Event(), threading.Event()

    def stop(path: str) -> None:
        if path == step and not there.is_set():
            there.set()
            # Before an answer the server waits until the worker is dead; after it they race.
            if moment == "before":
                killed.wait(PATIENCE_SECONDS)

    setattr(server, moment, stop)
    options = start_learning(contributing)
    assert there.wait(PATIENCE_SECONDS), f"{step} was never asked for"
    contributing.kill_worker()
    killed.set()
    options.close()
    for _ in range(3):
        contributing.learn()
    (listed,) = sent(contributing)
    assert listed["outcome"] == "taken"
    assert set(server.updates[1]) == {listed["sha256"]}


def test_a_worker_killed_while_it_trains_starts_again_with_the_same_seed(contributing, server):
    contributing.store_labelled_pages(5000)
    server.epochs = 100
    key = f"seed {server.address}"
    options = start_learning(contributing)
    # The seed is stored before the first step, and a hundred epochs take a while.
    seed = until(lambda: contributing.desk.evaluate(STORED, key), what="the seed")
    contributing.kill_worker()
    assert server.updates == {}
    options.close()
    server.epochs = 1
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert len(server.updates[1]) == 1
    assert contributing.desk.evaluate(STORED, key) == seed


@pytest.mark.parametrize("path", ["/api/v1/model", "/api/v1/rounds/current", "/api/v1/models/1/weights"])
def test_whatever_the_server_answers_pages_are_still_classified(contributing, server, path):
    with served() as site:
        moved = (302, b"", {"Location": site.address("127.0.0.1", path)})
        for name, spoiled in {**SPOILED, "redirects": moved}.items():
            server.spoiled[path] = spoiled
            view = contributing.learn()
            assert view["learning"]["last"] in FAILURES, name
            assert view["model"]["version"] == (1 if path.endswith("current") else 0), name
        assert server.updates == {}
        assert site.asked == []
        page = contributing.context.new_page()
        page.goto(site.put("clinic.test", "/", CLINIC))
        contributing.wait_for_badge(page, "H")
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_sent"


def test_models_that_are_older_or_of_another_kind_are_refused(contributing, server):
    server.round = None
    server.version = 3
    assert contributing.learn()["model"]["version"] == 3
    server.version = 2
    view = contributing.learn()
    assert (view["model"]["version"], view["learning"]["last"]) == (3, "learning_not_understood")
    server.spoiled["/api/v1/model"] = (200, {**server.manifest(), "version": 4, "layers": [1000, 64, 6]}, {})
    assert contributing.learn()["model"]["version"] == 3


def test_nothing_is_trained_for_a_round_of_another_model(contributing, server):
    server.spoiled["/api/v1/rounds/current"] = (200, {**server.call(), "base": 2}, {})
    assert contributing.learn()["learning"]["last"] == "learning_other_model"
    assert server.updates == {}


def test_a_closed_round_is_let_go_of_and_the_next_one_served(contributing, server):
    server.spoiled["/api/v1/rounds/1/update"] = (409, {"type": "/problems/round-closed", "status": 409}, {})
    view = contributing.learn()
    assert (view["learning"]["last"], view["learning"]["sent"]) == ("learning_round_closed", 0)
    server.round = 2
    view = contributing.learn()
    assert (view["learning"]["last"], view["learning"]["sent"]) == ("learning_sent", 1)
    assert [(one["round"], one["outcome"]) for one in sent(contributing)] == [(2, "taken"), (1, "refused")]


def test_a_server_that_forgot_us_is_enrolled_with_again(contributing, server):
    server.spoiled["/api/v1/rounds/1/update"] = (401, {"type": "/problems/not-enrolled", "status": 401}, {})
    assert contributing.learn()["learning"]["last"] == "learning_refused"
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert server.enrolled == 2


def test_who_stops_contributing_sends_nothing_that_was_ready(contributing, server):
    server.spoiled["/api/v1/rounds/1/update"] = (503, b"", {})
    assert contributing.learn()["learning"]["last"] == "learning_unreachable"
    ask = contributing.asking("options")
    ask({"kind": "change", "settings": {"contributing": False}})
    ask({"kind": "change", "settings": {"contributing": True}})
    server.spoiled = {"/api/v1/rounds/current": NO_ROUND}
    contributing.learn()
    assert server.updates == {}


def held_up(server: Federation, method: str, path: str) -> tuple[threading.Event, threading.Event]:
    """Keep a request waiting. The first event says that it is there, the second lets it be answered."""
    there, done = threading.Event(), threading.Event()

    def before(asked: str) -> None:
        if asked == path and server.asked[-1] == f"{method} {path}" and not there.is_set():
            there.set()
            done.wait(PATIENCE_SECONDS)

    server.before = before
    return there, done


def start_learning(extension: Any) -> Any:
    options = extension.open("options")
    options.evaluate("() => { chrome.runtime.sendMessage({kind: 'learn'}).catch(() => null); return null }")
    return options


def test_who_stops_contributing_during_an_upload_ends_it(contributing, server):
    there, done = held_up(server, "PUT", "/api/v1/rounds/1/update")
    options = start_learning(contributing)
    assert there.wait(PATIENCE_SECONDS)
    options.evaluate("() => chrome.runtime.sendMessage({kind: 'change', settings: {contributing: false}})")
    done.set()
    (listed,) = sent(contributing)
    assert listed["outcome"] == "unknown", "the person is told that it may have arrived"
    asked = len(server.asked)
    assert contributing.learn()["learning"]["last"] == ""
    assert len(server.asked) == asked


def test_whoever_deletes_everything_while_the_browser_enrols_is_unknown_afterwards(contributing, server):
    there, done = held_up(server, "POST", "/api/v1/participants")
    options = start_learning(contributing)
    assert there.wait(PATIENCE_SECONDS)
    told = options.evaluate("() => chrome.runtime.sendMessage({kind: 'erase', server: true})")
    done.set()
    assert told["ok"], told
    # The answer to the enrolment, should anybody still wait for it.
    until(lambda: server.answered == len(server.asked), what="the answer")
    contributing.worker_has_finished()
    ask = contributing.asking("options")
    view = ask({"kind": "options"})
    assert ask({"kind": "export"})["data"]["servers"] == []
    assert (view["learning"]["enrolled"], view["model"]["version"], view["settings"]["asked"]) == (False, 0, 0)


def test_who_goes_to_another_server_and_comes_back_sends_nothing_twice(contributing, server):
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    with federation() as other:
        ask = contributing.asking("options")
        ask({"kind": "change", "settings": {"server": other.address}})
        assert contributing.learn()["learning"]["last"] == "learning_sent"
        ask({"kind": "change", "settings": {"server": server.address}})
        assert contributing.learn()["learning"]["last"] == "learning_already_sent"
    assert len(server.updates[1]) == len(other.updates[1]) == 1
    assert len([one for one in server.asked if one.startswith("PUT")]) == 1


@pytest.mark.parametrize("status", [404, 403, 520])
def test_what_something_before_the_server_answers_is_no_refusal(contributing, server, status):
    server.spoiled["/api/v1/rounds/1/update"] = (status, b"<h1>Down for maintenance</h1>", {})
    assert contributing.learn()["learning"]["last"] == "learning_unreachable"
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    (listed,) = sent(contributing)
    assert (listed["outcome"], server.updates[1]) == ("taken", [listed["sha256"]])


def test_a_server_that_is_gone_keeps_no_other_from_deleting(contributing, server):
    with federation() as other:
        ask = contributing.asking("options")
        contributing.learn()
        ask({"kind": "change", "settings": {"server": other.address}})
        contributing.learn()
        server.spoiled["/api/v1/me"] = (503, b"", {})
        page = contributing.open("options")
        told = page.evaluate("() => chrome.runtime.sendMessage({kind: 'erase', server: true})")
        assert told == {"ok": False, "problem": "problem_erase_server"}
        assert other.asked[-1] == "DELETE /api/v1/me"


def test_everything_can_be_deleted_here_and_there(contributing, server):
    contributing.learn()
    ask = contributing.asking("options")
    server.spoiled["/api/v1/me"] = (503, b"", {})
    page = contributing.open("options")
    told = page.evaluate("() => chrome.runtime.sendMessage({kind: 'erase', server: true})")
    assert told == {"ok": False, "problem": "problem_erase_server"}
    assert ask({"kind": "options"})["learning"]["sent"] == 1
    server.spoiled.clear()
    ask({"kind": "erase", "server": True})
    assert server.asked[-1] == "DELETE /api/v1/me"
    view = ask({"kind": "options"})
    assert (view["learning"]["pages"], view["learning"]["sent"], view["settings"]["asked"]) == (0, 0, 0)
    assert contributing.desk.evaluate("chrome.storage.session.get(null)") == {}
