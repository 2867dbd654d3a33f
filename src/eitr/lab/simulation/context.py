"""What a run is computed with: the device, the data folder, the place of checkpoints, and a progress callback."""

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

ProgressCallback = Callable[[Run, int, int, float], None]
"""Called as a run goes on: the run, rounds done, rounds in all, and its current accuracy (NaN where it has none)."""


def no_progress(run: Run, done: int, rounds: int, accuracy: float) -> None:
    """Ignore the progress of runs."""


@dataclass(kw_only=True)
class Context:
    """Everything a computation needs that does not change its result."""

    device: "torch.device"
    store: Store | None = None
    """Where checkpoints are written; None writes none."""
    data_dir: Path | None = None
    """The folder with the image files."""
    on_progress: ProgressCallback = no_progress
    checkpoint_seconds: float = 30.0
    """Seconds of work that may be lost when the process is killed."""
    _last: float = field(default_factory=time.monotonic)

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether checkpoints are kept."""
        return self.store is not None

    def restart_clock(self) -> None:
        """Begin to wait for the next checkpoint."""
        self._last = time.monotonic()

    def checkpoint_due(self) -> bool:
        """Return whether a checkpoint is due; if so, restart the clock."""
        if not self.keeps_checkpoints or time.monotonic() - self._last < self.checkpoint_seconds:
            return False
        self.restart_clock()
        return True

    def save_checkpoint(self, run: Run, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a checkpoint of an unfinished run."""
        if self.store is not None:
            write_npz(self.store.checkpoint_path(run), arrays)
            self.restart_clock()  # however long writing takes, as much time is left for the work

    def load_checkpoint(self, run: Run) -> Arrays | None:
        """Return the last checkpoint of a run, if there is one."""
        if self.store is None or not self.store.checkpoint_path(run).is_file():
            return None
        return read_result(self.store.checkpoint_path(run))
