"""A whole study in a real browser, at a real server: consent, address, progress, completion, withdrawal, experts."""

from collections.abc import Iterator
from typing import Any

import pytest

from eitr.server.domain.study.consents import ConsentKind
from tests.server.dashboard.pages import AXE, PATIENCE_MS, complaints
from tests.server.study_site.served import (
    BASE,
    DESK,
    ServedStudy,
    consent,
    operator_pages,
    participant_pages,
    public_pages,
    rate_everything,
    rater_pages,
    served_study,
)
from tests.server.study_site.study import EACH, PAGES, SLUG

EMAIL = "somebody.unusual@example.org"
LOCALES = {"en": "en-GB", "de": "de-DE"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStudy]:
    with served_study(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def new_context(chromium: Any, served: ServedStudy) -> Iterator[Any]:
    """A function that opens a browser for somebody else."""
    made = []

    def make(**options: Any) -> Any:
        found = chromium.new_context(base_url=served.address, **{"locale": "en-GB", **options})
        found.set_default_timeout(PATIENCE_MS)
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


@pytest.fixture
def page(new_context: Any) -> Any:
    """A page that notes what its console says: a broken policy is said there."""
    found = new_context(accept_downloads=True).new_page()
    found.said = []
    found.on("console", lambda message: found.said.append(message.text))
    return found


def test_a_participant_from_the_link_to_withdrawal(page, served):
    code = served.study.invite()[0]
    people = served.services.studies.people
    page.goto(f"{BASE}/start#code={code}")
    assert page.input_value("#code") == code
    assert code not in page.url
    page.click("main form button")  # without a tick the browser itself refuses
    assert page.url.endswith("/start")
    page.check("#participation")
    page.click("main form button")
    page.wait_for_url(f"**{BASE}/me")
    person = served.person(page.context)
    assert set(people.progress(person).consents) == {ConsentKind.PARTICIPATION}
    with page.expect_download() as downloading:
        page.click("a.button:has-text('Download for Chrome')")
    assert downloading.value.suggested_filename == "eitr-chrome.zip"
    page.click("a.button:has-text('Open the connection page')")
    page.wait_for_url(lambda url: "/join#" in url)
    assert page.input_value("#invitation") == code
    assert page.input_value("#server") == served.address
    page.click("nav a:has-text('Deutsch')")
    page.wait_for_url(lambda url: "language=de" in url)
    assert page.input_value("#invitation") == code
    page.click("nav a:has-text('English')")
    page.click("a:has-text('Back to my study page')")
    page.wait_for_url(f"**{BASE}/me")
    page.fill("#email", EMAIL)
    page.click("#reward form button")
    page.wait_for_selector("text=The address was saved.")
    served.study.label(person, EACH - 1)
    page.reload()
    page.wait_for_selector(f"text={EACH - 1} of {EACH} pages done")
    served.study.label(person, EACH)
    page.reload()
    assert page.text_content(".completion") == people.progress(person).completion_code
    page.click("a.button:has-text('Withdraw…')")
    page.wait_for_url("**/withdraw")
    page.check("#sure")
    page.click("button.danger")
    page.wait_for_url("**/withdrawn")
    assert people.find(SLUG, "") is None
    assert EMAIL not in [email for email, _ in served.services.studies.contacts.reward_list(SLUG)]
    assert page.goto(f"{BASE}/me").status == 403
    assert [one["name"] for one in page.context.cookies() if one["name"] == "eitr_person"] == []
    assert [said for said in page.said if "403" not in said] == []


def test_an_expert_rates_with_the_keyboard_alone(page, served):
    raters = served.services.studies.raters
    token = served.study.rater("Keyboard")
    rater = raters.find(SLUG, token)
    page.goto(f"{BASE}/rate#token={token}")
    for number in range(1, PAGES + 1):
        page.wait_for_url(f"**{BASE}/rate/{number}")
        if number == 2:
            page.keyboard.press("b")
            page.wait_for_url(f"**{BASE}/rate/1")
            page.keyboard.press("l")
            page.wait_for_url(f"**{BASE}/rate/2")
        page.keyboard.press("1" if number % 2 else "6")
        page.keyboard.press("Enter")
    page.wait_for_selector("text=All pages are rated")
    labels = [one.label for one in raters.pages(rater.id)]
    assert labels == ["health", "non-sensitive"] * (PAGES // 2)
    assert page.said == []


def everything(served: ServedStudy, new_context: Any, language: str, **options: Any) -> Iterator[tuple[str, Any]]:
    """Open every page of a study, as whom it is for."""
    options = {"locale": LOCALES[language], **options}
    stranger, participant, rater = (new_context(**options) for _ in range(3))
    visits = [(stranger, public_pages(served)), (participant, participant_pages(served, participant))]
    visits.append((rater, rater_pages(served, rater, f"Rater {len(served.services.studies.raters.all(SLUG))}")))
    if language == "en":
        operator = new_context(**options)
        visits.append((operator, operator_pages(operator)))
    for context, pages in visits:
        page = context.new_page()
        for name, path in pages.items():
            page.goto(path)
            yield f"{name} ({language})", page


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: npm install --no-save axe-core, or set EITR_AXE")
@pytest.mark.parametrize(
    ("scheme", "width", "language"),
    [
        ("light", 1280, "en"),
        pytest.param("dark", 360, "de", marks=pytest.mark.long),
        pytest.param("light", 360, "en", marks=pytest.mark.long),
        pytest.param("dark", 1280, "de", marks=pytest.mark.long),
        pytest.param("dark", 1280, "en", marks=pytest.mark.long),
        pytest.param("light", 360, "de", marks=pytest.mark.long),
    ],
)
def test_axe_finds_nothing_wrong_and_nothing_sticks_out(served, new_context, scheme, width, language):
    axe, found, seen = AXE.read_text(), [], 0
    if not served.services.studies.raters.ratings(SLUG).get("Ada Example"):
        rate_everything(served)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
    for name, page in everything(served, new_context, language, **options):
        seen += 1
        found += [f"{name}: {one}" for one in complaints(page, axe)]
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found += [f"{name}: {wide} pixels too wide"] if wide > 0 else []
    assert found == []
    assert seen == (17 if language == "en" else 11)


def test_an_operator_uploads_pages_and_gets_links_that_work(page, served, new_context, tmp_path):
    operator_pages(page.context)
    listed = tmp_path / "more.csv"
    listed.write_text("url,topic\nhttps://more.example/1,more\nhttps://more.example/<script>alert(1)</script>,=1+1\n")
    before = len(served.services.studies.pages.all(SLUG))
    page.goto(f"{DESK}/pages")
    page.set_input_files("#file", listed)
    page.click("text=Upload >> nth=-1")
    page.wait_for_selector("text=The pages were imported.")
    assert len(served.services.studies.pages.all(SLUG)) == before + 2
    page.goto(DESK)
    page.fill("#count", "2")
    page.fill("#note", "course A")
    page.click("text=Make links")
    links = page.input_value("#links").splitlines()
    assert len(links) == 2
    other = new_context().new_page()
    other.goto(links[0])
    consent(other, other.input_value("#code"), "collection")
    page.goto(DESK)
    rows = page.locator("section:has(#left) tbody tr", has_text="course A").all_inner_texts()
    assert sorted(row.split()[-1] for row in rows) == ["consented", "invited"]
    assert page.said == []
