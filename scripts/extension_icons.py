"""Make the PNG icons of the extension from its drawing: `python -m scripts.extension_icons`."""

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.server.dashboard.pages import chromium

ICONS = Path(__file__).resolve().parent.parent / "extension" / "src" / "icons"
SIZES = (16, 32, 48, 128)


def main() -> None:
    drawing = (ICONS / "elephant.svg").read_text()
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        page = browser.new_page()
        for size in SIZES:
            page.set_viewport_size({"width": size, "height": size})
            page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: {size}px }}</style>{drawing}")
            page.screenshot(path=ICONS / f"icon{size}.png", omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
