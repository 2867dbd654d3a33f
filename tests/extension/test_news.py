"""Who took part hears what became of it: from a real Chromium, and with a real server."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from eitr.taxonomy import NON_SENSITIVE, index_of

from .browser import PATIENCE_SECONDS, Extension, until
from .federation import Federation, federation
from .real_server import real_server
from .site import Site

HEALTH, RELIGION = index_of("health"), index_of("religion")
ROUNDS = "/api/v2/me/rounds"
MATCH = "<!doctype html><html lang=en><title>Cup final</title><p>The team won the match, and the coach was glad."
INCLUDED = "Version 2 includes the round you took part in."


@pytest.fixture
def server() -> Iterator[Federation]:
    with federation() as found:
        yield found


@pytest.fixture
def took_part(extension: Extension, server: Federation) -> Extension:
    """A browser that sent to round 1; the model has all six corrected pages wrong, of which three are about health."""
    server.favour(RELIGION)
    extension.consent(server=server.address)
    extension.store_labelled_pages(6)
    assert extension.learn()["learning"]["last"] == "learning_sent"
    return extension


def news(extension: Extension) -> Any:
    return extension.asking("sent")({"kind": "sent"})["news"]


def in_popup(extension: Extension) -> Any:
    return extension.asking("popup")({"kind": "popup", "tab": -1})["news"]


def asked(server: Federation) -> int:
    return server.asked.count(f"GET {ROUNDS}")


def text_of(extension: Extension, page: str, selector: str) -> str:
    shown = extension.open(page, "?tab=-1" if page == "popup" else "")
    try:
        return shown.inner_text(selector)
    finally:
        shown.close()


def test_the_popup_and_what_was_sent_say_that_a_version_includes_the_round(took_part, server):
    server.favour(HEALTH)
    server.publish()
    took_part.learn()
    expected = f"{INCLUDED} 3 of the 6 pages you had corrected are now judged as you said."
    assert text_of(took_part, "popup", "#news-text") == expected
    assert text_of(took_part, "sent", "#news") == expected
    assert "Version 2 of the model includes this round." in text_of(took_part, "sent", "#uploads")


def test_before_there_is_a_new_version_nothing_is_asked_and_nothing_said(took_part, server):
    took_part.learn()
    assert asked(server) == 0
    assert news(took_part) is None
    assert "Not known yet" in text_of(took_part, "sent", "#uploads")


def test_the_server_is_asked_once_for_each_version(took_part, server):
    server.publish()
    for _ in range(3):
        took_part.learn()
    assert asked(server) == 1
    server.version += 1
    took_part.learn()
    assert asked(server) == 2


def test_who_sent_nothing_does_not_ask(extension, server):
    extension.consent(server=server.address)
    extension.learn()
    server.version += 1
    extension.learn()
    assert asked(server) == 0


def test_what_is_hidden_in_the_popup_stays_hidden_until_the_next_round(took_part, server):
    server.favour(HEALTH)
    server.publish()
    took_part.learn()
    popup = took_part.open("popup", "?tab=-1")
    popup.click("#hide-news")
    popup.wait_for_selector("#news", state="hidden")
    popup.close()
    server.version += 1  # of a round of others
    took_part.learn()
    took_part.kill_worker()
    assert in_popup(took_part) is None
    assert news(took_part)["version"] == 2
    server.round = 2
    assert took_part.learn()["learning"]["last"] == "learning_sent"
    server.publish()
    took_part.learn()
    assert in_popup(took_part)["version"] == 4


def test_fewer_pages_than_before_are_said(took_part, server):
    server.favour(HEALTH)
    server.publish()
    took_part.learn()
    server.round = 2
    assert took_part.learn()["learning"]["last"] == "learning_sent"
    server.favour(RELIGION)
    server.publish()
    took_part.learn()
    assert news(took_part) == {"version": 3, "corrected": 6, "right": 0, "before": 3, "hidden": False}
    expected = "0 of the 6 pages you had corrected are now judged as you said. With the version before, it was 3."
    assert expected in text_of(took_part, "popup", "#news-text")


def test_none_is_said_to_be_none_yet(took_part, server):
    server.publish()
    took_part.learn()
    assert "None of the 6 pages you had corrected is judged as you said yet." in text_of(took_part, "sent", "#news")


def test_a_version_that_was_rolled_back_is_no_news_any_more(took_part, server):
    server.publish()
    took_part.learn()
    assert in_popup(took_part) is not None
    server.outcomes[0]["outcome"] = "rolled-back"
    server.version += 1
    took_part.learn()
    assert in_popup(took_part) is None
    assert "gone back to an earlier version" in text_of(took_part, "sent", "#uploads")


def test_a_round_without_a_version_is_told_on_the_page_alone(took_part, server):
    server.outcomes = [{"round": 1, "outcome": "not-published", "version": None}]
    server.version += 1
    took_part.learn()
    assert news(took_part) is None
    assert "No version of the model was published from this round." in text_of(took_part, "sent", "#uploads")


def test_a_version_that_was_not_fetched_yet_is_not_announced(took_part, server):
    server.publish()
    server.outcomes[0]["version"] = 3
    took_part.learn()
    assert news(took_part) is None


def test_who_stops_contributing_is_told_and_asks_nothing(took_part, server):
    server.publish()
    took_part.learn()
    ask = took_part.asking("options")
    ask({"kind": "change", "settings": {"contributing": False}})
    assert (news(took_part), in_popup(took_part)) == (None, None)
    server.version += 1
    took_part.learn()
    assert asked(server) == 1


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        pytest.param((404, {"type": "/problems/not-found", "status": 404}, {}), 0, id="an older server"),
        pytest.param((401, {"type": "/problems/not-enrolled", "status": 401}, {}), 0, id="a server that forgot us"),
        pytest.param((200, b'{"rounds": [{"round": "1", "outcome": "not-published"}]}', {}), 0, id="nonsense"),
        pytest.param((503, b"", {}), 1, id="busy"),
    ],
)
def test_taking_part_goes_on_whatever_the_server_says_of_rounds(took_part, server, answer, again):
    server.publish()
    server.round = 2
    server.spoiled[ROUNDS] = answer
    assert took_part.learn()["learning"]["last"] == "learning_sent"
    assert asked(server) == 1
    server.spoiled.clear()
    took_part.learn()
    assert asked(server) == 1 + again
    assert (news(took_part) is not None) == bool(again)


def test_a_worker_killed_before_the_answer_asks_again(took_part, server):
    server.favour(HEALTH)
    server.publish()
    there, killed = threading.Event(), threading.Event()

    def stop(path: str) -> None:
        if path == ROUNDS and not there.is_set():
            there.set()
            killed.wait(PATIENCE_SECONDS)

    server.before = stop
    options = took_part.open("options")
    options.evaluate("() => { chrome.runtime.sendMessage({kind: 'learn'}).catch(() => null); return null }")
    assert there.wait(PATIENCE_SECONDS)
    took_part.kill_worker()
    killed.set()
    options.close()
    assert news(took_part) is None
    took_part.learn()
    assert (news(took_part)["version"], news(took_part)["right"]) == (2, 3)


def visit_match(extension: Extension, site: Site) -> Any:
    tab = extension.context.new_page()
    tab.goto(site.put("match.test", "/", MATCH))
    extension.wait_until_read(tab)
    return tab


def test_what_is_right_is_agreed_with_and_everything_else_corrected(agreed, site):
    tab = visit_match(agreed, site)
    ask = agreed.asking("popup")
    here = {name: agreed.view(tab)[name] for name in ("document", "url")}
    kept = {}
    for label in (NON_SENSITIVE, HEALTH):
        ask({"kind": "label", "label": label, **here})
        (page,) = agreed.asking("options")({"kind": "export"})["data"]["labelled_pages"]
        kept[label] = (page["agreed"], page["language"])
    assert kept == {NON_SENSITIVE: (True, "en"), HEALTH: (False, "en")}


@pytest.mark.long
def test_from_a_correction_to_the_news_of_a_real_server(extension, site, tmp_path):
    settings = {"EITR_AUTOMATIC_ROUNDS": "true", "EITR_MARGIN": "1", "EITR_CLASS_MARGIN": "1"}
    with real_server(tmp_path / "server", 1, **settings) as server:
        extension.consent(server=server.address)
        tab = visit_match(extension, site)
        popup = extension.popup(tab)
        popup.select_option("#topic", str(HEALTH))
        popup.click("#correct")
        until(lambda: extension.view(tab)["label"] == HEALTH, what="the correction")
        until(server.round, what="an open round")
        assert extension.learn()["learning"]["last"] == "learning_sent"
        server.wait_for_version(2)
        assert extension.learn()["model"]["version"] == 2
        # The line appears in the popup that was open all the time.
        popup.wait_for_selector("#news:not([hidden])")
        # One short private step does not teach a model that a match is about health.
        expected = f"{INCLUDED} The page you had corrected is not judged as you said yet."
        assert popup.inner_text("#news-text") == expected
        popup.close()
        assert text_of(extension, "sent", "#news") == expected
