"""Pages that overload the extension, hide, or put other things where it looks: the right verdict, or none.

How long things take is not hidden from a page that measures it; docs/extension.md says so.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.extension_trace import traced

from .browser import until
from .running import running_extension
from .site import Site, served

HEALTH = """<h1>Living with diabetes</h1><p>Patients with diabetes measure the glucose in their blood, inject insulin
and see their doctor. The hospital treats the disease; nurses explain medicine, symptoms, treatment and therapy.</p>"""
RELIGION = """<p>The bishop led the prayers; the faithful sang hymns and read the Bible and the gospel, and the priest
spoke of God, of Jesus Christ, sin and salvation, in the church.</p>"""
FOOTBALL = """<p>The match ended two to one after a goal in the last minute. The team played well, the coach praised the
goalkeeper, and the fans sang in the stadium.</p>"""
WATCH = """<script>
  globalThis.longest = 0; globalThis.gap = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  }).observe({ type: "longtask", buffered: true });
  let last = performance.now();
  setInterval(() => { const now = performance.now(); gap = Math.max(gap, now - last); last = now }, 10);
</script>"""
FLOOD = """<script>
  globalThis.added = 0;
  const place = document.body.appendChild(document.createElement("div"));
  const thousand = document.createElement("div");
  for (let n = 0; n < 999; n += 1) thousand.appendChild(document.createElement("i")).textContent = "node ";
  const began = performance.now();
  const flood = setInterval(() => {
    if (place.childNodes.length > 10) place.replaceChildren();
    // A page that falls behind does not try to make up for all of it at once.
    for (let n = 0; n < 3 && added < 100 * (performance.now() - began); n += 1, added += 1000)
      place.append(thousand.cloneNode(true));
  }, 10);
  setTimeout(() => clearInterval(flood), 6000);
</script>"""


@pytest.fixture(scope="module")
def extension() -> Iterator[Any]:
    with running_extension() as found:
        yield found


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with served() as found:
        yield found


def document(body: str, title: str = "A page", head: str = "") -> str:
    return f"<!doctype html><html><head>{head}<title>{title}</title></head><body>{body}</body></html>"


def badge_of(extension: Any, site: Site, html: str, *, host: str = "hostile.test", seconds: float = 15) -> str:
    """Show a page until it was judged; return what the badge says."""
    page = extension.context.new_page()
    try:
        page.goto(site.put(host, "/", html), wait_until="commit")
        until(lambda: extension.view(page)["state"] == "ready", seconds=seconds, what="a verdict")
        return extension.badge(page)
    finally:
        page.close()


def longest_piece(extension: Any, site: Site, html: str) -> tuple[str, float]:
    """Show a page; return what the badge says, and how long the content script kept it busy at a time, in milliseconds.

    Processor time: what the machine does besides does not count.
    """
    with traced(extension.desk, "devtools.timeline") as trace:
        badge = badge_of(extension, site, html, seconds=150)
    took = max(piece.cpu for piece in trace.scripts("content/content.js"))
    print(f"\nthe content script's longest piece: {took:.1f} ms")
    return badge, took


def worker_lives(extension: Any, site: Site) -> bool:
    return badge_of(extension, site, document(RELIGION), host="church.test") == "R"


# Too much of everything.


@pytest.mark.long
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(HEALTH + "<p>" + "lorem ipsum dolor " * 1_200_000 + "</p>", id="one paragraph"),
        pytest.param(HEALTH + "<p>lorem ipsum dolor sit amet consectetur</p>" * 450_000, id="many paragraphs"),
    ],
)
def test_twenty_megabytes_of_text_are_read_from_the_beginning(extension, site, body):
    assert len(body) > 19_000_000
    badge, took = longest_piece(extension, site, document(body))
    assert badge == "H"
    assert took < 50
    assert worker_lives(extension, site)


@pytest.mark.long
def test_twenty_megabytes_of_text_that_a_script_adds_keep_the_page_no_longer(extension, site):
    grow = f"<script>document.body.append('{'lorem ipsum ' * 10}'.repeat(170_000))</script>"
    badge, took = longest_piece(extension, site, document(HEALTH + grow))
    assert badge in ("H", "")
    assert took < 50
    assert worker_lives(extension, site)


@pytest.mark.long
def test_hundreds_of_thousands_of_paragraphs_that_a_script_adds_keep_the_page_no_longer(extension, site):
    grow = """<script>for (let n = 0; n < 300_000; n += 1)
      document.body.append(Object.assign(document.createElement("p"), { textContent: "lorem ipsum dolor" }))</script>"""
    badge, took = longest_piece(extension, site, document(HEALTH + grow))
    assert badge == "H"
    assert took < 50


def test_twenty_megabytes_of_title_and_description_are_cut(extension, site):
    flood = "insulin diabetes " * 600_000
    head = f'<meta name="description" content="{flood}"><meta property="og:title" content="{flood}">'
    assert badge_of(extension, site, document(HEALTH, title=flood, head=head), seconds=60) == "H"
    assert worker_lives(extension, site)


def test_a_page_nested_without_end_is_survived(extension, site):
    assert badge_of(extension, site, document(HEALTH + "<div>" * 10_000 + "deep"), seconds=60) in ("H", "")
    assert worker_lives(extension, site)


@pytest.mark.long
def test_a_page_that_adds_a_hundred_thousand_nodes_a_second_is_kept_no_longer(extension, site):
    """Judged by the content script's own pieces; what the page notices is printed, for it hangs on the machine."""

    def run() -> tuple[list[float], list[float]]:
        page = extension.context.new_page()
        with traced(extension.desk, "devtools.timeline") as trace:
            page.goto(site.put("flood.test", "/", document(HEALTH + FLOOD, head=WATCH)))
            page.wait_for_timeout(6500)
        found = page.evaluate("[longest, gap, added]")
        page.close()
        return found, [piece.cpu for piece in trace.scripts("content/content.js")]

    def reading(on: bool) -> None:
        with extension.asking("options") as ask:
            ask({"kind": "change", "settings": {"classifying": on}})

    reading(False)
    without, none = run()
    reading(True)
    with_it, pieces = run()
    print("\nlongest task ms, longest gap ms, nodes: without", without, "with", with_it, "; our pieces", pieces)
    assert none == []
    assert with_it[2] > 100_000
    assert max(pieces) < 50
    assert sum(pieces) < 150
    assert worker_lives(extension, site)


