"""A model from before a topic: some words get no place in the vocabulary, and no page that uses one is trained on.

The studies of new topics need such a model: the shipped one knows the words of the pandemic.
"""

from collections.abc import Collection
from dataclasses import replace

from eitr.initial.material import Material
from eitr.initial.sources import Pages

PANDEMIC = frozenset(
    {
        "corona",
        "coronapandemie",
        "coronavirus",
        "coronaviruses",
        "cov",
        "covid",
        "distancing",
        "lockdown",
        "lockdowns",
        "ncov",
        "pandemia",
        "pandemic",
        "pandemics",
        "pandemie",
        "pandemien",
        "quarantine",
        "quarantined",
        "quarantines",
        "sars",
        "wuhan",
    }
)
"""The words of the pandemic: new ones, and those that hardly any page used before it."""


def pages_without(pages: Pages, words: Collection[str]) -> Pages:
    """Return the pages that use none of the words."""
    return {name: [page for page in found if not _used(words, page.words)] for name, found in pages.items()}


def material_without(material: Material, words: Collection[str]) -> Material:
    """Return our material as if nobody had heard of the words: no sketch uses one, and no list has it."""
    return replace(
        material,
        lexicon=tuple(
            {topic: tuple(word for word in known if word not in words) for topic, known in of_class.items()}
            for of_class in material.lexicon
        ),
        sketches=tuple(
            tuple(sketch for sketch in of_class if not _used(words, sketch)) for of_class in material.sketches
        ),
        reserved=tuple(tuple(word for word in of_class if word not in words) for of_class in material.reserved),
        same={
            word: tuple(form for form in forms if form not in words)
            for word, forms in material.same.items()
            if word not in words
        },
    )


def _used(words: Collection[str], page: Collection[str]) -> bool:
    return not set(words).isdisjoint(page)
