"""Before the next visit to a page or a host that is known as sensitive and has trackers, the person is asked."""

import re

import pytest

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


def test_only_companies_that_got_a_request_are_said_to_have_looked_on(agreed, site):
    reached, blocked = "static.criteo.net", "static.hotjar.com"
    picture = f'<img src="{site.address(reached, "/dot.gif")}" alt=""></body>'
    pages = {"clinic.test": HEALTH.replace("</body>", picture), "plain.test": HEALTH}
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    for host, html in pages.items():
        visit(agreed, page, site.put(host, "/", html))
        until(lambda: agreed.view(page)["blocking"]["active"], what="the rules")
        page.evaluate(ASK, site.address(blocked, "/late.gif"))
        until(lambda: agreed.view(page)["blocking"]["companies"] == ["Hotjar"], what="the report of what was blocked")
        agreed.worker_has_finished()
        visit(agreed, page, elsewhere)
    assert site.asked_of(blocked) == []
    page.goto(site.address("clinic.test"))
    page.wait_for_selector("#continue:visible")
    assert page.inner_text("#companies") == "Criteo"
    page.goto(site.address("plain.test"))
    assert page.url == site.address("plain.test"), "nobody looked on there"


ASK = """(address) => new Promise((done) => {
  const picture = new Image();
  picture.onload = picture.onerror = () => done(null);
  picture.src = address;
})"""
SESSION_RULES = "chrome.declarativeNetRequest.getSessionRules().then((found) => found.length)"


def redirections(agreed):
    """Return the rules that lead to the warning."""
    return agreed.desk.evaluate(
        """async () => (await chrome.declarativeNetRequest.getDynamicRules())
          .filter(({ action }) => action.type === "redirect")"""
    )


def seen_hosts(agreed):
    return agreed.asking("options")({"kind": "export"})["data"]["seen_hosts"]


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


