"""The form that makes and changes a study: its fields, and the settings that they hold."""

from typing import Any

from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.settings import StudySettings, checked_settings
from eitr.server.web.forms import Form

LONGEST_TEXT = 200
LONGEST_PURPOSE = 5000
LANGUAGES = ("en", "de")
BOXES = ("hide_prediction", "collect_labels", "collect_terms", "reward")


def settings_from(sent: Form) -> StudySettings:
    """Return the settings that a form holds, checked."""
    languages = [code for code in LANGUAGES if sent.checked(f"language_{code}")]
    if not languages:
        raise InvalidInputError("Choose at least one language.")
    return checked_settings(
        {
            "pages_per_person": sent.number("pages_per_person", 1, 1000),
            "alpha": _decimal(sent.text("alpha", longest=20)),
            "spread_over": sent.text("spread_over"),
            "least_ratings": sent.number("least_ratings", 0, 1000),
            "uses_per_page": sent.number("uses_per_page", 1, 40),
            "copies": sent.text("copies"),
            "languages": languages,
            "group": sent.text("group", longest=LONGEST_TEXT),
            "contact": sent.text("contact", longest=LONGEST_TEXT),
            "purpose": sent.prose("purpose", longest=LONGEST_PURPOSE) if sent.secret("purpose").strip() else "",
            **{name: sent.checked(name) for name in BOXES},
        }
    )


def changes(before: StudySettings, after: StudySettings) -> dict[str, Any]:
    """Return the settings that are not as they were."""
    new = after.model_dump()
    return {name: value for name, value in new.items() if value != getattr(before, name)}


def _decimal(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidInputError("“alpha” is a number greater than 0, such as 0.9.") from None
