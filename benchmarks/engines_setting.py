"""The one federation that `benchmarks.engines_table` runs on four engines, and the lines that each wants of its user.

Imports nothing of Flower and nothing of torch, so that every engine's environment can read it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eitr.flower.page_sources import classifier_of, measured_pages
from eitr.flower.run_settings import RunSettings
from eitr.model.network import Vector

LAB, SIMULATION, DEPLOYMENT, HTTP = "lab", "flower-simulation", "flower-deployment", "http-server"
ENGINES = (LAB, SIMULATION, DEPLOYMENT, HTTP)
TITLES = {
    LAB: "EITR's engine (`eitr.lab`)",
    SIMULATION: "Flower simulation (Ray)",
    DEPLOYMENT: "Flower deployment (SuperLink, SuperNodes, TLS, keys)",
    HTTP: "HTTP server (`eitr serve`) and Python clients",
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all engines are told."""

    rule: str = "reputation"
    clients: int = 6
    rounds: int = 5
    size: int = 1200
    seed: int = 3
    trusted: int = 100
    epochs: int = 2
    batch_size: int = 16

    def config(self, folder: Path | str = "federation", **more: Any) -> dict[str, Any]:
        """Return it as settings of a run on Flower."""
        return {
            "rule": self.rule,
            "rounds": self.rounds,
            "nodes": self.clients,
            "seed": self.seed,
            "data": "builtin",
            "data-size": self.size,
            "trusted": self.trusted,
            "epochs": self.epochs,
            "batch-size": self.batch_size,
            "wait": 600.0,
            "timeout": 600.0,
            "checkpoint": str(folder),
            **more,
        }

    @property
    def settings(self) -> RunSettings:
        """Return it checked."""
        return RunSettings.read(self.config())

    @property
    def text(self) -> str:
        """Return it as JSON, for a process of another environment."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Setting":
        """Return what `text` gave."""
        return cls(**json.loads(text))


def accuracy(setting: Setting, vector: Vector) -> float:
    """Return the share of the test pages that a model gets right: the same pages for every engine."""
    pages = measured_pages(setting.settings, setting.clients)
    logits = pages.logits(np.asarray(vector, np.float32), np.arange(len(pages.labels), dtype=np.int64))
    return float((logits.argmax(axis=1) == pages.labels).mean())


def first_model(setting: Setting) -> Vector:
    """Return the model that all start from."""
    return classifier_of(setting.settings.model).model.vector


def configuration(setting: Setting) -> dict[str, list[str]]:
    """Return, for each engine, the lines that its user writes for this federation.

    A line is one setting, one command with its other options, or one statement of Python. Left out are what all
    have in common (installing EITR, imports, the pages) and what nobody writes, as the project of `eitr flower new`.
    """
    given = {name: value for name, value in setting.config().items() if name not in ("wait", "timeout")}
    run_config = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
    nodes = range(setting.clients)
    lab = [
        f"examples = load('builtin', size={setting.size}, vocabulary=Classifier.shipped().vocabulary)",
        *(f"plan: {name}={value}" for name, value in (("epochs", setting.epochs), ("batch_size", setting.batch_size))),
        "run = FederatedRun(data='builtin', start='shipped', plan=plan, ...)",
        *(f"run: {name}={given[name]!r}" for name in ("rule", "rounds", "seed", "trusted")),
        f"run: clients={setting.clients}",
        "network, vector = Classifier.shipped().model",
        "(done,) = run_all([run], examples, network, Context(device=torch.device('cpu')), vector)",
    ]
    simulated = [
        *run_config,
        'identity = "partition"',
        "server = ServerApp()",
        "server.main()(lambda grid, context: run_pages(grid, RunSettings.read(config)))",
        "client = ClientApp()",
        "@client.train() def train(message, context):",
        "    given = Context(context.run_id, context.node_id, context.node_config, context.state, config)",
        "    return pages.app(message, given)",
        f"run_simulation(server, client, num_supernodes={setting.clients}, backend_config=...)",
    ]
    deployed = [
        *run_config,
        "openssl req -x509 ... -keyout ca.key -out ca.pem",
        "openssl req -newkey ... -keyout server.key -out server.csr",
        "printf subjectAltName=... > server.ext",
        "openssl x509 -req ... -out server.pem",
        "flower-superlink --ssl-ca-certfile ca.pem ... --enable-supernode-auth --database superlink.db",
        "printf '[superlink] ...' > $FLWR_HOME/config.toml",
        *(f"ssh-keygen -q -t ecdsa -b 384 -N '' -C '' -f node{node}.key" for node in nodes),
        *(f"flwr supernode register node{node}.key.pub --name node{node}" for node in nodes),
        *(f"flower-supernode ... --auth-supernode-private-key node{node}.key --node-config ..." for node in nodes),
        "eitr flower new page-federation",
        "flwr run page-federation --stream --run-config ...",
    ]
    http = [
        *(f"{name}={value}" for name, value in server_settings(setting).items()),
        "eitr serve",
        "with Participant(address, allow_all_layers=True) as me:",
        "    me.enrol()",
        f"    for _ in range({setting.rounds}):",
        "        me.take_part(pages, labels)",
    ]
    return {LAB: lab, SIMULATION: simulated, DEPLOYMENT: deployed, HTTP: http}


def server_settings(setting: Setting) -> dict[str, str]:
    """Return the settings of a server that runs this federation as the lab does: without gate and bounds."""
    people = str(setting.clients)
    return {
        "EITR_TRAINING": "paper",
        "EITR_RULE": setting.rule,
        "EITR_ENROLMENT": "open",
        "EITR_QUORUM": people,
        "EITR_MINIMUM": people,
        "EITR_MAXIMUM": people,
        "EITR_EPOCHS": str(setting.epochs),
        "EITR_BATCH_SIZE": str(setting.batch_size),
        "EITR_PAUSE_SECONDS": "0",
        "EITR_BOUNDS": "false",
        "EITR_MARGIN": "1",
        "EITR_CLASS_MARGIN": "1",
    }
