"""Taking part from a real Chromium: whatever the server does, and whenever the worker is killed."""

import struct
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from .browser import PATIENCE_SECONDS, Extension, until
from .federation import NO_ROUND, PAPER, POOL, POOL_PATH, PRIVATE, SIZES, Federation, federation
from .site import served

STEPS = (
    "/api/v2/participants",
    "/api/v2/model",
    "/api/v2/models/1/weights",
    "/api/v2/models/1/vocabulary",
    "/api/v2/rounds/current",
    POOL_PATH,
    "/api/v2/rounds/1/update",
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
STORED_POOL = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const asked = opening.result.transaction("model").objectStore("model").get("pool");
    asked.onsuccess = () => {
      opening.result.close();
      done(asked.result?.sha256 ?? null);
    };
  };
})"""
STORED_BY_VERSION_1 = """(server) => new Promise((done, failed) => {
  // Both requests wait in one queue, so the worker cannot make a database of today between them.
  indexedDB.deleteDatabase("eitr");
  const opening = indexedDB.open("eitr", 1);
  opening.onerror = () => failed(opening.error);
  opening.onupgradeneeded = () => {
    for (const [name, keyPath] of [["kept"], ["model"], ["pages", "page"], ["sent", ["server", "round"]],
      ["hosts", "host"], ["lists", "name"]]) opening.result.createObjectStore(name, keyPath ? { keyPath } : {});
  };
  opening.onsuccess = () => {
    const change = opening.result.transaction(["kept", "pages"], "readwrite");
    const settings = { asked: 1, classifying: true, contributing: true, server };
    const octets = new Uint8Array(529356);
    change.objectStore("kept").put(settings, "settings");
    change.objectStore("kept").put([{ server, id: "0".repeat(32), secret: "s3cret-_x" }], "participants");
    change.objectStore("kept").put({ server, round: 1, base: 1, pages: 6, sha256: "00", octets }, "outbox");
    change.objectStore("pages").put({ page: "old", label: 0, time: 1, agreed: false, words: [["diabetes", 3]] });
    change.oncomplete = () => { opening.result.close(); done(null) };
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
    assert (listed["round"], listed["base"], listed["bytes"], listed["pages"]) == (1, 1, SIZES["private"], 4)
    assert listed["cover"] == PRIVATE["cover_pages"]
    assert contributing.learn()["learning"]["last"] == "learning_already_sent"
    server.version, server.round = 2, 2
    assert contributing.learn()["model"]["version"] == 2
    assert sorted(server.updates) == [1, 2]
    assert server.enrolled == 1


def test_a_vocabulary_that_stays_the_same_is_not_downloaded_again(contributing, server):
    contributing.learn()
    server.version, server.round = 2, 2
    assert contributing.learn()["model"]["version"] == 2
    assert sorted(server.updates) == [1, 2]
    files = [path for path in server.asked if path.startswith("GET /api/v2/models/")]
    assert files == [f"GET /api/v2/models/{file}" for file in ("1/weights", "1/vocabulary", "2/weights")]


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


def keep_pages(extension: Extension, *kept: int) -> None:
    """Delete all labelled pages but those with these numbers."""
    extension.desk.evaluate(
        """(kept) => new Promise((done) => { const opening = indexedDB.open("eitr");
      opening.onsuccess = () => { const change = opening.result.transaction("pages", "readwrite");
        for (let n = 0; n < 6; n += 1) if (!kept.includes(n)) change.objectStore("pages").delete(`page ${n}`);
        change.oncomplete = () => { opening.result.close(); done(null) } } })""",
        list(kept),
    )


def test_one_page_is_enough_and_none_is_not(contributing, server):
    keep_pages(contributing)
    assert contributing.learn()["learning"]["last"] == "learning_no_pages"
    assert POOL_PATH not in " ".join(server.asked)
    contributing.store_labelled_pages(1)
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    (listed,) = sent(contributing)
    assert listed["pages"] == 1


def test_what_is_sent_is_the_step_of_the_last_layer_in_noise_of_the_promised_size(contributing, server):
    contributing.learn()
    (body,) = server.bodies
    step = np.array(struct.unpack(f"<{len(body) // 2}e", body))
    # The gradients are at most 200 + 6 * 4 times 0.133 long, so the step is 1.5; 198 numbers of noise are 1.5, too.
    noise = PRIVATE["noise"] * PRIVATE["learning_rate"] * PRIVATE["own_weight"] * PRIVATE["clip"]
    assert 0.7 * noise < step.std() < 1.5 * noise
    assert (step != 0).mean() > 0.98


def test_a_round_uses_four_pages_at_most_and_all_pages_get_their_turns(contributing, server):
    turn = 0
    while contributing.learn()["learning"]["last"] == "learning_sent":
        turn += 1
        server.round = turn + 1
    used = [one["pages"] for one in sent(contributing)]
    assert max(used) == 4
    assert sum(used) == 2 * 6
    exported = contributing.asking("options")({"kind": "export"})["data"]
    assert list(exported["used_pages"].values()) == [2] * 6


def test_a_page_is_used_in_two_rounds_at_most(contributing, server):
    keep_pages(contributing, 0, 1, 2, 3)
    for turn in (1, 2, 3):
        server.round = turn
        view = contributing.learn()
    assert (view["learning"]["last"], view["learning"]["usedUp"]) == ("learning_no_pages", 4)
    assert sorted(server.updates) == [1, 2]
    contributing.store_labelled_pages(7)
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert [one["pages"] for one in sent(contributing)] == [3, 4, 4]
    options = contributing.open("options")
    assert "7, of which 4 were used as often as they may be" in options.inner_text("#learning")
    options.close()


def test_rounds_of_all_servers_count(contributing, server):
    ask = contributing.asking("options")
    keep_pages(contributing, 0, 1, 2, 3)
    contributing.learn()
    with federation() as other:
        ask({"kind": "change", "settings": {"server": other.address}})
        assert contributing.learn()["learning"]["last"] == "learning_sent"
        other.round = 2
        assert contributing.learn()["learning"]["last"] == "learning_no_pages"


def test_a_page_that_is_judged_anew_or_taken_back_keeps_its_count(extension, server, site):
    extension.consent(server=server.address)
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", CLINIC))
    extension.wait_until_read(page)
    ask = extension.asking("popup")
    view = extension.view(page)
    here = {"document": view["document"], "url": view["url"]}
    ask({"kind": "label", "label": 0, **here})
    assert extension.learn()["learning"]["last"] == "learning_sent"
    ask({"kind": "label", "label": 2, **here})
    server.round = 2
    assert extension.learn()["learning"]["last"] == "learning_sent"
    ask({"kind": "take-back", **here})
    ask({"kind": "label", "label": 1, **here})
    server.round = 3
    assert extension.learn()["learning"]["last"] == "learning_no_pages"
    exported = extension.asking("options")({"kind": "export"})["data"]
    assert list(exported["used_pages"].values()) == [2]


def test_the_pool_is_fetched_once_and_replaced_by_the_next(contributing, server):
    for turn in (1, 2):
        server.round, server.version = turn, turn
        assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert server.asked.count(f"GET {POOL_PATH}") == 1
    # The same pages without the last one, announced without a new model.
    pages, entries = struct.unpack_from("<II", POOL, 4)
    server.pool = shorter_pool(pages, entries)
    server.round = 3
    contributing.store_labelled_pages(7)
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert contributing.desk.evaluate(STORED_POOL) == server.manifest()["pool"]["sha256"]


def shorter_pool(pages: int, entries: int) -> bytes:
    """Return the pool without its last page."""
    labels, lengths, columns, weights = 44, 44 + pages, 44 + 3 * pages, 44 + 3 * pages + 2 * entries
    (last,) = struct.unpack_from("<H", POOL, columns - 2)
    return b"".join(
        (
            POOL[:4] + struct.pack("<II", pages - 1, entries - last) + POOL[12:44],
            POOL[labels : lengths - 1],
            POOL[lengths : columns - 2],
            POOL[columns : weights - 2 * last],
            POOL[weights : len(POOL) - last],
        )
    )


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(b"EPL1 and then nothing that makes sense", id="garbage"),
        pytest.param(POOL[:12] + bytes(32) + POOL[44:], id="of another vocabulary"),
        pytest.param(POOL[:-1], id="cut"),
        pytest.param(POOL + bytes(2**20), id="more than a megabyte"),
    ],
)
def test_a_wrong_pool_is_not_used(contributing, server, pool):
    server.pool = pool
    assert contributing.learn()["learning"]["last"] == "learning_not_understood"
    server.pool = POOL
    server.spoiled[POOL_PATH] = (200, POOL[:-1] + b"\x01", {})
    assert contributing.learn()["learning"]["last"] == "learning_not_understood"
    assert server.updates == {}
    assert contributing.desk.evaluate(STORED_POOL) is None
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_sent"


@pytest.mark.parametrize(
    "change",
    [{"noise": 3.9}, {"layers": 3}, {"layers": 0}, {"clip": 0}, {"own_weight": 1e6}, {"learning_rate": -1}],
)
def test_a_plan_that_asks_for_more_than_was_promised_is_not_followed(contributing, server, change):
    server.training = {**PRIVATE, **change}
    assert contributing.learn()["learning"]["last"] == "learning_asks_more"
    assert server.updates == {}
    options = contributing.open("options")
    assert "the server asks for more than EITR gives" in options.inner_text("#learning")
    options.close()


def test_who_is_too_old_for_a_server_is_told_to_update(contributing, server):
    server.spoiled["/api/v2/rounds/current"] = (200, {**server.call(), "training": {"method": "newer"}}, {})
    assert contributing.learn()["learning"]["last"] == "learning_update_needed"
    needed = {"type": "/problems/update-needed", "status": 410, "title": "Update EITR."}
    server.spoiled["/api/v2/rounds/current"] = (410, needed, {})
    assert contributing.learn()["learning"]["last"] == "learning_update_needed"
    options = contributing.open("options")
    assert "Update EITR." in options.inner_text("#learning")
    options.close()
    assert server.updates == {}


def allow_all_layers(extension: Extension) -> None:
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"allLayers": True}})


