"""Trackers are blocked where a page or its host is known as sensitive, and nowhere else, as their server can tell."""

from typing import Any

import pytest

from .browser import Extension, until
from .pages import FOOTBALL, HEALTH
from .site import Site

TRACKERS = ("b.scorecardresearch.com", "static.criteo.net", "static.hotjar.com")
"""Three companies of the table whose hosts browsers ask without HTTPS: requests arrive at the site of the test."""
NO_TRACKER = "cdn.jsdelivr.net"
ASK = """(address) => new Promise((done) => {
  const picture = new Image();
  picture.onload = picture.onerror = () => done(null);
  picture.src = address;
})"""


def with_trackers(site: Site, html: str, *more: str) -> str:
    """The page with a picture of each company, and of one that does not track people."""
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in (*TRACKERS, NO_TRACKER))
    return f"{html.replace('</body>', '')}{pictures}{''.join(more)}"


def arrived(site: Site) -> list[str]:
    """The trackers that were asked for anything, as their server knows."""
    return sorted(host for host, _ in site.asked if host in TRACKERS)


def ask_for(page: Any, address: str) -> None:
    """Ask for a picture from within a page, and wait until that has come or failed."""
    page.evaluate(ASK, address)


def no_warnings(extension: Extension) -> None:
    change(extension, warnings=False)


def change(extension: Extension, **settings: Any) -> None:
    ask = extension.asking("options")
    ask({"kind": "change", "settings": settings})


def visit(extension: Extension, page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state()
    extension.wait_until_read(page)
    extension.worker_has_finished()


def rules(extension: Extension) -> list[dict[str, Any]]:
    """Return all rules that block anything."""
    get = """async () => [...await chrome.declarativeNetRequest.getDynamicRules(),
      ...await chrome.declarativeNetRequest.getSessionRules()].filter(({ action }) => action.type === "block")"""
    return extension.desk.evaluate(get)


@pytest.fixture
def protecting(agreed: Extension) -> Extension:
    no_warnings(agreed)
    return agreed


def test_on_the_first_visit_what_loads_after_the_verdict_is_blocked(protecting, site):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    assert arrived(site) == sorted(TRACKERS), "before the verdict nothing is known"
    for host in (*TRACKERS, NO_TRACKER):
        ask_for(page, site.address(host, "/late.gif"))
    protecting.worker_has_finished()
    assert arrived(site) == sorted(TRACKERS)
    assert site.asked_of(NO_TRACKER) == ["/dot.gif", "/late.gif"]
    blocking = protecting.view(page)["blocking"]
    assert (blocking["on"], blocking["active"], blocking["siteAllowed"], blocking["blocked"]) == (True, True, False, 3)
    assert sorted(blocking["companies"]) == ["Criteo", "Hotjar", "Scorecard Research"]


def test_on_the_second_visit_no_request_arrives(protecting, site):
    page = protecting.context.new_page()
    address = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    visit(protecting, page, address)
    visit(protecting, page, site.put("match.test", "/", FOOTBALL))
    site.asked.clear()
    visit(protecting, page, address)
    assert arrived(site) == []
    assert site.asked_of(NO_TRACKER) == ["/dot.gif"]
    blocking = protecting.view(page)["blocking"]
    assert (blocking["active"], blocking["blocked"], len(blocking["companies"])) == (True, 3, 3)
    assert len(protecting.view(page)["trackers"]) == 3, "who would have tracked the person is told"


def test_the_second_visit_is_blocked_while_the_worker_sleeps(protecting, site):
    page = protecting.context.new_page()
    address = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    visit(protecting, page, address)
    page.goto("about:blank")
    protecting.worker_has_finished()
    site.asked.clear()
    protecting.kill_worker()
    visit(protecting, page, address)
    assert arrived(site) == []
    assert protecting.view(page)["blocking"]["blocked"] == 3


def test_what_was_blocked_and_what_will_be_outlives_the_worker(protecting, site):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("portal.test", "/article", with_trackers(site, HEALTH)))
    site.asked.clear()
    protecting.kill_worker()
    ask_for(page, site.address(TRACKERS[0], "/one.gif"))
    protecting.worker_has_finished()
    protecting.kill_worker()
    ask_for(page, site.address(TRACKERS[1], "/two.gif"))
    protecting.worker_has_finished()
    protecting.kill_worker()
    assert arrived(site) == []
    assert protecting.view(page)["blocking"]["blocked"] == 2
    # The end of the rules outlives it, too.
    protecting.kill_worker()
    visit(protecting, page, site.put("match.test", "/", with_trackers(site, FOOTBALL)))
    assert arrived(site) == sorted(TRACKERS)
    assert protecting.view(page)["blocking"]["active"] is False


