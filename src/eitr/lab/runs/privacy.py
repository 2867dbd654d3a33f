"""Measurements of what an update tells about the pages that it was made of, and of what a defence costs."""

from dataclasses import dataclass
from typing import ClassVar, Final

from eitr.errors import InputError
from eitr.lab.runs.run import Run, added_later
from eitr.lab.runs.start import RANDOM

PAPER_SGD: Final = "paper-sgd"
"""Local training as in the paper: many steps of SGD with dropout."""
PRIVATE: Final = "private"
"""One step on clipped gradients with noise: `eitr.model.private`."""
METHODS: Final = (PAPER_SGD, PRIVATE)
ANY, CORRECTIONS, TOPIC, CORRECTED_TOPIC = CHOICES = ("any", "corrections", "one topic", "corrections of one topic")
OF_ONE_TOPIC = (TOPIC, CORRECTED_TOPIC)
"""Own pages and candidates are any test pages; corrections, which the model gets wrong; or own pages are all of one
class."""
START, LATER, LEAKING = BASES = ("start", "later", "leaking")
"""The model that victims train: the start, the one after 40 rounds of the defence, or one that a server made so that
it leaks."""
SERVER, OUTSIDER, THIEF = VIEWERS = ("server", "outsider", "thief")
"""Who sees the victim: the server; an outsider, who sees published models and whose other identities isolate the
victim in them; a thief, who reads what the rule remembers."""
NO_ATTACK, FLIP, BACKDOOR = POISONS = ("none", "flip", "backdoor")


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
    own_limit: float = 1.0
    """All own pages together move an update by at most as much as so many single pages can, in the private step; 0:
    without limit."""
    group: int = added_later(1)
    """The server sees sums of so many updates, made by secure aggregation; 1: every update by itself."""
    published_noise: float = added_later(0.0)
    """Noise that the server adds to the published step, in multiples of the most that an own page can move it."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if self.layers < 1 or self.cover_pages < 0 or not self.own_weight > 0:
            raise InputError("a defence trains at least one layer, and weighs own pages above 0")
        if not 0 <= self.clip <= 1 or self.noise < 0:
            raise InputError("clip must be from 0 to 1, and noise at least 0")
        if self.method == PRIVATE and self.clip == 0:
            raise InputError("the private step needs a clip above 0: without it no noise is enough")
        if self.method == PAPER_SGD and (self.noise or self.published_noise):
            raise InputError("noise belongs to the private step: it is measured in what one clipped page can move")
        if self.group < 1 or self.published_noise < 0 or self.own_limit < 0:
            raise InputError(
                "a group has at least one member; published noise and the limit of own pages are at least 0"
            )
        if self.method == PAPER_SGD and self.group > 1:
            raise InputError("groups are measured with the private step alone")

    @property
    def against(self) -> str:
        """Return from whom the defence hides pages: noise on the published step hides nothing from the server."""
        return OUTSIDER if self.published_noise else SERVER

    @property
    def title(self) -> str:
        """Return a few words for tables and figures; what is not usual for the method is named.

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
            words += [f"noise {self.noise:g}"]
            words += [] if self.own_limit == Defence.own_limit else ["own pages not cut together"]
            words += [f"groups of {self.group}"] if self.group > 1 else []
            words += [f"published noise {self.published_noise:g}"] if self.published_noise else []
            return ", ".join(words)
        return ", ".join(words + ([f"clip {self.clip:g}"] if self.clip else []))


@dataclass(frozen=True, kw_only=True)
class DefenceRun(Run):
    """The base of all measurements of a defence."""

    data: str
    start: str = RANDOM
    """The name of the model that is trained further: see `StartModel`. It needs a pool of cover pages."""
    pool: str = added_later("")
    """The digest of that pool."""
    defence: Defence


