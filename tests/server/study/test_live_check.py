"""Live or dead: asked of real servers, within bounds, and never of machines that are nobody's business."""

import http.server
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eitr.server.domain.study import live_check
from eitr.server.domain.study.live_check import Checked, LiveCheck
from eitr.server.domain.study.page_state import PageState
from eitr.server.domain.study.pages_list import READ_AHEAD, StudyPages
from tests.server.study.world import SLUG, World

PAGE = b"<title>Masks</title><p>Wash your hands.</p>"


class Site(http.server.BaseHTTPRequestHandler):
    """Answers by the path."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind, _, rest = self.path.lstrip("/").partition("/")
        match kind:
            case "status":
                self._answer(int(rest))
            case "loop":
                self._answer(302, ("Location", f"/loop/{int(rest) + 1}"))
            case "to":
                self._answer(301, ("Location", rest))
            case "utf-8":
                self._answer(302, ("Location", "/Bäume/ü".encode().decode("latin-1")))
            case "B%C3%A4ume":
                self._answer(200 if rest == "%C3%BC" else 404, ("Content-Type", "text/html"), body=PAGE)
            case "cut":
                length = ("Transfer-Encoding", "chunked") if rest == "chunked" else ("Content-Length", "500")
                self._answer(200, ("Content-Type", "text/html"), length, body=None)
                self.wfile.write(b"1f4\r\n" * (rest == "chunked") + PAGE)
            case "pdf":
                self._answer(200, ("Content-Type", "application/pdf"))
            case "endless":
                self._answer(200, ("Content-Type", "text/html"), body=None)
                while True:
                    self.wfile.write(b"<p>more" * 1000)
            case "drip":
                self._answer(200, ("Content-Type", "text/html"), body=None)
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            case "silent":
                self.rfile.read(1)
            case "nonsense":
                self.wfile.write(b"\x00\xff" * 500)
            case _:
                self._answer(200, ("Content-Type", "text/html; charset=utf-8"), body=PAGE)

    def _answer(self, status: int, *headers: tuple[str, str], body: bytes | None = b"") -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


class Quiet(http.server.ThreadingHTTPServer):
    """A client that hangs up is no news."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def running() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    server = Quiet(("127.0.0.1", 0), type("OneSite", (Site,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    with running() as found:
        yield found


CHECK = LiveCheck(allow_private=True, seconds=20.0)


def test_a_page_that_is_there_is_live_and_one_that_is_gone_is_dead(site: tuple[str, list[str]]) -> None:
    address, _ = site
    found = CHECK.check(f"{address}/page?q=ü x")
    assert (found.state, found.content, found.content_type) == (PageState.LIVE, PAGE, "text/html; charset=utf-8")
    expected = {
        "status/404": PageState.DEAD,
        "status/410": PageState.DEAD,
        "status/403": PageState.UNKNOWN,
        "status/503": PageState.UNKNOWN,
        "pdf": PageState.DEAD,
        "nonsense": PageState.DEAD,
        f"to/{address}/page": PageState.LIVE,
        "to//page": PageState.LIVE,
    }
    assert {path: CHECK.check(f"{address}/{path}").state for path in expected} == expected


def test_a_name_that_nobody_has_and_a_port_that_nobody_listens_on_are_dead() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert CHECK.check(f"http://127.0.0.1:{port}/").state is PageState.DEAD
    assert CHECK.check("http://nobody.invalid/").state is PageState.DEAD


def test_redirects_are_bounded(site: tuple[str, list[str]]) -> None:
    address, asked = site
    found = CHECK.check(f"{address}/loop/0")
    assert (found.state, found.reason) == (PageState.UNKNOWN, "more than 5 redirects")
    assert len(asked) == 6


def test_a_redirect_to_an_address_in_utf_8_is_followed(site: tuple[str, list[str]]) -> None:
    address, asked = site
    assert CHECK.check(f"{address}/utf-8").state is PageState.LIVE
    assert asked == ["/utf-8", "/B%C3%A4ume/%C3%BC"]


@pytest.mark.parametrize("path", ["cut/length", "cut/chunked"])
def test_a_page_that_came_in_part_is_no_copy(site: tuple[str, list[str]], path: str) -> None:
    found = CHECK.check(f"{site[0]}/{path}")
    assert (found.state, found.content) == (PageState.UNKNOWN, b"")
    assert "complete" in found.reason


def test_all_addresses_of_a_site_are_tried(site: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_check, "_looked_up", lambda *_: ["::1", "127.0.0.1"])  # nobody listens on the first
    assert CHECK.check(f"http://two.example:{site[0].rpartition(':')[2]}/page").state is PageState.LIVE
    monkeypatch.setattr(live_check, "_looked_up", lambda *_: ["::1", "::1"])
    assert CHECK.check(f"http://two.example:{site[0].rpartition(':')[2]}/page").state is PageState.DEAD


def test_a_page_without_end_is_read_up_to_a_limit(site: tuple[str, list[str]]) -> None:
    found = LiveCheck(allow_private=True, largest=100_000).check(f"{site[0]}/endless")
    assert (found.state, found.content) == (PageState.LIVE, b"")


