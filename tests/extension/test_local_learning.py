"""Corrections change similar pages in the same browser at once, without a server, and can be undone."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from eitr.taxonomy import NON_SENSITIVE, index_of

from . import federation as server_module
from .browser import Extension, until
from .federation import PAPER, Federation, federation
from .pages import HEALTH, tracked
from .site import Site

ABOUT_HEALTH, RELIGION = index_of("health"), index_of("religion")
PLANTS = ("tomato", "rose", "apple tree", "grape", "potato", "cucumber", "cherry")
"""The model takes pages about their diseases for pages about health. The last one is not corrected."""
SENTENCES = (
    "Symptoms of infection are spots on the leaves.",
    "The disease spreads in wet weather, from the soil to every {plant} nearby.",
    "Treatment begins early: remove infected leaves, and treat the {plant} with medicine for plants.",
    "A healthy {plant} needs prevention, not drugs.",
    "Our {plant} doctor has seen every disease of the garden.",
)
PUT_KEPT = """(values) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("kept", "readwrite");
    for (const [name, value] of Object.entries(values)) change.objectStore("kept").put(value, name);
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""
ENDLESS = "() => { self.MessageChannel = class { port1 = {}; port2 = { postMessage() {} } } }"
"""Long work pauses with a MessageChannel; with this one it never goes on."""


@pytest.fixture
def server() -> Iterator[Federation]:
    with federation() as found:
        yield found


def garden(plant: str) -> str:
    """Return a page about the diseases of a plant, without one of the sentences, so that no two pages are alike."""
    left_out = PLANTS.index(plant) % len(SENTENCES)
    text = " ".join(text.format(plant=plant) for place, text in enumerate(SENTENCES) if place != left_out)
    return f"<!doctype html><html lang=en><title>Diseases of the {plant}</title><p>{text}</p><body></body>"


def opened(extension: Extension, site: Site, host: str, html: str) -> Page:
    """Show a page in a new tab, and wait until it was classified."""
    page = extension.context.new_page()
    page.goto(site.put(host, "/", html))
    extension.wait_until_read(page)
    return page


def label(extension: Extension, page: Page, topic: int) -> None:
    view = extension.view(page)
    ask = extension.asking("popup")
    ask({"kind": "label", "document": view["document"], "url": view["url"], "label": topic})


def correct_six(extension: Extension, site: Site, topic: int = NON_SENSITIVE) -> None:
    """Correct all pages of the garden but the last."""
    for place, plant in enumerate(PLANTS[:-1]):
        page = opened(extension, site, f"plant{place}.test", garden(plant))
        label(extension, page, topic)
        page.close()


def sibling(extension: Extension, site: Site) -> Page:
    return opened(extension, site, "sibling.test", garden(PLANTS[-1]))


def wait_for_shown(extension: Extension, page: Page, topic: int) -> dict[str, Any]:
    """Wait until a page is said to be about a topic, and return what the popup is told."""
    until(lambda: extension.view(page)["shown"] == topic, what=f"the topic {topic} on {page.url}")
    return extension.view(page)


def verdict_on(extension: Extension, page: Page) -> dict[str, Any]:
    """Return what the model and all corrections so far lead to."""
    local(extension)
    page.reload()
    extension.wait_until_read(page)
    return extension.view(page)["verdict"]


def local(extension: Extension) -> dict[str, Any]:
    """Return what the options page is told, after the training that is under way."""
    ask = extension.asking("options")
    return ask({"kind": "options"})["local"]


def change(extension: Extension, **settings: Any) -> None:
    ask = extension.asking("options")
    ask({"kind": "change", "settings": settings})


def test_six_corrections_change_a_similar_page_at_once_and_nothing_leaves_the_browser(agreed, site):
    # The worker may have lived through tests that have a server.
    agreed.worker_is_ready().evaluate("performance.clearResourceTimings()")
    page, clinic = sibling(agreed, site), opened(agreed, site, "clinic.test", HEALTH)
    before, unrelated = agreed.view(page), agreed.view(clinic)
    assert (before["shown"], before["local"]) == (ABOUT_HEALTH, False)
    agreed.wait_for_badge(page, "H")
    correct_six(agreed, site)
    after = wait_for_shown(agreed, page, NON_SENSITIVE)
    assert (after["local"], after["label"]) == (True, None)
    agreed.wait_for_badge(page, "")
    assert agreed.view(clinic) == unrelated
    asked = {host for host, _ in site.asked}
    assert asked == {"sibling.test", "clinic.test", *(f"plant{place}.test" for place in range(6))}
    fetched = agreed.worker_is_ready().evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    assert [name for name in fetched if not name.startswith("chrome-extension://")] == []
    popup = agreed.popup(page)
    popup.wait_for_selector("#local:visible")
    assert "corrections" in popup.inner_text("#local")
    assert popup.inner_text("#verdict").count("corrections") == 1
    popup.close()


