"""What the numbers were measured on."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("eitr", "numpy", "numba", "torch", "byzfl")


def describe_machine(threads: int) -> dict[str, Any]:
    """Return processor, cores, threads, versions and load, as JSON values."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **_versions()},
        "load_average": load_average(),
    }


def load_average() -> float | None:
    """Return how many processes wanted to run over the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine_line(machine: dict[str, Any]) -> str:
    """Return what `describe_machine` found as a sentence or two, without the last full stop."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads for everybody, "
        f"load average before the run {machine['load_average']}. {versions}"
    )
