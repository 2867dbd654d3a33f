"""The pool of cover pages that ships with the model: pages that no model was trained on, as vectors."""

from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path

from eitr.initial.corpus import Labelled, read_file
from eitr.initial.fit import vectors
from eitr.initial.sources import RESERVED, is_reserved
from eitr.pages.pool import Pool, vocabulary_digest
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NON_SENSITIVE

ATTRIBUTION = (
    "Vectors were made of pages written for EITR; of USA.gov (public domain); of MedQuAD, A. Ben Abacha and "
    "D. Demner-Fushman, 2019 (CC BY 4.0); of the Web Content Extraction Benchmark, WCXB (CC BY 4.0); of Python "
    "Enhancement Proposals (public domain) and The Rust Programming Language (MIT, Apache-2.0); and of translations of "
    "the Bible (public domain)."
)
MOST_SENSITIVE = 360
"""Of one source, at most so many pages of a sensitive class: no topic should fill the pool."""
LEAST_KNOWN = 3
"""A page with fewer known words hides nothing."""


def build_pool(data_dir: Path, vocabulary_file: bytes) -> Pool:
    """Return the pages written for it and the reserved half of five sources, all of which may be published as vectors.

    Licences: usagov_html (a work of the US government) and bible_6lang are in the public domain; medquad and wcxb are
    CC BY 4.0; tech_docs is in the public domain (PEPs) or MIT and Apache (the Rust book). `ATTRIBUTION` names them.
    """
    vocabulary = Vocabulary.from_json(vocabulary_file.decode())
    pages = written_pages(vocabulary.version)
    for name in sorted(RESERVED):
        read = read_file(data_dir / "pages" / f"{name}.jsonl.gz", vocabulary.version)
        pages += _at_most([page for page in read if is_reserved(page)])
    rows = vectors(vocabulary, [page.words for page in pages])
    kept = [place for place, known in enumerate(rows.starts[1:] - rows.starts[:-1]) if known >= LEAST_KNOWN]
    return Pool.of(rows.take(kept), [pages[place].label for place in kept], vocabulary_digest(vocabulary_file))


def _at_most(pages: list[Labelled]) -> list[Labelled]:
    counts = Counter[int]()
    kept = []
    for page in pages:
        counts[page.label] += 1
        if page.label == NON_SENSITIVE or counts[page.label] <= MOST_SENSITIVE:
            kept.append(page)
    return kept


def written_pages(version: int) -> list[Labelled]:
    """Return the pages that we wrote for the pool."""
    with as_file(files("eitr.initial").joinpath("material", "pool.jsonl")) as path:
        return read_file(path, version)
