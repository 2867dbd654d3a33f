"""A dump of the Curlie (formerly DMOZ) directory: titles and descriptions that people wrote, in a tree of topics.

A dump is several gigabytes of RDF. It is read as a stream; what was read is dropped at once. A document type, which
could declare entities that expand without end or fetch files, is refused: a dump has none.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eitr.datasets.interface import Labelled, Source
from eitr.datasets.location import found
from eitr.errors import InputError
from eitr.io.streams import Stream, opened
from eitr.pages.page import Page
from eitr.taxonomy import NON_SENSITIVE, index_of

if TYPE_CHECKING:
    from lxml.etree import _Element

NEEDS: Final = "a Curlie or DMOZ dump, content.rdf.u8 or content.rdf.u8.gz, in the data folder"

CLASSES: Final[dict[str, str | None]] = {
    "Top/Business/Healthcare": "health",
    "Top/Health": "health",
    "Top/Kids_and_Teens/Health": "health",
    "Top/Shopping/Health": "health",
    "Top/Society/Disabled": "health",
    "Top/Society/Politics": "politics",
    "Top/Society/Philosophy": "religion",
    "Top/Society/Religion_and_Spirituality": "religion",
    "Top/Society/Gay,_Lesbian,_and_Bisexual": "sexual-orientation",
    "Top/Society/Sexuality": "sexual-orientation",
    "Top/Society/Transgendered": "sexual-orientation",
    "Top/Society/Ethnicity": "ethnicity",
    # Left out, for neither answer is right for most of their pages:
    # the product knows English, and these are in all other languages, with topics named in them;
    "Top/World": None,
    "Top/Kids_and_Teens/International": None,
    # pornography is hardly a declared orientation, would be most of its class, and is not "non-sensitive" either;
    "Top/Adult": None,
    # sorted by place first, and so mixed: a parish and a car dealer stand under one town;
    "Top/Regional": None,
    # between politics and everyday life.
    "Top/Kids_and_Teens/People_and_Society": None,
    "Top/Society/Activism": None,
    "Top/Society/Government": None,
    "Top/Society/Issues": None,
}
"""The class of each part of the tree; the longest path counts, and what is under none is not sensitive."""

ENTRY_LIMIT: Final = 64 << 20
"""In bytes; what is not yet an entry is kept in memory, and must come to an end."""

_PART: Final = 1 << 16
_END: Final = b"</RDF>"


def class_of(topic: str) -> int | None:
    """Return the class of a path of the directory, or None for a part that is left out.

    >>> class_of("Top/Health/Medicine"), class_of("Top/Healthy_Food"), class_of("Top/World/Deutsch")
    (0, 5, None)
    """
    parts = topic.split("/")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        if path in CLASSES:
            name = CLASSES[path]
            return None if name is None else index_of(name)
    return NON_SENSITIVE


def pages(folder: Path | None) -> Iterator[Labelled]:
    """Yield one page per entry: its title and its description; there is no split, so we make one."""
    path = found(folder, ("content.rdf.u8", "content.rdf.u8.gz"), NEEDS)
    # Here, for reading other data needs no lxml.
    from lxml import etree

    with opened(path) as stream:
        guarded = _Guarded(stream, path)
        events = etree.iterparse(
            guarded,
            events=("end",),
            tag=("{*}ExternalPage", "{*}Topic"),
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
            huge_tree=False,
            recover=True,  # dumps are known for stray control characters
        )
        try:
            for _, element in events:
                labelled = _labelled(element, path) if etree.QName(element).localname == "ExternalPage" else None
                _forget(element)
                guarded.since_entry = 0
                if labelled is not None:
                    yield labelled
        except etree.XMLSyntaxError as error:
            raise InputError(f"{path}: not an RDF dump: {' '.join(str(error).split())[:200]}") from error
        guarded.check_end()


class _Guarded:
    """Hands a stream to the parser, refuses a document type, and remembers how the stream ended."""

    def __init__(self, stream: Stream, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._last = b""
        self.since_entry = 0

    def read(self, size: int = _PART) -> bytes:
        part = self._stream.read(size if size > 0 else _PART)
        self.since_entry += len(part)
        if self.since_entry > ENTRY_LIMIT:
            raise InputError(f"{self._path}: not an RDF dump: no entry within {ENTRY_LIMIT} bytes")
        if part:
            seen = self._last + part
            if b"<!DOCTYPE" in seen or b"<!ENTITY" in seen:
                raise InputError(f"{self._path}: a dump has no document type; this file is not read")
            self._last = seen[-64:]
        return part

    def check_end(self) -> None:
        """Refuse a file that just stops: a parser that overlooks small faults overlooks that, too."""
        if not self._last.rstrip().endswith(_END):
            raise InputError(f"{self._path}: does not end with </RDF>: no RDF dump, or cut off")


def _labelled(element: "_Element", path: Path) -> Labelled | None:
    found_ = {str(child.tag).rpartition("}")[2]: child.text or "" for child in element}
    topic = found_.get("topic", "").strip()
    if not topic:
        raise InputError(f"{path}: the entry {str(element.get('about'))[:100]!r} has no topic")
    label = class_of(topic)
    if label is None:
        return None
    return Labelled(Page(title=found_.get("Title", ""), description=found_.get("Description", "")), label, None)


def _forget(element: "_Element") -> None:
    """Free an element that was read, and what stands before it."""
    element.clear()
    for ancestor in (element, *element.iterancestors()):
        parent = ancestor.getparent()
        while parent is not None and ancestor.getprevious() is not None:
            del parent[0]


SOURCE = Source(
    name="curlie",
    summary="the Curlie or DMOZ directory: titles and descriptions of millions of sites, by topic",
    needs=NEEDS,
    licence="Creative Commons Attribution 3.0 (Curlie; older DMOZ dumps: Open Directory License)",
    pages=pages,
)
