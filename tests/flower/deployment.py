"""A SuperLink and SuperNodes as processes on this machine, with TLS and node authentication."""

import datetime
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from eitr.flower.exchange import fingerprint

LONGEST = 1500.0
"""Seconds after which a deployment on a busy machine counts as hung."""
BIN = Path(sys.executable).parent


class Deployment:
    """Starts, kills and restarts the processes of a federation, and sees to it that none outlives the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: dict[str, subprocess.Popen] = {}
        self._groups: list[int] = []
        self._node_options: dict[str, list[str]] = {}
        self._end = time.monotonic() + LONGEST
        self.port = free_port()
        self._make_certificates()
        home = folder / "home-operator"
        home.mkdir()
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{folder / "ca.pem"}"\n'
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self._processes.values():
            process.wait()

    def start_superlink(self) -> None:
        """Start the SuperLink and wait until it accepts connections."""
        self._start(
            "superlink",
            *("flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)),
            *("--ssl-ca-certfile", "ca.pem", "--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key"),
            *("--enable-supernode-auth", "--database", "state.db", "--disable-runtime-dependency-installation"),
        )
        self.wait_until(self._listens, "the SuperLink listens")

    def add_node(self, name: str, config: str) -> str:
        """Make a key, register it, start the node, and return the fingerprint of the key."""
        key = self.make_key(name, config)
        self.flwr("supernode", "register", str(self.folder / f"{name}.pub"), "here", "--name", name)
        self.start_node(name)
        return fingerprint(public_key_to_bytes(key.public_key()))

    def make_key(self, name: str, config: str) -> ec.EllipticCurvePrivateKey:
        """Make a key for a node with this configuration, as `ssh-keygen -t ecdsa -b 384` does."""
        key = ec.generate_private_key(ec.SECP384R1())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        (self.folder / f"{name}.key").write_bytes(private)
        (self.folder / f"{name}.pub").write_bytes(public)
        self._node_options[name] = ["--node-config", config, "--port", str(free_port())]
        return key

    def start_node(self, name: str) -> None:
        """Start a node with its key."""
        self._start(
            name,
            *("flower-supernode", "--superlink", f"127.0.0.1:{self.port}", "--root-certificates", "ca.pem"),
            *("--auth-supernode-private-key", f"{name}.key", *self._node_options[name]),
        )

    def process(self, name: str) -> subprocess.Popen:
        """Return the process that was started last under a name."""
        return self._processes[name]

    def has_ended(self, name: str) -> bool:
        """Return whether the process has ended."""
        return self.process(name).poll() is not None

    def kill(self, name: str, how: signal.Signals) -> None:
        """End a process and wait until it is gone."""
        self._processes[name].send_signal(how)
        self._processes[name].wait()

    def start_node_until_it_stays(self, name: str) -> None:
        """Start a node as often as it takes, as a service manager does.

        The SuperLink refuses a node that was killed until it has missed its heartbeat.
        """
        before = self.connections(name)
        while True:
            self.start_node(name)
            self.wait_until(lambda: self.has_ended(name) or self.connections(name) > before, f"{name} connects or ends")
            if not self.has_ended(name):
                return

    def connections(self, name: str) -> int:
        """Return how often a node has connected, by its log: it learns its number from the SuperLink."""
        return (self.folder / f"{name}.log").read_text().count("SuperNode ID:")

    def run(self, project: Path, config: str) -> int:
        """Start a run; return its number."""
        started = self.flwr("run", str(project), "here", "--run-config", config, "--format", "json")
        return int(started["run-id"])

    def flwr(self, *words: str) -> dict:
        """Run `flwr`; return what it says as JSON, if it does."""
        done = subprocess.run(
            [BIN / "flwr", *words], cwd=self.folder, env=self._environment("operator"), capture_output=True, text=True
        )
        assert done.returncode == 0, f"flwr {words}: {done.stdout}{done.stderr}"
        start = done.stdout.find("{")
        return json.loads(done.stdout[start:]) if "json" in words else {}

    def wait_until(self, happened, what: str):
        """Wait for an event; return what it is."""
        while not (found := happened()):
            if time.monotonic() > self._end:
                raise AssertionError(f"{what}: it did not happen\n{self.logs()}")
            time.sleep(0.2)
        return found

    def logs(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.glob("*.log")))

    def _start(self, name: str, program: str, *options: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [BIN / program, *options],
                cwd=self.folder,
                env=self._environment(name),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes[name] = process
        self._groups.append(process.pid)

    def _environment(self, name: str) -> dict[str, str]:
        return {
            **os.environ,
            "FLWR_HOME": str(self.folder / f"home-{name}"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }

    def _listens(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def _make_certificates(self) -> None:
        authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
        issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "federation")])
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        ca = _certificate(issuer, issuer, authority.public_key(), authority, x509.BasicConstraints(True, None))
        signed = _certificate(subject, issuer, server.public_key(), authority, names)
        for name, certificate in (("ca.pem", ca), ("server.pem", signed)):
            (self.folder / name).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (self.folder / "server.key").write_bytes(
            server.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


def _certificate(subject, issuer, key, signer, extension):
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=False)
    day = datetime.timedelta(days=1)
    return builder.not_valid_before(now - day).not_valid_after(now + day).sign(signer, hashes.SHA256())


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
