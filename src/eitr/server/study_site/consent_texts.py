"""What people consent to, as it was shown to them: the hash of it is stored with the consent."""

from eitr.server.domain.errors import TextsChangedError
from eitr.server.domain.study.consents import ConsentKind, offered, text_hash
from eitr.server.domain.study.register import Study
from eitr.server.study_site.rendering import Visit
from eitr.server.web.forms import Form

ORDER = (ConsentKind.PARTICIPATION, ConsentKind.COLLECTION, ConsentKind.TERMS)


def kinds_of(study: Study) -> list[ConsentKind]:
    """Return the consents that a study asks for, in the order of the page."""
    return [kind for kind in ORDER if kind in offered(study.settings)]


def shown_text(visit: Visit, kind: ConsentKind) -> str:
    """Return the text of a consent in the language of a visit; that of taking part includes the information sheet."""
    statement = str(visit.text(f"consent_{kind}"))
    if kind is not ConsentKind.PARTICIPATION:
        return statement
    return f"{visit.text('information')}\n{visit.text('sensitive_data')}\n{statement}"


def shown_hash(visit: Visit, study: Study) -> str:
    """Return the hash of all that a study asks people to agree to, which the form below it carries."""
    return text_hash("\n".join(shown_text(visit, kind) for kind in kinds_of(study)))


def check_shown(visit: Visit, study: Study, sent: Form) -> None:
    """Refuse a form below other texts than those of now: some settings change them without a new version."""
    if sent.text("texts") != shown_hash(visit, study):
        raise TextsChangedError("The texts of the study have changed meanwhile: read them again.")
