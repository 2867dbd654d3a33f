"""The work in Flower's simulation: Ray, one actor on each of two processors, Flower's own FedAvg.

    python -m benchmarks.engine_flower FOLDER COURSE ROUNDS THREADS

A client trains with the function of the plain loop, on one thread, on pages that its actor has read once. The global
model is tested after each round on the server, as the others do it, and nowhere else. `run_simulation` keeps all but
the actors in one process: the fastest way into the simulation that we found.

Runs in an environment of its own (`requirements-engine.txt`), without the package eitr; started by `benchmarks.engine`,
which tells Flower and Ray to report to nobody.
"""

import sys
import tempfile
from pathlib import Path

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from benchmarks.engine_loop import accuracy, copied, initial_weights, make_model, train
from benchmarks.engine_work import CORES, Course, read_work, stay_on_cores


def client_app() -> ClientApp:
    """Return what a client does."""
    app = ClientApp()

    @app.train()
    def train_here(message: Message, context: Context) -> Message:
        torch.set_num_threads(1)
        config = message.content["config"]
        work = read_work(Path(config["folder"]))
        place = int(context.node_config["partition-id"])
        model = make_model(work.settings)
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        pages = work.clients[place]
        steps = train(model, pages, work.settings, seed=(work.settings.seed, config["server-round"], place))
        reply = {
            "arrays": ArrayRecord(copied(model)),
            "metrics": MetricRecord({"num-examples": len(pages.labels), "steps": steps}),
        }
        return Message(content=RecordDict(reply), reply_to=message)

    return app


class CountingFedAvg(FedAvg):
    """Flower's FedAvg over everybody; it also adds up the steps of a round."""

    def __init__(self, clients: int) -> None:
        super().__init__(
            fraction_train=1.0,
            fraction_evaluate=0.0,
            min_train_nodes=clients,
            min_available_nodes=clients,
            train_metrics_aggr_fn=self._count,
        )
        self.steps = 0

    def _count(self, replies: list[RecordDict], weighted_by: str) -> MetricRecord:
        self.steps = sum(int(reply["metrics"]["steps"]) for reply in replies)
        return MetricRecord({"steps": self.steps})


def server_app(folder: Path, rounds: int, course: Course) -> ServerApp:
    """Return what the server does; it notes the rounds in the course."""
    app, work = ServerApp(), read_work(folder)
    model, strategy = make_model(work.settings), CountingFedAvg(work.settings.clients)

    def evaluate(number: int, arrays: ArrayRecord) -> MetricRecord:
        model.load_state_dict(arrays.to_torch_state_dict())
        right = accuracy(model, work.test)
        if number:  # 0: the first model, before any round
            course.add(right, strategy.steps)
        return MetricRecord({"accuracy": right})

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(initial_weights(work)),
            num_rounds=rounds,
            train_config=ConfigRecord({"folder": str(folder)}),
            evaluate_fn=evaluate,
        )

    return app


def run_flower(folder: Path, rounds: int, ray_folder: str) -> Course:
    """Simulate rounds; Ray keeps its files in a folder whose name is short, as the names of sockets must be."""
    course = Course()
    run_simulation(
        server_app=server_app(folder, rounds, course),
        client_app=client_app(),
        num_supernodes=read_work(folder).settings.clients,
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
    return course


def main(folder: str, course: str, rounds: str, threads: str) -> None:
    """Run in a process of its own; the threads are those of the server, which only tests."""
    stay_on_cores()
    torch.set_num_threads(int(threads))
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as ray_folder:
        run_flower(Path(folder), int(rounds), ray_folder).write(Path(course))


if __name__ == "__main__":
    main(*sys.argv[1:])
