"""Take the pictures for the stores: the extension beside a page, 1280 by 800 pixels, in English and German.

    python scripts/store_screenshots.py FOLDER

The popup is opened in a tab of its own, because a headless browser has no toolbar, and is laid over its page.
"""

import argparse
import base64
import html
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.extension.browser import Extension, chromium_with_extension, unfold
from tests.extension.site import Site, served
from tests.extension.states import MANY_TRACKERS, SAMPLE, in_language

SIZE: ViewportSize = {"width": 1280, "height": 800}
POPUP: ViewportSize = {"width": 400, "height": 200}
CAPTIONS = {
    "en": (
        "See what a page says about you, and who looks on",
        "Companies with what they do",
        "It starts when you say so",
        "Everything can be changed",
    ),
    "de": (
        "Sehen, was eine Seite über Sie verrät und wer mitliest",
        "Firmen und was sie tun",
        "Es beginnt, wenn Sie es sagen",
        "Alles lässt sich einstellen",
    ),
}
SCENE = """<!doctype html><style>
body {{ margin: 0; width: 1280px; height: 800px; overflow: hidden; background: #cfdeed;
  font-family: system-ui, sans-serif }}
h1 {{ margin: 0; padding: 34px 64px 0; font-size: 34px; color: #22384f }}
.window {{ position: absolute; left: 64px; top: 112px; width: 1152px; height: 660px; border-radius: 12px;
  background: #fff; box-shadow: 0 8px 32px #22384f55; overflow: hidden }}
.page {{ width: 1152px; display: block }}
.popup {{ position: absolute; right: 96px; top: 136px; border-radius: 10px; box-shadow: 0 6px 28px #22384f88 }}
</style><h1>{caption}</h1><div class="window"><img class="page" src="{page}"></div>{popup}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        for language, captions in CAPTIONS.items():
            with (
                in_language(language) as built,
                served() as site,
                chromium_with_extension(playwright, folder=built) as extension,
            ):
                scenes = zip(captions, pictures(extension, site), strict=True)
                for number, (caption, (page, popup)) in enumerate(scenes, start=1):
                    compose(extension, caption, page, popup, folder / f"{language}-{number}.png")


def pictures(extension: Extension, site: Site) -> Iterator[tuple[bytes, bytes | None]]:
    """Each picture of a page, and that of the popup over it, if there is one."""
    with opened(extension, "welcome") as welcome:
        first = welcome.screenshot()
    extension.consent()
    dots = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in MANY_TRACKERS)
    shown = extension.context.new_page()
    shown.set_viewport_size({"width": 1152, "height": 660})
    shown.goto(site.put("clinic.test", "/", SAMPLE.read_text("utf-8").replace("</body>", f"{dots}</body>")))
    extension.wait_for_badge(shown, f"H{len(MANY_TRACKERS)}")
    page = shown.screenshot()
    with opened(extension, "popup", f"?tab={extension.tab(shown)}") as popup:
        popup.set_viewport_size(POPUP)
        yield page, popup.screenshot(full_page=True)
        unfold(popup, "#who")
        yield page, popup.screenshot(full_page=True)
    yield first, None
    with opened(extension, "options") as options:
        yield options.screenshot(), None


@contextmanager
def opened(extension: Extension, name: str, query: str = "") -> Iterator[Page]:
    page = extension.open(name, query)
    page.set_viewport_size({"width": 1152, "height": 660})
    try:
        yield page
    finally:
        page.close()


def compose(extension: Extension, caption: str, page: bytes, popup: bytes | None, path: Path) -> None:
    scene = extension.context.new_page()
    scene.set_viewport_size(SIZE)
    over = "" if popup is None else f'<img class="popup" src="{as_url(popup)}">'
    scene.set_content(SCENE.format(caption=html.escape(caption), page=as_url(page), popup=over))
    scene.wait_for_load_state("load")
    scene.screenshot(path=path)
    scene.close()


def as_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


if __name__ == "__main__":
    main()
