"""What attacks on the model share: attackers train honestly, see what the others will send, and compute their own."""

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from eitr.attacks.interface import Attack, Scene
from eitr.model.random import key_of
from eitr.model.torch_random import normal, uniform
from eitr.settings import setting

if TYPE_CHECKING:
    import torch


class Stream(IntEnum):
    """What random words are drawn for, apart from the streams of training and of the lab."""

    NOISE = 101
    FANG = 102
    SYBIL = 103
    VICTIMS = 104
    SLANDER = 105
    INSIDE = 106
    RECIPES = 107


@dataclass(frozen=True, kw_only=True)
class ModelPoisoning(Attack):
    """An attack on the model alone: it trains as long as honest clients do, so that its formula sees honest steps."""

    extra_epochs: int = setting(0, "local epochs beyond those of honest clients", least=0, most=10_000)


def honest(scene: Scene) -> "torch.Tensor":
    """Return what honest clients will send; where all clients attack, what the attackers trained stands for it."""
    return scene.others if len(scene.others) else scene.mine


def by_all(scene: Scene, update: "torch.Tensor") -> "torch.Tensor":
    """Return one update (parameters,) as what every attacker sends."""
    return update.repeat(len(scene.mine), 1)


def noise(scene: Scene, stream: Stream) -> "torch.Tensor":
    """Return standard normal numbers for this round, (attackers, parameters), different for each attacker."""
    return normal(*_place(scene, stream))


def chance(scene: Scene, stream: Stream) -> "torch.Tensor":
    """Return numbers between 0 and 1 for this round, (attackers, parameters) float32."""
    return uniform(*_place(scene, stream)).float()


def unit(vectors: "torch.Tensor") -> "torch.Tensor":
    """Return rows at length 1; a row of zeros stays one."""
    lengths: torch.Tensor = vectors.norm(dim=1, keepdim=True)
    return vectors / lengths.clamp(min=1e-30)


def root_mean_square(steps: "torch.Tensor") -> "torch.Tensor":
    """Return the usual size of a number of each step, (steps, 1)."""
    return steps.square().mean(dim=1, keepdim=True).sqrt()


def _place(scene: Scene, stream: Stream) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the key of each attacker and the counter of each parameter."""
    import torch

    device = scene.mine.device
    keys = [key_of(scene.seed, stream, scene.round, attacker) for attacker in range(len(scene.mine))]
    counters = torch.arange(scene.mine.shape[1], device=device)
    return torch.tensor(keys, dtype=torch.int64, device=device)[:, None], counters
