"""The federation on a real server: `eitr serve`, and a Python client for each share of the pages."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from benchmarks.engines_setting import Setting, server_settings
from benchmarks.federation_tree import EITR, source_folder
from benchmarks.server_process import Process, free_port
from eitr.client import OpenRound, Participant
from eitr.errors import InputError
from eitr.flower.page_sources import LabelledRows, pages_of_node, seed_of, trained
from eitr.flower.run_settings import PARTITION, PARTITIONS
from eitr.model.network import Vector

MORE = {
    "EITR_ENROLMENTS_PER_HOUR": "1000",
    "EITR_REQUESTS_PER_MINUTE": "1000000",
    "EITR_POLL_SECONDS": "0.05",
    "EITR_LOG_LEVEL": "warning",
}
"""So that nobody waits on one machine; not needed by a user."""


def run_http(setting: Setting, folder: Path) -> tuple[Vector, float]:
    """Return the last model and the seconds from the start of the server to the last version."""
    config = setting.settings
    shares = [
        pages_of_node(config, {PARTITION: place, PARTITIONS: setting.clients}) for place in range(setting.clients)
    ]
    port = free_port()
    environment = {**server_settings(setting), **MORE, "PYTHONPATH": str(source_folder())}
    command = [*EITR, "serve", "--port", str(port), "--folder", str(folder / "server")]
    began = time.monotonic()
    process = Process(command, port, folder / "serve.log", environment)
    try:
        process.wait("/readyz")
        with ExitStack() as stack:
            people = [
                stack.enter_context(Participant(f"http://127.0.0.1:{port}", allow_all_layers=True, timeout=300))
                for _ in shares
            ]
            # The server takes participants in the order of their ids: the first share belongs to the first id.
            for person in people:
                person.enrol()
            people.sort(key=lambda person: person.id or "")
            return _rounds(setting, people, shares), time.monotonic() - began
    finally:
        process.stop()


def _rounds(setting: Setting, people: list[Participant], shares: list[LabelledRows]) -> Vector:
    settings, last = setting.settings, 0
    with ThreadPoolExecutor(2) as pool:
        for number in range(1, setting.rounds + 1):
            call = people[0].wait_for_round(after=last, seconds=600, every=0.05)
            last = call.id

            def send(place: int, call: OpenRound = call, number: int = number) -> None:
                network, vector = people[place].model(call.base).model
                seed = seed_of(setting.seed, number, place)
                people[place].send(call, trained(network, vector, shares[place], settings, seed))

            list(pool.map(send, range(setting.clients)))
        call = people[0].wait_for_round(after=last, seconds=600, every=0.05)
    if call.base != setting.rounds + 1:
        raise InputError(f"the server published {call.base - 1} versions in {setting.rounds} rounds")
    return people[0].model(call.base).model.vector
