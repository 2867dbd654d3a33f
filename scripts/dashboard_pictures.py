"""Take a picture of every page of the dashboard: light and dark, on a desktop and on a telephone.

    python scripts/dashboard_pictures.py FOLDER [--axe node_modules/axe-core/axe.min.js]

Starts a server of its own with an example federation. With axe-core, says what is hard to use for whom, too.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.server.dashboard.example import OPERATOR, PASSWORD, Example
from tests.server.dashboard.pages import complaints, launch_chromium, paths, sign_in
from tests.server.dashboard.served import served

WIDTHS = {"desktop": 1280, "mobile": 360}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--axe", type=Path, help="axe.min.js, to check every page with")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    axe = given.axe.read_text() if given.axe else ""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as here:
        browser = launch_chromium(playwright)
        with served(Path(here)) as (address, example):
            found = pictures(browser, address, example, given.folder, axe)
        browser.close()
    if axe:
        print(f"{found} complaints")
    sys.exit(1 if found else 0)


def pictures(browser: Browser, address: str, example: Example | None, folder: Path, axe: str) -> int:
    found = 0
    for device, width in WIDTHS.items():
        for scheme in SCHEMES:
            context = browser.new_context(
                base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
            )
            page = context.new_page()
            if example is not None:
                page.goto("/login")
                found += picture(page, folder / f"login-{device}-{scheme}.png", axe)
                page.goto("/setup?code=example")
                found += picture(page, folder / f"setup-{device}-{scheme}.png", axe)
            sign_in(page, OPERATOR, PASSWORD)
            for name, path in paths(example).items():
                page.goto(path)
                found += picture(page, folder / f"{name}-{device}-{scheme}.png", axe)
            if example is not None:
                page.goto("/invitations")
                page.fill("#count", "3")
                page.fill("#note", "course of 2028")
                page.click("text=Make codes")
                found += picture(page, folder / f"codes-{device}-{scheme}.png", axe)
            context.close()
    return found


def picture(page: Page, path: Path, axe: str) -> int:
    for one in page.query_selector_all("details > summary"):
        if one.is_visible() and path.name.startswith(("round-", "abandon")):
            one.click()
            break
    page.screenshot(path=path, full_page=True)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        print(f"{path.name}: wider than the window by {wide} pixels")
    said = complaints(page, axe) if axe else []
    for complaint in said:
        print(f"{path.name}: {complaint}")
    return len(said) + (wide > 0)


if __name__ == "__main__":
    main()
