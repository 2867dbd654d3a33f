"""Whether a page can still be read: one request, bounded in time, size and redirects.

The addresses come from a file, and the server may stand in a network with other machines. So a request goes to public
addresses only: every name is looked up once, all its addresses are checked, and the connection is made to one of them,
so that the name cannot mean another machine a moment later. Redirects are checked like the first address.
"""

import contextlib
import http.client
import ipaddress
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from eitr.server.domain.study.page_address import host_name
from eitr.server.domain.study.page_state import PageState

SECONDS = 20.0
REDIRECTS = 5
LARGEST_PAGE = 4 << 20
GONE = (404, 410, 451)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All public addresses of IPv6 are in it. Others may lead to private networks, as those of a network's own NAT64 do."""
NOT_PUBLIC = [ipaddress.ip_network(one) for one in ("192.0.0.0/24", "3fff::/20")]
"""Protocol assignments and documentation: older versions of Python take them for public."""
USER_AGENT = "eitr"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, why, and the page if it is there."""

    state: PageState
    reason: str
    content: bytes = b""
    content_type: str | None = None
    reached: bool = True
    """Whether a site answered at all: without a connection of our own, none does."""


class _NotAskedError(Exception):
    """An address that must not be asked."""


class _FailedError(Exception):
    """The page cannot be had."""


class _UnknownNameError(Exception):
    """Nobody has the name of the site, or nobody could be asked for it."""


@dataclass(frozen=True, slots=True)
class LiveCheck:
    """Checks pages. `allow_private` lets it ask this machine and private networks, too: for tests."""

    allow_private: bool = False
    seconds: float = SECONDS
    redirects: int = REDIRECTS
    largest: int = LARGEST_PAGE

    def check(self, url: str) -> Checked:
        """Ask for a page. `unknown` means that nobody can tell, as with sites that turn programs away."""
        deadline = time.monotonic() + self.seconds
        try:
            for _ in range(self.redirects + 1):
                answer = self._ask(url, deadline)
                if isinstance(answer, Checked):
                    return answer
                url = urljoin(url, answer)
        except _NotAskedError as error:
            return Checked(PageState.UNKNOWN, f"not asked: {error}", reached=False)
        except _FailedError as error:
            return Checked(PageState.DEAD, str(error))
        except _UnknownNameError as error:
            return Checked(PageState.DEAD, str(error), reached=False)
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = time.monotonic() >= deadline
            told = f"no answer within {self.seconds:g} s" if late else f"failed: {type(error).__name__}"
            return Checked(PageState.DEAD, told, reached=False)
        # A site that wants cookies or a consent first leads programs in circles, and people to the page.
        return Checked(PageState.UNKNOWN, f"more than {self.redirects} redirects")

    def _ask(self, url: str, deadline: float) -> "Checked | str":
        """Return what was found at one address, or where it redirects to."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _NotAskedError("the address is not http or https")
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        host = host_name(parts.hostname)
        addresses = self._public_addresses(host, port, deadline)
        made = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = made(host, port)
        with _connected(addresses, port, deadline, host if secure else None) as connection.sock:
            target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
            if parts.query:
                target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
            headers = {"User-Agent": USER_AGENT, "Accept": "text/html, */*;q=0.5", "Accept-Encoding": "identity"}
            connection.request("GET", target, headers={**headers, "Connection": "close"})
            with connection.getresponse() as response:
                return self._found(response, deadline)

    def _found(self, response: http.client.HTTPResponse, deadline: float) -> "Checked | str":
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location:
            return location.encode("latin-1").decode("utf-8", "replace")  # http.client takes all bytes for Latin-1
        if response.status in GONE:
            raise _FailedError(f"the site answers {response.status}")
        if not 200 <= response.status < 300:
            return Checked(PageState.UNKNOWN, f"the site answers {response.status}")
        kind = response.headers.get_content_type()
        if not kind.startswith("text/") and not kind.endswith("xml"):
            raise _FailedError(f"not a page, but {kind:.60}")
        content, whole = bytearray(), True
        try:
            while len(content) <= self.largest and (part := response.read1(65536)):
                content += part
        except http.client.IncompleteRead:
            whole = False
        if time.monotonic() >= deadline:  # then the connection was ended, which looks like the end of the page
            raise _FailedError(f"not complete within {self.seconds:g} s")
        if not whole or (response.length and len(content) <= self.largest):  # so many bytes are missing
            return Checked(PageState.UNKNOWN, "the site ended the connection before the page was complete")
        if len(content) > self.largest:
            return Checked(PageState.LIVE, f"longer than {self.largest} bytes")
        return Checked(PageState.LIVE, "read", bytes(content), response.headers.get("Content-Type"))

    def _public_addresses(self, host: str, port: int, deadline: float) -> list[str]:
        found = _looked_up(host, port, deadline)
        if not found:
            raise _UnknownNameError("the name of the site is unknown")
        if not self.allow_private and not all(is_public(address) for address in found):
            raise _NotAskedError("the address belongs to this machine or to a private network")
        return found


def is_public(address: str) -> bool:
    """Say whether an address is one of the public internet, also if it holds another address.

    >>> [is_public(one) for one in ("93.184.215.14", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1")]
    [True, False, False, False, False, False]
    >>> [is_public(one) for one in ("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "0.0.0.0", "224.0.0.1")]
    [False, False, False, False, False]
    >>> [is_public(one) for one in ("192.0.0.8", "::ffff:192.0.0.1", "3fff::1", "3fff:fff::1")]
    [False, False, False, False]
    >>> [is_public(one) for one in ("2606:2800:21f::1", "64:ff9b:1::7f00:1", "fec0::1", "::7f00:1", "::ffff:0:7f00:1")]
    [True, False, False, False, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if found.teredo is not None:
            return False
        if inner is not None:
            return is_public(str(inner))
        if found not in GLOBAL_UNICAST:
            return False
    return found.is_global and not found.is_multicast and not any(found in network for network in NOT_PUBLIC)


def _looked_up(host: str, port: int, deadline: float) -> list[str]:
    """Return the addresses of a name; none if there are none in time. The system's look-up has no limit of its own."""
    answers: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def look_up() -> None:
        found: list[str] = []
        with contextlib.suppress(OSError, UnicodeError):
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(row[4][0]) for row in rows))
        answers.put(found)

    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    try:
        return answers.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise TimeoutError from None


def _first_connection(addresses: Sequence[str], port: int, deadline: float) -> socket.socket:
    """Connect to the first address that answers: a site may have one for IPv6, and this machine no way there."""
    for place, address in enumerate(addresses, 1):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            # One that is silent leaves time for the others.
            return socket.create_connection((address, port), timeout=left / (len(addresses) - place + 1))
        except OSError:
            if place == len(addresses):
                raise
    raise TimeoutError


@contextmanager
def _connected(
    addresses: Sequence[str], port: int, deadline: float, secure_name: str | None
) -> Iterator[socket.socket]:
    """Connect; at the deadline the connection ends, however slowly bytes come."""
    plain = _first_connection(addresses, port, deadline)
    left = max(0.001, deadline - time.monotonic())
    plain.settimeout(left)
    connection: socket.socket = plain
    if secure_name is not None:
        context = ssl.create_default_context()
        connection = context.wrap_socket(plain, server_hostname=secure_name, do_handshake_on_connect=False)

    def end() -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    alarm = threading.Timer(left, end)
    alarm.daemon = True
    alarm.start()
    try:
        if isinstance(connection, ssl.SSLSocket):
            connection.do_handshake()
        yield connection
    finally:
        alarm.cancel()
        connection.close()
