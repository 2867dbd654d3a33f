import http.server
import io
import sys
import threading

import pytest

from eitr.cli import fetch as module
from eitr.cli.fetch import fetch
from eitr.errors import InputError


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/page")
            self.end_headers()
            return
        found = self.path == "/page"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=windows-1252")
        self.end_headers()
        self.wfile.write(b"<title>caf\xe9</title>" if found else b"")

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_is_read(tmp_path):
    (tmp_path / "page.html").write_bytes(b"<p>hello")
    assert fetch(str(tmp_path / "page.html")) == (b"<p>hello", None)


def test_standard_input_is_a_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"<p>piped")))
    assert fetch("-").data == b"<p>piped"


@pytest.mark.parametrize("path", ["/page", "/moved"])
def test_an_address_is_fetched_with_its_content_type(site, path):
    document = fetch(site + path)
    assert document.data == b"<title>caf\xe9</title>"
    assert document.content_type == "text/html; charset=windows-1252"


def test_no_more_is_read_than_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    (tmp_path / "page.html").write_bytes(b"abcdef")
    assert fetch(str(tmp_path / "page.html")).data == b"abc"


def test_what_cannot_be_had_is_named(site, tmp_path):
    with pytest.raises(InputError, match=r"absent\.html: No such file"):
        fetch(str(tmp_path / "absent.html"))
    with pytest.raises(InputError, match="/nothing: cannot be fetched: Not Found"):
        fetch(site + "/nothing")
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch("http://127.0.0.1:1/")
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch("http://[broken/")
