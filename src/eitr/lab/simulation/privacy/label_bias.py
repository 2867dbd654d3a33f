"""The step of the last bias: without cover pages its largest part names the label."""

from torch import Tensor

from eitr.lab.simulation.privacy.by_label import TRUST
from eitr.lab.simulation.privacy.measures import Guesses
from eitr.lab.simulation.privacy.view import Attacker, View


def label_bias(attacker: Attacker, real: View) -> Guesses:
    """Guess one label for all own pages of a victim."""
    layers, simulated, prior = attacker.training.layers, attacker.simulated, attacker.prior
    variance = layers.split((attacker.cover.rows**2).sum(0))[-1][1] + attacker.training.noise**2
    scale = (variance / attacker.uses).sqrt().clamp_min(1e-12)

    def guessed(view: View, trust: float) -> Tensor:
        steps = layers.split(view.steps)[-1][1] / scale
        return (trust * steps + prior).argmax(-1, keepdim=True).expand(-1, view.own)

    truth = simulated.labels()[:, : simulated.own]
    trust = max(TRUST, key=lambda one: float((guessed(simulated, one) == truth).double().mean()))
    return Guesses(view=real, labels=guessed(real, trust))
