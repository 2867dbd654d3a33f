"""Before the next visit to a page or a host that is known as sensitive and has trackers, the person is asked."""

import re

from .browser import until
from .pages import FOOTBALL, HEALTH, tracked


def test_the_second_visit_is_preceded_by_a_warning_and_no_request_leaves(agreed, site):
    address = site.put("clinic.test", "/a?b=c", "")
    site.put("clinic.test", "/a", tracked(site, HEALTH))
    link = site.put("links.test", "/", f'<!doctype html><title>Links</title><a href="{address}">there</a>')
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    page.goto(address)
    agreed.wait_for_badge(page, "H2")
    page.reload()
    assert page.url == address, "the visit under way is not interrupted"
    page.goto(link)
    agreed.wait_until_read(page)
    asked = len(site.asked_of("clinic.test"))

    page.click("a")
    page.wait_for_url(re.compile("warning.html"))
    page.wait_for_selector("#continue:visible")
    assert "clinic.test" in page.inner_text("#known")
    assert "Google" in page.inner_text("#companies")
    assert "Nothing has been sent" in page.inner_text("#known")
    assert len(site.asked_of("clinic.test")) == asked
    page.click("#back")
    page.wait_for_url(link)

    page.click("a")
    page.wait_for_selector("#continue:visible")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H2")


SESSION_RULES = "chrome.declarativeNetRequest.getSessionRules().then((found) => found.length)"


def redirections(agreed):
    """Return the rules that lead to the warning."""
    return agreed.desk.evaluate(
        """async () => (await chrome.declarativeNetRequest.getDynamicRules())
          .filter(({ action }) => action.type === "redirect")"""
    )


def visit(agreed, page, address):
    page.goto(address)
    agreed.wait_until_read(page)
    agreed.worker_has_finished()