def test_who_undoes_that_a_page_is_not_sensitive_is_asked_again(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    ask = agreed.asking("popup")
    for undo in ({"kind": "take-back"}, {"kind": "label", "label": 0}):
        page.goto(address)
        page.wait_for_selector("#continue:visible")
        page.click("#continue")
        page.wait_for_url(address)
        agreed.wait_for_badge(page, "H2")
        shown = {name: agreed.view(page)[name] for name in ("document", "url")}
        ask({"kind": "label", "label": 5, **shown})
        assert redirections(agreed) == []
        visit(agreed, page, elsewhere)
        visit(agreed, page, address)
        shown = {name: agreed.view(page)[name] for name in ("document", "url")}
        ask({**undo, **shown})
        assert len(redirections(agreed)) == 1
        page.reload()
        assert page.url == address, "the visit under way is not interrupted"
        agreed.wait_for_badge(page, "H2")
        visit(agreed, page, elsewhere)
        page.goto(address)
        assert "warning.html" in page.url


def say(agreed, page, **wish):
    """Send what the popup sends about the page that a tab shows."""
    shown = {name: agreed.view(page)[name] for name in ("document", "url")}
    agreed.asking("popup")({**wish, **shown})


def test_who_undoes_it_of_one_page_is_not_asked_as_long_as_it_holds_for_another(agreed, site):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    first, second = (site.put("portal.test", path, tracked(site, HEALTH)) for path in ("/one", "/two"))
    for address in (first, second):
        visit(agreed, page, address)
        say(agreed, page, kind="label", label=5)
    say(agreed, page, kind="take-back")
    agreed.worker_has_finished()
    assert [one["harmless"] for one in seen_hosts(agreed)] == [True]
    visit(agreed, page, first)
    say(agreed, page, kind="take-back")
    agreed.worker_has_finished()
    assert [one["harmless"] for one in seen_hosts(agreed)] == [False]
    visit(agreed, page, elsewhere)
    page.goto(first, wait_until="commit")
    page.wait_for_url(lambda url: "warning.html" in url)


def test_who_undoes_it_is_still_not_asked_on_the_day_they_chose(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    continue_for_a_day(agreed, page, address)
    say(agreed, page, kind="label", label=5)
    say(agreed, page, kind="take-back")
    visit(agreed, page, elsewhere)
    assert not warned_in(agreed, page, address)
    agreed.desk.evaluate(DAY_OVER)
    visit(agreed, page, elsewhere)
    agreed.kill_worker()
    agreed.worker_has_finished()
    assert warned_in(agreed, page, address)


@pytest.mark.parametrize("how", ["host forgotten", "said while nothing was noted"])
def test_what_was_said_of_a_page_outlives_what_was_noted_of_its_host(agreed, site, how):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    address = site.put("clinic.test", "/", tracked(site, HEALTH))
    ask = agreed.asking("options")
    if how != "host forgotten":
        ask({"kind": "change", "settings": {"blocking": False, "warnings": False}})
    visit(agreed, page, address)
    say(agreed, page, kind="label", label=5)
    visit(agreed, page, elsewhere)
    if how == "host forgotten":
        ask({"kind": "forget-hosts"})
    ask({"kind": "change", "settings": {"blocking": True, "warnings": True}})
    assert seen_hosts(agreed) == []
    visit(agreed, page, address)
    visit(agreed, page, elsewhere)
    assert not warned_in(agreed, page, address)


def test_what_was_said_of_a_page_counts_on_other_pages_after_its_host_was_forgotten(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    continue_for_a_day(agreed, page, address)
    say(agreed, page, kind="label", label=5)
    agreed.asking("options")({"kind": "forget-hosts"})
    for place in range(3):
        visit(agreed, page, site.put("clinic.test", f"/{place}", tracked(site, HEALTH)))
    visit(agreed, page, elsewhere)
    assert not warned_in(agreed, page, address)
    (labelled,) = agreed.asking("options")({"kind": "export"})["data"]["labelled_pages"]
    assert labelled["host"] in [one["host"] for one in seen_hosts(agreed)], "a salted hash, not the name"


def test_hosts_that_the_version_before_stored_are_still_known(agreed):
    agreed.desk.evaluate(STORED_BY_VERSION_4)
    agreed.kill_worker()
    assert [one["host"] for one in agreed.asking("options")({"kind": "options"})["hosts"]] == ["clinic.test"]
    until(lambda: len(redirections(agreed)) == 1, what="its rule")


def test_hosts_that_are_noted_together_are_all_warned_of(agreed, site):
    hosts = [f"clinic{number}.test" for number in range(4)]
    pages = []
    for host in hosts:
        site.put(host, "/", tracked(site, HEALTH))
        pages.append(agreed.context.new_page())
    site.may_answer.clear()
    for page, host in zip(pages, hosts, strict=True):
        page.evaluate("(to) => { location = to }", site.address(host))
    until(lambda: sum(path == "/" for _, path in site.asked) == len(hosts), what="the requests")
    site.may_answer.set()
    for page, host in zip(pages, hosts, strict=True):
        page.wait_for_url(site.address(host))
        agreed.wait_until_read(page)
    until(lambda: len(redirections(agreed)) == len(hosts), what="a rule for each host")


def test_what_earlier_versions_noted_in_another_way_traps_nobody(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    agreed.desk.evaluate(STORED_WITH_A_DOT)
    agreed.kill_worker()
    agreed.worker_has_finished()
    assert redirections(agreed) == []
    assert agreed.desk.evaluate(KNOWN_HOSTS) == [], "its name is not kept where nobody can remove it"
    page.goto(site.put("clinic.test.", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    visit(agreed, page, elsewhere)
    agreed.desk.evaluate(OLD_PATTERN)
    agreed.kill_worker()
    agreed.worker_has_finished()
    until(lambda: all("[.]?" in rule["condition"]["regexFilter"] for rule in redirections(agreed)), what="new patterns")
    assert len(redirections(agreed)) == 1
    assert warned_in(agreed, page, address)


def test_a_name_that_fitted_into_a_rule_of_an_earlier_version_stops_no_change_of_rules(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    agreed.desk.evaluate(STORED_WITH_A_LONG_NAME)
    agreed.kill_worker()
    agreed.worker_has_finished()
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"unwarnedSites": ["clinic.test"]}})
    assert redirections(agreed) == []
    assert not warned_in(agreed, page, address)
    page, address, _ = seen_and_left(agreed, site, "hospital.test")
    assert warned_in(agreed, page, address)


def test_who_undoes_what_an_earlier_version_noted_of_a_portal_is_asked_again(agreed, site):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    article = site.put("portal.test", "/one", tracked(site, HEALTH))
    visit(agreed, page, article)
    say(agreed, page, kind="label", label=5)
    agreed.worker_has_finished()
    agreed.desk.evaluate(QUIET_FOR_EVER)
    agreed.kill_worker()
    agreed.worker_has_finished()
    say(agreed, page, kind="take-back")
    agreed.worker_has_finished()
    visit(agreed, page, elsewhere)
    page.goto(article, wait_until="commit")
    page.wait_for_url(lambda url: "warning.html" in url)
    page.wait_for_selector("#continue:visible")
    assert "portal.test" in page.inner_text("#known")


STORED_BY_VERSION_4 = """() => new Promise((done, failed) => {
  // Both requests wait in one queue, so the worker cannot make a database of today between them.
  indexedDB.deleteDatabase("eitr");
  const opening = indexedDB.open("eitr", 4);
  opening.onerror = () => failed(opening.error);
  opening.onupgradeneeded = () => {
    const answer = ["server", "task", "step"];
    for (const [name, keyPath] of [["kept"], ["model"], ["pages", "page"], ["sent", ["server", "round"]],
      ["hosts", "host"], ["lists", "name"], ["uses", "page"], ["answers", answer], ["seen", "host"], ["visits"]])
      opening.result.createObjectStore(name, keyPath ? { keyPath } : {});
  };
  opening.onsuccess = () => {
    const change = opening.result.transaction(["kept", "hosts"], "readwrite");
    change.objectStore("kept").put({ asked: 1, classifying: true }, "settings");
    const known = { host: "clinic.test", topic: 0, companies: ["Google"], time: 1, rule: 1, quietUntil: 0 };
    change.objectStore("hosts").put(known);
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""
QUIET_FOR_EVER = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("seen", "readwrite");
    const store = change.objectStore("seen");
    store.getAll().onsuccess = ({ target }) => {
      for (const { harmless, ...known } of target.result) store.put({ ...known, quietUntil: Number.MAX_SAFE_INTEGER });
    };
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""
"""As earlier versions noted that a page is not sensitive."""
STORED_WITH_A_DOT = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("hosts", "readwrite");
    const store = change.objectStore("hosts");
    store.get("clinic.test").onsuccess = ({ target }) => {
      store.clear();
      store.put({ ...target.result, host: "clinic.test." });
    };
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""
STORED_WITH_A_LONG_NAME = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("hosts", "readwrite");
    const store = change.objectStore("hosts");
    store.get("clinic.test").onsuccess = ({ target }) =>
      store.put({ ...target.result, host: `${"a".repeat(60)}.${"b".repeat(13)}.test`, rule: 2 });
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""
"""One of 79 letters: the pattern of earlier versions was shorter."""
OLD_PATTERN = """async () => {
  const [rule] = (await chrome.declarativeNetRequest.getDynamicRules()).filter(({ action }) => action.redirect);
  const regexFilter = rule.condition.regexFilter.replace("[.]?", "");
  const old = { ...rule, condition: { ...rule.condition, regexFilter } };
  await chrome.declarativeNetRequest.updateDynamicRules({ addRules: [old], removeRuleIds: [rule.id] });
}"""
KNOWN_HOSTS = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const names = opening.result.transaction("hosts").objectStore("hosts").getAllKeys();
    names.onsuccess = () => { opening.result.close(); done(names.result) };
  };
})"""


def continue_for_a_day(agreed, page, address):
    """Go on to an address, and do not be asked before it for a day."""
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    page.select_option("#quiet", "day")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_until_read(page)


def test_who_does_not_want_to_be_asked_for_a_day_is_asked_after_it(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    continue_for_a_day(agreed, page, address)
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
    const change = opening.result.transaction(["hosts", "seen"], "readwrite");
    for (const name of ["hosts", "seen"]) {
      const store = change.objectStore(name);
      store.getAll().onsuccess = ({ target }) => {
        for (const known of target.result) store.put({ ...known, quietUntil: 1 });
      };
    }
    change.oncomplete = () => { opening.result.close(); done(null) };
  };
})"""


def warned_in(agreed, page, address):
    """Go to an address; say whether the warning stands before it."""
    page.goto(address)
    return "warning.html" in page.url


def test_a_visit_that_begins_in_a_pause_is_not_interrupted_when_the_pause_ends(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    following = site.put("clinic.test", "/next", tracked(site, HEALTH))
    ask = agreed.asking("popup")
    ask({"kind": "pause", "tab": -1, "minutes": 60})
    assert not warned_in(agreed, page, address)
    ask({"kind": "pause", "tab": -1, "minutes": 0})
    agreed.wait_until_read(page)
    assert len(redirections(agreed)) == 1
    assert not warned_in(agreed, page, following)
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)


@pytest.mark.parametrize("killed", [False, True], ids=["", "and the worker is killed"])
def test_a_visit_that_ends_in_a_pause_is_over_when_the_pause_ends(agreed, site, killed):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.goto(address)
    page.wait_for_selector("#continue:visible")
    page.click("#continue")
    page.wait_for_url(address)
    agreed.wait_until_read(page)
    ask = agreed.asking("popup")
    ask({"kind": "pause", "tab": -1, "minutes": 60})
    page.goto(elsewhere)
    if killed:
        agreed.kill_worker()
    ask({"kind": "pause", "tab": -1, "minutes": 0})
    until(lambda: len(redirections(agreed)) == 1, what="the rule after the pause")
    assert warned_in(agreed, page, address)


def test_a_visit_is_not_interrupted_when_the_day_without_questions_ends(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    following = site.put("clinic.test", "/next", tracked(site, HEALTH))
    continue_for_a_day(agreed, page, address)
    visit(agreed, page, elsewhere)
    visit(agreed, page, address)
    agreed.desk.evaluate(DAY_OVER)
    agreed.kill_worker()
    agreed.desk.evaluate("chrome.alarms.create('warnings', { when: Date.now() })")
    until(lambda: len(redirections(agreed)) == 1, what="the rule again")
    assert not warned_in(agreed, page, following)
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)


def test_a_visit_is_not_interrupted_when_warnings_are_switched_on(agreed, site):
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"warnings": False}})
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    following = site.put("clinic.test", "/next", tracked(site, HEALTH))
    visit(agreed, page, address)
    ask({"kind": "change", "settings": {"warnings": True}})
    assert not warned_in(agreed, page, following)
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)


def test_continue_that_leads_to_no_page_is_forgotten_after_some_minutes(agreed, site):
    page, address, elsewhere = seen_and_left(agreed, site, "clinic.test")
    file = site.put("clinic.test", "/file", "bytes", kind="application/octet-stream")
    page.goto(file)
    page.wait_for_selector("#continue:visible")
    with page.expect_download():
        page.click("#continue")
    agreed.worker_has_finished()
    assert agreed.desk.evaluate(CONTINUED) == ["clinic.test"]
    alarm = agreed.desk.evaluate("chrome.alarms.get('continued')")
    assert 4 < (alarm["scheduledTime"] - agreed.desk.evaluate("Date.now()")) / 60_000 <= 5
    # The alarm goes off as if the minutes were over.
    agreed.desk.evaluate("chrome.storage.session.set({ continued: [['clinic.test', Date.now()]] })")
    agreed.desk.evaluate("chrome.alarms.create('continued', { when: Date.now() })")
    until(lambda: agreed.desk.evaluate(SESSION_EXCEPTIONS) == 0, what="the end of the exception")
    visit(agreed, page, elsewhere)
    assert warned_in(agreed, page, address)


def test_when_a_host_was_seen_last_is_noted_every_day(agreed, site):
    page, address, _ = seen_and_left(agreed, site, "clinic.test")
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"warnings": False}})
    agreed.worker_has_finished()
    agreed.desk.evaluate(LONG_AGO)
    agreed.kill_worker()
    now = agreed.desk.evaluate("Date.now()")
    assert [known["time"] for known in ask({"kind": "options"})["hosts"]] == [1]
    visit(agreed, page, address)
    until(lambda: all(known["time"] >= now for known in ask({"kind": "options"})["hosts"]), what="the new time")
    assert [one["time"] >= now for one in seen_hosts(agreed) if one["companies"]] == [True]


CONTINUED = "chrome.storage.session.get('continued').then(({ continued }) => continued.map(([host]) => host))"
SESSION_EXCEPTIONS = """chrome.declarativeNetRequest.getSessionRules()
  .then((found) => found.filter(({ id }) => id < 1000).length)"""
LONG_AGO = """() => new Promise((done) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction(["hosts", "seen"], "readwrite");
    for (const name of ["hosts", "seen"]) {
      const store = change.objectStore(name);
      store.getAll().onsuccess = ({ target }) => {
        for (const known of target.result) store.put({ ...known, time: 1 });
      };
    }
    change.oncomplete = () => { opening.result.close(); done(null) };
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


ARRIVE_LATE = """() => {
  const noted = new Promise((done) => {
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (stores, mode, options) {
      const real = begin.call(this, stores, mode, options);
      if (mode === "readwrite" && [stores].flat().includes("seen")) real.addEventListener("complete", done);
      return real;
    };
  });
  const get = chrome.storage.session.get.bind(chrome.storage.session);
  chrome.storage.session.get = async (key) => {
    if (key === "continued") await noted;
    return get(key);
  };
}"""
"""Let the worker look whether to warn of a page only when it has noted what the page is about."""


def test_a_first_visit_is_not_interrupted_by_what_is_learned_on_it(agreed, site):
    page, article = agreed.context.new_page(), site.put("portal.test", "/one", tracked(site, HEALTH))
    agreed.worker_is_ready().evaluate(ARRIVE_LATE)
    visit(agreed, page, article)
    assert [len(one["pages"]) for one in seen_hosts(agreed)] == [1]
    assert page.url == article


HOLD_ARRIVALS = """() => {
  const mayGoOn = new Promise((done) => { self.goOn = done; });
  const get = chrome.storage.session.get.bind(chrome.storage.session);
  chrome.storage.session.get = async (key) => {
    if (key === "continued") await mayGoOn;
    return get(key);
  };
}"""
"""Let the worker look whether to warn of a page only when it is told to go on."""


def test_who_has_left_a_page_is_not_led_to_the_warning_of_it(agreed, site):
    page, elsewhere = agreed.context.new_page(), site.put("match.test", "/", FOOTBALL)
    article = site.put("portal.test", "/one", tracked(site, HEALTH))
    visit(agreed, page, article)
    visit(agreed, page, elsewhere)
    worker = agreed.worker_is_ready()
    worker.evaluate(HOLD_ARRIVALS)
    for address in (article, elsewhere):
        page.goto(address)
        agreed.wait_until_read(page)
    worker.evaluate("self.goOn()")
    agreed.worker_has_finished()
    assert page.url == elsewhere
    page.goto(article, wait_until="commit")
    page.wait_for_url(re.compile(r"warning\.html\?late"))


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


WATCHING = """<script>
  navigation.addEventListener("navigate", (event) => {
    fetch("/log?" + encodeURIComponent(event.destination.url));
    event.preventDefault();
  });
</script>"""


def test_a_page_neither_learns_where_it_is_led_nor_stays(agreed, site):
    html = tracked(site, HEALTH).replace("<head>", f"<head>{WATCHING}")
    address, elsewhere = site.put("portal.test", "/article", html), site.put("match.test", "/", FOOTBALL)
    page = agreed.context.new_page()
    visit(agreed, page, address)
    # By the browser: a navigation that the page begins would be its own to see and to cancel.
    page.goto(elsewhere)
    page.goto(address, wait_until="commit")
    page.wait_for_url(re.compile(r"warning\.html\?late"))
    page.wait_for_selector("#continue:visible")
    assert [path for path in site.asked_of("portal.test") if path.startswith("/log")] == []
    page.click("#back")
    page.wait_for_url(elsewhere)


def test_what_was_seen_of_hosts_is_part_of_the_export_and_has_no_names(agreed, site):
    seen_and_left(agreed, site, "clinic.test")
    seen = seen_hosts(agreed)
    assert [0, 5] in [sorted(topic for one in seen for _, topic in one["pages"])]
    assert "test" not in "".join(one["host"] for one in seen)


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


def test_a_host_with_a_dot_at_the_end_is_the_same_host(agreed, site):
    page, _, elsewhere = seen_and_left(agreed, site, "clinic.test")
    page.goto(site.address("clinic.test."))
    page.wait_for_selector("#continue:visible")
    assert page.inner_text("#host") == "clinic.test"
    page.click("#back")
    page.wait_for_url(elsewhere)


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
    agreed.worker_has_finished()
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
