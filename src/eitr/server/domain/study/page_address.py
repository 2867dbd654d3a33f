"""Addresses of pages, written in one way: browsers can open them, and a page has one address only."""

import ipaddress
import re
from urllib.parse import quote, urlsplit

import idna

from eitr.errors import InputError

LONGEST_URL = 2000
"""In bytes: longer ones fit into no index of PostgreSQL."""
LONGEST_HOST = 253
LONGEST_LABEL = 63
DEFAULT_PORTS = {"http": 80, "https": 443}
FORBIDDEN = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
"""No host has them, according to the URL standard that browsers follow. It decodes %41 first; here, % is refused."""
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
DOTS = re.compile("[.\u3002\uff0e\uff61]")
VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
IN_PATHS = re.sub(r'["#<>?^`{}]', "", VISIBLE)
IN_QUERIES = re.sub(r"""["#'<>]""", "", VISIBLE)
"""What stays as it is in a path or a query; browsers write the UTF-8 bytes of all else as %XX."""


def page_address(url: str) -> str:
    """Return the address of a page in the one form that it is stored in; refuse what is none.

    >>> page_address("HTTPS://Www.Example.org:443"), page_address("http://bücher.example/a/../Ü?q=ß")
    ('https://www.example.org/', 'http://xn--bcher-kva.example/%C3%9C?q=%C3%9F')
    """
    try:
        parts = urlsplit(url)
        port, known = parts.port, parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
        # Brackets are for addresses of IPv6; those of the future, `[v1.a]`, lose them here.
        known = known and ("[" not in parts.netloc or ":" in (parts.hostname or ""))
    except ValueError:
        known = False
    if not known or not url.isprintable() or " " in url:
        raise InputError(f"has the url {url!r:.100}, which is not an address that begins with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise InputError("has a url with a user name or a password: remove them")
    if "#" in url:
        raise InputError("has a url with a fragment, the part from # on: remove it, a task is always a whole page")
    try:
        host = host_name(parts.hostname or "")
    except ValueError:
        raise InputError(
            f"has a url whose host {parts.hostname!r:.100} is neither a valid name nor an IP address"
        ) from None
    place = f"[{host}]" if ":" in host else host
    if port not in (None, DEFAULT_PORTS[parts.scheme]):
        place += f":{port}"
    path, query = quote(_without_dots(parts.path), safe=IN_PATHS), quote(parts.query, safe=IN_QUERIES)
    address = f"{parts.scheme}://{place}{path}" + (f"?{query}" if "?" in url else "")
    if len(address.encode()) > LONGEST_URL or len(host) > LONGEST_HOST:
        raise InputError(
            f"has a url that is longer than {LONGEST_URL} bytes as browsers write it, with %XX for other letters, "
            f"or its host than {LONGEST_HOST}"
        )
    return address


def _without_dots(path: str) -> str:
    """Return a path without `.` and `..`, as browsers resolve them.

    >>> _without_dots(""), _without_dots("/a/./b/%2E./c"), _without_dots("/a/..")
    ('/', '/a/c', '/')
    """
    kept: list[str] = []
    segments = path.replace("\\", "/").split("/")[1:]
    plain = [segment.lower().replace("%2e", ".") for segment in segments]
    for segment, dots in zip(segments, plain, strict=True):
        if dots == "..":
            kept = kept[:-1]
        elif dots != ".":
            kept.append(segment)
    if plain and plain[-1] in (".", ".."):
        kept.append("")  # a folder ends with a slash
    return "/" + "/".join(kept)


def host_name(host: str) -> str:
    """Return a host as browsers ask for it, in ASCII; a ValueError says that no browser would.

    >>> host_name("faß.example"), host_name("2001:DB8::1"), host_name("my_blog.example.org"), host_name("i❤.example")
    ('xn--fa-hia.example', '2001:db8::1', 'my_blog.example.org', 'xn--i-7iq.example')
    """
    if "%" in host:
        raise ValueError("a host has no %")
    if ":" in host:
        return str(ipaddress.IPv6Address(host))
    name = ".".join(_ascii_label(label) for label in DOTS.split(host.lower()))
    if FORBIDDEN.search(name):
        raise ValueError("a character that no host has")
    # What ends with a number is an IPv4 address, and not a name.
    return str(ipaddress.IPv4Address(name)) if NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]) else name


def _ascii_label(label: str) -> str:
    # The rules for international names would refuse some ASCII ones that exist, as with an underscore.
    if label.isascii() and not label.startswith("xn--"):
        return label
    try:
        return idna.encode(label, uts46=True).decode()
    except idna.IDNAError:
        return _symbols_label(label)


def _symbols_label(label: str) -> str:
    """Return a label that the rules for international names refuse and browsers open, as one with a heart."""
    name = label[4:].encode().decode("punycode") if label.startswith("xn--") else label
    mapped = idna.uts46_remap(name, std3_rules=False)
    idna.check_initial_combiner(mapped)
    idna.check_bidi(mapped)
    ascii = mapped if mapped.isascii() else "xn--" + mapped.encode("punycode").decode()
    if len(ascii) > LONGEST_LABEL or (label.startswith("xn--") and ascii != label):
        raise ValueError("a label that no host has")
    return ascii