def test_a_page_that_goes_elsewhere_within_itself_all_the_time_costs_no_more_reports(extension, site):
    listen = """() => { globalThis.count = 0;
      chrome.runtime.onMessage.addListener((message) => { if (message?.kind === "page") globalThis.count += 1 }) }"""
    desk = extension.open("sent")
    desk.evaluate(listen)
    page = extension.context.new_page()
    page.goto(
        site.put(
            "restless.test",
            "/",
            document(
                HEALTH + "<script>let n = 0; setInterval(() => history.replaceState({}, '', '?' + n++), 20)</script>"
            ),
        )
    )
    page.wait_for_timeout(6000)
    assert 0 <= desk.evaluate("globalThis.count") <= 4 + 3
    page.close()
    desk.close()
    assert worker_lives(extension, site)


# Other things where the extension looks.

CLOBBERING = (
    *("title", "body", "head", "documentElement", "defaultView", "location", "addEventListener", "createElement"),
    *("createTreeWalker", "querySelectorAll", "getElementsByTagName"),
)
NAMED = (
    *("eitr", "browser", "chrome", "performance", "requestIdleCallback", "setTimeout", "Map", "Set", "Element"),
    *("Document", "MutationObserver", "top", "self", "globalThis", "location"),
)


@pytest.mark.parametrize("name", CLOBBERING)
def test_a_form_named_like_a_part_of_the_document_changes_nothing(extension, site, name):
    body = f'<form name="{name}"><input name="{name}"></form><img name="{name}">{HEALTH}'
    assert badge_of(extension, site, document(body)) == "H"


@pytest.mark.long
@pytest.mark.parametrize("name", CLOBBERING)
def test_nor_does_it_on_a_large_page(extension, site, name):
    body = (
        f'<form name="{name}"><input name="{name}"></form><img name="{name}">{HEALTH}' + "<p>lorem ipsum</p>" * 13_000
    )
    assert badge_of(extension, site, document(body)) == "H"


@pytest.mark.parametrize("name", NAMED)
def test_an_element_with_a_name_that_the_extension_uses_changes_nothing(extension, site, name):
    body = f'<div id="{name}"></div><form name="{name}"></form>{HEALTH}'
    assert badge_of(extension, site, document(body)) == "H"


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMED if name != "browser"])
def test_nor_does_a_frame(extension, site, name):
    assert badge_of(extension, site, document(f'<iframe name="{name}" src="about:blank"></iframe>{HEALTH}')) == "H"


