"""The private way to train, as a setting of a federation beside the paper's."""

from dataclasses import dataclass
from typing import ClassVar, Final

from eitr.errors import InputError
from eitr.settings import check_settings, parse_settings, setting

PAPER: Final = "paper"
"""How a grid names the paper's way to train: all layers, many steps, no cover pages."""
NEEDS_START: Final = (
    "private training needs a model to start from and a pool of cover pages for its words: give --start shipped, or a "
    "folder with model.safetensors, vocabulary.json and pool.bin"
)
KEEP, SUBTRACT, DROP = "keep", "subtract", "drop"


@dataclass(frozen=True, kw_only=True)
class PrivateTraining:
    """One step a round on own pages and cover pages: the numbers of a `PrivatePlan`, and some of the lab's own.

    The rule sees the parameters of the trained layers alone. A federation that trains this way needs a start with a
    pool of cover pages.
    """

    name: ClassVar[str] = "private"
    summary: ClassVar[str] = "one clipped step with noise on own and cover pages, in the last layers; needs a start"

    layers: int = setting(1, "how many of the last layers are trained", least=1, most=63)
    cover_pages: int = setting(200, "cover pages of a round, drawn from the pool", least=0, most=100_000)
    own_weight: float = setting(4.0, "how much the own pages count beside a cover page", above=0.0, most=1000.0)
    clip: float = setting(0.2, "the longest gradient of a page, and of all own pages together", above=0.0, most=1000.0)
    learning_rate: float = setting(
        0.1, "of the step; servers take less for less than 50 people", above=0.0, most=1000.0
    )
    noise: float = setting(
        4.0, "standard deviation, in multiples of the most that own pages move", least=0.0, most=1000.0
    )
    own_pages: int = setting(4, "at most so many own pages, drawn each round; 0: all", least=0, most=1_000_000)
    expected_cover: str = setting(
        DROP,
        "the expected step of the cover pages: left in the updates; hidden from the rule and added again; or left out",
        choices=(KEEP, SUBTRACT, DROP),
    )
    pool: str = setting("", "what the start's pool must be", form="the first 12 digits of a pool file's SHA-256")

    def __post_init__(self) -> None:
        check_settings(self)


def make_training(text: str) -> PrivateTraining | None:
    """Return a way to train as a grid writes it; None for `paper`.

    >>> make_training("private:layers=2:noise=0").layers, make_training("paper")
    (2, None)
    """
    name, *assignments = text.split(":")
    if name == PrivateTraining.name:
        return PrivateTraining(**parse_settings(PrivateTraining, assignments))
    if text == PAPER:
        return None
    raise InputError(f"training is {PAPER}, or {PrivateTraining.name} with settings, not {text!r}")


def short(text: str) -> str:
    """Return a way to train as a grid writes it, without its pool.

    >>> short("private:layers=2:pool=0123456789ab")
    'private:layers=2'
    """
    return ":".join(part for part in text.split(":") if not part.startswith("pool="))


def with_pool(text: str, pool: str) -> str:
    """Return the private way to train as a grid writes it, with the pool it is computed with: results name their pool.

    >>> with_pool("private:layers=2", "0123456789ab")
    'private:layers=2:pool=0123456789ab'
    """
    return text if "pool=" in text else f"{text}:pool={pool}"
