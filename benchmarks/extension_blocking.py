"""What blocking costs and misses in Chromium: page loads with and without it, and requests that escape on known pages.

    python -m benchmarks.extension_blocking [--visits N] [--portals N] [--delay MS]

A sensitive page with 24 trackers is served on this machine and visited with blocking on and off in turn; the time is
that from the start of the navigation to the end of the page's load event. Then a sensitive page of a portal, which is
known but whose host is not, is visited while the worker runs and after it was stopped, and the requests are counted
that arrive at the server of the trackers. Prints a table and writes bench-out/extension-blocking.json.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.machine import describe_machine
from tests.extension.browser import Extension, chromium_with_extension, unpacked
from tests.extension.pages import HEALTH
from tests.extension.site import Site, served

ROOT = Path(__file__).resolve().parents[1]
TRACKERS = 24
CATEGORIES = {"ad", "analytics", "marketing"}
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
BLANK = "about:blank"


def tracker_hosts(site: Site, page: Any) -> list[str]:
    """Return hosts of the table of trackers that the browser asks without HTTPS: their requests arrive here."""
    table = json.loads((unpacked() / "data" / "trackers.json").read_text("utf-8"))
    rows = [domains.split()[0] for _, category, domains in table["entities"] if category in CATEGORIES]
    hosts = sorted({f"cdn.{row.removeprefix('*.')}" for row in rows if row.startswith("*.")})[: 3 * TRACKERS]
    pictures = "".join(f'<img src="{site.address(host, "/probe.gif")}" alt="">' for host in hosts)
    page.goto(site.put("probe.test", "/", f"<!doctype html><title>Probe</title>{pictures}"))
    return [host for host in hosts if site.asked_of(host)][:TRACKERS]


def page_with(site: Site, hosts: list[str]) -> str:
    """Return the sample page with a script of each tracker."""
    scripts = "".join(f'<script async src="{site.address(host, "/track.js")}"></script>' for host in hosts)
    return HEALTH.replace("</body>", f"{scripts}</body>")


def switch(extension: Extension, *, on: bool) -> None:
    ask = extension.asking("options")
    ask({"kind": "change", "settings": {"blocking": on}})


def visit(extension: Extension, page: Any, address: str) -> float:
    """Visit a page and return how long it took to load, in milliseconds."""
    page.goto(address)
    took = float(page.evaluate(LOADED))
    extension.wait_until_read(page)
    page.goto(BLANK)
    extension.worker_has_finished()
    return took


def loads(extension: Extension, site: Site, page: Any, address: str, visits: int) -> dict[str, list[float]]:
    """Visit a known page with blocking on and off in turn, and return the times."""
    times: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(visits):
        for name, found in times.items():
            switch(extension, on=name == "on")
            found.append(visit(extension, page, address))
    switch(extension, on=True)
    return times


def escapes(extension: Extension, site: Site, page: Any, hosts: list[str], visits: int, *, asleep: bool) -> list[int]:
    """Visit known pages of portals, and return how many requests arrived at trackers in each visit."""
    counts = []
    for place in range(visits):
        address = site.put(f"portal{place}.test", "/article", page_with(site, hosts))
        visit(extension, page, address)
        site.asked.clear()
        if asleep:
            extension.kill_worker()
        visit(extension, page, address)
        counts.append(sum(host in hosts for host, _ in site.asked))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=int, default=20, help="visits of each kind")
    parser.add_argument("--portals", type=int, default=6, help="known pages of portals, for each kind of visit")
    parser.add_argument("--delay", type=float, default=50, help="milliseconds that each answer takes")
    given = parser.parse_args()
    with sync_playwright() as playwright, served() as site, chromium_with_extension(playwright) as extension:
        page = extension.context.new_page()
        hosts = tracker_hosts(site, page)
        extension.agree()
        extension.asking("options")({"kind": "change", "settings": {"warnings": False}})
        clinic = site.put("clinic.test", "/", page_with(site, hosts))
        visit(extension, page, clinic)
        site.answer_after = given.delay / 1000
        times = loads(extension, site, page, clinic, given.visits)
        for name, found in times.items():
            print(f"blocking {name}: load {statistics.median(found):.0f} ms (median of {len(found)})", flush=True)
        escaped = {
            f"{'asleep' if asleep else 'awake'}, {delay:g} ms": _escapes(
                extension, site, page, hosts, given.portals, asleep=asleep, delay=delay
            )
            for delay in (0.0, given.delay)
            for asleep in (False, True)
        }
    result = {"machine": describe_machine(threads=1), "trackers": len(hosts), "loads_ms": times, "escaped": escaped}
    folder = ROOT / "bench-out"
    folder.mkdir(exist_ok=True)
    (folder / "extension-blocking.json").write_text(json.dumps(result, indent=1, default=str), "utf-8")
    for name, counts in escaped.items():
        visits = sum(count > 0 for count in counts)
        print(f"known page, worker {name}: {sum(counts)} of {len(hosts) * len(counts)} escaped, in {visits} visits")


def _escapes(
    extension: Extension, site: Site, page: Any, hosts: list[str], visits: int, *, asleep: bool, delay: float
) -> list[int]:
    site.answer_after = delay / 1000
    return escapes(extension, site, page, hosts, visits, asleep=asleep)


if __name__ == "__main__":
    main()
