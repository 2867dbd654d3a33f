"""Make the PNG icons of the extension from its drawings: `python -m scripts.extension_icons`.

The large drawing is a blur at the sizes of a toolbar, so these have a drawing of their own.
"""

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.server.dashboard.pages import launch_chromium

ICONS = Path(__file__).resolve().parent.parent / "extension" / "src" / "icons"
DRAWINGS = {16: "elephant_small.svg", 32: "elephant_small.svg", 48: "elephant.svg", 128: "elephant.svg"}
"""By size in pixels."""


def main() -> None:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        page = browser.new_page()
        for size, name in DRAWINGS.items():
            drawing = (ICONS / name).read_text("utf-8")
            page.set_viewport_size({"width": size, "height": size})
            page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: {size}px }}</style>{drawing}")
            page.screenshot(path=ICONS / f"icon{size}.png", omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
