"""A Ray cluster, as the rest of the package uses it: place a value once, run functions elsewhere, survive lost nodes.

Ray is imported here and nowhere else, and only when a cluster is asked for. Values that are placed belong to this
process and lie in the memory of its node; other nodes fetch copies. When a node dies, Ray starts its tasks again on
another one, and computes anew what tasks had left there. Only if this process or its own node dies, the work ends.
"""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from eitr import __version__
from eitr.cluster.engine import THIS_MACHINE, host_and_port
from eitr.errors import EngineError

CONNECT_SECONDS = 10.0
"""How long the head of a cluster may take to answer."""
PATIENCE_SECONDS = 1800.0
"""After so long without any finished task the cluster counts as stuck: all its processors may belong to others."""
MOST_RETRIES = 10
"""How often a task is started again because its process or its node died."""

_BEFORE_IMPORT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no telemetry
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # else Ray tries for minutes
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what a task without GPUs sees of them is left alone
}


class StreamEvent(Enum):
    """What a stream may tell besides values."""

    ENDED = "ended"
    LOST = "lost"
    """Its process or node died; what it had not told yet is gone."""


class Cluster:
    """A connection to a cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._task = ray.remote(_in_task)
        self._stream = ray.remote(_in_stream)
        self._stamp = stamp()

    @property
    def processors(self) -> int:
        """How many processors all nodes have together."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    @property
    def gpus(self) -> int:
        """How many GPUs all nodes have together."""
        return int(self._ray.cluster_resources().get("GPU", 0))

    @property
    def nodes(self) -> int:
        """How many nodes are alive."""
        return sum(node["Alive"] for node in self._ray.nodes())

    def place(self, value: Any) -> Any:
        """Put a value where tasks on all nodes find it; return a reference, which tasks take in its place."""
        with told():
            return self._ray.put(value)

    def submit(
        self, function: Callable[..., Any], *arguments: Any, settings: Mapping[str, Any] | None = None, returns: int = 1
    ) -> list[Any]:
        """Start a function on some node, on one processor; return references to its values."""
        task = self._task.options(num_cpus=1, num_returns=returns, max_retries=MOST_RETRIES)
        with told():
            found = task.remote(self._stamp, function, dict(settings or {}), *arguments)
        return [found] if returns == 1 else list(found)

    def results(self, references: Sequence[Any]) -> list[Any]:
        """Wait for values and return them in the order of their references."""
        waiting = list(references)
        with told():
            while waiting:
                done, waiting = self._ray.wait(waiting, num_returns=1, timeout=PATIENCE_SECONDS, fetch_local=False)
                if not done:
                    raise EngineError(_STUCK)
            return list(self._ray.get(list(references)))

    def stream(self, function: Callable[..., Iterator[Any]], *arguments: Any, gpus: float = 0) -> Any:
        """Start a function that yields values on some node; `next_event` returns them as they come."""
        task = self._stream.options(num_cpus=1, num_gpus=gpus, num_returns="streaming", max_retries=0)
        with told():
            return task.remote(self._stamp, function, *arguments)

    def next_event(self, streams: Sequence[Any]) -> tuple[Any, Any]:
        """Return the next value of any of some streams, with its stream, or what became of the stream."""
        from ray.exceptions import RayError, RayTaskError

        with told():
            done, _ = self._ray.wait(list(streams), num_returns=1, timeout=PATIENCE_SECONDS, fetch_local=False)
            if not done:
                raise EngineError(_STUCK)
            (stream,) = done
            try:
                return stream, self._ray.get(next(stream))
            except StopIteration:
                return stream, StreamEvent.ENDED
            except RayTaskError:  # the function failed, and would fail again
                raise
            except RayError:
                return stream, StreamEvent.LOST


_STUCK = (
    f"the Ray cluster finished no task in {PATIENCE_SECONDS:.0f} s: `ray status` shows whether it has free processors"
)


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to a running cluster for a while; with a connection that this process already has, use that one."""
    ray = _imported()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    _check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
    except Exception as error:
        raise EngineError(f"cannot connect to the Ray cluster {_shown(address)}: {_first_line(error)}") from error
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


@contextmanager
def told() -> Iterator[None]:
    """Turn errors of Ray into one line."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        hint = "; install the same version of EITR on every node" if "No module named" in str(error.cause) else ""
        raise EngineError(f"a task on the Ray cluster failed: {_first_line(error.cause)}{hint}") from error
    except RayError as error:
        raise EngineError(f"the Ray cluster failed: {type(error).__name__}: {_first_line(error)}") from error


def _imported() -> Any:
    for name, value in _BEFORE_IMPORT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise EngineError(
            "the engine ray needs the Python package ray, which is not installed: pip install 'eitr[ray]'"
        ) from error
    return ray


def _check_reachable(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself would try for minutes."""
    place = host_and_port(address)
    if place is None:  # a cluster of this machine: Ray knows at once whether there is one
        return
    try:
        socket.create_connection(place, timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise EngineError(
            f"cannot reach the Ray cluster {address}: {error.strerror or error} (tried for at most "
            f"{CONNECT_SECONDS:.0f} s); start it with `ray start --head`, or choose another --engine"
        ) from error


def _shown(address: str) -> str:
    return "of this machine" if address == THIS_MACHINE else address


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@lru_cache
def stamp() -> str:
    """Return what tells two versions of this package apart: the version, and a digest of all its sources."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__}-{digest.hexdigest()[:12]}"


def _in_task(expected: str, function: Callable[..., Any], settings: Mapping[str, Any], *arguments: Any) -> Any:
    """Call a function on a node."""
    _check_node(expected)
    return function(*map(writable, arguments), **settings)


def _in_stream(expected: str, function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    """Yield what a function yields on a node."""
    _check_node(expected)
    yield from function(*arguments)


def _check_node(expected: str) -> None:
    if stamp() != expected:
        raise EngineError(
            f"a node has EITR {stamp()}, and the command that asks it {expected}: install the same version on all nodes"
        )
    os.environ["EITR_THREADS"] = "1"  # a task has one processor; others run beside it


def writable(value: Any) -> Any:
    """Return a value whose arrays can be written to; those that tasks get are read-only views of shared memory.

    To numba they are another type, and kernels would be compiled a second time. A copy costs little beside that.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: writable(getattr(value, field.name)) for field in fields(value)})
    return value
