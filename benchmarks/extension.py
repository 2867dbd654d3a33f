"""What the extension costs in Chromium: the content script, the worker, the package, memory, training.

    python -m benchmarks.extension [--pages N] [--made N] [--repeats N] [--check]

Real pages and pages made from news rows are served on this machine and shown in tabs, one at a time. What the content
script takes comes from Chromium's trace: all its pieces, with the layout and everything else that the browser does
while they run. Aims are judged by processor time: on a machine that does other things as well, wall time says how busy
it is, and is given beside it. Writes docs/extension-cost.md and bench-out/extension.json.
"""

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.extension_memory import empty_extension, extension_process, megabytes
from benchmarks.extension_pages import made_page, news_rows, real_pages
from benchmarks.extension_report import write_report
from benchmarks.extension_trace import traced
from benchmarks.extension_worker import classification, training
from benchmarks.machine import describe_machine
from tests.extension.browser import FLAGS, Extension, chromium_with_extension, unpacked, until
from tests.extension.federation import federation
from tests.extension.site import Site, served

ROOT = Path(__file__).resolve().parents[1]
LISTEN = """() => {
  globalThis.reports = new Map();
  chrome.runtime.onMessage.addListener((message, sender) => {
    if (message?.kind === "page") globalThis.reports.set(new URL(sender.url).hostname, message.page);
  });
}"""
AFTERWARDS_MS = 2500
"""Longer than the first pause after which a page that changed is looked at again."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What the content script took on one page, in milliseconds: processor time and, with waiting, wall time."""

    page: str
    total: float
    total_wall: float
    longest: float
    longest_wall: float
    pieces: int
    characters: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1000, help="how many of the real pages (default: all)")
    parser.add_argument("--made", type=int, default=30, help="how many made pages")
    parser.add_argument("--repeats", type=int, default=3, help="visits of each page")
    parser.add_argument("--check", action="store_true", help="fail where an aim is missed")
    given = parser.parse_args()
    machine = describe_machine(threads=1)
    pages = dict(list(real_pages().items())[: given.pages])
    made = {f"made-{place}": made_page(row) for place, row in enumerate(news_rows(given.made))}
    with sync_playwright() as playwright:
        with served() as site, federation() as server, chromium_with_extension(playwright) as extension:
            extension.consent(server=server.address)
            version = extension.context.browser.version if extension.context.browser else ""
            ask = extension.asking("options")
            # A page is visited more than once; the warning would stand before the second time.
            ask({"kind": "change", "settings": {"warnings": False}})
            extension.desk.evaluate(LISTEN)
            texts: list[str] = []
            visits: list[Visit] = []
            for name, html in [*pages.items(), *made.items()]:
                print(f"{name}, {len(visits) // given.repeats + 1} of {len(pages) + len(made)} pages", file=sys.stderr)
                visits += [visit(extension, site, name, html, texts) for _ in range(given.repeats)]
            classified = classification(extension, texts)
            learned = training(extension, server)
        memory = [weighed(playwright, pages, empty=empty) for empty in (True, False, True, False)]
    found: dict[str, Any] = {
        "machine": machine,
        "chromium": version,
        "visits": [asdict(one) for one in visits],
        "classification": classified,
        "training": [asdict(one) for one in learned],
        "memory": {"empty": memory[0::2], "ours": memory[1::2]},
        "bundle": bundle_sizes(),
    }
    (ROOT / "bench-out").mkdir(exist_ok=True)
    (ROOT / "bench-out" / "extension.json").write_text(json.dumps(found), "utf-8")
    missed = write_report(found, ROOT / "docs" / "extension-cost.md")
    sys.exit(1 if given.check and missed else 0)


def visit(extension: Any, site: Site, name: str, html: str, texts: list[str]) -> Visit:
    """Show a page in a new tab, wait until it was read and a while longer, and add up what the content script took."""
    host = f"{name}.test"
    address = site.put(host, "/", html)
    extension.desk.evaluate("(host) => globalThis.reports.delete(host)", host)
    tab = extension.context.new_page()
    with traced(extension.desk, "devtools.timeline,v8") as trace:
        tab.goto(address, wait_until="commit")
        page = until(
            lambda: extension.desk.evaluate("(host) => globalThis.reports.get(host)", host),
            seconds=60,
            what=f"a report on {name}",
        )
        tab.wait_for_timeout(AFTERWARDS_MS)
    tab.close()
    text = "\n".join(page[field] for field in ("title", "description", "keywords", "text"))
    if text not in texts:
        texts.append(text)
    pieces = trace.scripts("content/content.js")
    return Visit(
        name,
        sum(piece.cpu for piece in pieces),
        sum(piece.duration for piece in pieces),
        max(piece.cpu for piece in pieces),
        max(piece.duration for piece in pieces),
        len(pieces),
        len(text),
    )


def weighed(playwright: Any, pages: dict[str, str], *, empty: bool) -> tuple[float, float]:
    """Return the megabytes of the extension's process after ten pages, and after its popup was open besides."""
    with tempfile.TemporaryDirectory() as here, served() as site:
        folder = empty_extension(unpacked(), Path(here) / "empty") if empty else unpacked()
        profile = Path(here) / "profile"
        if empty:
            # Its pages have no scripts: nobody can wait for them.
            with chromium(playwright, folder, profile):
                pass
        else:
            with chromium_with_extension(playwright, folder=folder, profile=profile) as extension:
                extension.consent()
        # Started anew, as on any other day: no page of the extension was open in its process.
        with chromium(playwright, folder, profile) as context:
            tab = context.new_page()
            for name, html in list(pages.items())[:10]:
                tab.goto(site.put(f"{name}.test", "/", html))
                tab.wait_for_timeout(1000)
            before = megabytes(extension_process(profile))
            popup = context.new_page()
            popup.goto(Extension.url("popup"))
            popup.wait_for_timeout(1500)
            popup.close()
            tab.wait_for_timeout(1500)
            return before, megabytes(extension_process(profile))


@contextmanager
def chromium(playwright: Any, folder: Path, profile: Path) -> Iterator[Any]:
    """Start Chromium again with a profile and an extension, and open nothing."""
    flags = [*FLAGS, f"--disable-extensions-except={folder}", f"--load-extension={folder}"]
    context = playwright.chromium.launch_persistent_context(
        profile, executable_path=shutil.which("chromium"), headless=True, args=flags
    )
    try:
        yield context
    finally:
        context.close()


def bundle_sizes() -> dict[str, int]:
    folder = unpacked()
    scripts = sorted(path for path in folder.rglob("*.js") if path.parent.name != "data")
    return {str(path.relative_to(folder)): len(gzip.compress(path.read_bytes(), 9, mtime=0)) for path in scripts}


if __name__ == "__main__":
    main()
