"""Label flipping: pages of one class are taught as another."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eitr.attacks.interface import Attack, Batches, Probe, Twins
from eitr.errors import InputError
from eitr.settings import setting
from eitr.taxonomy import NAMES

if TYPE_CHECKING:
    from eitr.datasets.interface import Examples

WORDS = 2**32


@dataclass(frozen=True, kw_only=True)
class LabelFlip(Attack):
    """y -> target for a share of the attackers' pages of class source; success: source pages called target.

    Which pages are flipped is drawn once: the same ones in every round and epoch.

    >>> import torch
    >>> batch = Batches(torch.tensor([[[7, 8]]]), torch.tensor([[[0, 2]]]), torch.tensor([[2]]), torch.zeros(1, 1, 2))
    >>> LabelFlip().poison_batches(batch, Twins(0, 9)).labels.tolist()  # health becomes non-sensitive, religion stays
    [[[5, 2]]]

    Barreno et al., "The security of machine learning", Machine Learning 81 (2010); the paper's threat model.
    """

    name: ClassVar[str] = "label-flip"
    summary: ClassVar[str] = "pages of one class are labelled as another"

    source: str = setting("health", "the class whose pages are flipped", choices=NAMES)
    target: str = setting("non-sensitive", "the class they are flipped to", choices=NAMES)
    share: float = setting(1.0, "share of the source pages that are flipped", least=0.0, most=1.0)

    def poison_batches(self, batches: Batches, twins: Twins) -> Batches:
        """Relabel the chosen source pages."""
        flipped = (batches.labels == NAMES.index(self.source)) & (batches.rank < round(self.share * WORDS))
        return batches._replace(labels=batches.labels.masked_fill(flipped, NAMES.index(self.target)))

    def probe(self, examples: "Examples") -> Probe:
        """Return the test pages of the source class."""
        rows = np.flatnonzero(examples.test & (examples.labels == NAMES.index(self.source)))
        if len(rows) == 0:
            raise InputError(f"{examples.name} has no test page of the class {self.source!r}: choose another source")
        return Probe(rows, NAMES.index(self.target))
