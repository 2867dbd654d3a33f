"""The model that ships with the package: how its words are chosen and how it is trained.

`python -m eitr.initial --data-dir DIR` rebuilds everything from the development data and from `material/`, what
we wrote ourselves: a lexicon of the topics, sketches of pages, the words that deserve a place in the vocabulary.
"""

from eitr.initial.build import Report, build

__all__ = ["Report", "build"]
