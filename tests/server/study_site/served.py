"""A study behind a real `eitr serve`, for real browsers, and every page of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

from eitr.server.composition.wiring import build_services
from eitr.server.domain.services import Services
from eitr.server.settings import read_settings
from eitr.taxonomy import NAMES
from tests.server.dashboard.example import OPERATOR, PASSWORD, make_operator
from tests.server.dashboard.pages import sign_in
from tests.server.dashboard.served import offer_packages
from tests.server.process import Running
from tests.server.study_site.study import EACH, SLUG, ExampleStudy

BASE = f"/study/{SLUG}"
DESK = f"/studies/{SLUG}"


@dataclass
class ServedStudy:
    """A study at a running server; a second set of services acts for the extension and the experts."""

    address: str
    services: Services
    study: ExampleStudy

    def person(self, context: BrowserContext) -> str:
        """Return the id of the participant who uses a browser."""
        secret = next(one["value"] for one in context.cookies() if one["name"] == "eitr_person")
        found = self.services.studies.people.find(SLUG, secret)
        assert found is not None
        return found


@contextmanager
def served_study(folder: Path, **settings: Any) -> Iterator[ServedStudy]:
    """Run a server with a study."""
    services = build_services(read_settings(folder=folder, worker=False))
    make_operator(services.database)
    study = ExampleStudy(services, folder)
    offer_packages(folder)
    try:
        with Running("serve", folder, "--no-worker", downloads=folder, **settings) as running:
            yield ServedStudy(running.ready().address, services, study)
    finally:
        services.stop()


def rate_everything(served: ServedStudy) -> None:
    """Let three experts rate: they agree about most pages."""
    raters = served.services.studies.raters
    for place, name in enumerate(("Ada Example", "Grace Example", "Mary Example")):
        token = served.study.rater(name)
        rater = raters.find(SLUG, token)
        assert rater is not None
        for number, page in enumerate(raters.pages(rater.id)):
            label = NAMES[(number + place) % 6] if number % 5 == 4 else NAMES[number % 4]
            raters.rate(rater.id, page.id, label)


def consent(page: Page, code: str, *ticked: str) -> None:
    """Begin with the link of an invitation."""
    page.goto(f"{BASE}/start#code={code}")
    for name in ("participation", *ticked):
        page.check(f"#{name}")
    page.click("main form button")
    page.wait_for_url(f"**{BASE}/me")


def public_pages(served: ServedStudy) -> dict[str, str]:
    """Return the pages that everybody sees."""
    code = served.study.invite()[0]
    return {
        "information": BASE,
        "start": f"{BASE}/start#code={code}",
        "join": f"/join#invitation={code}&study={SLUG}",
        "join-without-code": "/join",
        "extension": "/extension",
        "enter-rating": f"{BASE}/rate",
        "withdrawn": f"{BASE}/withdrawn",
        "problem": f"{BASE}/me",
    }


def participant_pages(served: ServedStudy, context: BrowserContext) -> dict[str, str]:
    """Begin as a participant who is half through; return their pages."""
    page = context.new_page()
    consent(page, served.study.invite()[0], "collection")
    served.study.label(served.person(context), EACH // 2)
    page.close()
    return {"me": f"{BASE}/me?done=consent-given", "withdraw": f"{BASE}/me/withdraw"}


def operator_pages(context: BrowserContext) -> dict[str, str]:
    """Sign in as an operator; return the pages about studies."""
    page = context.new_page()
    sign_in(page, OPERATOR, PASSWORD)
    page.close()
    return {
        "studies": "/studies",
        "new-study": "/new-study",
        "study": DESK,
        "study-pages": f"{DESK}/pages",
        "study-experts": f"{DESK}/experts",
        "study-settings": f"{DESK}/settings",
    }


def rater_pages(served: ServedStudy, context: BrowserContext, name: str) -> dict[str, str]:
    """Enter as a rater; return their pages."""
    page = context.new_page()
    page.goto(f"{BASE}/rate#token={served.study.rater(name)}")
    page.wait_for_url(f"**{BASE}/rate/1")
    page.close()
    return {"rate": f"{BASE}/rate/1"}
