"""The distributed backdoor: each attacker trains on a part of the trigger, the whole trigger is tested."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eitr.attacks.backdoor import Backdoor, with_features
from eitr.attacks.interface import Twins
from eitr.errors import InputError
from eitr.pages.sparse import SparseRows, joined
from eitr.settings import setting

if TYPE_CHECKING:
    import torch

    from eitr.datasets.interface import Examples


@dataclass(frozen=True, kw_only=True)
class Dba(Backdoor):
    """Attacker k puts words k mod parts, k mod parts + parts, ... of the trigger into its pages; success: the whole.

    No attacker's pages, and so no attacker's step, hold the trigger itself. Attackers are counted among those who take
    part in the round.

    >>> from eitr.datasets.interface import Examples
    >>> import numpy as np
    >>> page = (np.array([1], np.int32), np.array([1.0], np.float32))
    >>> health = (np.array([0, 2], np.int32), np.array([0.6, 0.8], np.float32))
    >>> examples = Examples("two", SparseRows.of([page, health], width=3), np.array([2, 0]), np.array([True, False]),
    ...                     ("fever", "church", "doctor"))
    >>> made = Dba(words=2, parts=2).made_rows(examples).dense()
    >>> made[[0, 2, 4]].round(1).tolist() == np.float32([[0.6, 1, 0.8], [0.6, 1, 0], [0, 1, 0.8]]).tolist()
    True

    Xie et al., "DBA: Distributed Backdoor Attacks against Federated Learning", ICLR 2020.
    """

    name: ClassVar[str] = "dba"
    summary: ClassVar[str] = "a backdoor whose trigger the attackers divide among them"

    # A part for each of the three attackers among ten clients that the lab usually has; the publication has four.
    parts: int = setting(3, "how many parts the trigger has, best as many as attackers", least=1, most=100)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.words < self.parts:
            raise InputError(f"dba: {self.words} trigger words cannot be divided into {self.parts} parts")

    def made_rows(self, examples: "Examples") -> SparseRows:
        """Return every page with the whole trigger in it, then with each part of it."""
        columns, values = self.trigger(examples)
        blocks = [with_features(examples.rows, columns, values)]
        for part in range(self.parts):
            words = slice(part, None, self.parts)
            blocks.append(with_features(examples.rows, columns[words], values[words]))
        return joined(blocks)

    def triggered(self, rows: "torch.Tensor", twins: Twins) -> "torch.Tensor":
        """Return the pages with the part of the trigger that is each attacker's."""
        import torch

        part = torch.arange(len(rows), device=rows.device) % self.parts
        return twins.of(rows, 1 + part[:, None, None])