def test_all_layers_are_trained_only_for_those_who_allow_it(contributing, server):
    server.training = PAPER
    assert contributing.learn()["learning"]["last"] == "learning_all_layers"
    assert server.updates == {}
    options = contributing.open("options")
    assert not options.is_checked("#allLayers")
    assert "could read which words are on your pages" in options.inner_text("#learning")
    options.check("#allLayers")
    until(lambda: "Saved" in (options.text_content("#status") or ""), what="the setting")
    options.close()
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    (listed,) = sent(contributing)
    assert (listed["bytes"], listed.get("cover")) == (SIZES["paper"], None)
    page = contributing.open("sent")
    assert "the server can read from the numbers which words" in page.inner_text("#uploads")
    page.close()


def test_who_no_longer_allows_all_layers_sends_nothing_that_was_ready(contributing, server):
    allow_all_layers(contributing)
    server.training = PAPER
    server.spoiled["/api/v2/rounds/1/update"] = (503, b"", {})
    assert contributing.learn()["learning"]["last"] == "learning_unreachable"
    ask = contributing.asking("options")
    ask({"kind": "change", "settings": {"allLayers": False}})
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_all_layers"
    assert server.updates == {}


def test_pages_that_were_used_twice_are_not_used_for_all_layers_either(contributing, server):
    keep_pages(contributing, 0, 1, 2, 3)
    for turn in (1, 2):
        server.round = turn
        assert contributing.learn()["learning"]["last"] == "learning_sent"
    allow_all_layers(contributing)
    server.round, server.training = 3, PAPER
    assert contributing.learn()["learning"]["last"] == "learning_few_pages"


