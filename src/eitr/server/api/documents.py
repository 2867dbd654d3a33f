"""The JSON documents of the API."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from eitr.server.domain.round_outcomes import RoundOutcome
from eitr.server.web.problems import KINDS, MEDIA_TYPE
from eitr.taxonomy import NAMES


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


class StudyStanding(Document):
    """The study that the participant is in, and how far they are."""

    study: str = Field(description="Its short name.")
    title: str
    status: Literal["draft", "open", "closed"]
    hide_prediction: bool = Field(description="Whether people choose before they see what the model says.")
    uses_per_page: int = Field(description="In how many rounds a task page may be used.")
    collect: bool = Field(description="Whether labels may be sent: the consent to it is in force.")
    terms: bool = Field(description="Whether terms may be sent: the consent to it is in force.")
    tasks: int
    done: int
    completion_code: str | None = Field(description="Given when all tasks have ended.")
    page: str = Field(description="The path of the person's own page on this server.")


class TaskDocument(Document):
    """A page to label."""

    id: int
    position: int
    url: str = Field(description="The page, or the path of its archived copy on this server.")
    state: Literal["open", "labelled", "skipped", "broken"]


class TaskList(Document):
    """All tasks of the participant, in order."""

    tasks: list[TaskDocument]


class TaskReport(Document):
    """What the person did with a task."""

    state: Literal["opened", "labelled", "skipped", "broken"]
    label: Literal[NAMES] | None = Field(  # type: ignore[valid-type]
        None, description="With the state labelled, and only if `collect` is true: the class that the person chose."
    )


class TaskResult(Document):
    """How far the participant is now."""

    tasks: int
    done: int
    completion_code: str | None
    replacement: TaskDocument | None = Field(description="The task that takes the place of a broken one.")


class TermsReport(Document):
    """The weightiest terms of the participant's task pages."""

    samples: int = Field(description="On how many pages the report rests.")
    weights: dict[str, float] = Field(description="Of each term its share of the weight, from 0 to 1.")
    documents: dict[str, int] = Field(description="On how many of the pages each of these terms occurs.")


class ExportedConsent(Document):
    """A consent that was given."""

    kind: str
    version: int
    text_sha256: str
    given: str
    withdrawn: str | None
    in_force: bool


class ExportedTask(Document):
    """A page that the person was given."""

    id: int
    position: int
    url: str
    state: str
    opened: str | None
    ended: str | None
    label: str | None


class ExportedStudy(Document):
    """What a study keeps about a person, without the e-mail address, which their page in the study shows."""

    study: str
    language: str
    consented: str
    installed: str | None
    started: str | None
    finished: str | None
    completion_code: str | None
    email_stored: bool
    consents: list[ExportedConsent]
    tasks: list[ExportedTask]
    terms: TermsReport | None


class Export(Document):
    """Everything about a participant."""

    participant: str
    enrolled: str
    seen: str
    invited: bool
    updates: list[SentUpdate]
    study: ExportedStudy | None


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