def test_nothing_is_blocked_on_ordinary_pages(protecting, site):
    sensitive, plain = protecting.context.new_page(), protecting.context.new_page()
    visit(protecting, sensitive, site.put("clinic.test", "/", HEALTH))
    site.asked.clear()
    visit(protecting, plain, site.put("match.test", "/", with_trackers(site, FOOTBALL)))
    assert arrived(site) == sorted(TRACKERS)
    ask_for(plain, site.address(TRACKERS[0], "/late.gif"))
    assert len(arrived(site)) == 4
    # Nor in the tab of a sensitive page when it shows another one.
    site.asked.clear()
    visit(protecting, sensitive, site.address("match.test"))
    assert arrived(site) == sorted(TRACKERS)
    blocking = protecting.view(sensitive)["blocking"]
    assert (blocking["active"], blocking["blocked"]) == (False, 0)


def test_a_host_with_a_dot_at_the_end_of_its_name_is_protected_too(protecting, site):
    """It is the same host, which everybody can write in this way."""
    page, elsewhere = protecting.context.new_page(), site.put("match.test", "/", FOOTBALL)
    front = site.put("clinic.test.", "/", with_trackers(site, HEALTH))
    article = site.put("portal.test.", "/article", with_trackers(site, HEALTH))
    for address in (front, article):
        visit(protecting, page, address)
        assert protecting.view(page)["blocking"]["active"], address
        site.asked.clear()
        for host in TRACKERS:
            ask_for(page, site.address(host, "/late.gif"))
        assert arrived(site) == [], address
        visit(protecting, page, elsewhere)
    visit(protecting, page, front)
    assert arrived(site) == []
    # Written without the dot it is known, too.
    visit(protecting, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    assert arrived(site) == []
    protecting.worker_has_finished()
    assert protecting.view(page)["blocking"]["blocked"] == 3


def test_on_a_portal_only_the_sensitive_pages_are_blocked(protecting, site):
    article = site.put("portal.test", "/article", with_trackers(site, HEALTH))
    football = site.put("portal.test", "/football", with_trackers(site, FOOTBALL))
    page = protecting.context.new_page()
    visit(protecting, page, article)
    page.goto("about:blank")
    protecting.worker_has_finished()
    site.asked.clear()
    visit(protecting, page, football)
    assert arrived(site) == sorted(TRACKERS), "one article does not make a sensitive site"
    # The page that is known: its rule is in force before the page is here.
    site.asked.clear()
    page.goto("about:blank")
    site.may_answer.clear()
    page.evaluate("(to) => { location = to }", article)
    until(lambda: any(rule["id"] == 3001 for rule in rules(protecting)), what="the rule for the tab")
    site.may_answer.set()
    page.wait_for_url(article)
    page.wait_for_load_state()
    protecting.wait_until_read(page)
    protecting.worker_has_finished()
    assert arrived(site) == []
    assert protecting.view(page)["blocking"]["blocked"] == 3
    # From there to the football page of the same host.
    site.asked.clear()
    visit(protecting, page, football)
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert site.asked_of(TRACKERS[0])[-1] == "/late.gif"
    assert rules(protecting) == []


def test_a_frame_of_somebody_else_in_a_sensitive_page_reaches_no_tracker(protecting, site):
    frame = site.put("widget.test", "/", with_trackers(site, "<!doctype html><body>A widget.</body>"))
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/", HEALTH))
    site.asked.clear()
    page.evaluate(
        """(address) => new Promise((loaded) => {
          const frame = Object.assign(document.createElement("iframe"), { src: address, onload: () => loaded(null) });
          document.body.append(frame);
        })""",
        frame,
    )
    protecting.worker_has_finished()
    assert site.asked_of("widget.test") == ["/"]
    assert arrived(site) == []
    assert protecting.view(page)["blocking"]["blocked"] == 3


def test_another_site_that_frames_a_known_host_cannot_tell_by_its_trackers(protecting, site):
    """Else a tracker would learn which hosts somebody visits, by showing them in frames."""
    clinic = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    page = protecting.context.new_page()
    visit(protecting, page, clinic)
    page.close()
    protecting.worker_has_finished()
    site.asked.clear()
    page = protecting.context.new_page()
    visit(protecting, page, site.put("curious.test", "/", FOOTBALL + f'<iframe src="{clinic}"></iframe>'))
    assert site.asked_of("clinic.test") == ["/"]
    assert arrived(site) == sorted(TRACKERS)
    # On its own page they are blocked, so the test can fail.
    site.asked.clear()
    visit(protecting, page, clinic)
    assert arrived(site) == []


def test_a_site_that_does_not_work_can_be_allowed(protecting, site):
    page = protecting.context.new_page()
    address = site.put("clinic.test", "/", with_trackers(site, HEALTH))
    visit(protecting, page, address)
    ask = protecting.asking("popup")
    view = ask({"kind": "block-site", "document": protecting.view(page)["document"], "on": False})
    assert (view["blocking"]["siteAllowed"], view["blocking"]["active"]) == (True, False)
    for _ in range(2):
        site.asked.clear()
        visit(protecting, page, address)
        ask_for(page, site.address(TRACKERS[0], "/late.gif"))
        assert len(arrived(site)) == 4
    assert rules(protecting) == []
    view = ask({"kind": "block-site", "document": protecting.view(page)["document"], "on": True})
    assert view["blocking"]["siteAllowed"] is False
    site.asked.clear()
    visit(protecting, page, address)
    assert arrived(site) == []


@pytest.mark.parametrize(
    "settings",
    [{"blocking": False}, {"offSites": ["clinic.test"]}, "pause", {"classifying": False}],
    ids=["switched off", "site switched off", "paused", "consent taken back"],
)
def test_nothing_is_blocked_any_more_after_it_was_switched_off(protecting, site, settings):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    assert len(rules(protecting)) == 2
    if settings == "pause":
        protecting.asking("popup")({"kind": "pause", "tab": -1, "minutes": 60})
    else:
        change(protecting, **settings)
    protecting.worker_has_finished()
    assert rules(protecting) == []
    site.asked.clear()
    page.reload()
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert len(arrived(site)) == 4


def test_what_the_person_says_of_a_page_changes_nothing_that_it_could_notice(protecting, site):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/", with_trackers(site, HEALTH)))
    ask, view = protecting.asking("popup"), protecting.view(page)
    before = rules(protecting)
    view = ask({"kind": "label", "document": view["document"], "url": view["url"], "label": 5})
    assert (view["shown"], view["blocking"]["active"]) == (5, True)
    protecting.worker_has_finished()
    assert rules(protecting) == before
    visit(protecting, page, site.put("match.test", "/", with_trackers(site, FOOTBALL)))
    view = protecting.view(page)
    view = ask({"kind": "label", "document": view["document"], "url": view["url"], "label": 0})
    assert (view["shown"], view["blocking"]["active"]) == (0, False)
    site.asked.clear()
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert arrived(site) == [TRACKERS[0]]


def test_a_company_is_allowed_its_own_hosts_on_its_own_pages(protecting, site):
    """Hotjar's own help about health: its hosts belong to the page, those of others do not."""
    own = ("script.hotjar.com", "static.criteo.net")
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in own)
    address = site.put("help.hotjar.com", "/", HEALTH.replace("</body>", f"{pictures}</body>"))
    page = protecting.context.new_page()
    visit(protecting, page, address)
    for path in ("/late.gif", "/later.gif"):
        site.asked.clear()
        for host in own:
            ask_for(page, site.address(host, path))
        assert (site.asked_of(own[0]), site.asked_of(own[1])) == ([path], [])
        visit(protecting, page, address)


