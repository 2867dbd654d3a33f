"""A pause: nothing is read, shown, warned of or noted until it ends, whoever is killed or restarted meanwhile."""

import pytest

from .browser import chromium_with_extension, until
from .pages import HEALTH, tracked

HOUR_MS = 3_600_000
ALARM = "chrome.alarms.get('pause').then((alarm) => alarm?.scheduledTime ?? null)"
SCRIPTS = "chrome.scripting.getRegisteredContentScripts().then((found) => found.length)"
RULES = "chrome.declarativeNetRequest.getDynamicRules().then((found) => found.length)"
DEFAULT_BADGE = "chrome.action.getBadgeText({})"


def pause(extension, minutes):
    return extension.asking("popup")({"kind": "pause", "tab": -1, "minutes": minutes})


def is_paused(extension):
    return extension.asking("options")({"kind": "options"})["settings"]["pausedUntil"] > 0


def let_time_pass(extension):
    """Set the end of the pause to this moment, as if an hour had gone by."""
    set_end_of_pause(extension, 0)


def set_end_of_pause(extension, milliseconds):
    """Set the end of the pause, as counted from now, behind the worker's back."""
    extension.desk.evaluate(
        """(time) => new Promise((done, failed) => {
          const opening = indexedDB.open("eitr");
          opening.onsuccess = () => {
            const change = opening.result.transaction("kept", "readwrite");
            const kept = change.objectStore("kept");
            const reading = kept.get("settings");
            reading.onsuccess = () => kept.put({ ...reading.result, pausedUntil: Date.now() + time }, "settings");
            change.oncomplete = () => { opening.result.close(); done(null) };
            change.onabort = () => failed(change.error);
          };
        })""",
        milliseconds,
    )