def test_reset_restores_the_published_verdict_bit_for_bit(agreed, site):
    page = sibling(agreed, site)
    before = agreed.view(page)
    corrected = opened(agreed, site, "plant0.test", garden(PLANTS[0]))
    correct_six(agreed, site)
    wait_for_shown(agreed, page, NON_SENSITIVE)
    options = agreed.open("options")
    options.click("#reset-local")
    until(lambda: "published model" in (options.text_content("#status") or ""), what="the reset")
    assert options.is_disabled("#reset-local")
    options.close()
    assert agreed.view(page) == before
    page.reload()
    agreed.wait_until_read(page)
    assert agreed.view(page)["verdict"] == before["verdict"]
    assert local(agreed) == {"corrections": 0, "changed": False, "possible": True}
    corrected.reload()
    assert wait_for_shown(agreed, corrected, NON_SENSITIVE)["label"] == NON_SENSITIVE, "the person's word stays"
    label(agreed, corrected, NON_SENSITIVE)
    until(lambda: local(agreed)["corrections"] == 1, what="a new correction")


def test_what_is_undone_changes_nothing_any_more(agreed, site):
    page = sibling(agreed, site)
    before = agreed.view(page)
    pages = [opened(agreed, site, f"plant{place}.test", garden(plant)) for place, plant in enumerate(PLANTS[:-1])]
    for one in pages:
        label(agreed, one, NON_SENSITIVE)
    wait_for_shown(agreed, page, NON_SENSITIVE)
    ask = agreed.asking("popup")
    for one in pages:
        view = agreed.view(one)
        ask({"kind": "take-back", "document": view["document"], "url": view["url"]})
    assert agreed.view(page) == before


def test_who_switches_it_off_sees_the_published_verdict(agreed, site):
    page = sibling(agreed, site)
    before = agreed.view(page)["verdict"]
    correct_six(agreed, site)
    changed = verdict_on(agreed, page)
    assert changed["topic"] == NON_SENSITIVE
    change(agreed, localLearning=False)
    assert agreed.view(page)["verdict"] == before
    assert local(agreed)["changed"] is False
    change(agreed, localLearning=True)
    assert agreed.view(page)["verdict"] == changed


def test_a_worker_that_is_killed_while_it_trains_leaves_the_work_to_the_next(agreed, site):
    page = sibling(agreed, site)
    agreed.worker_is_ready().evaluate(ENDLESS)
    correct = opened(agreed, site, "plant0.test", garden(PLANTS[0]))
    label(agreed, correct, NON_SENSITIVE)
    agreed.worker_has_finished()
    assert agreed.view(page)["shown"] == ABOUT_HEALTH, "training never ends"
    agreed.kill_worker()
    correct_six(agreed, site)
    changed = verdict_on(agreed, page)
    assert changed["topic"] == NON_SENSITIVE
    agreed.kill_worker()
    assert verdict_on(agreed, page) == changed, "the copy is kept"


def test_an_open_page_is_judged_again_by_the_next_worker(agreed, site):
    page = sibling(agreed, site)
    correct_six(agreed, site)
    wait_for_shown(agreed, page, NON_SENSITIVE)
    ask = agreed.asking("options")
    ask({"kind": "reset-local"})
    pages = [opened(agreed, site, f"plant{place}.test", garden(plant)) for place, plant in enumerate(PLANTS[:-1])]
    agreed.worker_is_ready().evaluate(ENDLESS)
    for one in pages:
        label(agreed, one, NON_SENSITIVE)
    assert agreed.view(page)["shown"] == ABOUT_HEALTH
    agreed.kill_worker()
    wait_for_shown(agreed, page, NON_SENSITIVE)


