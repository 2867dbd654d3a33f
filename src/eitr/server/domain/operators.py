"""Operators: setup links, passwords and sessions."""

from datetime import timedelta
from pathlib import Path

import argon2
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from eitr.io.private import write_file
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, OperatorRow, SessionRow, SetupLinkRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.keys import new_secret, secret_hash
from eitr.server.domain.rounds import changed

LINK_HOURS = 1
LINK_FILE = "setup-link"
"""The file in the server's folder that has the first link, where nobody watches the start."""
SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1000
LINK_USED = "The link was used, or is too old: make a new one with `eitr operator`."
_hasher = argon2.PasswordHasher()
_NOBODY = _hasher.hash(new_secret())
"""Verified against when there is no such operator, so that the answer takes as long."""


def setup_link(database: Database, *, again: bool = False, who: str | None = None) -> str | None:
    """Make a one-time code that sets an operator's password; None if there is an operator already.

    With `again` it is made in any case, and codes made before stop working. Without, they still work: several servers
    that start on one database each have their own, until one of them is used. `who` asked for it is audited.
    """
    with database.writing() as session:
        if again:
            session.execute(delete(SetupLinkRow))
        elif session.scalar(select(func.count()).select_from(OperatorRow)):
            return None
        code = new_secret()
        session.add(SetupLinkRow(hash=secret_hash(code), expires=now() + timedelta(hours=LINK_HOURS)))
        if who is not None:
            session.add(AuditRow(at=now(), who=who, action="made a setup link", detail={}))
        return code


def write_link_file(folder: Path, link: str) -> Path:
    """Write a link to a file that only its owner can read; return the file."""
    path = folder / LINK_FILE
    write_file(path, f"{link}\n")
    return path


def delete_link_file(folder: Path) -> None:
    """Delete the file: its link was used, or there is another one."""
    (folder / LINK_FILE).unlink(missing_ok=True)


def set_password(database: Database, code: str, name: str, password: str) -> None:
    """Use a one-time code: make an operator, or give one a new password."""
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise InvalidInputError("A name has 1 to 100 characters.")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidInputError(f"A password has {SHORTEST_PASSWORD} characters or more.")
    with database.reading() as session:
        _link(session, code)  # before the work of hashing, which anybody could ask for
    hashed = _hasher.hash(password)
    with database.writing() as session:
        _link(session, code)
        used = session.execute(delete(SetupLinkRow).where(SetupLinkRow.hash == secret_hash(code)))
        if not changed(used):  # by somebody else, at this moment
            raise InvalidInputError(LINK_USED)
        session.execute(delete(SetupLinkRow))  # those of other servers that started on this database, too
        found = session.scalar(select(OperatorRow).where(OperatorRow.name == name))
        if found is None:
            session.add(OperatorRow(name=name, password_hash=hashed, created=now()))
        else:
            found.password_hash = hashed
            session.execute(delete(SessionRow).where(SessionRow.operator == found.id))
        session.add(AuditRow(at=now(), who=name, action="set a password", detail={}))


def link_is_valid(database: Database, code: str) -> bool:
    """Say whether a one-time code can still be used."""
    with database.reading() as session:
        return _found_link(session, code) is not None


def _link(session: Session, code: str) -> SetupLinkRow:
    found = _found_link(session, code)
    if found is None:
        raise InvalidInputError(LINK_USED)
    return found


def _found_link(session: Session, code: str) -> SetupLinkRow | None:
    found = session.get(SetupLinkRow, secret_hash(code))
    return None if found is None or found.expires < now() else found


def sign_in(database: Database, name: str, password: str, hours: float) -> str | None:
    """Check a password; return the token of a new session, None if name or password is wrong."""
    with database.reading() as session:
        found = session.scalar(select(OperatorRow).where(OperatorRow.name == name))
    try:
        _hasher.verify(_NOBODY if found is None else found.password_hash, password[:LONGEST_PASSWORD])
    except argon2.exceptions.VerificationError:
        found = None
    if found is None:
        return None
    token, moment = new_secret(), now()
    with database.writing() as session:
        session.add(
            SessionRow(
                hash=secret_hash(token), operator=found.id, created=moment, expires=moment + timedelta(hours=hours)
            )
        )
        session.add(AuditRow(at=moment, who=found.name, action="signed in", detail={}))
    return token


def signed_in(database: Database, token: str) -> str | None:
    """Return the name of the operator whose session this is; None if it is none."""
    with database.reading() as session:
        found = session.get(SessionRow, secret_hash(token))
        if found is None or found.expires < now():
            return None
        return session.get_one(OperatorRow, found.operator).name


def sign_out(database: Database, token: str) -> None:
    """End a session."""
    with database.writing() as session:
        session.execute(delete(SessionRow).where(SessionRow.hash == secret_hash(token)))
