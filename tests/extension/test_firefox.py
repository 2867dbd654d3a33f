"""The same path in Firefox ESR, with a real server: agree, a letter, trackers, a warning, a correction, a new model."""

import json
from pathlib import Path

import pytest

from .browser import FIREFOX
from .node import needs, run
from .real_server import real_server
from .site import served
from .test_blocking import TRACKERS, with_trackers
from .test_smoke import FOOTBALL, HEALTH

COMPANIES = ["Scorecard Research", "Criteo", "Hotjar"]


def test_trackers_are_blocked_in_firefox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First visit, second visit, an ordinary page, the switch: counted at the server of the trackers."""
    needs("esbuild", "puppeteer-core")
    if FIREFOX is None:
        pytest.skip("no Firefox to test with; Debian: apt-get install firefox-esr")
    monkeypatch.setenv("FIREFOX", FIREFOX)
    run("node", "extension/build.mjs", "--firefox", "--to", tmp_path)
    with served() as site:
        clinic = site.put("clinic.test", "/", with_trackers(site, HEALTH))
        match = site.put("match.test", "/", with_trackers(site, FOOTBALL))
        script = ("tests/extension/firefox_blocking.mjs", tmp_path / "firefox", clinic, match, *TRACKERS)
        found = json.loads(run("node", *script, timeout=600))
        visits: list[set[tuple[str, str]]] = []
        for host, path in site.asked:
            if path == "/":
                visits.append(set())
            elif host in TRACKERS:
                visits[-1].add((host, path))
    assert found["first"] == {"on": True, "siteAllowed": False, "active": True, "blocked": 3, "companies": COMPANIES}
    # Firefox may ask twice for a picture of a page.
    assert (found["second"]["blocked"] >= 3, found["second"]["active"]) == (True, True)
    assert (found["ordinary"]["blocked"], found["ordinary"]["active"]) == (0, False)
    assert (found["allowed"]["siteAllowed"], found["allowed"]["blocked"]) == (True, 0)
    page, asked, allowed = (
        {(host, path) for host in TRACKERS} for path in ("/dot.gif", "/ordinary.gif", "/allowed.gif")
    )
    # The clinic before the verdict, an ordinary page, the clinic again, an ordinary page, the clinic after the switch.
    assert visits == [page, page | asked, set(), page, page | allowed]


def test_the_whole_path_in_firefox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("esbuild", "puppeteer-core")
    if FIREFOX is None:
        pytest.skip("no Firefox to test with; Debian: apt-get install firefox-esr")
    monkeypatch.setenv("FIREFOX", FIREFOX)
    run("node", "extension/build.mjs", "--firefox", "--to", tmp_path)
    with served() as site, real_server(tmp_path / "server", 1, EITR_AUTOMATIC_ROUNDS="true", EITR_MARGIN="1") as server:
        dot = site.put("www.google-analytics.com", "/dot.gif", "")
        tracked = site.put("clinic.test", "/", HEALTH.replace("</body>", f'<img src="{dot}" alt=""></body>'))
        plain = site.put("match.test", "/", FOOTBALL)
        for path in ("/one", "/two", "/three", "/four"):
            site.put("match.test", path, FOOTBALL)
        script = ("tests/extension/firefox.mjs", tmp_path / "firefox", tracked, plain, server.address)
        found = json.loads(run("node", *script, timeout=900))
    assert found["boxes"] == [False, False, False], "nothing is ticked beforehand"
    assert found["letter"] == "H1"
    assert "health, illness or medical care; 1 company has trackers" in found["spoken"]
    assert [(party["company"], party["category"]) for party in found["trackers"]] == [("Google", "analytics")]
    assert found["paused"] == {"badge": "II", "scripts": 0, "alarm": True, "state": "paused"}
    assert found["moved"] == 5, "the page is judged again when its address changes within it"
    assert found["nothing"] == ""
    assert "/pages/warning/warning.html" in found["warned"]
    assert "clinic.test" in found["known"]
    assert (found["corrected"], found["labelled"]) == ("R1", [5, 5, 5, 5])
    assert found["learned"]["learning"]["last"] == "learning_sent"
    assert (found["learned"]["model"]["version"], found["renewed"]["model"]["version"]) == (1, 2)