@pytest.mark.parametrize("path", ["drip", "silent"])
def test_a_site_that_is_slow_on_purpose_is_given_up(site: tuple[str, list[str]], path: str) -> None:
    begun = time.monotonic()
    found = LiveCheck(allow_private=True, seconds=0.5).check(f"{site[0]}/{path}")
    assert found.state is PageState.DEAD
    assert time.monotonic() - begun < 15, "without the limit it would never end"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "127.1", "0.0.0.0"]
)
def test_this_machine_is_not_asked_however_it_is_written(site: tuple[str, list[str]], host: str) -> None:
    address, asked = site
    port = address.rpartition(":")[2]
    found = LiveCheck().check(f"http://{host}:{port}/page")
    assert found.state is not PageState.LIVE
    assert asked == []


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "[fe80::1]", "[fc00::1]"])
def test_private_networks_are_not_asked(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "create_connection", connect)
    found = LiveCheck().check(f"http://{host}/latest/meta-data")
    assert found.state is PageState.UNKNOWN
    assert "private network" in found.reason


def test_a_public_name_with_a_private_address_and_a_redirect_to_one_are_not_asked(
    site: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is looked up once, and the connection goes to the address that was checked."""
    address, asked = site
    port = int(address.rpartition(":")[2])
    looked_up: list[str] = []

    def names(host: str, _port: int, _deadline: float) -> list[str]:
        looked_up.append(host)
        return {"mixed.example": ["93.184.215.14", "127.0.0.1"], "inside.example": ["10.1.1.1"]}.get(host, [host])

    monkeypatch.setattr(live_check, "_looked_up", names)
    for host in ("mixed.example", "inside.example"):
        assert "private network" in LiveCheck().check(f"http://{host}:{port}/page").reason
    # A site that counts as public here redirects to this machine.
    monkeypatch.setattr(live_check, "is_public", lambda one: one == "127.0.0.1" and len(looked_up) == 3)
    found = LiveCheck().check(f"{address}/to/http://inside.example:{port}/page")
    assert "private network" in found.reason
    assert asked == [f"/to/http://inside.example:{port}/page"]


def test_other_schemes_are_not_asked(site: tuple[str, list[str]]) -> None:
    for target in ("file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"):
        assert CHECK.check(target).reason == "not asked: the address is not http or https"
        assert CHECK.check(f"{site[0]}/to/{target}").reason == "not asked: the address is not http or https"


def test_a_certificate_that_nobody_signed_is_not_trusted() -> None:
    class Greeting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>not encrypted")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert CHECK.check(f"https://127.0.0.1:{server.server_address[1]}/").state is PageState.DEAD
        server.shutdown()


def test_the_pages_of_a_study_are_checked_and_archived_on_request(world: World, site: tuple[str, list[str]]) -> None:
    address, asked = site
    path: Path = world.folder / "list.csv"
    path.write_text(f"url\n{address}/one\n{address}/status/404\n{address}/status/403\n")
    world.study(1)
    world.studies.pages.import_file(SLUG, path, who="ada")
    assert asked == [], "nothing is asked before it is wanted"
    refused = world.studies.pages.check(SLUG, who="ada")
    assert asked == [], "this machine is private"
    assert PageState.LIVE not in refused
    allowed = World(world.folder, world.settings.database_address, study_private_pages=True)
    told: list[tuple[str, str]] = []
    found = allowed.studies.pages.check(
        SLUG, lambda page, state, why: told.append((page.url, f"{state}: {why}")), who="ada", archive=True
    )
    assert found[PageState.LIVE] == 1
    pages = {page.url.removeprefix(address): page for page in allowed.studies.pages.all(SLUG)}
    assert (pages["/one"].state, pages["/one"].copied) == (PageState.LIVE, True)
    assert pages["/status/404"].state is PageState.DEAD
    assert pages["/status/403"].state is PageState.UNKNOWN
    assert pages["/status/403"].checked is not None
    assert (f"{address}/one", "live: read, copy kept") in told
    assert b"Wash your hands." in (allowed.studies.pages.copy(SLUG, pages["/one"].id) or b"")
    allowed.close()


def test_no_page_is_taken_for_dead_if_no_site_answers(world: World, site: tuple[str, list[str]]) -> None:
    address, _ = site
    allowed = World(world.folder, world.settings.database_address, study_private_pages=True)
    world.study(1)
    path: Path = world.folder / "list.csv"

    def states(*urls: str) -> list[PageState]:
        path.write_text("\n".join(["url", *urls]) + "\n")
        allowed.studies.pages.import_file(SLUG, path, who="ada")
        allowed.studies.pages.check(SLUG, who="ada")
        return [page.state for page in allowed.studies.pages.all(SLUG) if page.url in urls]

    gone = "http://nobody.invalid/"
    assert states(gone) == [PageState.UNKNOWN]
    assert states(gone, f"{address}/one") == [PageState.DEAD, PageState.LIVE]
    allowed.close()


def test_pages_are_not_read_far_ahead_of_what_is_stored(world: World) -> None:
    world.study(200)
    asked: list[str] = []

    class Fast(LiveCheck):
        def check(self, url: str) -> Checked:
            asked.append(url)
            return Checked(PageState.LIVE, "read", b"<p>A page")

    ahead: list[int] = []
    found = StudyPages(world.database, Fast()).check(
        SLUG, lambda page, state, why: ahead.append(len(asked) - len(ahead)), who="ada"
    )
    assert found == {PageState.LIVE: 200}
    assert max(ahead) <= READ_AHEAD
    assert sorted(asked) == sorted(page.url for page in world.studies.pages.all(SLUG))
