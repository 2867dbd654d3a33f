"""Terms of task pages that browsers report, so that the vocabulary can be refreshed; only with a consent of its own."""

from typing import Any

from sqlalchemy import select

from eitr.errors import InputError
from eitr.pages.federated_vocabulary import TermReport, check_report
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPersonRow, StudyRow, StudyTermsRow
from eitr.server.domain.errors import ConsentNeededError, InvalidInputError, StudyClosedError
from eitr.server.domain.study import consents
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.register import Study, StudyStatus, locked_person


class StudyTerms:
    """The reports of the people of all studies, one of each."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store(self, person: str, report: TermReport) -> None:
        """Store a person's report, in place of an earlier one. Without consent nothing is stored."""
        with self._database.writing() as session:
            row = locked_person(session, person)
            study = Study.of(session.get_one(StudyRow, row.study))
            if ConsentKind.TERMS not in consents.allowed(session, person, study.settings):
                raise ConsentNeededError("Terms are sent only after consent to their collection, which is missing.")
            if study.status != StudyStatus.OPEN:
                raise StudyClosedError("The study is closed: nothing more is stored.")
            try:
                check_report(report)
            except InputError as error:
                raise InvalidInputError(f"The report cannot be used: {error}.") from None
            session.merge(StudyTermsRow(person=person, report=_document(report)))

    def reports(self, slug: str) -> list[TermReport]:
        """Return the reports of a study, in an order that tells nothing about people."""
        query = (
            select(StudyTermsRow.report)
            .join(StudyPersonRow, StudyPersonRow.id == StudyTermsRow.person)
            .join(StudyRow, StudyRow.id == StudyPersonRow.study)
            .where(StudyRow.slug == slug)
            .order_by(StudyPersonRow.id)
        )
        with self._database.reading() as session:
            return [TermReport(**report) for report in session.scalars(query)]


def _document(report: TermReport) -> dict[str, Any]:
    return {"samples": report.samples, "weights": report.weights, "documents": report.documents}
