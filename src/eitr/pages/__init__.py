"""From a web page to the vector a model reads: extract, split into tokens, weigh.

`eitr.pages.extract.extract` is not imported here: it needs lxml, and pages that are already text do not.
"""

from eitr.pages.page import Page
from eitr.pages.sparse import SparseRows
from eitr.pages.tokens import tokens
from eitr.pages.vocabulary import Vocabulary

__all__ = ["Page", "SparseRows", "Vocabulary", "tokens"]
