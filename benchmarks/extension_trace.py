"""What the browser itself notes about running scripts: Chromium's trace, as DevTools reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

CATEGORIES = "devtools.timeline,disabled-by-default-devtools.timeline,v8"
_SCRIPTS = ("EvaluateScript", "FunctionCall", "v8.compile", "v8.evaluateModule", "RunMicrotasks")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work on one thread, in milliseconds since some moment."""

    name: str
    url: str
    thread: tuple[int, int]
    start: float
    duration: float
    cpu: float

    @property
    def end(self) -> float:
        return self.start + self.duration


class Trace:
    """The events of a recording; empty until it has ended."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def spans(self) -> Iterator[Span]:
        for event in self.events:
            if event.get("ph") == "X" and "dur" in event:
                data = (event.get("args") or {}).get("data") or {}
                url = str(data.get("url") or (event.get("args") or {}).get("fileName") or "")
                cpu = event.get("tdur", event["dur"]) / 1000
                yield Span(
                    event["name"], url, (event["pid"], event["tid"]), event["ts"] / 1000, event["dur"] / 1000, cpu
                )

    def scripts(self, file: str) -> list[Span]:
        """Return the outermost pieces of a script's work, with all that the browser did within them."""
        found = [span for span in self.spans() if span.name in _SCRIPTS and span.url.endswith(file)]
        return [span for span in found if not any(_holds(other, span) for other in found)]

    def tasks(self, thread: tuple[int, int]) -> list[Span]:
        """Return the tasks of a thread: between two of them it is free for others."""
        return [span for span in self.spans() if span.thread == thread and span.name == "RunTask"]


def _holds(outer: Span, inner: Span) -> bool:
    if outer is inner or outer.thread != inner.thread:
        return False
    return outer.start <= inner.start and inner.end <= outer.end and outer.duration > inner.duration


@contextmanager
def traced(page: Page, categories: str = CATEGORIES) -> Iterator[Trace]:
    """Record the whole browser, all processes, until the end of the block."""
    trace = Trace()
    session = page.context.new_cdp_session(page)
    parts: list[dict[str, Any]] = []
    ended: list[bool] = []
    session.on("Tracing.dataCollected", lambda told: parts.extend(told["value"]))
    session.on("Tracing.tracingComplete", lambda told: ended.append(True))
    session.send(
        "Tracing.start",
        {
            "transferMode": "ReportEvents",
            "traceConfig": {"includedCategories": categories.split(","), "excludedCategories": ["*"]},
        },
    )
    try:
        yield trace
    finally:
        session.send("Tracing.end")
        while not ended:
            page.wait_for_timeout(50)
        session.detach()
        trace.events = parts
