"""A real `eitr serve` or `eitr worker` in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import httpx

from tests.server.waiting import until

START_SECONDS = 300.0
"""The first start on a machine compiles kernels."""


class Running:
    """Started at once; stopped, or killed, at the end of a `with` block."""

    def __init__(
        self,
        command: str,
        folder: Path,
        *arguments: str,
        port: int = 0,
        python: str = sys.executable,
        **settings: object,
    ) -> None:
        self._folder, self._log = folder, folder.parent / f"{folder.name}-{command}.log"
        given = ["--port", str(port)] if command == "serve" else []
        environment = {
            **os.environ,
            "EITR_REQUESTS_PER_MINUTE": "1000000",
            "EITR_ENROLMENTS_PER_HOUR": "1000000",
            "EITR_BOUNDS": "false",
            **{f"EITR_{name.upper()}": str(value) for name, value in settings.items()},
        }
        self._output = self._log.open("ab")
        self._from = self._log.stat().st_size
        self.process = subprocess.Popen(
            [python, "-m", "eitr", command, "--folder", str(folder), *given, *arguments],
            stdout=self._output,
            stderr=self._output,
            env=environment,
        )
        self.address = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        self._output.close()

    @property
    def log(self) -> str:
        """What this process wrote."""
        with self._log.open("rb") as stream:
            stream.seek(self._from)
            return stream.read().decode()

    def ready(self) -> Self:
        """Wait until it answers."""
        until(self._answers, f"the start of {self.address}", START_SECONDS)
        return self

    def _answers(self) -> bool:
        assert self.process.poll() is None, f"the server ended with {self.process.returncode}: {self.log[-3000:]}"
        found = re.search(r"EITR runs at (http://[^\s\"]+)\"", self.log)
        if found is None:
            return False
        self.address = found[1]
        try:
            return httpx.get(f"{self.address}/readyz", timeout=60).is_success
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        """Ask it to end, in good order; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=300)

    def kill(self) -> None:
        """End it at this very instruction."""
        self.process.kill()
        self.process.wait(timeout=300)
