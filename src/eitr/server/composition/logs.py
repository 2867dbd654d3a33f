"""Logs as one JSON object per line, without addresses, participants or secrets."""

import json
import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


START = "eitr.start"
"""The logger of what is said at the start; nobody switches it off."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: str) -> None:
    """Send what the server says at this level to standard error, and the warnings and errors of libraries.

    What libraries say below that can hold secrets: httpx names every address, and that of a webhook is one.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    chosen = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(chosen, logging.WARNING))
    for name in ("eitr", "uvicorn"):
        logging.getLogger(name).setLevel(chosen)
    for name in ("uvicorn", "uvicorn.error"):
        found = logging.getLogger(name)
        found.handlers.clear()
        found.propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # it would log addresses
    logging.getLogger(START).setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = _failed
    threading.excepthook = lambda failed: _failed(failed.exc_type, failed.exc_value, failed.exc_traceback)


def announcer(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return how to say something to whoever started the server: plainly at a terminal, else as a line of the log."""
    return tell if sys.stderr.isatty() else logging.getLogger(START).info


def _failed(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log what nobody caught."""
    if not issubclass(kind, SystemExit):
        logging.getLogger("eitr.server").critical("the program failed", exc_info=(kind, error or kind(), trace))
