"""A hostile page measures which of its requests to known trackers fail, to learn about the person in front of it.

Where EITR blocks, a page sees that, as with any blocker (docs/extension.md, "Blocking can be noticed"). It must not see
from it what the person read elsewhere, nor what they corrected.
"""

from typing import Any

import pytest

from eitr.taxonomy import NON_SENSITIVE

from .browser import Extension
from .pages import FOOTBALL, HEALTH
from .site import Site
from .test_blocking import TRACKERS, change, no_warnings, visit
from .test_local_learning import ABOUT_HEALTH, PLANTS, correct_six, garden, wait_for_shown

MEASURE = """async (addresses) => {
  const element = (name, address) => new Promise((done) => {
    const made = document.createElement(name);
    made.onload = () => done("load");
    made.onerror = () => done("error");
    made.src = address;
    document.body.append(made);
  });
  const found = [];
  for (const address of addresses) {
    found.push(["img", address, await element("img", `${address}dot.svg`)]);
    found.push(["script", address, await element("script", `${address}code.js`)]);
    found.push(["frame", address, await element("iframe", `${address}frame.html`)]);
    const fetched = fetch(`${address}data`, { mode: "no-cors" });
    found.push(["fetch", address, await fetched.then(() => "load", () => "error")]);
  }
  const entries = performance.getEntriesByType("resource")
    .filter(({ name }) => addresses.includes(new URL("/", name).href));
  return [found, entries.map(({ name, responseStatus, nextHopProtocol }) => [name, responseStatus, nextHopProtocol])];
}"""
FRAME = """(address) => new Promise((loaded) => {
  const frame = Object.assign(document.createElement("iframe"), { src: address, onload: () => loaded(null) });
  document.body.append(frame);
})"""


@pytest.fixture
def protecting(agreed: Extension) -> Extension:
    no_warnings(agreed)
    return agreed


def measure(site: Site, where: Any) -> Any:
    """Ask trackers for all kinds of things from a page or frame, and return what it can see of the outcome."""
    for host in TRACKERS:
        site.put(host, "/dot.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>', kind="image/svg+xml")
        for path, kind in {"/code.js": "text/javascript", "/frame.html": "text/html", "/data": "text/plain"}.items():
            site.put(host, path, "", kind=kind)
    return where.evaluate(MEASURE, [site.address(host) for host in TRACKERS])


def failures(measured: Any) -> set[str]:
    return {kind for kind, _, outcome in measured[0] if outcome == "error"}


def test_another_site_measures_the_same_whatever_the_person_read(protecting, site):
    clinic = site.put("clinic.test", "/", HEALTH)
    curious = site.put("curious.test", "/", FOOTBALL)

    def from_everywhere() -> list[Any]:
        page = protecting.context.new_page()
        visit(protecting, page, curious)
        measured = [measure(site, page)]
        # In a frame of the host that it wants to know about, and in one of its own below that.
        page.evaluate(FRAME, clinic)
        frame = page.frames[-1]
        measured.append(measure(site, frame))
        frame.evaluate(FRAME, curious)
        measured.append(measure(site, page.frames[-1]))
        page.close()
        return measured

    before = from_everywhere()
    reading = protecting.context.new_page()
    visit(protecting, reading, clinic)
    assert failures(measure(site, reading)) == {"img", "script", "fetch"}, "so the test can fail"
    # While the known host is open in another tab, and afterwards.
    assert from_everywhere() == before
    reading.close()
    protecting.worker_has_finished()
    assert from_everywhere() == before
    assert [failures(one) for one in before] == [set(), set(), set()]


def test_a_page_measures_the_same_whatever_the_person_corrected(protecting, site):
    """Otherwise it could try words until it knows what somebody said of other pages."""
    address = site.put("sibling.test", "/article", garden(PLANTS[-1]))

    def measured(*, shown: int) -> Any:
        page = protecting.context.new_page()
        visit(protecting, page, address)
        wait_for_shown(protecting, page, shown)
        found = measure(site, page)
        page.close()
        return found

    # From the second visit on the page is known.
    measured(shown=ABOUT_HEALTH)
    before = measured(shown=ABOUT_HEALTH)
    assert failures(before) == {"img", "script", "fetch"}
    correct_six(protecting, site)
    assert measured(shown=NON_SENSITIVE) == before
    change(protecting, localLearning=False)
    assert measured(shown=ABOUT_HEALTH) == before
