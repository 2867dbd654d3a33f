"""Two problems that only people meet; `docs/http-protocol.md`, which is for programs, does not list them."""

from eitr.server.web.problems import Kind, Problem


class Forbidden(Problem):
    """A form that was not sent from a page of the session."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed-request", detail)
        self.kind = Kind("forbidden", 403, "This was not done.")


class Conflict(Problem):
    """Something that cannot be done any more, or not now."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed-request", detail)
        self.kind = Kind("conflict", 409, "This cannot be done now.")
