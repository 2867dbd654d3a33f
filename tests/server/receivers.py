"""Who receives alerts: a real HTTP server and a real SMTP server on this machine, in threads."""

import json
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


@dataclass(frozen=True)
class Posted:
    """A request that was received."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class HttpReceiver:
    """Takes posts; `status` and `headers` are what it answers with."""

    def __init__(self) -> None:
        self.received: list[Posted] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.received.append(Posted(self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def do_GET(self) -> None:  # where a redirect would lead
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/hook/s3cret-token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _AnyPort(Controller):
    def _trigger_server(self) -> None:
        self.port = cast(Any, self.server).sockets[0].getsockname()[1]
        super()._trigger_server()


class MailReceiver:
    """Takes mail; keeps it as it came. `refused` are recipients that it does not know."""

    def __init__(
        self, certificate: Path | None = None, *, login: tuple[str, str] | None = None, tls: bool = False
    ) -> None:
        self.received: list[bytes] = []
        self.refused: set[str] = set()
        self._login = login
        context = None
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        options: dict[str, Any] = {"ssl_context": context} if tls else {"tls_context": context}
        if login is not None:
            options |= {"authenticator": self._authenticated, "auth_required": True, "auth_require_tls": not tls}
        self._controller = _AnyPort(self, hostname="localhost", port=0, ready_timeout=300, **options)
        self._controller.start()
        self._closed = False
        self.port: int = self._controller.port

    def _authenticated(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        known = (data.login.decode(), data.password.decode()) == self._login
        return AuthResult(success=known, handled=False)  # `handled`: the server still has to answer

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:  # noqa: N802
        if address in self.refused:
            return f"550 no such user {address}"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.received.append(envelope.content)
        return "250 OK"

    @property
    def mails(self) -> list[EmailMessage]:
        return [message_from_bytes(one, policy=SMTP) for one in self.received]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._controller.stop()


@contextmanager
def silent_server():
    """A server that takes connections and says nothing; yields its port and a queue that gets an item for each."""
    listening = socket.create_server(("127.0.0.1", 0))
    came: SimpleQueue[int] = SimpleQueue()
    kept = []

    def accept() -> None:
        while True:
            try:
                kept.append(listening.accept()[0])
            except OSError:
                return
            came.put(len(kept))

    threading.Thread(target=accept, daemon=True).start()
    yield listening.getsockname()[1], came
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    for one in kept:
        one.close()


def certificate_of(host: str, folder: Path) -> Path:
    """Make a certificate for a host, signed by itself; its key is beside it."""
    file = folder / f"{host}.crt"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    files = ["-keyout", str(file.with_suffix(".key")), "-out", str(file)]
    subprocess.run(["openssl", "req", "-x509", *curve, *names, *files], check=True, capture_output=True)
    return file