def test_hosts_of_the_persons_lists_are_blocked_too(protecting, site):
    ask = protecting.asking("options")
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/", HEALTH))
    ask({"kind": "import-list", "name": "mine.txt", "text": "||evil.test^\n"})
    ask_for(page, site.address("pixel.evil.test", "/one.gif"))
    assert site.asked_of("pixel.evil.test") == []
    protecting.worker_has_finished()
    assert protecting.view(page)["blocking"]["companies"] == ["evil.test"]
    ask({"kind": "remove-list", "name": "mine.txt"})
    ask_for(page, site.address("pixel.evil.test", "/two.gif"))
    assert site.asked_of("pixel.evil.test") == ["/two.gif"]


def test_a_page_that_moves_on_within_itself_is_judged_anew(protecting, site):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("app.test", "/article", HEALTH))
    page.evaluate(
        """(html) => {
          history.pushState({}, "", "/football");
          for (const meta of document.querySelectorAll("meta")) meta.remove();
          document.title = "Football";
          document.body.innerHTML = html;
        }""",
        FOOTBALL,
    )
    until(lambda: protecting.view(page)["shown"] == 5, what="the new verdict")
    protecting.worker_has_finished()
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert arrived(site) == [TRACKERS[0]]


def test_a_download_does_not_end_what_is_blocked(protecting, site):
    address = site.put("files.test", "/file", "bytes", kind="application/octet-stream")
    page = protecting.context.new_page()
    visit(protecting, page, site.put("clinic.test", "/article", HEALTH))
    with page.expect_download():
        page.evaluate("(to) => { location = to }", address)
    protecting.worker_has_finished()
    ask_for(page, site.address(TRACKERS[0], "/late.gif"))
    assert arrived(site) == []


