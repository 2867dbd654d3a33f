"""Messages and addresses that are not what they say: nobody is let in but the top frame of a page and our own pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from .browser import ID, Extension, until
from .site import Site
from .test_hostile import FOOTBALL, HEALTH, document

REPORT = {
    "kind": "page",
    "page": {
        "title": "",
        "description": "",
        "keywords": "",
        "text": "the doctor in the hospital has insulin for diabetes " * 20,
    },
}
QUESTIONS: list[dict[str, Any]] = [
    {"kind": "popup", "tab": 1},
    {"kind": "options"},
    {"kind": "change", "settings": {"classifying": False, "server": "https://evil.test"}},
    {"kind": "consent", "classifying": False, "contributing": True, "studies": True, "server": "https://evil.test"},
    {"kind": "erase", "server": True},
    {"kind": "export"},
    {"kind": "forget-hosts"},
    {"kind": "sent"},
    {"kind": "learn"},
    {"kind": "history"},
    {"kind": "set-history", "on": True},
    {"kind": "forget-visits"},
    {"kind": "reset-local"},
    {"kind": "warning", "target": "http://clinic.test/"},
    {"kind": "continue", "target": "http://clinic.test/", "quiet": "always"},
    {"kind": "block-site", "document": "0", "on": False},
    {"kind": "__proto__"},
    {"kind": "constructor"},
    {"kind": ["page"]},
]
AS_CONTENT_SCRIPT = """async ([tabId, frames, message]) => {
  const target = frames === null ? { tabId } : { tabId, frameIds: frames };
  const [{ result }] = await chrome.scripting.executeScript({ target, args: [message], func: async (message) =>
    JSON.stringify((await chrome.runtime.sendMessage(message).catch((error) => String(error))) ?? "silence") });
  return JSON.parse(result);
}"""
"""Speaks as a content script whose renderer was taken over would."""


@pytest.fixture
def extension(module_extension: Extension) -> Extension:
    return module_extension


@pytest.fixture
def site(module_site: Site) -> Site:
    return module_site


@pytest.fixture
def page(extension: Any, site: Site) -> Iterator[Any]:
    """A page about football that was judged."""
    found = extension.context.new_page()
    frame = site.put("inner.test", "/", document("<p>A frame.</p>"))
    found.goto(site.put("match.test", "/", document(f'{FOOTBALL}<iframe src="{frame}"></iframe>')))
    extension.wait_until_read(found)
    yield found
    found.close()


def settings(extension: Any) -> dict[str, Any]:
    ask = extension.asking("options")
    return ask({"kind": "options"})["settings"]


def frames(extension: Any, page: Any) -> list[int]:
    found = extension.desk.evaluate("(tabId) => chrome.webNavigation.getAllFrames({ tabId })", extension.tab(page))
    return [frame["frameId"] for frame in found if frame["frameId"] != 0]


def test_a_web_page_has_no_way_to_the_worker(extension, page):
    before = settings(extension)
    for message in [REPORT, *QUESTIONS]:
        answer = page.evaluate(
            """async ([id, message]) => {
              try { return [await globalThis.chrome.runtime.sendMessage(id, message)] } catch { return "nobody" }
            }""",
            [ID, message],
        )
        assert answer == "nobody"
    connected = page.evaluate(
        "(id) => { try { return !!globalThis.chrome.runtime.connect(id) } catch { return false } }", ID
    )
    assert connected is False
    assert settings(extension) == before
    assert extension.badge(page) == ""


def test_made_up_events_and_messages_between_windows_are_not_heard(extension, page):
    page.evaluate(
        """(report) => new Promise((done) => {
          for (let n = 0; n < 20_000; n += 1) postMessage(n % 2 ? report : { kind: "look-again" }, "*");
          for (const name of ["pageshow", "prerenderingchange", "focusin", "pointerover", "eitr", "message"])
            for (const target of [window, document, document.documentElement]) {
              const event = new Event(name, { bubbles: true });
              target.dispatchEvent(Object.assign(event, { persisted: true, data: report }));
            }
          document.documentElement.dataset.eitr = "H";
          document.body.insertAdjacentHTML("beforeend", '<div id="eitr" data-verdict="H" data-topic="0"></div>');
          // Messages arrive in their order: after this one all others have been heard by whoever listens.
          addEventListener("message", ({ data }) => { if (data === "last") done() });
          postMessage("last", "*");
        })""",
        REPORT,
    )
    extension.worker_has_finished()
    assert extension.view(page)["verdict"]["topic"] == 5
    assert extension.badge(page) == ""


def test_a_content_script_cannot_ask_what_our_pages_ask(extension, page):
    before = settings(extension)
    for message in QUESTIONS:
        answer = extension.desk.evaluate(AS_CONTENT_SCRIPT, [extension.tab(page), None, message])
        assert answer == "silence" or "Error" in answer, (message, answer)
        assert settings(extension) == before, message


def test_a_content_script_in_a_frame_is_not_heard(extension, page):
    (frame,) = frames(extension, page)
    answer = extension.desk.evaluate(AS_CONTENT_SCRIPT, [extension.tab(page), [frame], REPORT])
    assert answer == "silence" or "Error" in answer, answer
    assert extension.badge(page) == ""


def test_the_same_message_from_the_top_frame_counts_so_the_tests_above_can_fail(extension, page):
    answer = extension.desk.evaluate(AS_CONTENT_SCRIPT, [extension.tab(page), None, REPORT])
    assert answer == {"marks": False}
    extension.wait_for_badge(page, "H")


SENSELESS = [
    None,
    7,
    "diabetes",
    [],
    {},
    {"text": 3},
    {"text": None, "title": {}},
    {"__proto__": {"text": "insulin"}},
    {"text": "\ud800" * 9},
]


def test_a_report_that_makes_no_sense_changes_nothing(extension, page):
    for said in SENSELESS:
        extension.desk.evaluate(AS_CONTENT_SCRIPT, [extension.tab(page), None, {"kind": "page", "page": said}])
        assert extension.badge(page) == "", said


def test_a_content_script_learns_nothing_about_links_while_marks_are_off(extension, page):
    message = {"kind": "link", "host": "clinic.test"}
    assert extension.desk.evaluate(AS_CONTENT_SCRIPT, [extension.tab(page), None, message]) == "silence"


def test_a_content_script_cannot_read_what_is_kept(extension, page):
    read = """async (tabId) => {
      const [{ result }] = await chrome.scripting.executeScript({ target: { tabId }, func: async () => ({
        session: await (async () => chrome.storage.session.get(null))().then(Object.keys, () => "refused"),
        local: await (async () => chrome.storage.local.get(null))().then(Object.keys, () => "refused"),
        databases: (await indexedDB.databases()).map(({ name }) => name),
      }) });
      return result;
    }"""
    found = extension.desk.evaluate(read, extension.tab(page))
    assert found["session"] == "refused"
    assert found["local"] in ("refused", [])
    assert found["databases"] == []


def test_the_interstitial_may_ask_only_what_it_needs(extension):
    page = extension.open("warning", "#http://clinic.test/")
    told = [page.evaluate("(message) => chrome.runtime.sendMessage(message)", message) for message in QUESTIONS]
    for message, answer in zip(QUESTIONS, told, strict=True):
        if message["kind"] == "warning":
            assert answer == {"ok": True, "answer": {"view": None}}
        else:
            assert answer["ok"] is False, message
    page.close()


TARGETS = [
    "https://evil.test/",
    "javascript:document.title='run'",
    "data:text/html,<script>alert(1)</script>",
    "chrome://settings/",
    f"chrome-extension://{ID}/pages/options/options.html",
    "file:///etc/passwd",
    "blob:http://clinic.test/1",
    "http://clinic.test@evil.test/",
    "http://clinic.test.evil.test/",
    "http://evil.test/?http://clinic.test/",
    "//clinic.test",
    "%68ttp://clinic.test",
    "",
]


def test_the_interstitial_opens_nothing_but_hosts_that_it_was_shown_for(extension, site):
    remember(extension, site)
    for target in TARGETS:
        opens_nothing(extension, site, target)


def opens_nothing(extension, site, target):
    page = extension.open("warning", f"#{target}")
    until(lambda: page.is_visible("#unknown"), what="the sentence that there is nothing to warn of")
    asked, left = len(site.asked), []
    page.on("request", lambda request: left.append(request.url))
    assert page.is_hidden("#continue")
    page.evaluate("() => document.getElementById('continue').click()")
    # Answers come in the order of the questions: those to the clicks are here.
    page.evaluate("() => chrome.runtime.sendMessage({ kind: 'warning', target: '' })")
    assert left == []
    assert page.url.startswith(extension.url("warning"))
    assert page.title() != "run"
    assert [host for host, _ in site.asked[asked:] if host == "evil.test"] == []
    page.close()


def remember(extension: Any, site: Site) -> None:
    """Make the clinic a host that is warned of."""
    ask = extension.asking("options")
    if ask({"kind": "options"})["rememberedHosts"] > 0:
        return
    dot = f'<img src="{site.address("www.google-analytics.com", "/dot.gif")}" alt="">'
    page = extension.context.new_page()
    page.goto(site.put("clinic.test", "/", document(HEALTH + dot)))
    extension.wait_for_badge(page, "H1")
    page.close()


def test_a_known_host_is_shown_and_opened_as_it_is(extension, site):
    """So that the test above can fail."""
    remember(extension, site)
    page = extension.open("warning", f"#{site.address('clinic.test')}")
    until(lambda: page.is_visible("#continue"), what="the warning")
    page.click("#continue")
    page.wait_for_url(site.address("clinic.test"))
    assert page.evaluate("document.referrer") == ""
    page.close()