def test_a_site_that_is_not_to_be_warned_of_never_is_again(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    page.select_option("#quiet", "always")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H2")
    visit(agreed, page, elsewhere)
    page.goto(address)
    assert page.url == address
    assert redirections(agreed) == []
    assert agreed.view(page)["blocking"]["active"], "it is still known as sensitive"


def test_who_does_not_want_to_be_asked_for_a_day_is_asked_after_it(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    page.select_option("#quiet", "day")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_until_read(page)
    visit(agreed, page, elsewhere)
    agreed.kill_worker()
    page.goto(address)
    assert page.url == address
    # The alarm goes off as if the day were over.
    visit(agreed, page, elsewhere)
    alarm = agreed.desk.evaluate("chrome.alarms.get('warnings')")
    assert 23 < (alarm["scheduledTime"] - page.evaluate("Date.now()")) / 3_600_000 <= 24
    agreed.desk.evaluate(DAY_OVER)
    agreed.kill_worker()
    agreed.desk.evaluate("chrome.alarms.create('warnings', { when: Date.now() })")
    until(lambda: len(redirections(agreed)) == 1, what="the rule again")
    page.goto(address)
    assert "warning.html" in page.url


DAY_OVER = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const store = opening.result.transaction("hosts", "readwrite").objectStore("hosts");
    store.get("clinic.test").onsuccess = ({ target }) => {
      store.put({ ...target.result, quietUntil: 1 }).onsuccess = () => { opening.result.close(); done(null) };
    };
  };
})"""


def test_continue_holds_for_the_visit_unless_the_person_says_more(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_until_read(page)
    visit(agreed, page, site.put("clinic.test", "/next", tracked(site, HEALTH)))
    assert page.url.endswith("/next"), "the visit is under way"
    visit(agreed, page, elsewhere)
    page.goto(address)
    assert "warning.html" in page.url


def test_nobody_who_looks_on_learns_the_topic_unless_it_is_asked_for(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    shown = f"{page.title()} {page.url.partition('#')[0]} {page.inner_text('body')}".lower()
    assert "health" not in shown
    page.click("#why")
    assert "health, illness or medical care" in page.inner_text("#about")
    assert page.get_attribute("#why", "aria-expanded") == "true"
    assert "health" not in page.title().lower()


def test_a_football_page_of_a_portal_is_not_stopped_because_of_an_article(agreed, site):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    articles = [site.put("portal.test", f"/article/{place}", tracked(site, HEALTH)) for place in range(2)]
    football = site.put("portal.test", "/football", tracked(site, FOOTBALL))
    for article in articles:
        visit(agreed, page, article)
        visit(agreed, page, elsewhere)
    page.goto(football)
    agreed.wait_until_read(page)
    assert page.url == football
    assert redirections(agreed) == []
    # The article itself is asked about, when the tab arrives there.
    visit(agreed, page, elsewhere)
    page.evaluate("(to) => { location = to }", articles[0])
    page.wait_for_url(re.compile("warning.html"))
    page.wait_for_selector("#continue:visible")
    assert "had begun to load" in page.inner_text("#known")
    page.click("#continue")
    page.wait_for_url(articles[0])
    agreed.wait_until_read(page)
    assert page.url == articles[0]


def test_a_host_is_warned_of_when_most_of_what_was_seen_is_sensitive(agreed, site):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    pages = [("/one", HEALTH), ("/two", FOOTBALL), ("/three", HEALTH), ("/four", FOOTBALL), ("/five", HEALTH)]
    for path, html in pages:
        assert redirections(agreed) == [], path
        visit(agreed, page, site.put("clinic.test", path, tracked(site, html)))
    until(lambda: len(redirections(agreed)) == 1, what="a rule after three sensitive pages of five")
    # Another ordinary page makes it half: that is not most.
    visit(agreed, page, site.put("clinic.test", "/six", FOOTBALL))
    assert redirections(agreed) == []
    visit(agreed, page, elsewhere)
    page.goto(site.put("clinic.test", "/seven", FOOTBALL))
    assert page.url.endswith("/seven")


def test_topics_that_nobody_wants_to_be_warned_of_are_not(agreed, site):
    ask = agreed.asking("options")
    assert ask({"kind": "options"})["settings"]["warnedTopics"] == [0, 2, 3, 4], "not politics"
    ask({"kind": "change", "settings": {"warnedTopics": [2]}})
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    agreed.worker_has_finished()
    page.goto(address)
    assert page.url == address
    assert redirections(agreed) == []
    visit(agreed, page, elsewhere)
    ask({"kind": "change", "settings": {"warnedTopics": [0]}})
    page.goto(address)
    assert "warning.html" in page.url


def seen_and_left(agreed, site, host):
    """Show a sensitive page with trackers and leave it; return its address and the page it was left for."""
    address, elsewhere = site.put(host, "/", tracked(site, HEALTH)), site.put("match.test", "/", FOOTBALL)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H2")
    page.goto(elsewhere)
    agreed.wait_until_read(page)
    return page, address, elsewhere


SERVICE_WORKER = """
const kept = self.registration.scope;
addEventListener("install", (event) => event.waitUntil(
  caches.open("pages").then((cache) => cache.add(kept)).then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.respondWith(caches.match(kept));
});
"""


def test_a_site_that_answers_by_its_own_service_worker_is_warned_of_too(agreed, site):
    """No rule of the browser stops what never becomes a request."""
    site.put("clinic.localhost", "/sw.js", SERVICE_WORKER, kind="text/javascript")
    script = "<script>navigator.serviceWorker.register('/sw.js')</script>"
    address = site.put("clinic.localhost", "/", tracked(site, HEALTH.replace("</body>", f"{script}</body>")))
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H2")
    until(lambda: page.evaluate("navigator.serviceWorker.controller !== null"), what="the site's worker")
    elsewhere = site.put("match.test", "/", FOOTBALL)
    page.goto(elsewhere)
    agreed.wait_until_read(page)
    page.evaluate("(to) => { location = to }", address)
    page.wait_for_url(re.compile("warning.html"))
    page.wait_for_selector("#continue:visible")
    assert "had begun to load" in page.inner_text("#known")
    page.click("#back")
    page.wait_for_url(elsewhere)
    page.evaluate("(to) => { location = to }", address)
    page.wait_for_url(re.compile("warning.html"))
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H2")


def test_a_name_too_long_for_a_rule_breaks_nothing(agreed, site):
    host = ".".join(["a" * 60, "b" * 60, "c" * 60, "evil.test"])
    page, address, _ = seen_and_left(agreed, site, host)
    ask = agreed.asking("options")
    assert ask({"kind": "options"})["rememberedHosts"] == 0
    ask({"kind": "change", "settings": {"threshold": 0.5}})
    page.evaluate("(to) => { location = to }", address)
    page.wait_for_url(re.compile(r"warning\.html\?late"))
    page.close()
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    assert "warning.html" in page.url


def test_a_site_that_was_switched_off_in_one_tab_is_not_noted_in_another(agreed, site):
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    first, second = agreed.context.new_page(), agreed.context.new_page()
    for page in (first, second):
        page.goto(address)
        agreed.wait_for_badge(page, "H2")
    agreed.popup(first).uncheck("#site-on")
    agreed.wait_for_badge(second, "")
    until(lambda: agreed.desk.evaluate(SESSION_RULES) == 0, what="the end of blocking")
    second.evaluate("(to) => { new Image().src = to }", site.address("www.googletagmanager.com", "/late.gif"))
    until(lambda: site.asked_of("www.googletagmanager.com"), what="the late request")
    agreed.worker_has_finished()
    ask = agreed.asking("options")
    assert ask({"kind": "options"})["rememberedHosts"] == 0
    assert redirections(agreed) == []


def test_who_has_nowhere_to_go_back_to_gets_the_tab_closed(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    page.close()
    with agreed.context.expect_page() as opened:
        agreed.desk.evaluate("(url) => chrome.tabs.create({ url }).then(() => null)", address)
    warning = opened.value
    warning.wait_for_selector("#continue:visible")
    with warning.expect_event("close"):
        warning.click("#back")
    assert warning.is_closed()


def test_who_goes_back_slowly_keeps_the_tab(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.evaluate("(to) => { location = to }", address)
    page.wait_for_selector("#continue:visible")
    tab = agreed.tab(page)
    # The warning gives the browser a moment to begin to leave. The title says when that moment is over.
    page.evaluate("""() => {
      const timer = globalThis.setTimeout;
      globalThis.setTimeout = (go, time) => timer(() => { go(); document.title = "decided"; }, time);
    }""")
    site.may_answer.clear()
    asked = len(site.asked_of("match.test"))
    # Not Playwright's click, which waits for the page that it leads to; nor can the page be asked until that is there.
    page.evaluate("document.getElementById('back').click()")
    until(lambda: len(site.asked_of("match.test")) > asked, what="the request for the page before")
    title = "async (tab) => (await chrome.tabs.get(tab)).title"
    until(lambda: agreed.desk.evaluate(title, tab) == "decided", what="the end of the moment")
    agreed.worker_has_finished()
    assert not page.is_closed()
    site.may_answer.set()
    page.wait_for_url(elsewhere)


def test_a_warning_that_stands_when_its_host_is_forgotten_still_leads_on(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    ask = agreed.asking("options")
    ask({"kind": "forget-hosts"})
    page.click("#continue")
    page.wait_for_url(address)
    assert site.asked_of("clinic.test")


def test_a_form_that_is_sent_off_begins_a_visit(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    site.put("shop.test", "/", f'<!doctype html><form method="post" action="{address}"><button>Send</button></form>')
    page.goto(site.address("shop.test"))
    page.click("button")
    page.wait_for_url(address)
    agreed.wait_for_badge(page, "H2")
    following = site.put("clinic.test", "/next", HEALTH)
    page.goto(following)
    assert page.url == following
