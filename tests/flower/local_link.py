"""Flower in one process: its own link state, grid, messages and apps; only the network is left out.

Outside a run Flower refuses to make a message, so a run is entered first, as its simulation does it. A node answers
while it is sent a message, so no test has to wait.
"""

import itertools
from collections.abc import Callable

import pytest

pytest.importorskip("flwr", reason="Flower has an environment of its own: run make test-flower")

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid import InMemoryGrid

Answer = Callable[[Message, Context], Message | RecordDict | None]
"""What a node does with a message: None is silence."""
HEARTBEAT = 3600.0


class LocalLink(InMemoryGrid):
    """A SuperLink's state, with nodes that answer at once."""

    def __init__(self, run_config=None):
        factory = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
        super().__init__(factory)
        self._answers: dict[int, Answer] = {}
        self._configs: dict[int, dict] = {}
        self._run_config = run_config or {}
        self._numbers = itertools.count()
        self.begin_run()

    def begin_run(self):
        """Begin another run, as `flwr run` does."""
        number = self.state.create_run(None, None, None, {}, NOOP_FEDERATION_ID, None, None, "serverapp")
        (run,) = self.state.get_run_info(run_ids=[number])
        self.set_run(run)
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, number, SUPERLINK_NODE_ID

    def add(self, key: bytes, answer: Answer, name="", **config) -> int:
        """Register a node with a public key and connect it."""
        node = self.state.create_node("owner", "owner", key, HEARTBEAT, name=name)
        self.state.activate_node(node, HEARTBEAT)
        self._answers[node] = answer
        self._configs[node] = {name.replace("_", "-"): value for name, value in config.items()}
        return node

    def replace(self, node: int, answer: Answer):
        """Let a node do something else from now on."""
        self._answers[node] = answer

    def restart(self, node: int):
        """Disconnect a node and connect it again: what it had been sent is lost."""
        self.state.deactivate_node(node)
        self.state.get_message_ins(node, None)
        self.state.activate_node(node, HEARTBEAT)

    def push_messages(self, messages):
        """Send messages, and let the nodes that are connected answer."""
        sent = list(super().push_messages(messages))
        for node in sorted(self.get_node_ids()):
            for message in self.state.get_message_ins(node, None):
                self._let_answer(node, message)
        return sent

    def _let_answer(self, node: int, message: Message):
        context = Context(
            run_id=self.run.run_id,
            node_id=node,
            node_config=self._configs[node],
            state=RecordDict(),
            run_config=self._run_config,
        )
        try:
            reply = self._answers[node](message, context)
        except Exception as error:  # as a SuperNode does it
            reply = Message(Error(2, str(error)), reply_to=message)
        if isinstance(reply, RecordDict):
            reply = Message(reply, reply_to=message)
        if reply is not None:
            reply.metadata.__dict__["_message_id"] = f"reply-{next(self._numbers)}"
            assert self.state.store_message_res(reply) is not None
