"""What a page can find out about the extension: nothing that is here. (How long things take is beyond this test.)"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .browser import ID, Extension, unpacked
from .site import Site
from .test_hostile import HEALTH, document

NOBODY = "a" * 32
"""The id of an extension that does not exist."""
PROBE = """async ([address, kind]) => {
  const heard = (element, attribute) => new Promise((done) => {
    element.onload = () => done("load");
    element.onerror = () => done("error");
    element[attribute] = address;
    document.body.append(element);
    setTimeout(() => done("silence"), 60_000);
  });
  if (kind === "fetch") return fetch(address).then(() => "load", (error) => error.name);
  if (kind === "no-cors") return fetch(address, { mode: "no-cors" }).then(() => "load", (error) => error.name);
  if (kind === "worker") return new Promise((done) => {
    setTimeout(() => done("silence"), 60_000);
    try { new Worker(address).onerror = () => done("error") } catch (error) { done(error.name) }
  });
  if (kind === "import") return import(address).then(() => "load", (error) => error.name);
  if (kind === "link") return heard(Object.assign(document.createElement("link"), { rel: "stylesheet" }), "href");
  if (kind === "object") return heard(document.createElement("object"), "data");
  return heard(document.createElement(kind), "src");
}"""
FRAME = """(address) => new Promise((loaded) => {
  const frame = Object.assign(document.createElement("iframe"), { src: address });
  frame.onload = () => loaded();
  document.body.append(frame);
})"""
KINDS = ("fetch", "no-cors", "import", "worker", "img", "script", "link", "object", "audio", "embed")
WITNESS = """<script>
  globalThis.changes = [];
  new MutationObserver((records) => {
    for (const { type, target, attributeName, addedNodes } of records)
      changes.push([type, target.nodeName, attributeName, [...addedNodes].map((node) => node.nodeName)].join(" "));
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  globalThis.heard = [];
  for (const name of ["error", "message", "securitypolicyviolation", "unhandledrejection", "storage", "eitr"])
    addEventListener(name, (event) => heard.push(name + " " + (event.message ?? event.blockedURI ?? "")), true);
  addEventListener("load", () => changes.length = 0);
</script>"""
SURVEY = """() => ({
  changes, heard,
  globals: Object.getOwnPropertyNames(globalThis).sort(),
  documents: Object.getOwnPropertyNames(document).sort(),
  elements: document.querySelectorAll("*").length,
  html: document.documentElement.outerHTML.length,
  sheets: document.styleSheets.length + document.adoptedStyleSheets.length,
  style: [document.documentElement, document.body].map((element) =>
    [...getComputedStyle(element)].map((name) => getComputedStyle(element).getPropertyValue(name)).join()),
  entries: performance.getEntries().map(({ name }) => name).filter((name) => name.includes("extension")),
  marks: performance.getEntriesByType("mark").length + performance.getEntriesByType("measure").length,
  kept: [localStorage.length, sessionStorage.length, document.cookie, history.state, name],
  frames: frames.length,
})"""


@pytest.fixture
def extension(module_extension: Extension) -> Extension:
    return module_extension


@pytest.fixture
def site(module_site: Site) -> Site:
    return module_site


@pytest.fixture
def page(extension: Any, site: Site) -> Iterator[Any]:
    found = extension.context.new_page()
    found.goto(site.put("curious.test", "/", document("<p>A curious page.</p>")))
    yield found
    found.close()


def package() -> list[str]:
    folder = unpacked()
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def dynamic_address(extension: Any) -> str:
    """The address of the interstitial that changes with every start of the browser."""
    return extension.desk.evaluate("chrome.runtime.getURL('pages/warning/warning.html')")


def test_no_file_of_the_package_can_be_had_by_the_fixed_id(extension, page):
    found = page.evaluate(
        """async ([id, files]) => {
          const got = (file) => fetch(`chrome-extension://${id}/${file}`).then(() => file, () => null);
          return (await Promise.all(files.map(got))).filter((file) => file !== null);
        }""",
        [ID, package()],
    )
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_our_files_answer_like_those_of_an_extension_that_is_not_there(page, kind):
    for file in ("pages/warning/warning.html", "icons/icon16.png", "content/content.js", "manifest.json"):
        ours = page.evaluate(PROBE, [f"chrome-extension://{ID}/{file}", kind])
        nobodys = page.evaluate(PROBE, [f"chrome-extension://{NOBODY}/{file}", kind])
        assert ours == nobodys, (file, ours, nobodys)
        # An object or an embedded page is told "load" by the page that says that there is nothing.
        assert ours != "load" or kind in ("object", "embed")


def test_the_interstitials_address_is_one_that_no_page_can_know(extension, page):
    address = dynamic_address(extension)
    assert ID not in address
    guid = address.split("/")[2]
    assert len(guid) == 36
    said = page.evaluate(
        "JSON.stringify([performance.getEntries(), document.documentElement.outerHTML, location, navigator.userAgent])"
    )
    assert guid not in said


def test_no_page_of_ours_shows_in_a_frame(extension, page):
    for name in ("warning", "popup", "options", "welcome", "sent", "history"):
        page.evaluate(FRAME, extension.url(name))
        page.evaluate(FRAME, dynamic_address(extension).replace("warning", name))
    assert len(page.frames) == 13
    texts = [
        frame.evaluate("document.body?.innerText ?? ''") for frame in page.frames[1:] if "chrome-extension" in frame.url
    ]
    assert [text for text in texts if text.strip()] == []


@pytest.mark.parametrize("name", ["warning", "popup", "options"])
def test_a_page_cannot_go_to_our_pages_nor_open_them(extension, site, name):
    page = extension.context.new_page()
    page.goto(site.put("leading.test", "/", document("<p>A page that leads elsewhere.</p>")))
    with extension.context.expect_page() as opened:
        page.evaluate("(address) => { open(address + '#https://evil.test') }", extension.url(name))
    other = opened.value
    other.wait_for_load_state()
    assert not other.url.startswith(f"chrome-extension://{ID}")
    other.close()
    page.evaluate("(address) => { location.href = address }", extension.url(name))
    page.wait_for_url(re.compile("^(?!http)"))
    assert not page.url.startswith(f"chrome-extension://{ID}")
    page.close()


def survey(extension: Extension, site: Site, *, reads: bool) -> dict[str, Any]:
    policy = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">"""
    page = extension.context.new_page()
    page.goto(
        site.put(
            "witness.test", "/", document(HEALTH + '<a href="http://clinic.test/">a link</a>', head=policy + WITNESS)
        )
    )
    if reads:
        extension.wait_for_badge(page, "H")
    page.hover("a")
    page.evaluate("history.pushState({}, '', '?again')")
    if reads:
        extension.wait_until_read(page)
    else:
        assert not extension.has_reader(page)
    page.mouse.move(0, 0)
    found = page.evaluate(SURVEY)
    page.close()
    return found


def test_a_page_looks_the_same_with_and_without_the_extension(extension, site):
    """Marks on links are off; switched on, a mark is an element that the page can see while it shows."""
    with_it = survey(extension, site, reads=True)
    assert with_it["changes"] == []
    assert with_it["heard"] == []
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"classifying": False}})
    without = survey(extension, site, reads=False)
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"classifying": True}})
    assert with_it == without


GETTER = """() => [navigator.globalPrivacyControl,
  `${Object.getOwnPropertyDescriptor(Navigator.prototype, "globalPrivacyControl").get}`]"""


def test_the_privacy_signal_does_not_say_who_gives_it(extension, site):
    """A function of ours would be named, with its address, in the error that it throws when the stack is full."""
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"privacyControl": True}})
    page = extension.context.new_page()
    page.goto(site.put("curious.test", "/", document("<p>A curious page.</p>")))
    told, source = page.evaluate(GETTER)
    page.close()
    ask({"kind": "change", "settings": {"privacyControl": False}})
    assert told is True
    assert source == "function () { [native code] }"


def test_nothing_in_private_windows():
    manifest = json.loads((unpacked() / "manifest.json").read_text("utf-8"))
    assert manifest["incognito"] == "not_allowed"
    source = Path(__file__).resolve().parents[2] / "extension" / "src"
    assert "inIncognitoContext === false" in (source / "content" / "content.ts").read_text("utf-8")
    assert "tab.incognito === false" in (source / "background" / "message_router.ts").read_text("utf-8")
