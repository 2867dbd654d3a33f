"""What the popup says and does: true sentences, switches that stay, and companies with what they do."""

import pytest

from .browser import unfold, until
from .pages import FOOTBALL, HEALTH, RELIGION, tracked

BLOCKED_ON = """async () => (await chrome.declarativeNetRequest.getDynamicRules())
  .filter(({ action }) => action.type === "block").map(({ condition }) => condition.initiatorDomains)"""


def test_a_switch_does_not_spring_back(agreed, site):
    """The popup asks every second how things are; an answer that was given before the click must not undo it."""
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    # The click comes after the worker has answered, and the answer comes after what became of the click.
    stays_off = popup.evaluate(
        """() => new Promise((done) => {
          const send = chrome.runtime.sendMessage.bind(chrome.runtime);
          const box = document.querySelector("#site-on");
          chrome.runtime.sendMessage = async (message) => {
            const outdated = await send(message);
            if (message.kind !== "popup") return outdated;
            chrome.runtime.sendMessage = send;
            box.click();
            while (document.querySelector("#opinion").checkVisibility()) await new Promise((go) => setTimeout(go, 5));
            // When the popup asks again, it has done with this answer what it does.
            chrome.runtime.sendMessage = (next) => {
              chrome.runtime.sendMessage = send;
              done(!box.checked);
              return send(next);
            };
            return outdated;
          };
        })"""
    )
    assert stays_off
    assert agreed.view(page)["state"] == "off"


def test_a_switch_that_had_no_effect_shows_what_holds(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.evaluate("""() => {
      const send = chrome.runtime.sendMessage.bind(chrome.runtime);
      chrome.runtime.sendMessage = async (message) =>
        message.kind === "site" ? { ok: false, problem: "problem_failed" } : send(message);
      document.querySelector("#site-on").click();
    }""")
    until(lambda: "did not work" in (popup.text_content("#status") or ""), what="the problem")
    assert popup.is_checked("#site-on")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"localLearning": True}, "Thank you. EITR learns from it, in this browser only."),
        ({"localLearning": False}, "Thank you. This counts for this page. EITR does not learn from it."),
        (
            {"localLearning": False, "contributing": True},
            "Thank you. EITR learns from it when your server collects next. The page itself is not sent.",
        ),
    ],
    ids=["local", "not at all", "contributing"],
)
def test_who_corrects_is_told_the_truth_about_learning(agreed, site, settings, said):
    agreed.asking("options")({"kind": "change", "settings": {"server": "https://eitr.example.org", **settings}})
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", HEALTH))
    agreed.wait_for_badge(page, "H")
    popup = agreed.popup(page)
    popup.select_option("#topic", label="Religion")
    popup.click("#correct")
    until(lambda: popup.text_content("#status"), what="thanks")
    assert popup.inner_text("#status") == said
    assert popup.inner_text("#sentence") == "This page is about religion."


@pytest.mark.parametrize(
    ("contributing", "said"),
    [
        (False, "Thank you. This counts for this page. EITR does not learn from it."),
        (True, "Thank you. EITR learns from it when your server collects next. The page itself is not sent."),
    ],
    ids=["here alone", "contributing"],
)
def test_who_corrects_a_page_of_unknown_words_is_told_that_it_changes_no_other_page_here(
    agreed, site, contributing, said
):
    agreed.asking("options")(
        {"kind": "change", "settings": {"server": "https://eitr.example.org", "contributing": contributing}}
    )
    page = agreed.context.new_page()
    page.goto(site.put("unknown.test", "/", "<!doctype html><title>Xyzzy</title><p>Plugh frotz gnusto rezrov."))
    agreed.wait_until_read(page)
    popup = agreed.popup(page)
    popup.select_option("#topic", label="Health")
    popup.click("#correct")
    until(lambda: popup.text_content("#status"), what="thanks")
    assert popup.inner_text("#status") == said


def test_a_page_that_only_the_person_calls_sensitive_is_not_said_to_be_protected(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("match.test", "/", tracked(site, FOOTBALL)))
    agreed.wait_until_read(page)
    popup = agreed.popup(page)
    popup.select_option("#topic", label="Health")
    popup.click("#correct")
    until(lambda: popup.is_visible("#blocking"), what="the switch")
    assert "Nothing is blocked on this page" in popup.inner_text("#blocked")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FOOTBALL, "nothing sensitive"),
        (RELIGION, "about religion"),
        ("<!doctype html><title>Notes</title><p>The doctor spoke about the team and the weather.</p>", None),
    ],
    ids=["football", "religion", "a bit of everything"],
)
def test_the_words_follow_the_probability(agreed, site, text, said):
    page = agreed.context.new_page()
    page.goto(site.put("words.test", "/", text))
    agreed.wait_until_read(page)
    view = agreed.view(page)
    popup = agreed.popup(page)
    sentence = popup.inner_text("#sentence")
    if view["shown"] is None:
        assert sentence == "EITR cannot tell what this page is about."
        return
    share = view["verdict"]["probabilities"][view["shown"]]
    assert sentence.startswith("Very likely" if share >= 0.9 else "Likely" if share >= 0.7 else "Possibly")
    assert said is None or said in sentence


