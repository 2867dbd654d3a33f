"""What computes: this process, or a Ray cluster. `--engine` and `EITR_ENGINE` name it."""

import re
from dataclasses import dataclass
from typing import Self

from eitr.errors import InputError

_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
LOCAL, RAY = "local", "ray"
THIS_MACHINE = "auto"
"""Stands for the cluster that was started on this machine, or that RAY_ADDRESS names."""
HELP = "What computes: `local` (this process), `ray` (the Ray cluster of this machine), or `ray:HOST:PORT`."


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine by name; `address` is that of a Ray cluster, and empty for this process."""

    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `local`, `ray` or `ray:HOST:PORT`.

        >>> Engine.parse("ray:10.0.0.1:6379")
        Engine(address='10.0.0.1:6379')
        >>> Engine.parse("local").is_local, Engine.parse("ray").address
        (True, 'auto')
        """
        if text == LOCAL:
            return cls()
        if text == RAY:
            return cls(THIS_MACHINE)
        kind, _, address = text.partition(":")
        if kind != RAY or (address != THIS_MACHINE and host_and_port(address) is None):
            raise InputError(f"the engine is local, ray or ray:HOST:PORT (such as ray:10.0.0.1:6379), not {text!r}")
        return cls(address)

    @property
    def is_local(self) -> bool:
        """Whether this process computes everything."""
        return not self.address


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return the host and the port of an address; None if it is none.

    >>> host_and_port("10.0.0.1:6379"), host_and_port("[::1]:6379"), host_and_port("head")
    (('10.0.0.1', 6379), ('::1', 6379), None)
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65536:
        return None
    return found["host"].strip("[]"), int(found["port"])
