"""E-mail addresses for the reward: encrypted, apart from everything else, and linked by a random identifier alone."""

import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from eitr.errors import InputError
from eitr.server.db.connection import Database, rewrite_later
from eitr.server.db.study_tables import StudyContactRow, StudyPersonRow, StudyRow
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.keys import made_key, read_key
from eitr.server.domain.study.register import Study, locked, locked_person
from eitr.server.settings import MAIL_ADDRESS

KEY_FILE = "contacts.key"
"""In the server's folder, and in no backup: whoever has the database alone cannot read an address."""
NONCE_BYTES = 12
LONGEST_ADDRESS = 254
"""All are padded to it: the length of the ciphertext tells nothing."""


class Contacts:
    """The addresses of the people of all studies."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database, self._folder = database, folder

    def store(self, person: str, email: str) -> None:
        """Store a person's address, in place of one that they gave before."""
        email = email.strip()
        if len(email) > LONGEST_ADDRESS or not MAIL_ADDRESS.fullmatch(email):
            raise InvalidInputError("This is not an e-mail address: write one such as ann@example.org.")
        with self._database.writing() as session:
            row = locked_person(session, person)
            if not Study.of(session.get_one(StudyRow, row.study)).settings.reward:
                raise InvalidInputError("The study has no reward, and stores no e-mail addresses.")
            key = self._key(session)
            _delete(session, row)
            row.contact = secrets.token_hex(16)
            session.add(StudyContactRow(id=row.contact, ciphertext=encrypted(key, row.contact, email)))

    def delete(self, person: str) -> None:
        """Delete a person's address, if there is one."""
        with self._database.writing() as session:
            _delete(session, locked_person(session, person))

    def email_of(self, person: str) -> str | None:
        """Return the address that a person gave, to be shown to them alone and on its own."""
        with self._database.reading() as session:
            query = select(StudyContactRow).join(StudyPersonRow, StudyPersonRow.contact == StudyContactRow.id)
            row = session.scalar(query.where(StudyPersonRow.id == person))
            return None if row is None else decrypted(self._key(session), row.id, row.ciphertext)

    def reward_list(self, slug: str) -> list[tuple[str, bool]]:
        """Return the addresses of a study and whether their owners have finished, in alphabetical order.

        Nothing else is told: who it is, what they labelled and who came first stay unknown.
        """
        with self._database.reading() as session:
            query = (
                select(StudyContactRow.id, StudyContactRow.ciphertext, StudyPersonRow.finished.is_not(None))
                .join(StudyPersonRow, StudyPersonRow.contact == StudyContactRow.id)
                .join(StudyRow, StudyRow.id == StudyPersonRow.study)
                .where(StudyRow.slug == slug)
            )
            found = session.execute(query).all()
            key = self._key(session) if found else b""
        return sorted((decrypted(key, id, ciphertext), done) for id, ciphertext, done in found)

    def counts(self, slug: str) -> tuple[int, int]:
        """Return how many gave an address, and how many of them have not finished. This needs no key."""
        query = select(func.count(), func.count(StudyPersonRow.finished)).join(
            StudyRow, StudyRow.id == StudyPersonRow.study
        )
        with self._database.reading() as session:
            given, finished = session.execute(
                query.where(StudyRow.slug == slug, StudyPersonRow.contact.is_not(None))
            ).one()
        return given, given - finished

    def delete_all(self, slug: str) -> int:
        """Delete all addresses of a study, as when everybody has their reward; return how many there were."""
        with self._database.writing() as session:
            return delete_contacts(session, locked(session, slug).id)

    def _key(self, session: Session) -> bytes:
        """Return the key. A new one is made only while there is nothing that another one encrypted."""
        path = self._folder / KEY_FILE
        if path.exists():
            return read_key(path)
        if session.scalar(select(exists(select(StudyContactRow.id)))):
            raise InputError(f"{path} is missing, and e-mail addresses are encrypted with it: restore it from a backup")
        return made_key(self._folder, KEY_FILE)


def delete_contacts(session: Session, study: int) -> int:
    """Delete all addresses of a study, within a transaction; return how many there were."""
    theirs = (StudyPersonRow.study == study, StudyPersonRow.contact.is_not(None))
    ids = session.scalars(select(StudyPersonRow.contact).where(*theirs)).all()
    if ids:
        session.execute(update(StudyPersonRow).where(*theirs).values(contact=None))
        session.execute(delete(StudyContactRow).where(StudyContactRow.id.in_(ids)))
        rewrite_later(session, [StudyContactRow, StudyPersonRow])
    return len(ids)


def encrypted(key: bytes, id: str, email: str) -> bytes:
    """Return an address as it is stored: AES-256-GCM, bound to its row. No time is part of it."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, email.encode().ljust(LONGEST_ADDRESS, b"\0"), id.encode())


def decrypted(key: bytes, id: str, ciphertext: bytes) -> str:
    """Return the address of a row."""
    try:
        padded = AESGCM(key).decrypt(ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], id.encode())
    except InvalidTag:
        raise InputError(
            f"{KEY_FILE} is not the key that the e-mail addresses were encrypted with: restore the right one"
        ) from None
    return padded.rstrip(b"\0").decode()


def _delete(session: Session, person: StudyPersonRow) -> None:
    if person.contact is not None:
        session.execute(delete(StudyContactRow).where(StudyContactRow.id == person.contact))
        person.contact = None
        rewrite_later(session, [StudyContactRow, StudyPersonRow])