def test_companies_are_listed_with_what_they_do(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    popup = agreed.popup(page)
    until(lambda: popup.inner_text("#tracker-count") == "2 companies have trackers on this page", what="the count")
    assert popup.locator("#companies").is_hidden()
    unfold(popup, "#who")
    assert popup.locator("#companies li").all_inner_texts() == ["Google Analytics", "Facebook Social networks"]
    assert "JSDelivr CDN" in popup.inner_text("#others")


def test_the_trackers_of_a_site_can_be_allowed_and_blocked_again(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    popup = agreed.popup(page)
    popup.uncheck("#block-on")
    until(lambda: popup.inner_text("#blocked") == "You allowed the trackers of this site.", what="the answer")
    ask = agreed.asking("options")
    assert ask({"kind": "options"})["settings"]["unblockedSites"] == ["clinic.test"]
    options = agreed.open("options")
    options.click("#unblocked-sites button")
    until(lambda: popup.is_checked("#block-on"), what="the switch to follow the options")
    assert ask({"kind": "options"})["settings"]["unblockedSites"] == []


def test_remembered_hosts_are_listed_and_forgotten_one_by_one(agreed, site):
    for host in ("clinic.test", "nurses.test"):
        page = agreed.context.new_page()
        page.goto(site.put(host, "/", tracked(site, HEALTH)))
        agreed.wait_for_badge(page, "H2")
        page.close()
    ask = agreed.asking("options")
    until(lambda: len(ask({"kind": "options"})["hosts"]) == 2, what="both hosts")
    options = agreed.open("options")
    unfold(options, "#remembered")
    assert [text.partition(":")[0] for text in options.locator("#remembered-hosts li span").all_inner_texts()] == [
        "nurses.test",
        "clinic.test",
    ]
    options.get_by_role("button", name="Remove nurses.test").click()
    until(lambda: len(ask({"kind": "options"})["hosts"]) == 1, what="one host less")
    assert ask({"kind": "options"})["hosts"][0]["host"] == "clinic.test"
    agreed.worker_has_finished()
    assert agreed.desk.evaluate(BLOCKED_ON) == [["clinic.test"]]


def test_the_new_switches_of_the_options_hold(agreed):
    options = agreed.open("options")
    options.uncheck("#blocking")
    options.check("#privacyControl")
    options.uncheck("#localLearning")
    options.check("#history")
    options.select_option("#historyDays", "30")
    options.get_by_role("group", name="Ask about these topics").get_by_label("Politics").check()
    ask = agreed.asking("options")

    def held():
        return ask({"kind": "options"})["settings"]

    until(lambda: 1 in held()["warnedTopics"], what="the last change")
    settings = held()
    names = ("blocking", "privacyControl", "localLearning", "history", "historyDays")
    assert [settings[name] for name in names] == [False, True, False, True, 30]
    assert settings["warnedTopics"] == [0, 1, 2, 3, 4]
    options.uncheck("#warnings")
    until(lambda: options.locator("#warned-topics input").first.is_disabled(), what="the topics to be out of use")


def test_the_popup_works_with_the_keyboard_alone(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    popup = agreed.popup(page)
    popup.focus("#who > summary")
    popup.keyboard.press("Enter")
    until(lambda: popup.is_visible("#companies"), what="the companies")
    popup.focus("#topic")
    popup.keyboard.type("Relig")
    popup.keyboard.press("Tab")
    popup.keyboard.press("Enter")
    agreed.wait_for_badge(page, "R2")
    until(lambda: popup.evaluate("document.activeElement.id") == "status", what="the focus on what was said")
    popup.focus("#pause")
    popup.keyboard.press("Space")
    popup.wait_for_selector("#resume", state="visible")
    until(lambda: popup.evaluate("document.activeElement.id") == "resume", what="the focus on the end of the pause")
    popup.keyboard.press("Space")
    popup.wait_for_selector("#pause", state="visible")


def test_screen_readers_are_told_what_everything_is(agreed, site):
    page = agreed.context.new_page()
    page.goto(site.put("clinic.test", "/", tracked(site, HEALTH)))
    agreed.wait_for_badge(page, "H2")
    popup = agreed.popup(page)
    assert popup.get_by_role("combobox", name="Choose a topic").count() == 1
    for name in ("Block trackers on sensitive pages of this site", "Read pages of clinic.test"):
        assert popup.get_by_role("checkbox", name=name).is_checked()
    for name in ("Options", "Yes, that is right", "Save", "Pause for an hour"):
        assert popup.get_by_role("button", name=name).is_visible()
    assert popup.get_by_role("link", name="Who could know what").is_visible()
    unfold(popup, "#who")
    assert popup.get_by_role("region", name="2 companies have trackers on this page").is_visible()