@dataclass(frozen=True, kw_only=True)
class PrivacyRun(DefenceRun):
    """One cell: victims with so many own pages under one defence, and all attacks on what is seen of them."""

    kind: ClassVar[str] = "privacy"

    own_pages: int = 1
    choice: str = ANY
    uses: int = 1
    """In so many rounds the victim uses the same pages, or new ones of the same class; the attacker averages."""
    base: str = START
    viewer: str = added_later(SERVER)
    victims: int = 200
    candidates: int = 300
    simulated: int = 2000
    """Updates without own pages by which the attacker learns how updates vary; unused where this is known exactly."""

    def __post_init__(self) -> None:
        for name, known in (("choice", CHOICES), ("base", BASES), ("viewer", VIEWERS)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        if self.defence.group > 1 and self.viewer == THIEF:
            raise InputError("a rule that sees sums of changing groups remembers nothing of a client")
        if min(self.own_pages, self.uses, self.simulated) < 1 or self.victims < 2:
            raise InputError("a run needs own pages, uses and simulated updates, and at least two victims")
        if self.candidates <= self.own_pages:
            raise InputError("there must be more candidates than own pages")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        seen = f"{self.base}, {self.uses} uses, {self.viewer}"
        return f"{self.defence.title}; {self.own_pages} own ({self.choice}), {seen}"


@dataclass(frozen=True, kw_only=True)
class LabelRun(DefenceRun):
    """How well the server of a study, which knows the pages of each participant, reads the labels in the updates."""

    kind: ClassVar[str] = "privacy-labels"

    pages: int = 20
    """The pages that each participant was given; all are used in every round."""
    uses: int = 1
    """In so many rounds; the server averages."""
    opinion: float = 0.2
    """The share of labels that are drawn from all classes: what the page itself does not tell."""
    victims: int = 200

    def __post_init__(self) -> None:
        if min(self.pages, self.uses) < 1 or self.victims < 2 or not 0 <= self.opinion <= 1:
            raise InputError("a run needs pages, uses and two victims, and an opinion from 0 to 1")
        if self.defence.group > 1 or self.defence.published_noise:
            raise InputError("labels are read in single updates: without groups and noise on the published step")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"{self.defence.title}; labels of {self.pages} known pages, {self.uses} uses"


@dataclass(frozen=True, kw_only=True)
class PoisonRun(DefenceRun):
    """What attackers among the participants do to the model under one defence: 40 rounds with the rule `fused`."""

    kind: ClassVar[str] = "privacy-poison"

    poison: str = NO_ATTACK
    clients: int = 50
    attacker_share: float = 0.3

    def __post_init__(self) -> None:
        if self.poison not in POISONS or not 0 <= self.attacker_share < 1:
            raise InputError(f"poison must be one of {', '.join(POISONS)}, and the attackers' share below 1")
        if self.clients < 1 or self.clients % self.defence.group:
            raise InputError(f"{self.clients} clients do not make groups of {self.defence.group}")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"{self.defence.title}; {self.poison}, {self.clients} clients"


@dataclass(frozen=True, kw_only=True)
class WeightRun(DefenceRun):
    """How well participants read their own weight in published models: they know what they sent, and look for it."""

    kind: ClassVar[str] = "privacy-weight"

    clients: int = 10
    known: int = 1
    """So many participants, the reader included, tell each other what they sent: identities of one person, say."""
    rounds: int = 1
    """The reader averages over so many rounds."""
    factor: float = 0.0
    """The server multiplies each weight by a secret number of the participant from 1 - factor to 1 + factor; 0: it does
    not."""
    period: int = 10
    """The secret number is drawn anew after so many rounds, the first time after some of them."""
    calibrated: int = 0
    """The reader sends honest updates in so many rounds before, takes its weight there for that of everybody, and reads
    the secret number from them."""
    federations: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.known < self.clients or min(self.rounds, self.federations, self.period) < 1:
            raise InputError("a reader needs other participants, whose updates it does not know, and a round")
        if self.calibrated < 0:
            raise InputError("calibrated must be at least 0")
        if not 0 <= self.factor < 1 or self.defence.group > 1:
            raise InputError("factor must be at least 0 and below 1; a weight belongs to a client, not to a group")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        title = f"{self.defence.title}; weight of 1 in {self.clients}, {self.known} known, {self.rounds} rounds"
        return f"{title} after {self.calibrated} honest ones" if self.calibrated else title
