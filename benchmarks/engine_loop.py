"""The work as a plain loop in PyTorch: one client after the other, dense batches taken by their numbers.

    python -m benchmarks.engine_loop FOLDER COURSE ROUNDS THREADS

No DataLoader, one model for all clients, pages already tensors: what somebody careful writes. Needs PyTorch and NumPy
alone; Flower's clients train with the same function.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.engine_work import Course, Pages, Settings, Work, read_work, stay_on_cores

Weights = dict[str, Tensor]


def make_model(settings: Settings) -> nn.Sequential:
    """Return the network, with dropout behind every hidden layer."""
    parts: list[nn.Module] = []
    for inputs, outputs in zip(settings.layers[:-1], settings.layers[1:], strict=True):
        parts += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(settings.dropout)]
    return nn.Sequential(*parts[:-2])


def initial_weights(work: Work) -> Weights:
    """Return the first global model as PyTorch names and lays it out."""
    model = make_model(work.settings)
    rest = torch.from_numpy(work.initial)
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, nn.Linear):
                inputs, outputs = layer.in_features, layer.out_features
                kernel, bias, rest = rest.split([inputs * outputs, outputs, len(rest) - (inputs + 1) * outputs])
                layer.weight.copy_(kernel.view(inputs, outputs).T)
                layer.bias.copy_(bias)
    return copied(model)


def copied(model: nn.Module) -> Weights:
    """Return a copy of a model's weights."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def train(model: nn.Module, pages: Pages, settings: Settings, *, seed: Sequence[int]) -> int:
    """Train in place as the plan says; return the number of steps."""
    torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
    inputs, labels = torch.from_numpy(pages.inputs), torch.from_numpy(pages.labels)
    optimiser = torch.optim.SGD(model.parameters(), lr=settings.learning_rate, momentum=settings.momentum)
    loss_of = nn.CrossEntropyLoss()
    model.train()
    steps = 0
    for _ in range(settings.epochs):
        order = torch.randperm(len(labels))
        for batch in order.split(settings.batch_size)[: settings.max_batches]:
            optimiser.zero_grad()
            loss_of(model(inputs[batch]), labels[batch]).backward()
            optimiser.step()
            steps += 1
    return steps


def accuracy(model: nn.Module, pages: Pages) -> float:
    """Return the share of pages that the model recognises."""
    model.eval()
    with torch.inference_mode():
        guesses = model(torch.from_numpy(pages.inputs)).argmax(dim=1)
        return float((guesses == torch.from_numpy(pages.labels)).double().mean())


def run_loop(work: Work, rounds: int) -> Course:
    """Simulate rounds: all clients train, the mean by their numbers of pages is the next model, which is tested."""
    settings, course = work.settings, Course()
    model, weights = make_model(settings), initial_weights(work)
    pages = sum(len(client.labels) for client in work.clients)
    for number in range(1, rounds + 1):
        mean = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
        steps = 0
        for place, client in enumerate(work.clients):
            model.load_state_dict(weights)
            steps += train(model, client, settings, seed=(settings.seed, number, place))
            for name, tensor in model.state_dict().items():
                mean[name].add_(tensor, alpha=len(client.labels) / pages)
        weights = mean
        model.load_state_dict(weights)
        course.add(accuracy(model, work.test), steps)
    return course


def main(folder: str, course: str, rounds: str, threads: str) -> None:
    """Run in a process of its own."""
    stay_on_cores()
    torch.set_num_threads(int(threads))
    run_loop(read_work(Path(folder)), int(rounds)).write(Path(course))


if __name__ == "__main__":
    main(*sys.argv[1:])
