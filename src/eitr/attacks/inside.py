"""Inside knowledge: attackers who know the rule, its settings and its memory, and try before they send."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from eitr.attacks.interface import Rehearsal, Scene
from eitr.attacks.model_poisoning import Stream, honest, noise, unit
from eitr.attacks.wrapping import WrappingAttack
from eitr.errors import InputError
from eitr.model.random import draw, key_of
from eitr.model.torch_random import WORDS
from eitr.settings import setting

if TYPE_CHECKING:
    import torch

DIRECTIONS = 4
"""How many directions a recipe mixes: see `CandidateBuilder`."""
_ONE_EACH = tuple(tuple(float(one == other) for other in range(DIRECTIONS)) for one in range(DIRECTIONS))
LONGEST = 3.0
"""Steps are up to so many times as long as the median honest one."""
LOUDEST = 0.5
"""Each attacker's own noise is up to this share of its step."""


@dataclass(frozen=True, kw_only=True)
class Inside(WrappingAttack):
    """Of `candidates` things to send, the one with the largest harm after which no attacker stands below the median.

    A candidate is, for attacker k, base + length * median honest length * unit(v_k), with

        v_k = (1 - share) unit(sum_d mix_d direction_d) + share unit(honest part) + loudness unit(noise_k)

    Directions: minus the mean honest step, what k trained on poisoned data, minus the standard deviation of each
    parameter (as ALIE), and the part of what k trained that is orthogonal to the mean honest step. The honest part is
    the mean honest step or, for each attacker, some honest client's. Each candidate is rehearsed: the server's rule,
    with its memory, says what model and what reputations would come of it. It is admissible if the reputation of every
    attacker is at least the median of the others'. The first half of the candidates explores; the second half varies
    the best one so far, by less and less. Where none is admissible, the one whose worst attacker stands best is sent.

    >>> import torch
    >>> others = torch.tensor([[1.0, 0.2], [1.0, -0.2]])
    >>> scene = Scene(torch.zeros(2), mine=torch.tensor([[0.5, 1.0]]), others=others,
    ...               rehearse=lambda sent: Rehearsal((sent[0] + others.sum(0)) / 3, np.array([1.0, 1.0, 1.0])),
    ...               harm=lambda model: -float(model[0]))
    >>> sent = Inside(candidates=50).craft(scene)[0]
    >>> bool(sent[0] < -2.9)  # nothing holds it back: against the others, at three times their length
    True

    As adaptive attacks ought to be: Tramer et al., "On Adaptive Attacks to Adversarial Example Defenses", NeurIPS 2020;
    Shejwalkar and Houmansadr, "Manipulating the Byzantine", NDSS 2021 (its attacker knows the rule).
    """

    name: ClassVar[str] = "inside"
    summary: ClassVar[str] = "the most harmful of many updates, tried against the server's own rule"

    needs_rehearsal: ClassVar[bool] = True

    candidates: int = setting(200, "how many things to send are tried in a round", least=1, most=1_000_000)

    def craft(self, scene: Scene) -> "torch.Tensor":
        """Search for what to send."""
        if scene.rehearse is None or scene.harm is None:
            raise InputError("the attack 'inside' needs the engine for processors, which lets it rehearse a round")
        rehearse, harm = scene.rehearse, scene.harm
        builder = CandidateBuilder(scene)
        numbers = RandomNumbers(key_of(scene.seed, Stream.RECIPES, scene.round))

        def tried(recipe: Recipe) -> _Tried:
            sent = builder.build(recipe)
            return _Tried(_worth(rehearse(sent), len(scene.mine), harm), recipe, sent)

        best = tried(OBVIOUS[0])
        for number in range(1, self.candidates):
            # Beyond the half, from 0 to 1: the variation shrinks from a half to a twentieth.
            done = 2 * number / self.candidates - 1
            if done >= 0:
                recipe = varied(best.recipe, numbers, 0.5 * 0.1**done)
            else:
                recipe = OBVIOUS[number] if number < len(OBVIOUS) else explored(numbers)
            best = max(best, tried(recipe), key=lambda one: one.worth)
        return best.sent


@dataclass(frozen=True)
class Recipe:
    """What a candidate is made of."""

    mix: tuple[float, ...]
    """How much of each direction."""
    share: float = 0.0
    """How much of it looks honest."""
    length: float = 1.0
    """In median honest lengths."""
    loudness: float = 0.05
    """How much noise of its own each attacker adds."""
    model: int = -1
    """Whom attackers look like: -1 for the mean of all; else attacker k is like honest client (model + k)."""


