"""The classifier: a small network as one flat vector that predicts, learns, and is saved.

`train` is imported when first asked for: it needs numba, which takes longer to import than a page takes to
classify.
"""

from typing import TYPE_CHECKING, Any

from eitr.model.classifier import Classifier
from eitr.model.evaluation import Score, loss_and_accuracy
from eitr.model.files import Model, load, save
from eitr.model.network import Layer, Network, Vector
from eitr.model.plan import TrainingPlan
from eitr.model.prediction import predict
from eitr.model.tfjs import load_tfjs, save_tfjs

if TYPE_CHECKING:
    from eitr.model.training import train

__all__ = [
    "Classifier",
    "Layer",
    "Model",
    "Network",
    "Score",
    "TrainingPlan",
    "Vector",
    "load",
    "load_tfjs",
    "loss_and_accuracy",
    "predict",
    "save",
    "save_tfjs",
    "train",
]


def __getattr__(name: str) -> Any:
    if name != "train":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from eitr.model.training import train

    return train
