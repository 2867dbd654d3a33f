"""Whose request it is: a participant's, or a rater's, by a cookie that is sent to their study alone."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Response

from eitr.server.domain.errors import NoStudyError
from eitr.server.domain.study.raters import Rater
from eitr.server.domain.study.register import Study
from eitr.server.study_site.errors import PersonNeeded, find_study
from eitr.server.web.cookies import cookie, delete_cookie, set_cookie
from eitr.server.web.dependencies import services_of
from eitr.server.web.form_tokens import check_form, csrf_of
from eitr.server.web.forms import SubmittedForm

PERSON, INVITATION, RATER = "eitr_person", "eitr_invitation", "eitr_rater"
COOKIE_HOURS = 400 * 24.0
"""As long as browsers keep a cookie at most: whoever loses it comes back with their code."""


def study(request: Request, slug: str) -> Study:
    """Return the study of an address."""
    found = find_study(request, slug)
    if found is None:
        raise NoStudyError("There is no such study.")
    return found


KnownStudy = Annotated[Study, Depends(study)]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A participant of the study, or a rater."""

    study: Study
    id: str
    csrf: str
    """What their forms carry."""


def present_person(request: Request, study: Study) -> Visitor | None:
    """Return the participant whose cookie came, if any."""
    secret, server = cookie(request, PERSON), services_of(request)
    found = server.studies.people.find(study.slug, secret) if secret else None
    return None if found is None else Visitor(study, found, csrf_of(server.key, secret))


def person(request: Request, study: KnownStudy) -> Visitor:
    """Return the participant whose cookie came; refuse everybody else."""
    found = present_person(request, study)
    if found is None:
        raise PersonNeeded
    return found


def acting_person(visitor: Annotated[Visitor, Depends(person)], sent: SubmittedForm) -> Visitor:
    """Return the participant who sent a form; refuse one that was not sent from a page of theirs."""
    check_form(sent, visitor.csrf)
    return visitor


def present_rater(request: Request, study: Study) -> tuple[Rater, str] | None:
    """Return the rater whose cookie came and what their forms carry, if any."""
    token, server = cookie(request, RATER), services_of(request)
    found = server.studies.raters.find(study.slug, token) if token else None
    return None if found is None else (found, csrf_of(server.key, token))


def remember(request: Request, answer: Response, study: Study, name: str, value: str) -> None:
    """Set a cookie for a study. A link in an e-mail may lead here, so it is `lax`; every form is checked anyway."""
    set_cookie(request, answer, name, value, COOKIE_HOURS, path=f"/study/{study.slug}", samesite="lax")


def forget(request: Request, answer: Response, study: Study, *names: str) -> None:
    """Delete cookies of a study."""
    for name in names:
        delete_cookie(request, answer, name, path=f"/study/{study.slug}", samesite="lax")


Person = Annotated[Visitor, Depends(person)]
CsrfCheckedPerson = Annotated[Visitor, Depends(acting_person)]