def test_warnings_follow_the_published_model_so_that_no_page_can_query_corrections(agreed, site):
    correct_six(agreed, site)
    page = opened(agreed, site, "sibling.test", tracked(site, garden(PLANTS[-1])))
    view = wait_for_shown(agreed, page, NON_SENSITIVE)
    assert view["local"]
    until(lambda: agreed.view(page)["remembered"], what="the host to be remembered, as the published model says")


def test_a_host_is_remembered_for_the_topic_of_the_published_model(agreed, site):
    correct_six(agreed, site, RELIGION)
    page = opened(agreed, site, "sibling.test", tracked(site, garden(PLANTS[-1])))
    assert wait_for_shown(agreed, page, RELIGION)["local"]
    agreed.wait_for_badge(page, "R2")
    until(lambda: agreed.view(page)["remembered"], what="the host to be remembered")
    hosts = agreed.asking("options")({"kind": "export"})["data"]["sensitive_hosts"]
    assert [one["topic"] for one in hosts if one["host"] == "sibling.test"] == [ABOUT_HEALTH]


def test_only_the_options_page_can_reset(agreed, site):
    correct_six(agreed, site)
    for name in ("popup", "sent", "welcome", "warning"):
        page = agreed.context.new_page()
        page.goto(agreed.url(name))
        told = page.evaluate("chrome.runtime.sendMessage({ kind: 'reset-local' })")
        assert told == {"ok": False, "problem": "problem_failed"}, name
        page.close()
    assert local(agreed)["corrections"] == 6


def test_it_is_exported_and_deleted(agreed, site):
    ask = agreed.asking("options")
    correct_six(agreed, site)
    until(lambda: local(agreed)["changed"], what="the local copy")
    copy = ask({"kind": "export"})["data"]["local_copy"]
    assert (len(copy["lastLayer"]), len(copy["pages"])) == (198, 6)
    ask({"kind": "erase", "server": False})
    agreed.agree()
    assert ask({"kind": "export"})["data"]["local_copy"] is None
    assert agreed.view(sibling(agreed, site))["shown"] == ABOUT_HEALTH


def test_the_bytes_of_an_update_are_the_same_with_and_without_the_local_copy(extension, server, site):
    """Only training of all layers can be repeated: that of the last layer adds noise that is never the same again."""
    server.training = PAPER
    judged = []
    for learning in (True, False):
        extension.start_over()
        extension.consent(server=server.address)
        change(extension, allLayers=True, localLearning=learning)
        seed = {"round": server.round, "seed": 7}
        extension.desk.evaluate(PUT_KEPT, {f"seed {server.address}": seed, "salt": "the same"})
        extension.kill_worker()
        correct_six(extension, site)
        page = sibling(extension, site)
        judged.append(extension.view(page)["shown"])
        assert extension.learn()["learning"]["last"] == "learning_sent"
    assert judged == [NON_SENSITIVE, ABOUT_HEALTH], "the copy was there the first time, and not the second"
    one, other = server.bodies
    assert one == other


def test_news_of_a_round_are_counted_with_the_published_model_alone(extension, server, site):
    extension.consent(server=server.address)
    correct_six(extension, site)
    page = sibling(extension, site)
    wait_for_shown(extension, page, NON_SENSITIVE)
    assert extension.learn()["learning"]["last"] == "learning_sent"
    server.publish()
    extension.learn()
    news = extension.asking("sent")({"kind": "sent"})["news"]
    assert (news["version"], news["corrected"], news["right"]) == (2, 6, 0), "the published model still errs"
    until(lambda: extension.view(page)["verdict"]["version"] == 2, what="the new version")
    assert wait_for_shown(extension, page, NON_SENSITIVE)["local"], "the copy is made anew from the new version"


def test_without_cover_pages_for_the_vocabulary_that_is_said(extension, server, site, monkeypatch):
    changed = server_module.VOCABULARY.replace(b'"version"', b' "version"', 1)
    monkeypatch.setattr(server_module, "VOCABULARY", changed)
    extension.consent(server=server.address)
    extension.learn()
    correct_six(extension, site)
    assert extension.view(sibling(extension, site))["shown"] == ABOUT_HEALTH
    assert local(extension) == {"corrections": 6, "changed": False, "possible": False}
    options = extension.open("options")
    assert "cover pages" in options.inner_text("#local-state")
    options.close()
