"""Ray nodes on loopback: processes that tests and benchmarks start, and kill.

Each node is a process group of its own (`ray start --block`), so that a node dies as a machine does: all at once.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 180.0
"""Longer than any start takes: the limit for a machine that is busy with something else."""


class Nodes:
    """A head on 127.0.0.1, and further nodes on 127.0.0.2 and so on."""

    def __init__(self, processors: int = 1, store: int = 256 << 20) -> None:
        self._processors, self._store = processors, store
        # Ray's sockets need a short path.
        self._folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp" if Path("/tmp").is_dir() else None))
        self._groups: list[subprocess.Popen[bytes]] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"

    def add(self) -> int:
        """Start a node and return its number; the first one is the head. It is there when `wait` returns."""
        own = f"127.0.0.{len(self._groups) + 1}"
        head = ["--head", f"--port={self._port}", f"--temp-dir={self._folder}", "--include-dashboard=false"]
        command = [
            str(Path(sys.executable).with_name("ray")),
            "start",
            "--block",
            *([f"--address={self.address}"] if self._groups else head),
            f"--node-ip-address={own}",
            f"--num-cpus={self._processors}",
            "--num-gpus=0",
            f"--object-store-memory={self._store}",
            "--disable-usage-stats",
        ]
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        environment.pop("RAY_ADDRESS", None)
        with (self._folder / f"node{len(self._groups)}.log").open("wb") as log:
            self._groups.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            )
        if len(self._groups) == 1:
            self._wait_for_head()
        return len(self._groups) - 1

    def _wait_for_head(self) -> None:
        """Return when the head says that it runs: its port is open before it can answer."""
        log, until = self._folder / "node0.log", time.monotonic() + START_SECONDS
        while "block forever" not in log.read_text(errors="replace"):
            if self._groups[0].poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the head did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def wait(self, count: int) -> None:
        """Return when the connected cluster has so many nodes alive."""
        import ray

        until = time.monotonic() + START_SECONDS
        while sum(node["Alive"] for node in ray.nodes()) != count:
            if time.monotonic() > until:
                raise RuntimeError(f"there are not {count} nodes after {START_SECONDS:.0f} s")
            time.sleep(0.1)

    def kill(self, number: int) -> None:
        """End a node at once, with all its processes."""
        group = self._groups[number]
        try:
            os.killpg(group.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        group.wait()

    def stop(self) -> None:
        """End all nodes, the head last."""
        for number in reversed(range(len(self._groups))):
            self.kill(number)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def started(count: int, **settings: int) -> Iterator[Nodes]:
    """Give running nodes; end them afterwards."""
    nodes = Nodes(**settings)
    try:
        for _ in range(count):
            nodes.add()
        yield nodes
    finally:
        nodes.stop()
