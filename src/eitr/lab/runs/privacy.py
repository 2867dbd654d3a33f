"""Measurements of what an update tells about the pages that it was made of."""

from dataclasses import dataclass
from typing import ClassVar, Final

from eitr.errors import InputError
from eitr.lab.runs.run import Run
from eitr.lab.runs.start import RANDOM

PAPER_SGD: Final = "paper-sgd"
"""Local training as in the paper: many steps of SGD with dropout."""
PRIVATE: Final = "private"
"""One step on clipped gradients with noise: `eitr.model.private`."""
METHODS: Final = (PAPER_SGD, PRIVATE)
ANY, CORRECTIONS = CHOICES = ("any", "corrections")
START, LATER = BASES = ("start", "later")


@dataclass(frozen=True, kw_only=True)
class Defence:
    """How a client makes its update; the defaults are those of a server."""

    method: str = PRIVATE
    layers: int = 1
    """How many of the last layers are trained."""
    cover_pages: int = 200
    own_weight: float = 4.0
    """How much an own page counts beside a cover page."""
    clip: float = 0.5
    """Gradients are cut to this quantile of the pool's lengths: 0.5 is the median. 0: they are not cut."""
    noise: float = 4.0
    """Standard deviation of the noise in each parameter, in multiples of the most that an own page can move."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if self.layers < 1 or self.cover_pages < 0 or not self.own_weight > 0:
            raise InputError("a defence trains at least one layer, and weighs own pages above 0")
        if not 0 <= self.clip <= 1 or self.noise < 0:
            raise InputError("clip must be from 0 to 1, and noise at least 0")
        if self.method == PRIVATE and self.clip == 0:
            raise InputError("the private step needs a clip above 0: without it no noise is enough")
        if self.method == PAPER_SGD and self.noise:
            raise InputError("noise belongs to the private step: it is measured in what one clipped page can move")

    @property
    def title(self) -> str:
        """Return a few words for tables and figures; own weight and clip only where they are not the method's usual.

        >>> Defence().title
        'private, last layer, 200 cover, noise 4'
        >>> Defence(method="paper-sgd", layers=3, cover_pages=0, own_weight=1, clip=0, noise=0).title
        'SGD, 3 layers, 0 cover'
        """
        words = ["private" if self.method == PRIVATE else "SGD"]
        words += ["last layer" if self.layers == 1 else f"{self.layers} layers", f"{self.cover_pages} cover"]
        usual = Defence.own_weight if self.method == PRIVATE else 1.0
        words += [f"own x{self.own_weight:g}"] if self.own_weight != usual else []
        if self.method == PRIVATE:
            words += [f"clip {self.clip:g}"] if self.clip != Defence.clip else []
            return ", ".join([*words, f"noise {self.noise:g}"])
        return ", ".join(words + ([f"clip {self.clip:g}"] if self.clip else []))


@dataclass(frozen=True, kw_only=True)
class PrivacyRun(Run):
    """One cell: victims with so many own pages under one defence, and all attacks on what they send."""

    kind: ClassVar[str] = "privacy"

    data: str
    start: str = RANDOM
    """The name of the model that is trained further: see `StartModel`. It needs a pool of cover pages."""
    defence: Defence
    own_pages: int = 1
    choice: str = ANY
    """Own pages and candidates are any test pages, or corrections: those that the model gets wrong."""
    uses: int = 1
    """In so many rounds the victim uses the same pages; the attacker averages its updates."""
    base: str = START
    """The model that victims train: the start, or the one after 40 rounds of this defence."""
    victims: int = 200
    candidates: int = 300
    simulated: int = 2000
    """Updates without own pages by which the attacker learns how updates vary; unused where this is known exactly."""

    def __post_init__(self) -> None:
        if self.choice not in CHOICES or self.base not in BASES:
            raise InputError(f"choice must be one of {', '.join(CHOICES)}, and base one of {', '.join(BASES)}")
        if min(self.own_pages, self.uses, self.simulated) < 1 or self.victims < 2:
            raise InputError("a run needs own pages, uses and simulated updates, and at least two victims")
        if self.candidates <= self.own_pages:
            raise InputError("there must be more candidates than own pages")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"{self.defence.title}; {self.own_pages} own ({self.choice}), {self.base}, {self.uses} uses"