def test_four_pages_are_the_least_for_all_layers(contributing, server):
    allow_all_layers(contributing)
    server.training = PAPER
    keep_pages(contributing, 3, 4, 5)
    assert contributing.learn()["learning"]["last"] == "learning_few_pages"
    assert server.updates == {}


def test_what_was_sent_is_said_in_numbers(contributing, server):
    contributing.learn()
    page = contributing.open("sent")
    said = page.inner_text("#uploads")
    assert "One list of 198 numbers" in said
    assert "pages that you judged (4) and public pages (200)" in said
    assert "0.4 kB (396 bytes)" in said
    assert "at most 60 of 100 cases" in page.inner_text("main")
    page.close()


def test_what_waits_since_version_1_is_never_sent_and_everything_else_is_kept(extension, server):
    extension.desk.evaluate(STORED_BY_VERSION_1, server.address)
    extension.kill_worker()
    view = extension.learn()
    assert (view["learning"]["last"], view["learning"]["pages"]) == ("learning_sent", 1)
    assert [len(body) for body in server.bodies] == [SIZES["private"]]
    assert server.enrolled == 0, "the identity was kept"


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
    allow_all_layers(contributing)
    server.training = {**PAPER, "epochs": 100}
    key = f"seed {server.address}"
    options = start_learning(contributing)
    # The seed is stored before the first step, and a hundred epochs take a while.
    seed = until(lambda: contributing.desk.evaluate(STORED, key), what="the seed")
    contributing.kill_worker()
    assert server.updates == {}
    options.close()
    server.training = {**PAPER, "epochs": 1}
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert len(server.updates[1]) == 1
    assert contributing.desk.evaluate(STORED, key) == seed


