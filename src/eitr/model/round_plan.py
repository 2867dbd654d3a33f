"""The training that a round asks for, as a server writes it and participants read it: a method and its numbers.

`private` is one step with noise in the last layers (`eitr.model.private`), `paper` trains all layers for several epochs
(`eitr.model.training`). `docs/http-protocol.md` shows both documents.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from eitr.errors import InputError
from eitr.model.network import Network
from eitr.model.plan import TrainingPlan
from eitr.model.private import PrivatePlan, trained_from

PRIVATE: Final = "private"
PAPER: Final = "paper"
RoundPlan = PrivatePlan | TrainingPlan

LEAST_NOISE = 4.0
"""With less, more could be told about a page than `docs/privacy.md` promises."""
MOST_USES = 2
"""In so many rounds a page is used at most: what a page reveals adds up over rounds."""
MOST_OWN_PAGES = 4
"""So many own pages are used in a round at most: what many pages of one topic have in common adds up, too."""
FULL_STEP = 50
"""With so many participants a round, private training takes steps of the full length; with fewer, shorter ones in
proportion, because less of the noise averages out."""
LARGEST = 1000.0
"""The largest weight, clip and learning rate of a private plan: no use comes near it."""
MOST_COVER_PAGES = 100_000
DEEPEST = 4
"""So many dense layers has a network for private rounds at most. A page that made training overflow could be told from
the missing update. With four layers no page can: parameters are below 2^128 and widths below 2^20, so a layer makes
numbers at most 2^149 times as large, forward and backward. A gradient of a layer above the first passes three others,
so its squared length is below 2^(2 * 149 * 3 + 42) = 2^936; a float64 holds 2^1023."""
MOST_EPOCHS, MOST_BATCHES, LARGEST_BATCH = 100, 1000, 1024
LARGEST_RATE, LARGEST_DROPOUT = 1.0, 0.9
"""The bounds of a plan as in the paper are far beyond any use: a server must not make a client compute for hours."""


def plan_document(plan: RoundPlan) -> dict[str, Any]:
    """Return a plan as JSON values.

    >>> plan_document(PrivatePlan(clip=0.5))["method"]
    'private'
    """
    return {"method": PRIVATE if isinstance(plan, PrivatePlan) else PAPER, **asdict(plan)}


def read_plan(document: Mapping[str, Any]) -> RoundPlan:
    """Return the plan of a document; InputError says what is wrong with it.

    >>> read_plan({"method": "paper", "epochs": 3}).epochs
    3
    """
    numbers = {name: value for name, value in document.items() if name != "method"}
    method = document.get("method")
    if method not in (PRIVATE, PAPER):
        raise InputError("the round is trained by a method that this version does not know: update EITR")
    try:
        return PrivatePlan(**numbers) if method == PRIVATE else TrainingPlan(**numbers)
    except TypeError:
        raise InputError("the round's instructions for training are not understood: update EITR") from None


def first_trained(network: Network, plan: RoundPlan) -> int:
    """Return the place of the first parameter that a plan trains: an update holds those from there to the end."""
    return trained_from(network, plan.layers) if isinstance(plan, PrivatePlan) else 0


def check_private_plan(network: Network, plan: PrivatePlan) -> None:
    """Refuse a private plan, and a network, out of the bounds of `docs/page-to-prediction.md`, section 9.1."""
    if len(network.shapes) > DEEPEST:
        raise InputError(f"a network for private rounds has {DEEPEST} layers at most, not {len(network.shapes)}")
    most = len(network.shapes) - 1
    if plan.layers > most:
        raise InputError(f"{plan.layers} layers must not be trained: the first layer knows the words; at most {most}")
    if plan.noise < LEAST_NOISE:
        raise InputError(f"the noise must be at least {LEAST_NOISE:g}, not {plan.noise:g}")
    for name in ("own_weight", "clip", "learning_rate"):
        _at_most(plan, name, LARGEST)
    _at_most(plan, "cover_pages", MOST_COVER_PAGES)


def check_paper_plan(plan: TrainingPlan) -> None:
    """Refuse a plan as in the paper out of the bounds of `docs/http-protocol.md`, section 4."""
    if plan.learning_rate <= 0:
        raise InputError("learning_rate must be above 0")
    bounds = {
        "epochs": MOST_EPOCHS,
        "max_batches": MOST_BATCHES,
        "batch_size": LARGEST_BATCH,
        "learning_rate": LARGEST_RATE,
        "dropout": LARGEST_DROPOUT,
    }
    for name, most in bounds.items():
        _at_most(plan, name, most)


def _at_most(plan: RoundPlan, name: str, most: float) -> None:
    if getattr(plan, name) > most:
        raise InputError(f"{name} must be at most {most:g}, not {getattr(plan, name):g}")
