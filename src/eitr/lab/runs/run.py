"""The base of all kinds of runs. A run says what determines a result, and nothing else: equal runs have equal results.

A run is a small frozen dataclass. Its key, a hash of everything in it, names its result file, so that a run that two
experiments share is computed once, and a lab that was killed continues where it stopped.
"""

import hashlib
import json
from abc import ABC
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

from eitr.settings import ADDED_LATER

REVISION = 2
"""Goes up whenever the same settings give other results than before: what an older lab computed is then not found."""


def added_later(default: Any) -> Any:
    """Declare a field that earlier versions did not have. It is part of a key only where it is not at its default.

    Results that were computed before the field existed are found under their old keys.
    """
    return field(default=default, metadata={ADDED_LATER: True})


@dataclass(frozen=True, kw_only=True)
class Run(ABC):
    """The base of all kinds of runs; `kind` says which part of the lab computes it."""

    kind: ClassVar[str]

    seed: int = 0

    @cached_property
    def key(self) -> str:
        """Return the name of the run's result file."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()[:20]

    def describe(self) -> dict[str, Any]:
        """Return everything that determines the run, as JSON values."""
        described: dict[str, Any] = {**_described(self), "revision": REVISION}
        return described


def _described(value: Any) -> Any:
    """Return a value as JSON; dataclasses with the name of what they are."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = getattr(value, "kind", None) or getattr(value, "name", None) or type(value).__name__
        own = {
            item.name: _described(getattr(value, item.name))
            for item in fields(value)
            if ADDED_LATER not in item.metadata or getattr(value, item.name) != item.default
        }
        return {"is": kind if isinstance(kind, str) else type(value).__name__, **own}
    if isinstance(value, tuple | list):
        return [_described(item) for item in value]
    return value
