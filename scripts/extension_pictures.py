"""Take a picture of every page of the extension in each state: light, dark, English, German, wide, narrow.

    python scripts/extension_pictures.py FOLDER

A headless browser has no toolbar: what the icon would show is drawn beside the name it would have, from what the
browser answers about it (letter, colour, spoken sentence). The popup is opened in a tab of its own, as wide as it is.
"""

import argparse
import html
import sys
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.extension.browser import Extension, chromium_with_extension
from tests.extension.federation import federation
from tests.extension.site import Site, served
from tests.extension.states import FOOTBALL, SAMPLE, TRACKERS, in_language, states

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("en", "de")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = {"wide": 1100, "narrow": 360}
POPUP_WIDTHS = {"wide": 416, "narrow": 320}
TOOLBAR = """async (tabId) => ({
  text: await chrome.action.getBadgeText({ tabId }),
  title: await chrome.action.getTitle({ tabId }),
  colour: (await chrome.action.getBadgeBackgroundColor({ tabId })).slice(0, 3).join(),
})"""
STYLE = """body { font: 15px sans-serif } svg { width: 40px; height: 40px }
div { display: flex; gap: 16px; align-items: center; height: 64px }
div > span:first-child { position: relative; width: 40px }
i { position: absolute; right: -8px; bottom: -2px; color: #fff; border-radius: 4px; padding: 0 4px;
  font: bold 13px sans-serif }"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        for language in LANGUAGES:
            with in_language(language) as built:
                with (
                    served() as site,
                    federation() as server,
                    chromium_with_extension(playwright, folder=built) as extension,
                ):
                    for name, page in states(extension, site, server):
                        pictures(page, folder, f"{name}-{language}")
                with served() as site, chromium_with_extension(playwright, folder=built) as extension:
                    extension.consent()
                    badges(extension, site, folder / f"badges-{language}.png")


def pictures(page: Page, folder: Path, name: str) -> None:
    widths = POPUP_WIDTHS if name.startswith("popup") else WIDTHS
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for device, width in widths.items():
            page.set_viewport_size({"width": width, "height": 400})
            page.screenshot(path=folder / f"{name}-{scheme}-{device}.png", full_page=True)


def badges(extension: Extension, site: Site, path: Path) -> None:
    """Draw what the icon shows on four pages."""
    health = SAMPLE.read_text("utf-8")
    dots = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in TRACKERS)
    church = "<title>Prayers</title><p>The bishop and the priest read the Bible, the gospel and hymns of God in church."
    shown = {
        "plain.test": (health, "H"),
        "tracked.test": (health.replace("</body>", f"{dots}</body>"), "H3"),
        "church.test": (church, "R"),
        "match.test": (FOOTBALL, ""),
    }
    rows = []
    for host, (text, badge) in shown.items():
        page = extension.context.new_page()
        page.goto(site.put(host, "/", text))
        extension.wait_until_read(page)
        extension.wait_for_badge(page, badge)
        rows.append((host, extension.desk.evaluate(TOOLBAR, extension.tab(page))))
        page.close()
    drawing = extension.context.new_page()
    drawing.set_viewport_size({"width": 720, "height": 80 * len(rows)})
    drawing.set_content(drawn(rows))
    drawing.screenshot(path=path)
    drawing.close()


def drawn(rows: list[tuple[str, dict[str, Any]]]) -> str:
    icon = (ROOT / "extension" / "src" / "icons" / "elephant.svg").read_text("utf-8")

    def line(host: str, face: dict[str, Any]) -> str:
        badge = f"<i style='background:rgb({face['colour']})'>{html.escape(face['text'])}</i>" if face["text"] else ""
        return f"<div><span>{icon}{badge}</span><span><b>{host}</b><br>{html.escape(face['title'])}</span></div>"

    return f"<style>{STYLE}</style>{''.join(line(*row) for row in rows)}"


if __name__ == "__main__":
    main()
