"""Chromium with the unpacked extension in it, as people have it.

Tests take the browsers of the system. The environment variables EITR_CHROMIUM and EITR_FIREFOX name others, for example
older ones that a Debian package was unpacked from (`dpkg -x PACKAGE FOLDER`); the first is the program itself, not the
shell script that Debian puts before it:

    EITR_CHROMIUM=FOLDER/usr/lib/chromium/chromium EITR_FIREFOX=FOLDER/usr/lib/firefox-esr/firefox-esr \\
        pytest tests/extension

No test waits for a fixed time: each waits for a condition (`until`, Playwright's own waiting), for at most
PATIENCE_SECONDS, which no machine should need.
"""

import atexit
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import BrowserContext, Error, Page, Playwright

from .node import needs, run

CHROMIUM = os.environ.get("EITR_CHROMIUM") or shutil.which("chromium")
FIREFOX = os.environ.get("EITR_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
PATIENCE_SECONDS = 180.0
ID = "hgbjgnhphodgchohddgfggiinedpkmdf"
"""The extension's id, fixed by the public key in the manifest."""
FLAGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Every name is this machine; nothing can leave it.
    "--host-resolver-rules=MAP * 127.0.0.1",
)
READY = {
    "options": "#learning dt",
    "popup": "#site-text:not(:empty)",
    "history": "#empty:not([hidden]), #matrix tbody th",
    "sent": "#none:not([hidden]), #uploads li, #answers li",
    "warning": "#known:not([hidden]), #unknown:not([hidden])",
    "welcome": "fieldset:not([disabled])",
}
"""What each page has once it shows what the worker told it."""

