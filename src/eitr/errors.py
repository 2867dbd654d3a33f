"""The exceptions for input that is not as it should be."""

from collections.abc import Mapping


class InputError(ValueError):
    """Bad input: a file, a flag, an update, a page. Its message is one line and says what to do.

    The command line prints the message and exits with status 2; the server answers with a problem document.
    """


class EngineError(InputError):
    """What should compute cannot: it is not installed, not reachable, or it failed. Another engine may do better."""


class BadUpdateError(InputError):
    """Updates of a round that cannot be aggregated. `clients` holds all of them: the id and what is wrong with it.

    >>> error = BadUpdateError({"ann": "sent a NaN", "bob": "sent an infinity"})
    >>> str(error), error.client
    ("client 'ann' sent a NaN (and 1 more client with a bad update: 'bob')", 'ann')
    """

    def __init__(self, clients: Mapping[str, str]) -> None:
        self.clients = dict(clients)
        self.client, *others = self.clients
        message = f"client {self.client!r} {self.clients[self.client]}"
        if others:
            named = ", ".join(map(repr, others[:5])) + (", ..." if len(others) > 5 else "")
            plural = "s with bad updates" if len(others) > 1 else " with a bad update"
            message += f" (and {len(others)} more client{plural}: {named})"
        super().__init__(message)