def test_rules_end_with_their_tab(protecting, site):
    page = protecting.context.new_page()
    visit(protecting, page, site.put("portal.test", "/article", HEALTH))
    assert [rule["id"] for rule in rules(protecting)] == [3001]
    page.close()
    until(lambda: rules(protecting) == [], what="the end of the rules")


def test_the_privacy_signal_is_sent_everywhere_or_nowhere(protecting, site):
    page = protecting.context.new_page()
    asks = "navigator.globalPrivacyControl"
    for address in (site.put("clinic.test", "/", HEALTH), site.put("match.test", "/", FOOTBALL)):
        page.goto(address)
        assert page.evaluate(asks) in (None, False)
    assert site.headers_of("Sec-GPC") == {None}
    change(protecting, privacyControl=True, offSites=["off.test"])
    protecting.kill_worker()
    frame = site.put("frame.test", "/", "<!doctype html>A frame.")
    for host in ("clinic.test", "match.test", "off.test"):
        site.headers.clear()
        page.goto(site.put(host, "/", with_trackers(site, HEALTH, f'<iframe src="{frame}"></iframe>')))
        assert site.headers_of("Sec-GPC") == {"1"}, host
        assert [one.evaluate(asks) for one in page.frames] == [True, True]
    change(protecting, privacyControl=False)
    site.headers.clear()
    page.reload()
    assert page.evaluate(asks) in (None, False)
    assert site.headers_of("Sec-GPC") == {None}
