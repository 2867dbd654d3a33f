"""The JSON documents of the API."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from eitr.server.domain.round_outcomes import RoundOutcome
from eitr.server.web.problems import KINDS, MEDIA_TYPE


class Document(BaseModel):
    """What all documents have in common: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Enrolment(Document):
    """A request to take part."""

    invitation: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="The code of an invitation, where the server asks for one."
    )


class Credentials(Document):
    """The credentials of a participant, told only once."""

    id: str = Field(description="The participant.")
    secret: str = Field(description="To be sent as `Authorization: Bearer ID.SECRET`.")


class File(Document):
    """Where a file is, and the hash of its content."""

    url: str
    sha256: str
    bytes: int | None = None


class PoolFile(Document):
    """Where the pool of cover pages is."""

    url: str
    sha256: str
    bytes: int
    pages: int


class AnnouncedPrivateTraining(Document):
    """Rounds train the last layers, with cover pages and noise."""

    method: Literal["private"]
    layers: int
    clip: float


class AnnouncedPaperTraining(Document):
    """Rounds train all layers: for research."""

    method: Literal["paper"]


class Manifest(Document):
    """The current model."""

    protocol: int
    version: int
    created: str
    classes: list[str]
    layers: list[int]
    parameters: int
    weights: File
    vocabulary: File
    pool: PoolFile | None
    training: Annotated[AnnouncedPrivateTraining | AnnouncedPaperTraining, Field(discriminator="method")]
    safetensors: str
    tfjs: str


class PrivateTraining(Document):
    """How to train the last layers in one step that hides the pages."""

    method: Literal["private"]
    layers: int
    cover_pages: int
    own_weight: float
    clip: float
    learning_rate: float
    noise: float


class PaperTraining(Document):
    """How to train all layers, as in the paper."""

    method: Literal["paper"]
    epochs: int
    max_batches: int
    batch_size: int
    learning_rate: float
    momentum: float
    dropout: float


class OpenRound(Document):
    """A round that takes updates."""

    id: int
    base: int = Field(description="The version of the model that training starts from.")
    deadline: str
    training: Annotated[PrivateTraining | PaperTraining, Field(discriminator="method")]


class Receipt(Document):
    """The confirmation that an update was received; nothing else is ever said about it."""

    round: int
    sha256: str


class SentUpdate(Document):
    """An update that was sent."""

    round: int
    received: str
    sha256: str
    bytes: int
    encoding: str


class RoundTakenPartIn(Document):
    """A round that the participant sent to; nothing about their own update."""

    round: int
    outcome: RoundOutcome = Field(
        description="`open`, `aggregating`, `published`, `rolled-back` (published, but the current version does not "
        "build on it) or `not-published`."
    )
    version: int | None = Field(description="The version that was published from this round, also if rolled back.")


class RoundsTakenPartIn(Document):
    """The last rounds that the participant sent to, newest first."""

    rounds: list[RoundTakenPartIn]


class Export(Document):
    """Everything about a participant."""

    participant: str
    enrolled: str
    seen: str
    invited: bool
    updates: list[SentUpdate]


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str | None = None


def problems(*slugs: str) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of the errors of an operation."""
    found: dict[int | str, dict[str, Any]] = {}
    usual = ("malformed-request", "too-many-requests", "failed")
    for slug in (*slugs, *usual):
        kind = KINDS[slug]
        entry = found.setdefault(
            kind.status,
            {
                "description": "",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
            },
        )
        entry["description"] = f"{entry['description']} {kind.title}".strip()
    return found