@pytest.mark.parametrize("path", ["/api/v2/model", "/api/v2/rounds/current", "/api/v2/models/1/weights", POOL_PATH])
def test_whatever_the_server_answers_pages_are_still_classified(contributing, server, path):
    with served() as site:
        moved = (302, b"", {"Location": site.address("127.0.0.1", path)})
        for name, spoiled in {**SPOILED, "redirects": moved}.items():
            server.spoiled[path] = spoiled
            view = contributing.learn()
            assert view["learning"]["last"] in FAILURES, name
            assert view["model"]["version"] == (0 if "model" in path else 1), name
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
    server.spoiled["/api/v2/model"] = (200, {**server.manifest(), "version": 4, "layers": [1000, 64, 6]}, {})
    assert contributing.learn()["model"]["version"] == 3


def test_nothing_is_trained_for_a_round_of_another_model(contributing, server):
    server.spoiled["/api/v2/rounds/current"] = (200, {**server.call(), "base": 2}, {})
    assert contributing.learn()["learning"]["last"] == "learning_other_model"
    assert server.updates == {}


def test_a_closed_round_is_let_go_of_and_the_next_one_served(contributing, server):
    server.spoiled["/api/v2/rounds/1/update"] = (409, {"type": "/problems/round-closed", "status": 409}, {})
    view = contributing.learn()
    assert (view["learning"]["last"], view["learning"]["sent"]) == ("learning_round_closed", 0)
    server.round = 2
    view = contributing.learn()
    assert (view["learning"]["last"], view["learning"]["sent"]) == ("learning_sent", 1)
    assert [(one["round"], one["outcome"]) for one in sent(contributing)] == [(2, "taken"), (1, "refused")]


def test_a_server_that_forgot_us_is_enrolled_with_again(contributing, server):
    server.spoiled["/api/v2/rounds/1/update"] = (401, {"type": "/problems/not-enrolled", "status": 401}, {})
    assert contributing.learn()["learning"]["last"] == "learning_refused"
    server.spoiled.clear()
    assert contributing.learn()["learning"]["last"] == "learning_sent"
    assert server.enrolled == 2


def test_who_stops_contributing_sends_nothing_that_was_ready(contributing, server):
    server.spoiled["/api/v2/rounds/1/update"] = (503, b"", {})
    assert contributing.learn()["learning"]["last"] == "learning_unreachable"
    ask = contributing.asking("options")
    ask({"kind": "change", "settings": {"contributing": False}})
    ask({"kind": "change", "settings": {"contributing": True}})
    server.spoiled = {"/api/v2/rounds/current": NO_ROUND}
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
    there, done = held_up(server, "PUT", "/api/v2/rounds/1/update")
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
    there, done = held_up(server, "POST", "/api/v2/participants")
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
    server.spoiled["/api/v2/rounds/1/update"] = (status, b"<h1>Down for maintenance</h1>", {})
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
        server.spoiled["/api/v2/me"] = (503, b"", {})
        page = contributing.open("options")
        told = page.evaluate("() => chrome.runtime.sendMessage({kind: 'erase', server: true})")
        assert told == {"ok": False, "problem": "problem_erase_server"}
        assert other.asked[-1] == "DELETE /api/v2/me"


def test_everything_can_be_deleted_here_and_there(contributing, server):
    contributing.learn()
    ask = contributing.asking("options")
    server.spoiled["/api/v2/me"] = (503, b"", {})
    page = contributing.open("options")
    told = page.evaluate("() => chrome.runtime.sendMessage({kind: 'erase', server: true})")
    assert told == {"ok": False, "problem": "problem_erase_server"}
    assert ask({"kind": "options"})["learning"]["sent"] == 1
    server.spoiled.clear()
    ask({"kind": "erase", "server": True})
    assert server.asked[-1] == "DELETE /api/v2/me"
    view = ask({"kind": "options"})
    assert (view["learning"]["pages"], view["learning"]["sent"], view["settings"]["asked"]) == (0, 0, 0)
    assert contributing.desk.evaluate("chrome.storage.session.get(null)") == {}
