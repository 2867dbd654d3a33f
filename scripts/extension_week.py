"""Open 200 pages in a week, in Chromium with the extension, and take pictures of "Who could know what".

    python scripts/extension_week.py FOLDER [--visits 200] [--days 7]

The numbers on the page are compared with the script of the week, in English and German; then there are pictures in
light and dark, 1100 and 360 pixels wide, of the whole page, of the sites behind a number, and of the page before it is
switched on. How days are simulated is in `tests/extension/week.py`.
"""

import argparse
import sys
from datetime import date
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.extension_pictures import LANGUAGES, SCHEMES, WIDTHS, pictures
from tests.extension.browser import Extension, chromium_with_extension
from tests.extension.history_page import check_picture, switch_on
from tests.extension.site import Site, served
from tests.extension.states import in_language
from tests.extension.week import Visit, live, script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--visits", type=int, default=200, help="how many pages are opened (default: 200)")
    parser.add_argument("--days", type=int, default=7, help="over how many days (default: 7)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    today = date.today()
    visits = script(arguments.visits, arguments.days, today)
    with sync_playwright() as playwright:
        for language in LANGUAGES:
            with (
                in_language(language) as built,
                served() as site,
                chromium_with_extension(playwright, folder=built) as extension,
            ):
                take(extension, site, visits, today, language, arguments.folder)


def take(extension: Extension, site: Site, visits: list[Visit], today: date, language: str, folder: Path) -> None:
    extension.agree()
    page = extension.open("history")
    pictures(page, folder, f"history-off-{language}")
    switch_on(extension)
    for number, _ in enumerate(live(extension, site, visits, today), 1):
        print(f"\r{language}: {number} of {len(visits)} pages", end="", flush=True)
    show(page)
    pictures(page, folder, f"history-{language}")
    check_picture(page, visits)
    print(f"\n{language}: the picture says what the script says")
    page.click("#matrix tbody tr:first-child button")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for device, width in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 760})
            page.screenshot(path=folder / f"history-cell-{language}-{scheme}-{device}.png")


def show(page: Page) -> None:
    page.reload()
    page.wait_for_selector("#matrix tbody th")


if __name__ == "__main__":
    main()
