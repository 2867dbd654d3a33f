"""Messages as JSON, posted to an address."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import ClassVar

import httpx

from eitr import __version__
from eitr.server.delivery.failures import TIMEOUT_SECONDS, DeliveryError, reason
from eitr.server.delivery.message import Message

SIGNATURE = "X-EITR-Signature"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that takes messages. It may hold a secret, so that it is in no error and no log."""

    name: ClassVar[str] = "webhook"
    address: str = field(repr=False)
    secret: str = field(repr=False)
    timeout: float = TIMEOUT_SECONDS

    def send(self, message: Message) -> str:
        """Post a message; every answer but success is an error. Redirects are not followed."""
        body = json.dumps(document(message)).encode()
        headers = {"Content-Type": "application/json", "User-Agent": f"EITR/{__version__}"}
        if self.secret:
            headers[SIGNATURE] = f"sha256={signature(self.secret, body)}"
        try:
            with (
                httpx.Client(timeout=self.timeout, follow_redirects=False) as client,
                # The body of the answer is not read: it may be endless.
                client.stream("POST", self.address, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except httpx.TimeoutException:
            raise DeliveryError(f"there was no answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last two: names that no host can have
            raise DeliveryError(reason(error)) from None
        if not 200 <= status < 300:
            redirected = ", and redirects are not followed" if 300 <= status < 400 else ""
            raise DeliveryError(f"the answer had the status {status}{redirected}")
        return ""


def document(message: Message) -> dict[str, str | None]:
    """Return what is posted."""
    return {
        "id": message.id,
        "event": message.event.value,
        "kind": message.kind,
        "severity": message.severity,
        "what": message.what,
        "do": message.do,
        "link": message.link,
        "server": message.server,
        "raised": message.raised.isoformat(timespec="seconds"),
        "ended": None if message.ended is None else message.ended.isoformat(timespec="seconds"),
        "text": f"{message.subject}\n\n{message.text}",
    }


def signature(secret: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of what is posted, in hexadecimal digits.

    >>> signature("0123456789abcdef", b"{}")[:16]
    'f91e3e9f05cc2df6'
    """
    return hmac.digest(secret.encode(), body, hashlib.sha256).hex()
