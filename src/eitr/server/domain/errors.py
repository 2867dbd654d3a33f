"""Why the domain refuses something.

Nothing here knows HTTP. Each error has a code; the web layer knows which status and title belong to it, the API answers
with a problem document and the dashboard with a page.
"""

from typing import ClassVar


class DomainError(Exception):
    """A refusal, with a sentence that tells whoever asked what to do."""

    code: ClassVar[str]
    """The name of this kind of refusal, as `docs/http-protocol.md` lists it."""

    def __init__(self, detail: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(f"{self.code}: {detail}")
        self.detail = detail
        self.retry_after = retry_after
        """Seconds after which another attempt can succeed; None if that is not known."""


class InvalidInputError(DomainError):
    """A value that is not allowed, such as a password that is too short."""

    code = "malformed-request"


class NotEnrolledError(DomainError):
    """There is no such participant, or no longer."""

    code = "not-enrolled"


class InvitationNeededError(DomainError):
    """The invitation is missing, unknown or revoked."""

    code = "invitation-needed"


class BannedError(DomainError):
    """The operator refuses updates of this participant."""

    code = "banned"

    def __init__(self) -> None:
        super().__init__(
            "The operator of this server takes no more updates from this participant. Their data can still be exported "
            "and deleted."
        )


class NoStudyError(DomainError):
    """There is no such study, or the participant takes part in none."""

    code = "no-study"


class StudyClosedError(DomainError):
    """The study is not open."""

    code = "study-closed"


class ConsentNeededError(DomainError):
    """Something was sent that the person did not consent to; it is not stored."""

    code = "consent-needed"


class TextsChangedError(DomainError):
    """Somebody consented to a text that is not the current one."""

    code = "texts-changed"


class UnknownTaskError(DomainError):
    """The person has no such task."""

    code = "unknown-task"


class UnknownRoundError(DomainError):
    """There is no such round."""

    code = "unknown-round"


class RoundClosedError(DomainError):
    """The round takes no more updates."""

    code = "round-closed"

    def __init__(self) -> None:
        super().__init__("The round takes no more updates; ask for the current one.")


class AlreadySentError(DomainError):
    """The participant sent another update in this round."""

    code = "already-sent"


class LimitReachedError(DomainError):
    """Too many attempts or requests from one address."""

    code = "too-many-requests"


class BusyError(DomainError):
    """The same request may succeed a moment later."""

    code = "busy"


class InvalidUpdateError(DomainError):
    """The bytes sent cannot be an update. This is evidence against the participant who sent them."""


class WrongLengthError(InvalidUpdateError):
    """The update is shorter or longer than the part of the model that its round trains."""

    code = "wrong-length"

    def __init__(self, expected: int, sent: object) -> None:
        super().__init__(f"An update of this round has {expected} bytes, this one has {sent}.")


class WrongDigestError(InvalidUpdateError):
    """The bytes do not have the digest that was announced."""

    code = "wrong-digest"


class NotFiniteError(InvalidUpdateError):
    """The update holds a NaN or an infinity."""

    code = "not-finite"


class TooGreatError(InvalidUpdateError):
    """The update holds a number that no training leads to."""

    code = "too-great"


INVALID_UPDATES = (WrongLengthError, WrongDigestError, NotFiniteError, TooGreatError)
