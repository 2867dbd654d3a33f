"""The best test there is: everything is known but the noise, and whether one page was among the own ones, or its label.

The update is then normal with one of two known means, and the likelihood ratio is the most powerful test (Neyman and
Pearson). Its area under the ROC curve is `eitr.model.private.largest_auc` for pages whose gradient is as long as the
clip, and less for the others. An area above that would be a mistake in the step or in its noise.
"""

import torch

from eitr.lab.simulation.privacy.measures import Guesses
from eitr.lab.simulation.privacy.view import Attacker, View


def likelihood_ratio(attacker: Attacker, real: View) -> Guesses | None:
    """Guess for each own page whether it was there, in the victim's update and in one without it.

    Both updates have noise of their own. Elsewhere a page is compared with other pages in the same update; here it
    is compared with itself in another update, so these guesses say nothing about the best of many candidates.
    """
    training, exact = attacker.training, attacker.training.exact
    if real.parts is None or exact is None:
        return None
    own = real.pages.at(real.candidates[:, : real.own])
    together = exact.own_steps(own)
    steps = torch.stack([together - exact.own_steps(own.without(place)) for place in range(real.own)], 1)
    noise = real.parts - together
    again = torch.randn(noise.shape, device=noise.device, generator=training.generator)
    again *= training.noise / attacker.uses**0.5
    half = (steps**2).sum(2) / 2

    def ratio(left: torch.Tensor) -> torch.Tensor:
        """Return the log-likelihood ratio times the variance; `left` is the update less everything else known."""
        found: torch.Tensor = (left * steps).sum(2) - half
        return found

    # For the label of a page that is known to be there: the update with each label in place of the true one.
    variance = max(training.noise**2 / attacker.uses, 1e-30)
    likely = []
    for label in range(training.layers.classes):
        errors = [
            ((real.parts - exact.own_steps(own.relabelled(place, label))) ** 2).sum(1) for place in range(real.own)
        ]
        likely.append(-torch.stack(errors, 1) / 2 / variance)
    labels = (torch.stack(likely, 2) + attacker.prior).argmax(2)
    return Guesses(
        view=real, labels=labels, own_known=ratio(noise.unsqueeze(1) + steps), others_known=ratio(again.unsqueeze(1))
    )
