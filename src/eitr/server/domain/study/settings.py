"""What an operator can set for a study."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from eitr.datasets.task_draw import ALPHA, EACH
from eitr.server.domain.errors import InvalidInputError

LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?")
MOST_USES = 40
"""Rounds in which a page may be used, at most."""
ShortText = Annotated[str, Field(max_length=200)]


class StudySettings(BaseModel):
    """The settings of a study, checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pages_per_person: int = Field(default=EACH, ge=1, le=1000, description="How many pages each person labels.")
    alpha: float = Field(
        default=ALPHA,
        gt=0,
        le=1e6,
        description="How alike people's pages are: the concentration of the Dirichlet draw.",
    )
    spread_over: Literal["truth", "topic"] = Field(
        default="truth", description="What the draw divides: the classes of the pages, or their topics."
    )
    least_ratings: int = Field(
        default=0, ge=0, le=1000, description="How many people should have each page; pages that fewer have come first."
    )
    hide_prediction: bool = Field(
        default=True, description="Whether people choose before they see what the model says."
    )
    uses_per_page: int = Field(default=2, ge=1, le=MOST_USES, description="In how many rounds a task page may be used.")
    collect_labels: bool = Field(
        default=False, description="Whether people are asked for consent to send labels to the server."
    )
    collect_terms: bool = Field(
        default=False, description="Whether people are asked for consent to report terms of their pages."
    )
    reward: bool = Field(default=False, description="Whether people are asked for an e-mail address, for a reward.")
    copies: Literal["dead", "always"] = Field(
        default="dead", description="When an archived copy is shown instead of a page: if the page is dead, or always."
    )
    languages: tuple[str, ...] = Field(
        default=("en", "de"), min_length=1, max_length=10, description="Languages of the site."
    )
    group: ShortText = Field(default="", description="The name of the research group.")
    contact: ShortText = Field(default="", description="Whom people can ask, such as an e-mail address.")
    purpose: str = Field(default="", max_length=5000, description="What the study is for.")

    @field_validator("languages")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not LANGUAGE.fullmatch(one) for one in value) or len(set(value)) < len(value):
            raise ValueError("must be different codes of languages, such as en and de")
        return value


CONSENTED_TO = ("uses_per_page", "collect_labels", "collect_terms", "reward", "group", "contact", "purpose")
"""Settings that the texts which people consent to are made of."""


def checked_settings(given: dict[str, Any]) -> StudySettings:
    """Return the settings; refuse wrong ones in words."""
    try:
        return StudySettings.model_validate(given)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(str(part) for part in one['loc'])}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors()[:5]
        )
        raise InvalidInputError(f"The settings of the study cannot be used: {told}.") from None
