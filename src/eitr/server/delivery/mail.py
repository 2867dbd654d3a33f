"""Messages as e-mail, handed to a mail server."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import ClassVar, Literal

from eitr.server.delivery.failures import TIMEOUT_SECONDS, DeliveryError, reason
from eitr.server.delivery.message import Message


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written to people of a study: the words are the operator's."""

    subject: str
    text: str

    def to(self, recipient: str, sender: str) -> EmailMessage:
        """Return it as an e-mail to one person."""
        found = EmailMessage(policy=SMTP)
        found["From"] = sender
        found["To"] = recipient
        found["Subject"] = self.subject
        found["Date"] = format_datetime(datetime.now(UTC))
        found["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
        found["Auto-Submitted"] = "auto-generated"  # so that nobody's absence is answered
        found.set_content(self.text)
        return found


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail server, and whom it is to reach."""

    name: ClassVar[str] = "e-mail"
    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    user: str
    password: str = field(repr=False)
    sender: str
    recipients: tuple[str, ...]
    timeout: float = TIMEOUT_SECONDS

    def send(self, message: Message) -> str:
        """Hand a message to the mail server; return how many recipients it refused, in words."""
        with self._explained(), self._connected() as server:
            refused = server.send_message(as_mail(message, self.sender, self.recipients))
        count = len(self.recipients)
        return f"the mail server refused {len(refused)} of {count} recipients" if refused else ""

    def send_to_each(self, letter: Letter) -> int:
        """Send a letter to each recipient by itself, so that nobody sees the others; return how many it refused."""
        refused = 0
        with self._explained(), self._connected() as server:
            for recipient in self.recipients:
                try:
                    server.send_message(letter.to(recipient, self.sender))
                except smtplib.SMTPRecipientsRefused:
                    refused += 1
        return refused

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise what goes wrong as a `DeliveryError`, whose words hold no address."""
        try:
            yield
        except smtplib.SMTPRecipientsRefused:
            raise DeliveryError("the mail server refused all recipients") from None
        except smtplib.SMTPSenderRefused as error:
            raise DeliveryError(f"the mail server refused the sender ({error.smtp_code})") from None
        except smtplib.SMTPAuthenticationError as error:
            raise DeliveryError(f"the mail server rejected name or password ({error.smtp_code})") from None
        except smtplib.SMTPNotSupportedError:
            raise DeliveryError("the mail server does not offer what EITR_SMTP_SECURITY or a password needs") from None
        except smtplib.SMTPResponseException as error:
            raise DeliveryError(f"the mail server answered with an error ({error.smtp_code})") from None
        except (smtplib.SMTPException, TimeoutError) as error:
            if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
                raise DeliveryError(f"the mail server did not answer within {self.timeout:g} s") from None
            raise DeliveryError("the mail server ended the connection, or it is not a mail server") from None
        except (OSError, ValueError) as error:  # ValueError: a name that cannot be looked up
            raise DeliveryError(reason(error)) from None

    def _connected(self) -> smtplib.SMTP:
        """Return a connection, encrypted and signed in as the settings ask for."""
        encryption = ssl.create_default_context()
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout, context=encryption)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=self.timeout)
        try:
            if self.security == "starttls":
                server.starttls(context=encryption)
            if self.user:
                server.login(self.user, self.password)
        except BaseException:
            server.close()
            raise
        return server


def as_mail(message: Message, sender: str, recipients: tuple[str, ...]) -> EmailMessage:
    """Return a message as an e-mail."""
    domain = sender.rpartition("@")[2]
    found = EmailMessage(policy=SMTP)
    found["From"] = sender
    found["To"] = ", ".join(recipients)
    found["Subject"] = message.subject
    found["Date"] = format_datetime(datetime.now(UTC))
    found["Message-ID"] = f"<{message.id}@{domain}>"
    if message.answers:  # mail programs show it below the one that it answers
        found["In-Reply-To"] = found["References"] = f"<{message.answers}@{domain}>"
    found["Auto-Submitted"] = "auto-generated"  # so that nobody's absence is answered
    # Short lines in ASCII, so that the text needs no encoding.
    server = f"Sent by the EITR server {message.server}".rstrip()
    found.set_content(f"{message.text}\n-- \n{server}\nEITR_ALERT_EMAIL says to whom.\n")
    return found
