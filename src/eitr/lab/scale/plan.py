"""What is simulated: browsers and their habits, the settings of a server, its machines, and what each request costs.

Defaults are those of the extension and of the server today. Costs were measured (docs/scale.md says how); habits are
assumptions, and are named as such there.
"""

from dataclasses import dataclass
from typing import ClassVar

from eitr.errors import InputError
from eitr.settings import check_settings, setting

WEIGHTS, VOCABULARY, POOL, MANIFEST, LAST_LAYER = 1_058_712, 333_241, 128_774, 1_100, 792
"""Bytes of what is downloaded: a version's weights and vocabulary, the cover pages, the manifest, the last layer."""
ANSWER, HEADERS = 300, 700
"""Bytes of a small answer (304, a round, 202), and of the headers of a request with its answer."""
UPDATE = 396
"""Bytes of a private update."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Measured on the server of today: seconds of a processor, rows and bytes (docs/scale.md)."""

    name: ClassVar[str] = "costs"

    manifest: float = setting(
        0.0004, "seconds of an API process for GET model, answered with 304", above=0.0, most=10.0
    )
    current: float = setting(0.0015, "seconds for GET rounds/current", above=0.0, most=10.0)
    file: float = setting(0.0013, "seconds for a megabyte of files", above=0.0, most=10.0)
    update: float = setting(0.00185, "seconds for an update, taken or refused", above=0.0, most=10.0)
    aggregation: float = setting(0.9, "seconds of the worker for a round", least=0.0, most=1e5)
    aggregation_each: float = setting(0.001, "more seconds for each update that is judged", least=0.0, most=1e3)
    participant_bytes: float = setting(330.0, "bytes of the database for a participant", above=0.0, most=1e6)
    state_bytes: float = setting(18_300.0, "bytes for what the rule remembers of a participant", above=0.0, most=1e7)
    update_bytes: float = setting(1_030.0, "bytes that stay of an update", above=0.0, most=1e6)
    update_rows: float = setting(2.0, "rows that stay of an update", above=0.0, most=1e3)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A federation of browsers, and the server that it talks to."""

    name: ClassVar[str] = "scale"

    browsers: int = setting(10_000_000, "browsers that take part", least=1, most=50_000_000)
    days: int = setting(2, "days that are simulated; the last one is reported", least=1, most=60)
    seed: int = setting(0, "what all draws depend on", least=0, most=2**63 - 1)
    step: int = setting(
        10, "seconds whose alarms are treated together; divides the time between alarms", least=1, most=300
    )

    # Habits (assumptions).
    hours_online: float = setting(7.0, "hours a day that a browser runs, on average", above=0.0, most=24.0)
    pages_a_day: float = setting(0.1, "pages that a person labels in a day, on average", least=0.0, most=20.0)

    # The extension.
    alarm: int = setting(900, "seconds between two alarms of a browser", least=60, most=86_400)
    spread: float = setting(
        1.0, "share of this time over which the alarms of all browsers are spread", above=0.0, most=1.0
    )
    patience: float = setting(30.0, "seconds after which a browser gives a request up", above=0.0, most=3600.0)
    training: int = setting(2, "seconds between the answer that a round is open and the update", least=0, most=3600)
    uses: int = setting(2, "rounds in which a page may be used", least=1, most=2)
    most_pages: int = setting(4, "pages that are used in a round", least=1, most=255)

    # Settings of the server.
    quorum: int = setting(20, "EITR_QUORUM", least=1, most=10_000_000)
    minimum: int = setting(5, "EITR_MINIMUM", least=1, most=10_000_000)
    maximum: int = setting(1000, "EITR_MAXIMUM", least=1, most=10_000_000)
    round_seconds: int = setting(86_400, "EITR_ROUND_SECONDS", least=60, most=2_592_000)
    pause: int = setting(60, "EITR_PAUSE_SECONDS", least=0, most=2_592_000)
    grace: int = setting(0, "EITR_GRACE_SECONDS", least=0, most=86_400)
    established_rounds: int = setting(5, "EITR_ESTABLISHED_ROUNDS", least=1, most=250)
    bounds: bool = setting(True, "EITR_BOUNDS")
    founders: int = setting(0, "participants who are established from the start", least=0, most=50_000_000)

    # Machines.
    processes: int = setting(
        0, "API processes, each with a core of its own; 0: enough for 70 % load", least=0, most=100_000
    )
    cdn: bool = setting(False, "whether files of models come from a content delivery network")

    # What does not exist yet.
    wait: int = setting(
        0,
        "seconds until the next poll that the server asks for, plus and minus a quarter; 0: none",
        least=0,
        most=86_400,
    )
    cohort: int = setting(
        0, "cohort sampling: updates of newcomers that a round aims at; 0: everybody may send", least=0, most=10_000_000
    )
    keep_vocabulary: bool = setting(False, "whether a vocabulary that a browser has is not downloaded again")
    last_layer: bool = setting(False, "whether only the layer that changed is downloaded")

    def __post_init__(self) -> None:
        check_settings(self)
        if self.alarm % self.step:
            raise InputError(f"step must divide the {self.alarm} seconds between two alarms, and {self.step} does not")
        if not self.minimum <= self.quorum <= self.maximum:
            raise InputError("the minimum must not be above the quorum, nor the quorum above the maximum")
        if self.founders > self.browsers:
            raise InputError("there cannot be more founders than browsers")

    @property
    def version_bytes(self) -> int:
        """What a browser downloads for a new version."""
        if self.last_layer:
            return LAST_LAYER + MANIFEST
        return WEIGHTS + MANIFEST + (0 if self.keep_vocabulary else VOCABULARY)

    @property
    def version_files(self) -> int:
        """How many files these bytes are, the manifest apart."""
        return 1 if self.last_layer or self.keep_vocabulary else 2
