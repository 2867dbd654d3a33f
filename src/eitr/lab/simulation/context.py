"""What a run is computed with: the device, the data folder, a place for checkpoints, and somebody who watches."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from eitr.io.npz import write_npz
from eitr.lab.results.store import Arrays, Store, read_result
from eitr.lab.runs.run import Run

if TYPE_CHECKING:
    import torch

Watch = Callable[[Run, int, int, float], None]
"""Called as a run goes on: the run, rounds done, rounds in all, and its current accuracy (NaN where it has none)."""


def nobody(run: Run, done: int, rounds: int, accuracy: float) -> None:
    """Watch nothing."""


@dataclass(kw_only=True)
class Context:
    """The surroundings of a computation; nothing in here changes a result."""

    device: "torch.device"
    store: Store | None = None
    """Where checkpoints go; without one nothing is kept."""
    data_dir: Path | None = None
    """Where the files of pictures lie."""
    watch: Watch = nobody
    checkpoint_seconds: float = 30.0
    """How much work a kill may cost."""
    _last: float = field(default_factory=time.monotonic)

    def due(self) -> bool:
        """Say whether it is time for a checkpoint; saying so starts the time anew."""
        if self.store is None or time.monotonic() - self._last < self.checkpoint_seconds:
            return False
        self._last = time.monotonic()
        return True

    def keep(self, run: Run, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a checkpoint of a run under way."""
        if self.store is not None:
            write_npz(self.store.unfinished(run), arrays)
            self._last = time.monotonic()  # however long writing takes, as much time is left for the work

    def kept(self, run: Run) -> Arrays | None:
        """Return the last checkpoint of a run, if there is one."""
        if self.store is None or not self.store.unfinished(run).is_file():
            return None
        return read_result(self.store.unfinished(run))
