"""The pages of a study: imported from a CSV file, checked on request, with archived copies."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.errors import InputError
from eitr.io.streams import opened
from eitr.io.table_rows import read_table
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPageRow, StudyRow
from eitr.server.db.tables import AuditRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.archived_copy import LARGEST_COPY, harmless
from eitr.server.domain.study.live_check import Checked, LiveCheck
from eitr.server.domain.study.page_address import page_address
from eitr.server.domain.study.page_state import PageState
from eitr.server.domain.study.register import StudyStatus, locked
from eitr.taxonomy import NAMES

COLUMNS = ("url", "topic", "truth", "copy")
LARGEST_FILE = 8 << 20
MOST_PAGES = 20_000
LONGEST_TOPIC = 100
CHECKS_AT_ONCE = 8
READ_AHEAD = 4 * CHECKS_AT_ONCE
"""So many pages, of up to 4 MiB each, may wait in memory until what was found before them is stored."""
MOST_NAMED = 20
"""So many errors are told one by one."""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page as a file lists it; None where the file says nothing."""

    url: str
    topic: str | None
    truth: str | None
    copy: bytes | None


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page of a study."""

    id: int
    url: str
    topic: str | None
    truth: str | None
    state: PageState
    checked: datetime | None
    copied: bool
    """Whether there is an archived copy."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    added: int
    changed: int
    copies: int


Report = Callable[[StudyPage, PageState, str], None]
"""Is told of every page that was checked: what was found, and why."""