def test_a_frame_named_browser_gets_no_badge_rather_than_a_wrong_one(extension, site):
    """Chromium 150 gives no content script its interface beside a frame of this name: there is nobody to report."""
    page = extension.context.new_page()
    page.goto(site.put("browser.test", "/", document(f'<iframe name="browser" src="about:blank"></iframe>{HEALTH}')))
    page.wait_for_timeout(2000)
    assert extension.badge(page) in ("", "H")
    page.close()
    assert worker_lives(extension, site)


def test_a_form_whose_fields_hide_its_own_methods_changes_nothing(extension, site):
    names = (
        "getAttribute",
        "hasAttribute",
        "innerText",
        "textContent",
        "localName",
        "closest",
        "namespaceURI",
        "style",
    )
    fields = "".join(f'<input name="{name}">' for name in names)
    assert badge_of(extension, site, document(f"<form>{fields}{HEALTH}</form>")) == "H"
    assert badge_of(extension, site, document(f"<form>{fields}{HEALTH}</form>" + "<p>lorem ipsum</p>" * 13_000)) == "H"


OVERRIDES = {
    "strings": """for (const name of Object.getOwnPropertyNames(String.prototype))
        if (name !== "constructor") try { String.prototype[name] = () => "" } catch {}""",
    "arrays": """for (const name of Object.getOwnPropertyNames(Array.prototype))
        if (name !== "constructor") try { Array.prototype[name] = () => [] } catch {}""",
    "the document": """for (const name of ["querySelectorAll", "getElementsByTagName", "createTreeWalker"])
        Document.prototype[name] = () => null;
        Object.defineProperty(document, "title", { get: () => "Church" });
        Object.defineProperty(HTMLElement.prototype, "innerText", { get: () => "bishop prayers gospel" })""",
    "objects": """for (const name of ["kind", "page", "title", "text", "marks", "get", "set", "value", "judged", "id"])
        Object.prototype[name] = "polluted" """,
    "observers": """MutationObserver = class { constructor() { throw 1 } observe() { throw 2 } };
        PerformanceObserver = MutationObserver""",
    "time": "performance.now = () => NaN; Date.now = () => 0; requestIdleCallback = setTimeout = () => 0",
    "messages": """const runtime = { id: "x", sendMessage: () => 0 };
        Object.defineProperty(globalThis, "chrome", { value: { runtime } }); globalThis.browser = chrome""",
    "iterators": """Array.prototype[Symbol.iterator] = NodeList.prototype[Symbol.iterator] = function* () {};
        Map = Set = Promise = class {}""",
}


@pytest.mark.parametrize("what", OVERRIDES)
def test_a_page_that_overrides_built_ins_overrides_its_own(extension, site, what):
    assert badge_of(extension, site, document(HEALTH, head=f"<script>{OVERRIDES[what]}</script>")) == "H"


def test_what_frames_say_does_not_count(extension, site):
    inner = site.put("inner.test", "/", document(HEALTH * 20))
    frames = f'<iframe src="{inner}" width="800" height="800"></iframe><iframe srcdoc="{HEALTH * 20}"></iframe>'
    assert badge_of(extension, site, document(FOOTBALL + frames)) == ""
    assert badge_of(extension, site, document(RELIGION + frames)) == "R"


def test_what_nobody_sees_does_not_count(extension, site):
    much = HEALTH * 20
    hidden = f'<div style="display:none">{much}</div><div hidden>{much}</div><template>{much}</template>'
    assert badge_of(extension, site, document(RELIGION + hidden)) == "R"
    assert badge_of(extension, site, document(RELIGION + hidden + "<p>lorem ipsum</p>" * 13_000)) == "R"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<frameset><frame src='about:blank'></frameset>",
        document("\x00\ud83d\u202e".encode("utf-8", "ignore").decode() * 1000),
        document("<script>document.open(); document.write('x'); document.documentElement.remove()</script>"),
    ],
    ids=["nothing", "frames", "odd characters", "no root"],
)
def test_a_page_without_words_gets_no_badge(extension, site, html):
    page = extension.context.new_page()
    page.goto(site.put("empty.test", "/", html))
    page.wait_for_timeout(1500)
    assert extension.badge(page) == ""
    page.close()
    assert worker_lives(extension, site)
