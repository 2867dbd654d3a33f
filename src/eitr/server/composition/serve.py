"""`eitr serve` and `eitr worker`: start, say where, run, stop in good order."""

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import uvicorn

from eitr.errors import InputError
from eitr.server.composition import logs
from eitr.server.composition.app import application
from eitr.server.composition.wiring import build_services, prepared_database
from eitr.server.domain.alerts import Alerts
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.operators import setup_link
from eitr.server.domain.worker import Worker
from eitr.server.settings import ServerSettings
from eitr.server.web.http_protocol import GuardedHttpProtocol, check_uvicorn

STOP_SECONDS = 20
"""How long requests under way may take when the server stops."""


def serve(settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Run until a signal comes; `tell` says where the server is, and how to become its operator."""
    # While it starts; and at the end, for uvicorn raises the signal again that it has obeyed.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _end)
    logs.configure(settings.log_level)
    check_uvicorn()
    server = build_services(settings)
    listening = _listen(settings)
    port = listening.getsockname()[1]
    address = settings.public_address or f"http://{settings.host}:{port}"
    tell(f"EITR runs at {address}")
    link = setup_link(server.database)
    if link is not None:
        tell(f"Set the operator's password, within an hour: {address}/setup?code={link}")
    config = uvicorn.Config(
        application(server),
        http=GuardedHttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.proxies,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=2048,
    )
    gc.collect()
    gc.freeze()  # what is there now stays: it need not be looked through again and again
    uvicorn.Server(config).run(sockets=[listening])


def work(settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Run rounds until a signal comes."""
    logs.configure(settings.log_level)
    database, scoring = prepared_database(settings)
    worker, alerts = Worker(database, settings, scoring, Metrics()), Alerts(database, settings)
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: worker.stop())
    tell("EITR's worker runs")
    thread = threading.Thread(target=worker.run, name="worker")
    thread.start()
    alerts.start()
    while thread.is_alive():
        thread.join(timeout=1.0)  # signals are handled between two waits
    alerts.stop()
    database.close()


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def _listen(settings: ServerSettings) -> socket.socket:
    """Open the port before anything is promised."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}; take another with --port"
        ) from error
    listening.listen(2048)
    return listening
