"""How thoroughly the lab works: `quick` to see something today, `paper` for the paper's settings."""

from dataclasses import dataclass, replace
from pathlib import Path

from eitr.errors import InputError
from eitr.model.plan import TrainingPlan


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What an experiment is asked for."""

    name: str
    data: str = "builtin"
    """A data set of the registry, or the name of a prepared file."""
    seeds: tuple[int, ...] = (0, 1, 2)
    rounds: int = 100
    plan: TrainingPlan = TrainingPlan()

    @property
    def quick(self) -> bool:
        """Whether fewer points of a figure will do."""
        return self.name == "quick"


PROFILES = {
    "quick": Profile(
        name="quick", seeds=(0, 1), rounds=20, plan=TrainingPlan(epochs=5, max_batches=10, learning_rate=0.05)
    ),
    "paper": Profile(name="paper"),
}


def make_profile(name: str, *, data: str = "builtin", seeds: int | None = None) -> Profile:
    """Return a profile on a data set, with seeds 0 .. seeds-1."""
    if name not in PROFILES:
        raise InputError(f"there is no profile {name!r}; there are: {', '.join(PROFILES)}")
    if seeds is not None and seeds < 1:
        raise InputError(f"at least one seed is needed, not {seeds}")
    chosen = PROFILES[name]
    return replace(chosen, data=data_name(data), seeds=chosen.seeds if seeds is None else tuple(range(seeds)))


def data_name(data: str) -> str:
    """Return the name by which a data set is known: that of a prepared file is the file's, without folder and ending.

    >>> data_name("prepared/news-sections.npz")
    'news-sections'
    """
    return Path(data).stem if data.endswith(".npz") else data
