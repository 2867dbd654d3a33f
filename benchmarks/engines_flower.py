"""The federation on Flower: `python -m benchmarks.engines_flower ENGINE SETTING FOLDER`, in Flower's environment.

`make test-flower` makes the environment. The simulation is Flower's, with Ray; the deployment is that of the tests: a
SuperLink and SuperNodes with TLS and node authentication, on this machine. Both run the apps of `eitr.flower` and leave
their checkpoint in the folder; seconds.json says how long it took.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from benchmarks.engines_setting import DEPLOYMENT, SIMULATION, Setting

CORES = 2


def simulate(setting: Setting, folder: Path) -> None:
    """Run the apps in Flower's simulation; nodes are known by their partition, because their keys are random."""
    from flwr.simulation import run_simulation

    config = setting.config(folder, identity="partition")
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as ray_folder:
        run_simulation(
            server_app=server_app(config),
            client_app=client_app(config),
            num_supernodes=setting.clients,
            backend_config={
                "init_args": {
                    "num_cpus": CORES,
                    "include_dashboard": False,
                    "_temp_dir": ray_folder,
                    "_node_ip_address": "127.0.0.1",
                },
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            },
        )


def server_app(config: dict) -> ServerApp:
    """Return the ServerApp of eitr.flower with these settings, as `flwr run --run-config` gives them."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        from eitr.flower.run_settings import RunSettings
        from eitr.flower.server_app import run_pages

        run_pages(grid, RunSettings.read(config))

    return app


def client_app(config: dict) -> ClientApp:
    """Return the ClientApp of eitr.flower with these settings."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        from eitr.flower import client_app as pages

        given = Context(context.run_id, context.node_id, context.node_config, context.state, config)
        return pages.app(message, given)

    return app


def deploy(setting: Setting, folder: Path) -> None:
    """Start a SuperLink and SuperNodes as processes, run the apps, end all of them."""
    from eitr.flower.project import write_project
    from tests.flower.deployment import Deployment

    work = folder / "deployment"
    work.mkdir()
    write_project(work / "project")
    config = setting.config(folder)
    with Deployment(work) as flower:
        flower.start_superlink()
        keys = [
            flower.add_node(f"org{place}", f"partition-id={place} num-partitions={setting.clients}")
            for place in range(setting.clients)
        ]
        (folder / "keys.json").write_text(json.dumps(keys))
        flower.run(work / "project", " ".join(f"{name}={json.dumps(value)}" for name, value in config.items()))
        flower.wait_until((folder / "model.safetensors").exists, "the run ends")


def main() -> None:
    """Run one engine."""
    engine, text, name = sys.argv[1:]
    folder = Path(name)
    began = time.monotonic()
    {SIMULATION: simulate, DEPLOYMENT: deploy}[engine](Setting.read(text), folder)
    (folder / "seconds.json").write_text(json.dumps(time.monotonic() - began))


if __name__ == "__main__":
    main()