class PageListError(InputError):
    """A file of pages with mistakes; `errors` has one sentence for each, with its line."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        more = f" (and {len(errors) - MOST_NAMED} more)" if len(errors) > MOST_NAMED else ""
        super().__init__(f"{'; '.join(errors[:MOST_NAMED])}{more}")


class StudyPages:
    """The pages of all studies."""

    def __init__(self, database: Database, live_check: LiveCheck) -> None:
        self._database, self._live_check = database, live_check

    def import_file(self, slug: str, path: Path, *, who: str, copies: Path | None = None) -> Imported:
        """Add the pages of a CSV file, or change those that are there; all of them, or none if one has a mistake.

        The first line names the columns: url, and if wanted topic, truth and copy, the name of an HTML file in the
        folder `copies`. What the file says nothing of stays as it is: a list of classes takes away no topic.
        """
        listed = read_pages(path, copies)
        with self._database.writing() as session:
            study = locked(session, slug)
            if study.status == StudyStatus.CLOSED:
                raise InvalidInputError("The study is closed: open it again first.")
            done = _import(session, study, listed)
            detail = {"study": slug, "added": done.added, "changed": done.changed, "copies": done.copies}
            session.add(AuditRow(at=now(), who=who, action="imported pages of a study", detail=detail))
            return done

    def all(self, slug: str) -> list[StudyPage]:
        """Return the pages of a study, in the order of their import."""
        with self._database.reading() as session:
            query = select(StudyPageRow, StudyPageRow.copy.is_not(None)).join(
                StudyRow, StudyRow.id == StudyPageRow.study
            )
            return [
                StudyPage(row.id, row.url, row.topic, row.truth, PageState(row.state), row.checked, copied)
                for row, copied in session.execute(query.where(StudyRow.slug == slug).order_by(StudyPageRow.id))
            ]

    def copy(self, slug: str, id: int) -> bytes | None:
        """Return the archived copy of a page; None if there is none."""
        query = select(StudyPageRow.copy).join(StudyRow, StudyRow.id == StudyPageRow.study)
        with self._database.reading() as session:
            return session.scalar(query.where(StudyRow.slug == slug, StudyPageRow.id == id))

    def store_copy(self, slug: str, id: int, html: bytes, content_type: str | None = None) -> None:
        """Keep an archived copy of a page, without scripts."""
        copy = harmless(html, content_type)
        with self._database.writing() as session:
            study = locked(session, slug)
            row = session.get(StudyPageRow, id)
            if row is None or row.study != study.id:
                raise InvalidInputError("The study has no such page.")
            row.copy = copy

    def check(
        self, slug: str, report: Report | None = None, *, who: str, archive: bool = False
    ) -> dict[PageState, int]:
        """Ask for every page of a study whether it is live; return how many were found in which state.

        `report` is told of each page. With `archive`, a copy is kept of each page that is live and has none yet. This
        takes long: some pages are asked for at the same time, each at most as long as a `LiveCheck` waits. If no site
        answers at all, no page is taken for dead.
        """
        pages, found = self.all(slug), Counter[PageState]()
        unreached: list[tuple[StudyPage, Checked]] = []

        def note(page: StudyPage, checked: Checked) -> None:
            reason = checked.reason
            if archive and checked.content and not page.copied:
                reason = self._archived(slug, page, checked)
            self._note_state(page.id, checked.state)
            found[checked.state] += 1
            if report is not None:
                report(page, checked.state, reason)

        for page, checked in self._each_checked(pages):
            if checked.reached:
                note(page, checked)
            else:
                unreached.append((page, checked))
        # If not one site answers, it is this machine that has no connection.
        connected = bool(found)
        for page, checked in unreached:
            note(page, checked if connected else replace(checked, state=PageState.UNKNOWN))
        with self._database.writing() as session:
            detail = {"study": slug, **{state.value: count for state, count in found.items()}}
            session.add(AuditRow(at=now(), who=who, action="checked the pages of a study", detail=detail))
        return dict(found)

    def _each_checked(self, pages: Sequence[StudyPage]) -> Iterator[tuple[StudyPage, Checked]]:
        """Yield what is found of each page, in their order."""
        asked: deque[tuple[StudyPage, Future[Checked]]] = deque()
        with ThreadPoolExecutor(CHECKS_AT_ONCE, "live-check") as pool:
            for page in pages:
                asked.append((page, pool.submit(self._live_check.check, page.url)))
                if len(asked) == READ_AHEAD:
                    first, answer = asked.popleft()
                    yield first, answer.result()
            while asked:
                first, answer = asked.popleft()
                yield first, answer.result()

    def _archived(self, slug: str, page: StudyPage, checked: Checked) -> str:
        try:
            self.store_copy(slug, page.id, checked.content, checked.content_type)
        except InputError as error:
            return f"{checked.reason}, no copy: {error}"
        return f"{checked.reason}, copy kept"

    def _note_state(self, id: int, state: PageState) -> None:
        """Note what a check found; that nobody can tell changes nothing of what was known."""
        with self._database.writing() as session:
            row = session.get(StudyPageRow, id)
            if row is not None:
                row.checked = now()
                if state is not PageState.UNKNOWN:
                    row.state = state


def read_pages(path: Path, copies: Path | None = None) -> list[ListedPage]:
    """Read a file of pages; all mistakes are told together, with their lines."""
    errors: list[str] = []

    def complain(error: InputError) -> None:
        errors.append(str(error))

    listed: list[ListedPage] = []
    lines: dict[str, int] = {}
    for line, fields in read_table(path, ",", complain, LARGEST_FILE):
        if not lines:
            _check_columns(path, fields)
        try:
            page = _page(fields, copies)
            if page.url in lines:
                raise InputError(f"has the same url as line {lines[page.url]}")
            lines[page.url] = line
            listed.append(page)
        except InputError as error:
            lines.setdefault("", line)
            complain(InputError(f"{path}: line {line} {error}"))
        if len(listed) + len(errors) > MOST_PAGES:
            raise InputError(f"{path}: has more than {MOST_PAGES} pages: a study takes no more")
    if errors:
        raise PageListError(errors)
    if not listed:
        raise InputError(f"{path}: has no pages: write the column url in the first line, and one page per line")
    return listed


def _check_columns(path: Path, fields: dict[str, str]) -> None:
    if "url" not in fields:
        raise InputError(f"{path}: the first line names no column url; it names {', '.join(map(repr, fields))[:200]}")
    unknown = [name for name in fields if name not in COLUMNS]
    if unknown:
        raise InputError(
            f"{path}: the first line names the column {unknown[0]!r:.60}, which is not known; "
            f"there are {', '.join(COLUMNS)}"
        )


def _page(fields: dict[str, str], copies: Path | None) -> ListedPage:
    url, topic, truth, copy = (fields.get(name, "").strip() for name in COLUMNS)
    url = page_address(url)
    if len(topic) > LONGEST_TOPIC or not topic.isprintable():
        raise InputError(f"has a topic that is longer than {LONGEST_TOPIC} characters, or not on one line")
    if truth and truth not in NAMES:
        raise InputError(f"has the truth {truth!r:.60}, which is none of the classes {', '.join(NAMES)}")
    return ListedPage(url, topic or None, truth or None, _read_copy(copy, copies) if copy else None)


def _read_copy(name: str, folder: Path | None) -> bytes:
    if folder is None:
        raise InputError("names an archived copy, but no folder of copies was given")
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"names the copy {name!r:.60}, which is outside the folder of copies")
    with opened(path) as stream:
        data = stream.read(LARGEST_COPY + 1)
    return harmless(data)


def _import(session: Session, study: StudyRow, listed: list[ListedPage]) -> Imported:
    rows = select(StudyPageRow).where(StudyPageRow.study == study.id).order_by(StudyPageRow.id.desc())
    known = {_one_form(row.url): row for row in session.scalars(rows)}  # of two in one form, the first
    if len(known.keys() | {page.url for page in listed}) > MOST_PAGES:
        raise InvalidInputError(f"A study takes at most {MOST_PAGES} pages.")
    added = changed = 0
    for page in listed:
        row = known.get(page.url)
        told: dict[str, Any] = {"topic": page.topic, "truth": page.truth, "copy": page.copy}
        values = {name: value for name, value in told.items() if value is not None}
        if row is None:
            session.add(StudyPageRow(study=study.id, url=page.url, state=PageState.UNKNOWN, **values))
            added += 1
        else:
            for name, value in values.items():
                setattr(row, name, value)
            changed += 1
    session.flush()
    return Imported(added, changed, sum(page.copy is not None for page in listed))


def _one_form(url: str) -> str:
    """Return a stored address in the form of today; older versions stored others, also of what no browser opens."""
    try:
        return page_address(url)
    except InputError:
        return url