STORE_PAGES = """(count) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("pages", "readwrite");
    for (let n = 0; n < count; n += 1)
      change.objectStore("pages").put({ page: `page ${n}`, label: n % 2 ? 0 : 5, time: n, agreed: false,
        words: [[n % 2 ? "diabetes" : "football", 3], ["health", 1 + n % 3]] });
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""
RECORD = """() => {
  const listening = globalThis.messages !== undefined;
  globalThis.messages = [];
  if (!listening) chrome.runtime.onMessage.addListener((message, { url }) => {
    if (url?.startsWith("http")) globalThis.messages.push({ from: new URL(url).hostname, ...message });
  });
}"""
FINISHED = """async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((go) => setTimeout(go, 151));
    await Promise.all([chrome.storage.session.get(null), chrome.tabs.query({}), chrome.action.getBadgeText({})]);
  }
}"""
"""The worker puts nothing off for longer than 150 ms, and timers go off in the order of their times."""
READER = """async ([tabId, part]) => {
  const look = (part) => {
    const reader = globalThis[Symbol.for("eitr")];
    return part === "marks" ? reader?.marks.on === true : reader !== undefined;
  };
  const [{ result }] = await chrome.scripting.executeScript({ target: { tabId }, func: look, args: [part] });
  return result;
}"""
"""Looks into the world of the content script, after the scripts that are registered for the page have run there."""

T = TypeVar("T")


@cache
def unpacked() -> Path:
    """Build the extension as it is now, once a process, and return its folder."""
    needs("esbuild", "third-party-web", "tldts")
    folder = Path(tempfile.mkdtemp(prefix="eitr-extension-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run("node", "extension/build.mjs", "--chrome", "--to", folder)
    return folder / "chrome"


def until(found: Callable[[], T | None], seconds: float = PATIENCE_SECONDS, what: str = "it") -> T:
    """Call a function until it returns something true, and return that."""
    end = time.monotonic() + seconds
    while True:
        last = found()
        if last:
            return last
        assert time.monotonic() < end, f"waited {seconds:g} s for {what} in vain; the last was {last!r}"
        time.sleep(0.05)


def unfold(page: Page, details: str) -> None:
    """Open a part of a page that is folded, as a click does, unless it is open."""
    if page.get_attribute(details, "open") is None:
        page.click(f"{details} > summary")


class Extension:
    """The extension in a running browser. `desk` is a page of the extension, from which tests ask the browser."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        self.asking_pages: dict[str, Page] = {}
        self.worker_is_ready()
        self.desk = self.open("sent")

    @staticmethod
    def url(name: str, query: str = "") -> str:
        return f"chrome-extension://{ID}/pages/{name}/{name}.html{query}"

    def worker(self) -> Any:
        """Return the running worker, or None. Sites may have workers of their own."""
        ours = [worker for worker in self.context.service_workers if ID in worker.url]
        return ours[-1] if ours else None

    def worker_is_ready(self) -> Any:
        """Wait until the worker has evaluated its bundle, and return it: the first events would be lost otherwise."""
        if self.worker() is None:
            self.context.wait_for_event("serviceworker")
        worker = self.worker()
        until(lambda: worker.evaluate("self.ready === true"), what="the worker")
        return worker

    def worker_has_finished(self) -> None:
        """Wait until the worker has done everything that it was told to do so far."""
        self.worker_is_ready().evaluate(FINISHED)

    def open(self, name: str, query: str = "") -> Page:
        """Open one of our pages, and wait until it shows what the worker told it."""
        page = self.context.new_page()
        page.goto(self.url(name, query))
        page.wait_for_selector(READY[name], state="attached")
        return page

    def start_over(self) -> None:
        """Close all pages and delete everything, as a person can: it is as after the installation."""
        for page in self.context.pages:
            if page not in (self.desk, *self.asking_pages.values()):
                page.close()
        ask = self.asking("options")
        ask({"kind": "erase", "server": False})
        self.desk.reload()

    def agree(self) -> None:
        """Agree that pages are read, without opening the welcome page."""
        ask = self.asking("welcome")
        ask({"kind": "consent", "classifying": True, "contributing": False, "studies": False, "server": ""})

    def consent(
        self, *, classifying: bool = True, server: str = "", studies: bool = False, contributing: bool | None = None
    ) -> None:
        """Answer the questions of the welcome page, by clicks; who names a server contributes unless told otherwise."""
        page = self.open("welcome")
        page.set_checked("#classifying", classifying)
        if server or studies or contributing:
            unfold(page, "#invited")
            page.set_checked("#contributing", server != "" if contributing is None else contributing)
            page.set_checked("#studies", studies)
        if server:
            unfold(page, "#other")
            page.fill("#server", server)
        page.click("#save")
        # Not `wait_for_function`, which evaluates strings: the pages' policy forbids it.
        until(lambda: page.text_content("#status"), what="an answer to the choices")
        assert "problem" not in (page.get_attribute("#status", "class") or ""), page.text_content("#status")
        page.close()
        if server:
            # The alarm goes off after a minute, which may be in the middle of a test: tests say when to take part.
            self.desk.evaluate("chrome.alarms.create('learn', { delayInMinutes: 60 })")

    def tab(self, page: Page) -> int:
        """Return the browser's number of the tab that shows a page."""
        return until(
            lambda: self.desk.evaluate(
                "async (url) => (await chrome.tabs.query({})).find((tab) => tab.url === url)?.id", page.url
            ),
            what=f"a tab that shows {page.url}",
        )

    def badge(self, page: Page) -> str:
        return self.desk.evaluate("(tabId) => chrome.action.getBadgeText({tabId})", self.tab(page))

    def spoken(self, page: Page) -> str:
        """Return what a screen reader says of the icon."""
        return self.desk.evaluate("(tabId) => chrome.action.getTitle({tabId})", self.tab(page))

    def wait_for_badge(self, page: Page, text: str) -> None:
        until(lambda: self.badge(page) == text, what=f"the badge {text!r} on {page.url}")

    def wait_until_read(self, page: Page) -> None:
        """Wait until a page was classified, whatever the result."""
        ask = self.asking("popup")
        until(
            lambda: ask({"kind": "popup", "tab": self.tab(page)})["state"] == "ready",
            what=f"a verdict on {page.url}",
        )

    def popup(self, page: Page) -> Page:
        """Open the popup for a page, in a tab of its own: Playwright cannot see the real one."""
        return self.open("popup", f"?tab={self.tab(page)}")

    def view(self, page: Page) -> dict[str, Any]:
        """Return what the popup is told about a page."""
        ask = self.asking("popup")
        return ask({"kind": "popup", "tab": self.tab(page)})

    def asking(self, name: str) -> Callable[[dict[str, Any]], Any]:
        """Return a function that asks the worker as one of our pages does.

        That page stays open for the tests that follow: opening it anew would cost more than most of them do.
        """
        if name not in self.asking_pages:
            page = self.context.new_page()
            page.goto(self.url(name, "?tab=-1" if name == "popup" else ""))
            self.asking_pages[name] = page

        def ask(message: dict[str, Any]) -> Any:
            told = self.asking_pages[name].evaluate("(message) => chrome.runtime.sendMessage(message)", message)
            assert told["ok"], told
            return told["answer"]

        return ask

    def record_messages(self) -> None:
        """Write down from now on what content scripts say."""
        self.desk.evaluate(RECORD)

    def messages(self, kind: str) -> list[dict[str, Any]]:
        """Return what content scripts have said, each with the host it came `from`."""
        return [one for one in self.desk.evaluate("globalThis.messages") if one["kind"] == kind]

    def has_reader(self, page: Page) -> bool:
        """Say whether our content script is in a page."""
        return self.desk.evaluate(READER, [self.tab(page), "reader"])

    def marks_links(self, page: Page) -> bool:
        """Say whether our content script marks the links of a page."""
        return self.desk.evaluate(READER, [self.tab(page), "marks"])

    def learn(self) -> dict[str, Any]:
        """Take part now; return what the options page is told."""
        ask = self.asking("options")
        return ask({"kind": "learn"})

    def store_labelled_pages(self, count: int) -> None:
        """Put pages that the person labelled where the extension keeps them, half of them about health."""
        self.desk.evaluate(STORE_PAGES, count)

    def kill_worker(self) -> None:
        """Stop the worker as the browser does when it has nothing to do, and return when it has stopped."""
        states: list[str] = []
        session = self.context.new_cdp_session(self.desk)
        session.on(
            "ServiceWorker.workerVersionUpdated",
            lambda event: states.extend(one["runningStatus"] for one in event["versions"] if ID in one["scriptURL"]),
        )
        session.send("ServiceWorker.enable")
        session.send("ServiceWorker.stopAllWorkers")
        # Each question to the browser lets Playwright hear what has happened.
        until(lambda: self.desk.evaluate("true") and "stopped" in states, what=f"the end of the worker, not {states}")
        session.detach()


@contextmanager
def chromium_with_extension(
    playwright: Playwright, *, folder: Path | None = None, profile: Path | None = None, **options: Any
) -> Iterator[Extension]:
    """Start Chromium with the extension and an empty profile; the welcome page that opens by itself is left open."""
    extension = folder or unpacked()
    place = profile or Path(tempfile.mkdtemp(prefix="eitr-chromium-"))
    flags = [*FLAGS, f"--disable-extensions-except={extension}", f"--load-extension={extension}"]
    options = {"executable_path": CHROMIUM, "headless": True, "timeout": 1000 * PATIENCE_SECONDS, **options}
    try:
        context = playwright.chromium.launch_persistent_context(place, args=flags, **options)
    except Error as error:
        if "executable doesn't exist" in str(error).lower():
            pytest.skip("no Chromium to test with")
        raise
    try:
        yield Extension(context)
    finally:
        with contextlib.suppress(Error):
            context.close()
        if profile is None:
            shutil.rmtree(place, ignore_errors=True)