def test_who_pauses_is_left_alone_until_they_end_it(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    until(lambda: agreed.desk.evaluate(RULES) == 3, what="the rule of the warning and the two of blocking")
    popup = agreed.popup(page)
    popup.click("#pause")
    popup.wait_for_selector("#resume", state="visible")
    assert popup.inner_text("#sentence").startswith("EITR is paused until ")
    agreed.wait_for_badge(page, "II")
    until(lambda: agreed.spoken(page).startswith("EITR: paused until "), what="the spoken title")
    assert (agreed.desk.evaluate(SCRIPTS), agreed.desk.evaluate(RULES)) == (0, 0)
    assert agreed.desk.evaluate("chrome.storage.session.get(null)") == {}

    other = agreed.context.new_page()
    other.goto(site.put("nurses.test", "/", tracked(site, HEALTH)))
    assert not agreed.has_reader(other)
    assert (agreed.badge(other), agreed.view(other)["state"]) == ("II", "paused")
    agreed.worker_has_finished()
    assert agreed.desk.evaluate("chrome.storage.session.get(null)") == {}

    popup.click("#resume")
    agreed.wait_for_badge(page, "H")
    agreed.wait_for_badge(other, "H")
    until(lambda: agreed.desk.evaluate(RULES) == 3, what="the rules as they were")
    assert agreed.desk.evaluate(DEFAULT_BADGE) == ""
    assert agreed.view(other)["trackers"] == [], "what the page asked for during the pause is not known"


def test_a_page_that_is_open_says_nothing_during_a_pause(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    pause(agreed, 60)
    agreed.record_messages()
    # The content script looks at a change after 1500 ms; timers of a page go off in the order of their times.
    page.evaluate("""() => {
      document.body.append(document.createElement("p"));
      return new Promise((go) => setTimeout(go, 1600));
    }""")
    agreed.worker_has_finished()
    assert agreed.messages("page") == []
    # Also a script that speaks all the same is told to rest.
    assert agreed.badge(page) == "II"


def test_a_pause_outlives_the_worker_and_its_alarm_ends_it(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    view = pause(agreed, 60)
    assert agreed.desk.evaluate(ALARM) == pytest.approx(view["pausedUntil"], abs=1000)
    agreed.kill_worker()
    assert is_paused(agreed)
    agreed.wait_for_badge(page, "II")
    assert agreed.desk.evaluate(SCRIPTS) == 0
    agreed.kill_worker()
    let_time_pass(agreed)
    # Now the alarm that was set for the end of the pause goes off, and starts the worker.
    agreed.desk.evaluate("chrome.alarms.create('pause', { when: Date.now() })")
    agreed.wait_for_badge(page, "H")
    assert not is_paused(agreed)
    assert agreed.desk.evaluate(SCRIPTS) == 1
    assert agreed.desk.evaluate(ALARM) is None


def test_a_pause_that_began_while_the_clock_was_wrong_is_over(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    pause(agreed, 60)
    agreed.wait_for_badge(page, "II")
    set_end_of_pause(agreed, 400 * 24 * HOUR_MS)
    agreed.kill_worker()
    until(lambda: not is_paused(agreed), what="the end of the pause")
    agreed.wait_for_badge(page, "H")


def test_a_pause_does_not_end_because_the_clock_is_behind(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    pause(agreed, 60)
    # As if the clock had been put back by more than a year since the person agreed and paused.
    put_back = 400 * 24 * HOUR_MS
    answered = {"asked": agreed.desk.evaluate("Date.now()") + put_back}
    agreed.asking("options")({"kind": "change", "settings": answered})
    set_end_of_pause(agreed, put_back + HOUR_MS)
    agreed.kill_worker()
    agreed.worker_has_finished()
    assert is_paused(agreed)
    assert (agreed.badge(page), agreed.view(page)["state"]) == ("II", "paused")


def test_an_alarm_that_comes_too_early_ends_nothing(agreed):
    pause(agreed, 60)
    worker = agreed.worker_is_ready()
    worker.evaluate("chrome.alarms.onAlarm.dispatch({ name: 'pause', scheduledTime: Date.now() })")
    agreed.worker_has_finished()
    assert is_paused(agreed)


def test_a_pause_outlives_the_browser_and_ends_if_it_was_over_meanwhile(started, tmp_path, site):
    address = site.put("clinic.test", "/", HEALTH)
    with chromium_with_extension(started, profile=tmp_path) as first:
        first.agree()
        until_then = pause(first, 60)["pausedUntil"]
    with chromium_with_extension(started, profile=tmp_path) as second:
        page = second.context.new_page()
        page.goto(address)
        second.wait_for_badge(page, "II")
        assert second.view(page)["pausedUntil"] == until_then
        assert second.desk.evaluate(ALARM) == pytest.approx(until_then, abs=1000)
        let_time_pass(second)
    with chromium_with_extension(started, profile=tmp_path) as third:
        page = third.context.new_page()
        page.goto(address)
        third.wait_for_badge(page, "H")
        assert not is_paused(third)
        assert third.desk.evaluate(DEFAULT_BADGE) == ""


@pytest.mark.parametrize("minutes", [-1, 1441, "60", None])
def test_a_pause_of_no_sensible_length_is_refused(agreed, minutes):
    page = agreed.open("popup", "?tab=-1")
    told = page.evaluate("(wish) => chrome.runtime.sendMessage(wish)", {"kind": "pause", "tab": -1, "minutes": minutes})
    assert told == {"ok": False, "problem": "problem_failed"}
    assert not is_paused(agreed)


def test_the_options_pause_and_end_the_pause(agreed):
    options = agreed.open("options")
    options.click("#pause")
    options.wait_for_selector("#resume", state="visible")
    assert options.inner_text("#paused").startswith("Paused until ")
    assert options.evaluate("document.activeElement.id") == "resume"
    until_then = agreed.asking("options")({"kind": "options"})["settings"]["pausedUntil"]
    assert until_then == pytest.approx(options.evaluate("Date.now()") + HOUR_MS, abs=60_000)
    options.click("#resume")
    options.wait_for_selector("#pause", state="visible")
    assert not is_paused(agreed)
