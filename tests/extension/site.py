"""Web pages on this machine, under any name: Chromium is told that every host is here."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """Serves pages by host and path, and notes what was asked for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.pages: dict[tuple[str, str], tuple[str, str]] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[Message] = []
        self.may_answer = threading.Event()
        """While it is not set, requests wait for their answers."""
        self.may_answer.set()
        self.answer_after = 0.0
        """How many seconds each answer takes, as on a network; for measurements, not for tests."""

    def put(self, host: str, path: str, html: str, kind: str = "text/html") -> str:
        """Serve a page, and return its address."""
        self.pages[host, path] = html, kind
        return self.address(host, path)

    def address(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def asked_of(self, host: str) -> list[str]:
        """Paths that were asked of a host, without the icon, for which browsers ask on their own."""
        return [path for name, path in self.asked if name == host and path != "/favicon.ico"]

    def headers_of(self, name: str) -> set[str | None]:
        """All values that a header had; None if a request was without it."""
        return {headers[name] for headers in self.headers}


@contextmanager
def served() -> Iterator[Site]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            site.asked.append((host, self.path))
            site.headers.append(self.headers)
            site.may_answer.wait()
            time.sleep(site.answer_after)
            page = site.pages.get((host, self.path.partition("?")[0]))
            text, kind = page or ("", "text/html")
            body = text.encode()
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            # So that going back asks again.
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.may_answer.set()
        server.shutdown()
        server.server_close()
