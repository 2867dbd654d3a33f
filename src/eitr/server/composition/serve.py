"""`eitr serve` and `eitr worker`: start, say where, run, stop in good order."""

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import uvicorn

from eitr.compiled import cache_in
from eitr.errors import InputError
from eitr.io.private import write_file
from eitr.server.composition import logs
from eitr.server.composition.app import application
from eitr.server.composition.wiring import build_services, prepared_database, update_bytes
from eitr.server.domain.alerts import Alerts
from eitr.server.domain.keys import Key
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.operators import delete_link_file, setup_link, write_link_file
from eitr.server.domain.worker import Worker
from eitr.server.settings import ADDRESS_FILE, ServerSettings
from eitr.server.web import connections
from eitr.server.web.http_protocol import check_uvicorn, limited_protocol

KERNELS = "kernels"
"""The folder of compiled kernels, where a user without a home has no other place for them."""
STOP_SECONDS = 20
"""How long requests under way may take when the server stops."""


def serve(settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Run until a signal comes; `tell` says where the server is, and how to become its operator."""
    # While it starts; and at the end, for uvicorn raises the signal again that it has obeyed.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _end)
    logs.configure(settings.log_level)
    say = logs.announcer(tell)
    check_uvicorn()
    limit = connections.for_descriptors(connections.raise_descriptor_limit(), settings.proxies)
    cache_in(settings.folder / KERNELS)
    server = build_services(settings)
    app = application(server)  # a mistake in the group's own texts is told before anything is promised
    listening = _listen(settings)
    port = listening.getsockname()[1]
    address = settings.public_address or f"http://{settings.host}:{port}"
    say(f"EITR runs at {address}")
    _tell_link(settings, setup_link(server.database), address, say)
    config = uvicorn.Config(
        app,
        http=limited_protocol(limit),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.proxies,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
        backlog=limit.backlog,
    )
    gc.collect()
    gc.freeze()  # what is there now stays: it need not be looked through again and again
    file = settings.folder / ADDRESS_FILE
    write_file(file, f"{address}\n")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:  # it may be that of another server in this folder by now
        if file.is_file() and file.read_text("utf-8").strip() == address:
            file.unlink(missing_ok=True)


def work(settings: ServerSettings, tell: Callable[[str], None]) -> None:
    """Run rounds until a signal comes."""
    logs.configure(settings.log_level)
    cache_in(settings.folder / KERNELS)
    database, scoring = prepared_database(settings)
    updates = update_bytes(database, settings, Key.of(settings.folder))
    worker, alerts = Worker(database, updates, settings, scoring, Metrics()), Alerts(database, settings)
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda *_: worker.stop())
    logs.announcer(tell)("EITR's worker runs")
    thread = threading.Thread(target=worker.run, name="worker")
    thread.start()
    alerts.start()
    while thread.is_alive():
        thread.join(timeout=1.0)  # signals are handled between two waits
    alerts.stop()
    database.close()


def _tell_link(settings: ServerSettings, code: str | None, address: str, say: Callable[[str], None]) -> None:
    """Say how to become the operator, to the person at the terminal only: a link must not stand in logs."""
    delete_link_file(settings.folder)
    if code is None:
        return
    link = f"{address}/setup?code={code}"
    if sys.stderr.isatty():
        say(f"Set the operator's password, within an hour: {link}")
    else:
        path = write_link_file(settings.folder, link)
        say(f"No operator has a password yet: open the link in {path} within an hour, or make one with `eitr operator`")


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def _listen(settings: ServerSettings) -> socket.socket:
    """Open the port before anything is promised."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if settings.share_port:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}; take another with --port"
        ) from error
    listening.listen()
    return listening
