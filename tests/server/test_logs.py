"""Logs hold what the server says, and nothing of what libraries know: addresses with secrets in them, for one."""

import json
import subprocess
import sys

import pytest

from tests.server.receivers import HttpReceiver

DELIVERS = """
import logging, sys
from eitr.server.composition import logs
from eitr.server.delivery.message import Event, Message
from eitr.server.delivery.webhook import Webhook
from eitr.server.domain.clock import now
level, address = sys.argv[1:]
logs.configure(level)
logging.getLogger("eitr.test").debug("a detail")
logging.getLogger("a.library").warning("a warning")
message = Message(id="m", event=Event.TEST, kind="test", what="What happened.", do="Do this.", raised=now())
Webhook(address, "").send(message)
logging.getLogger("eitr.test").error("an error")
"""


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("debug", ["a detail", "a warning", "an error"]),
        ("info", ["a warning", "an error"]),
        ("error", ["an error"]),
    ],
)
def test_the_address_of_a_webhook_is_not_logged(level: str, said: list[str]) -> None:
    receiver = HttpReceiver()
    command = [sys.executable, "-c", DELIVERS, level, receiver.address]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    receiver.close()
    assert [one.path for one in receiver.received] == ["/hook/s3cret-token"]
    assert "s3cret" not in done.stderr
    assert [json.loads(line)["message"] for line in done.stderr.splitlines()] == said
