"""Take a picture of every page of a study: its site in both languages, and the operator's pages; light and dark, on a
desktop and on a telephone.

    python scripts/study_pictures.py FOLDER [--axe node_modules/axe-core/axe.min.js]

Starts a server of its own with an example study. With axe-core, says what is hard to use for whom, too.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.server.dashboard.pages import complaints, launch_chromium
from tests.server.study_site.served import (
    BASE,
    ServedStudy,
    consent,
    operator_pages,
    participant_pages,
    public_pages,
    rate_everything,
    rater_pages,
    served_study,
)
from tests.server.study_site.study import EACH

WIDTHS = {"desktop": 1280, "mobile": 360}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LANGUAGES = {"en": "en-GB", "de": "de-DE"}


class Camera:
    """Takes pictures, and counts what is wrong."""

    def __init__(self, folder: Path, axe: str) -> None:
        self._folder, self._axe = folder, axe
        self.wrong = 0

    def take(self, page: Page, name: str) -> None:
        page.screenshot(path=self._folder / f"{name}.png", full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        said = [f"wider than the window by {wide} pixels"] if wide > 0 else []
        said += complaints(page, self._axe) if self._axe else []
        for complaint in said:
            print(f"{name}: {complaint}")
        self.wrong += len(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--only", default="", help="such as mobile-dark: these pictures alone")
    parser.add_argument("--axe", type=Path, help="axe.min.js, to check every page with")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    camera = Camera(given.folder, given.axe.read_text() if given.axe else "")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as here:
        browser = launch_chromium(playwright)
        with served_study(Path(here)) as served:
            rate_everything(served)
            for device in WIDTHS:
                for scheme in SCHEMES:
                    if given.only not in f"{device}-{scheme}":
                        continue
                    pictures(browser, served, camera, device, scheme)
        browser.close()
    print(f"{camera.wrong} complaints")
    sys.exit(1 if camera.wrong else 0)


def pictures(
    browser: Browser, served: ServedStudy, camera: Camera, device: str, scheme: Literal["light", "dark"]
) -> None:
    for language, locale in LANGUAGES.items():
        ending = f"{language}-{device}-{scheme}"
        context = new_context(browser, served, device, scheme, locale)
        pages = {
            **public_pages(served),
            **participant_pages(served, context),
            **rater_pages(served, context, f"Rater {ending}"),
        }
        stranger = new_context(browser, served, device, scheme, locale)
        newcomer = new_context(browser, served, device, scheme, locale)
        page = newcomer.new_page()
        consent(page, served.study.invite()[0])
        camera.take(page, f"me-new-{ending}")
        newcomer.close()
        for name, path in pages.items():
            used = context if name in ("me", "withdraw", "rate") else stranger
            page = used.new_page()
            page.goto(path)
            camera.take(page, f"{name}-{ending}")
            page.close()
        finished(served, context, camera, ending)
        stranger.close()
        context.close()
    context = new_context(browser, served, device, scheme, "en-GB")
    for name, path in operator_pages(context).items():
        page = context.new_page()
        page.goto(path)
        camera.take(page, f"desk-{name}-{device}-{scheme}")
        page.close()
    page = context.new_page()
    page.goto("/studies/covid")
    page.fill("#count", "3")
    page.fill("#note", "course of 2028")
    page.click("text=Make links")
    camera.take(page, f"desk-links-{device}-{scheme}")
    context.close()


def finished(served: ServedStudy, context: BrowserContext, camera: Camera, ending: str) -> None:
    """Take the page of somebody who has finished and given an address."""
    served.study.label(served.person(context), EACH)
    page = context.new_page()
    page.goto(f"{BASE}/me")
    page.fill("#email", "ann@example.org")
    page.click("#reward form button")
    page.wait_for_url("**/me?done=contact-saved*")
    camera.take(page, f"me-finished-{ending}")


def new_context(
    browser: Browser, served: ServedStudy, device: str, scheme: Literal["light", "dark"], locale: str
) -> BrowserContext:
    return browser.new_context(
        base_url=served.address,
        viewport={"width": WIDTHS[device], "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",
        locale=locale,
    )


if __name__ == "__main__":
    main()
