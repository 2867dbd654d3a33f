"""What the detectors of the fused rule see, made by hand."""

import numpy as np

from eitr.aggregation.fused.features import RoundFeatures
from eitr.aggregation.fused.sketch import towards_median


def features_of(steps, past=None, **known):
    """What the rule would see of these steps (clients, few numbers), without its projection."""
    steps = np.asarray(steps, dtype=np.float64)
    together = steps if past is None else np.asarray(past, dtype=np.float64)
    clients = len(steps)
    usual = {
        "lengths": np.linalg.norm(steps, axis=1),
        "rejected": np.zeros(clients),
        "now": steps @ steps.T,
        "together": together @ together.T,
        "towards": towards_median(together),
        "doubt": np.zeros(clients),
        "noise": 1 / 64,
    }
    return RoundFeatures(**{**usual, **known})


def honest(clients=10, common=0.9, parameters=400, seed=0):
    """Steps of length 1 with a common part."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(clients + 1, parameters))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    steps = common * own[0] + np.sqrt(1 - common**2) * own[1:]
    return steps / np.linalg.norm(steps, axis=1, keepdims=True)


def colluding(common=0.0, clients=12, colluders=3):
    """The first clients share a direction that nobody else has."""
    steps, goal = honest(clients, common, 4000), honest(1, 0.0, 4000, seed=9)[0]
    steps[:colluders] = 0.4 * steps[:colluders] + 0.9 * goal
    return steps / np.linalg.norm(steps, axis=1, keepdims=True)
