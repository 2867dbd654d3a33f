"""Chromium with the unpacked extension in it, as people have it."""

import atexit
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import BrowserContext, Error, Page, Playwright

from .node import needs, run

ID = "hgbjgnhphodgchohddgfggiinedpkmdf"
"""Fixed by the public key in the manifest."""
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

LABELLED = """(count) => new Promise((done, failed) => {
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

T = TypeVar("T")


@cache
def unpacked() -> Path:
    """Build the extension as it is now, once a process, and return its folder."""
    needs("esbuild", "third-party-web", "tldts")
    folder = Path(tempfile.mkdtemp(prefix="eitr-extension-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run("node", "extension/build.mjs", "--chrome", "--to", folder)
    return folder / "chrome"


def until(found: Callable[[], T | None], seconds: float = 45.0, what: str = "it") -> T:
    """Wait for something, and return it."""
    end = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < end:
        last = found()
        if last:
            return last  # type: ignore[return-value]
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:g} s for {what} in vain; the last was {last!r}")


class Extension:
    """The extension in a running browser. `desk` is a page of the extension, from which tests ask the browser."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.worker_is_ready()
        self.desk = context.new_page()
        self.desk.goto(self.url("sent"))

    @staticmethod
    def url(name: str, query: str = "") -> str:
        return f"chrome-extension://{ID}/pages/{name}/{name}.html{query}"

    def worker_is_ready(self) -> Any:
        """Wait until the worker has evaluated its bundle, and return it: the first events would be lost otherwise."""
        if not self.context.service_workers:
            self.context.wait_for_event("serviceworker")
        worker = self.context.service_workers[-1]
        until(lambda: worker.evaluate("self.ready === true"), what="the worker")
        return worker

    def open(self, name: str, query: str = "") -> Page:
        page = self.context.new_page()
        page.goto(self.url(name, query))
        return page

    def consent(self, *, classifying: bool = True, server: str = "", studies: bool = False) -> None:
        """Answer the questions of the welcome page, by clicks."""
        page = self.open("welcome")
        page.set_checked("#classifying", classifying)
        page.set_checked("#contributing", server != "")
        page.set_checked("#studies", studies)
        if server:
            page.fill("#server", server)
        page.click("#save")
        # Not `wait_for_function`, which evaluates strings: the pages' policy forbids it.
        until(lambda: page.text_content("#status"), what="an answer to the choices")
        assert "problem" not in (page.get_attribute("#status", "class") or ""), page.text_content("#status")
        page.close()

    def tab(self, page: Page) -> int:
        """The browser's number of the tab that shows a page."""
        return until(
            lambda: self.desk.evaluate(
                "async (url) => (await chrome.tabs.query({})).find((tab) => tab.url === url)?.id", page.url
            ),
            what=f"a tab that shows {page.url}",
        )

    def badge(self, page: Page) -> str:
        return self.desk.evaluate("(tabId) => chrome.action.getBadgeText({tabId})", self.tab(page))

    def spoken(self, page: Page) -> str:
        """What a screen reader says of the icon."""
        return self.desk.evaluate("(tabId) => chrome.action.getTitle({tabId})", self.tab(page))

    def wait_for_badge(self, page: Page, text: str) -> None:
        until(lambda: self.badge(page) == text, what=f"the badge {text!r} on {page.url}, not {self.badge(page)!r}")

    def wait_until_read(self, page: Page) -> None:
        """Wait until a page was judged, whatever the verdict."""
        until(lambda: self.view(page)["state"] == "ready", what=f"a verdict on {page.url}")

    def popup(self, page: Page) -> Page:
        """Open the popup for a page, in a tab of its own: Playwright cannot see the real one."""
        popup = self.open("popup", f"?tab={self.tab(page)}")
        until(lambda: popup.is_visible("#trackers") or popup.is_hidden("#site"), what="the popup")
        return popup

    def view(self, page: Page) -> dict[str, Any]:
        """What the popup is told about a page."""
        with self.asking("popup") as ask:
            return ask({"kind": "popup", "tab": self.tab(page)})

    @contextmanager
    def asking(self, name: str) -> Iterator[Callable[[dict[str, Any]], Any]]:
        """Ask the worker as one of our pages does."""
        page = self.open(name, "?tab=-1" if name == "popup" else "")

        def ask(message: dict[str, Any]) -> Any:
            told = page.evaluate("(message) => chrome.runtime.sendMessage(message)", message)
            assert told["ok"], told
            return told["answer"]

        try:
            yield ask
        finally:
            page.close()

    def learn(self) -> dict[str, Any]:
        """Take part now; return what the options page is told."""
        with self.asking("options") as ask:
            return ask({"kind": "learn"})

    def judge_pages(self, count: int) -> None:
        """Put pages that the person judged where the extension keeps them, half of them about health."""
        self.desk.evaluate(LABELLED, count)

    def kill_worker(self) -> None:
        """Stop the worker as the browser does when it has nothing to do."""
        session = self.context.new_cdp_session(self.desk)
        session.send("ServiceWorker.enable")
        session.send("ServiceWorker.stopAllWorkers")
        session.detach()


@contextmanager
def chromium_with_extension(
    playwright: Playwright, *, folder: Path | None = None, profile: Path | None = None, **options: Any
) -> Iterator[Extension]:
    """Start Chromium with the extension and an empty profile; the welcome page that opens by itself is left open."""
    extension = folder or unpacked()
    place = profile or Path(tempfile.mkdtemp(prefix="eitr-chromium-"))
    flags = [*FLAGS, f"--disable-extensions-except={extension}", f"--load-extension={extension}"]
    context = playwright.chromium.launch_persistent_context(
        place, executable_path=shutil.which("chromium"), headless=True, args=flags, **options
    )
    try:
        yield Extension(context)
    finally:
        with contextlib.suppress(Error):
            context.close()
        if profile is None:
            shutil.rmtree(place, ignore_errors=True)