OBVIOUS = (
    *(Recipe(mix, share) for share in (0.0, 0.5) for mix in _ONE_EACH),
    Recipe(_ONE_EACH[0], share=1.0),
)
"""What anybody would try first: each direction, alone and half hidden, and to look as honest as can be."""


class _Tried(NamedTuple):
    worth: tuple[bool, float]
    recipe: Recipe
    sent: "torch.Tensor"


class RandomNumbers:
    """Random numbers one after the other."""

    def __init__(self, key: int) -> None:
        self._key, self._count = key, 0

    def uniform(self) -> float:
        """Return a number strictly between 0 and 1."""
        self._count += 1
        return (draw(self._key, self._count) + 0.5) / WORDS

    def normal(self) -> float:
        """Return a standard normal number (Box and Muller)."""
        return math.sqrt(-2 * math.log(self.uniform())) * math.cos(2 * math.pi * self.uniform())


class CandidateBuilder:
    """Builds candidates from recipes. What does not depend on the recipe is computed once per round."""

    def __init__(self, scene: Scene) -> None:
        import torch

        self._base, self._attackers = scene.base, len(scene.mine)
        steps, mine = honest(scene) - scene.base, scene.mine - scene.base
        mean = unit(steps.mean(dim=0, keepdim=True))
        against = mine - (mine @ mean.T) * mean
        deviation = steps.std(dim=0, correction=0, keepdim=True)
        self._directions = [-mean, unit(mine), unit(-deviation), unit(against)]
        self._mean, self._steps = mean, unit(steps)
        self._length = torch.quantile(steps.norm(dim=1), 0.5)
        self._noise = unit(noise(scene, Stream.INSIDE))

    def build(self, recipe: Recipe) -> "torch.Tensor":
        """Return what the attackers send, (attackers, parameters)."""
        parts = zip(recipe.mix, self._directions, strict=True)
        harmful = unit(sum((weight * direction for weight, direction in parts), start=0 * self._noise))
        vectors = (1 - recipe.share) * harmful + recipe.share * self._honest(recipe) + recipe.loudness * self._noise
        return self._base + recipe.length * self._length * unit(vectors)

    def _honest(self, recipe: Recipe) -> "torch.Tensor":
        if recipe.model < 0:
            return self._mean
        return self._steps[[(recipe.model + k) % len(self._steps) for k in range(self._attackers)]]


def explored(numbers: RandomNumbers) -> Recipe:
    """Return a recipe from anywhere; squared exponential numbers, so that often one direction prevails."""
    mix = tuple(math.log(numbers.uniform()) ** 2 for _ in range(DIRECTIONS))
    share = numbers.uniform()
    length = LONGEST * numbers.uniform()
    loudness = LOUDEST * numbers.uniform() ** 2
    model = int(numbers.uniform() * 2**20)
    return Recipe(mix, share, length, loudness, model if numbers.uniform() < 0.5 else -1)


def varied(recipe: Recipe, numbers: RandomNumbers, by: float) -> Recipe:
    """Return a recipe near another one."""
    total = sum(map(abs, recipe.mix)) or 1.0
    return replace(
        recipe,
        mix=tuple(weight / total + by * numbers.normal() for weight in recipe.mix),
        share=_within(recipe.share + by * numbers.normal(), 1.0),
        length=_within(recipe.length * math.exp(by * numbers.normal()), LONGEST),
        loudness=_within(recipe.loudness * math.exp(by * numbers.normal()), LOUDEST),
    )


def _within(number: float, most: float) -> float:
    return min(max(number, 0.0), most)


def _worth(found: Rehearsal, attackers: int, harm: "Callable[[torch.Tensor], float]") -> tuple[bool, float]:
    """Return whether a candidate is admissible, and then its harm, else the worst attacker's reputation.

    A rule that keeps its model says NaN of everybody: as bad as can be.
    """
    reputation = np.where(np.isnan(found.reputation), -np.inf, found.reputation)
    worst = float(reputation[:attackers].min())
    others = reputation[attackers:]
    if worst > -np.inf and (len(others) == 0 or worst >= np.median(others)):
        done = harm(found.model)
        return True, done if not math.isnan(done) else -math.inf
    return False, worst
