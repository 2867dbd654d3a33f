"""A server as a process of its own: its start, its end and its memory. Imports nothing of EITR."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

import psutil

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0
"""Seconds within which a server must have started."""
TICK = 0.02


class StartFailedError(Exception):
    """A server did not start; the message holds the end of what it printed."""


class Process:
    """A server that was started: its port, and its memory."""

    def __init__(self, command: list[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.port, self._log = port, log
        with log.open("wb") as stream:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=os.environ | dict(environment), stdout=stream, stderr=subprocess.STDOUT
            )
        self._system = psutil.Process(self._process.pid)
        self.most = 0
        """The largest memory seen so far, in bytes; whoever measures sets it back."""
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    @property
    def memory(self) -> int:
        """Bytes of memory that are in use now (the resident set)."""
        return int(self._system.memory_info().rss)

    @property
    def processor(self) -> float:
        """Seconds of processor time so far."""
        times = self._system.cpu_times()
        return float(times.user + times.system)

    def wait(self, path: str) -> None:
        """Wait until it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise StartFailedError(f"the server did not start:\n{self._log.read_text(errors='replace')[-3000:]}")

    def kill(self) -> None:
        """End it at this very instruction."""
        self._ended.set()
        self._watching.join()
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ask it to stop, and wait."""
        self._ended.set()
        self._watching.join()
        self._process.terminate()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _watch(self) -> None:
        while not self._ended.wait(TICK):
            try:
                self.most = max(self.most, self.memory)
            except psutil.Error:
                return


class ProcessGroup:
    """Servers that share a port: their memory and their processor time, together."""

    def __init__(self, processes: list[Process]) -> None:
        self._processes, self.port = processes, processes[0].port

    @property
    def memory(self) -> int:
        """Bytes of memory that are in use now."""
        return sum(one.memory for one in self._processes)

    @property
    def most(self) -> int:
        """The largest memory seen so far; the sum of what each had, not at one moment."""
        return sum(one.most for one in self._processes)

    @most.setter
    def most(self, value: int) -> None:
        for one in self._processes:
            one.most = value // len(self._processes)

    @property
    def processor(self) -> float:
        """Seconds of processor time so far."""
        return sum(one.processor for one in self._processes)

    def stop(self) -> None:
        """Ask all to stop, and wait."""
        for one in self._processes:
            one.stop()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
