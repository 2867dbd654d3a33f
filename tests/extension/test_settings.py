"""What somebody chose holds, at once and as they left it, also if they choose twice in a moment."""

from .browser import until
from .pages import HEALTH, tracked


def test_a_site_that_is_switched_off_is_not_read(agreed, site):
    address = site.put("clinic.test", "/", HEALTH)
    page = agreed.context.new_page()
    page.goto(address)
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.uncheck("#site-on")
    agreed.wait_for_badge(page, "")
    popup.check("#site-on")
    agreed.wait_for_badge(page, "H")
    popup.uncheck("#site-on")
    agreed.wait_for_badge(page, "")
    page.reload()
    assert not agreed.has_reader(page)
    assert agreed.view(page)["state"] == "off"
    agreed.popup(page).check("#site-on")  # a new one: the popup closes when somebody turns to the page
    agreed.wait_for_badge(page, "H")
    agreed.wait_until_read(page)


def test_pages_that_are_open_are_left_alone_and_read_again_as_reading_is_switched(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    options = agreed.open("options")
    options.uncheck("#classifying")
    agreed.wait_for_badge(page, "")
    agreed.record_messages()
    # The content script looks at a change after 1500 ms; timers of a page go off in the order of their times.
    page.evaluate("""() => {
      document.body.append(document.createElement("p"));
      return new Promise((go) => setTimeout(go, 1600));
    }""")
    agreed.worker_has_finished()
    assert agreed.messages("page") == []
    assert agreed.desk.evaluate("chrome.storage.session.get(null)") == {}
    options.check("#classifying")
    agreed.wait_for_badge(page, "H")


def test_what_a_page_asked_for_while_reading_was_off_is_not_known_afterwards(agreed, site):
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"classifying": False}})
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.worker_has_finished()
    ask({"kind": "change", "settings": {"classifying": True}})
    agreed.wait_for_badge(page, "H")
    assert agreed.view(page)["trackers"] == []
    page.reload()
    agreed.wait_for_badge(page, "H2")


def test_changes_in_the_same_moment_all_hold(agreed):
    page = agreed.open("options")
    page.evaluate(
        """() => Promise.all([{ threshold: 0.7 }, { linkMarks: true }, { warnings: false }].map(
          (settings) => chrome.runtime.sendMessage({ kind: "change", settings })))"""
    )
    ask = agreed.asking("options")
    settings = ask({"kind": "options"})["settings"]
    assert (settings["threshold"], settings["linkMarks"], settings["warnings"]) == (0.7, True, False)


def test_an_options_page_that_was_open_before_does_not_undo_what_was_chosen_elsewhere(agreed, site):
    ask = agreed.asking("options")
    ask({"kind": "change", "settings": {"offSites": ["old.test"]}})
    options = agreed.open("options")
    options.wait_for_selector("#off-sites button")
    ask({"kind": "change", "settings": {"offSites": ["old.test", "new.test"]}})
    options.click("#off-sites li:has-text('old.test') button")
    until(lambda: "Saved" in (options.text_content("#status") or ""), what="an answer")
    assert ask({"kind": "options"})["settings"]["offSites"] == ["new.test"]


def test_an_address_that_is_being_typed_is_not_overwritten(agreed):
    options = agreed.open("options")
    options.wait_for_selector("#learning dt")
    options.fill("#server", "https://eitr.example.org")
    options.check("#linkMarks")
    until(lambda: "Saved" in (options.text_content("#status") or ""), what="an answer")
    assert options.input_value("#server") == "https://eitr.example.org"
    options.click("#save-server")
    ask = agreed.asking("options")
    until(lambda: ask({"kind": "options"})["settings"]["server"] == "https://eitr.example.org", what="it to be saved")


def test_lines_of_a_list_that_name_no_host_are_counted(agreed, tmp_path):
    (tmp_path / "mine.txt").write_text("||evil.test^\nads.example.org\nexample.com##.banner\n")
    options = agreed.open("options")
    options.set_input_files("#list", tmp_path / "mine.txt")
    until(lambda: "left out: 1" in (options.text_content("#status") or ""), what="the count")
    assert "mine.txt: 2 hosts" in options.inner_text("#host-lists")
