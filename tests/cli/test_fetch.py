import gzip
import http.server
import io
import sys
import threading

import pytest

from eitr.cli import fetch as module
from eitr.cli.fetch import fetch, named_pages
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
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"<p>piped"))))
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


def test_gzip_is_unpacked_whatever_its_name(tmp_path):
    for name in ("page.html.gz", "page.html"):
        (tmp_path / name).write_bytes(gzip.compress(b"<p>hello"))
        assert fetch(str(tmp_path / name)) == (b"<p>hello", None)


def test_a_text_file_is_not_read_as_markup(tmp_path):
    for name, packed in (("a.txt", b"1 < 2"), ("b.txt.gz", gzip.compress(b"1 < 2"))):
        (tmp_path / name).write_bytes(packed)
        assert fetch(str(tmp_path / name)) == (b"1 < 2", "text/plain")


def test_false_and_damaged_gzip_is_named(tmp_path):
    path = tmp_path / "page.html.gz"
    path.write_bytes(b"<p>hello")
    with pytest.raises(InputError, match=r"page\.html\.gz: the name ends in \.gz, but the file is not gzip: rename it"):
        fetch(str(path))
    path.write_bytes(gzip.compress(b"<p>hello" * 1000)[:-20])
    with pytest.raises(InputError, match="damaged or cut off"):
        fetch(str(path))


def test_a_folder_stands_for_the_pages_below_it(tmp_path):
    for name in ("b.html", "a/c.htm.gz", "a/d.TXT", "a/e.jpg", "f.gz", "labels.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [name.removeprefix(f"{tmp_path}/") for name in named_pages(["-", str(tmp_path), "https://example.org/a"])]
    assert found == ["-", "a/c.htm.gz", "a/d.TXT", "b.html", "https://example.org/a"]


def test_a_page_that_is_named_twice_comes_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.html", "b.html"):
        (tmp_path / name).touch()
    again = ["-", "https://example.org/a", "./a.html", "-", str(tmp_path), ".", "https://example.org/a", "absent.html"]
    found = list(named_pages(again))
    assert found == ["-", "https://example.org/a", "./a.html", f"{tmp_path}/b.html", "absent.html"]


def test_a_folder_without_pages_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"the folder has no file that ends in \.html"):
        list(named_pages([str(tmp_path)]))
