"""Scenes for attacks on the model, and what they must be by a plain reading in numpy."""

import numpy as np

from eitr.attacks.interface import Rehearsal, Scene


def scene(attackers=3, others=7, parameters=40, drawn=0, **more):
    """Return a scene with drawn numbers; honest steps have a direction in common."""
    import torch

    rng = np.random.default_rng(drawn)
    base = rng.normal(0, 0.1, parameters)
    step = rng.normal(0, 0.05, parameters)
    mine = base + step + rng.normal(0, 0.05, (attackers, parameters))
    theirs = base + step + rng.normal(0, 0.05, (others, parameters))
    previous = base - rng.normal(0, 0.05, parameters)
    tensors = [torch.tensor(array, dtype=torch.float32) for array in (base, mine, theirs, previous)]
    return Scene(tensors[0], tensors[1], tensors[2], tensors[3], **more)


def with_inside_knowledge(given, limit=None):
    """Return the scene with a mean for a rule, reputations that fall with the distance from the mean, and a loss.

    `limit`: attackers farther from the honest mean than this stand below everybody.
    """
    import torch

    target = (given.others if len(given.others) else given.mine).mean(dim=0)
    calls = []

    def rehearse(sent):
        calls.append(sent.clone())
        everybody = torch.cat([sent, given.others])
        far = (everybody - target).norm(dim=1).numpy().astype(np.float64)
        reputation = -far if limit is None else np.where(far > limit, -far, 1.0)
        if limit is not None:
            reputation[len(sent) :] = 0.5
        return Rehearsal(everybody.mean(dim=0), reputation)

    def harm(model):
        return float((model - target).square().sum())

    return given._replace(rehearse=rehearse, harm=harm), calls


def numbers(*tensors):
    """Return tensors as float64 arrays."""
    return [tensor.double().numpy() for tensor in tensors]
