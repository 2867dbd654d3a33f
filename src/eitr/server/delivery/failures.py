"""Why a message was not delivered, in words that the dashboard can show: no address and no secret is in them."""

import os
import ssl

TIMEOUT_SECONDS = 10.0
"""How long a channel waits for each answer."""


class DeliveryError(Exception):
    """A message reached nobody."""


def reason(error: BaseException) -> str:
    """Return why a connection failed, in words that hold no address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of the server is not valid ({cause.verify_message.partition(',')[0]})"
        if isinstance(cause, ssl.SSLError):
            return "the connection could not be encrypted"
        if isinstance(cause, OSError) and cause.errno:
            # Errors of looking up a name have numbers of their own, which are negative.
            words = os.strerror(cause.errno) if cause.errno > 0 else "the name of the server is not known"
            return f"the connection failed: {words}"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed"
