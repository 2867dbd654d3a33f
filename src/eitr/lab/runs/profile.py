"""Profiles: `quick` for a first look within minutes, `paper` for the paper's settings."""

from dataclasses import dataclass, replace
from pathlib import Path

from eitr.errors import InputError
from eitr.lab.runs.start import RANDOM
from eitr.model.plan import TrainingPlan


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The size of an experiment: its data, seeds, rounds and training plan."""

    name: str
    data: str = "builtin"
    """A data set of the registry, or the name of a prepared file."""
    seeds: tuple[int, ...] = (0, 1, 2)
    rounds: int = 100
    plan: TrainingPlan = TrainingPlan()
    steps: int = 0
    """Local steps of a round for every honest client; 0: as many as the plan's epochs have of its own pages."""
    start: str = RANDOM
    """The name of the model that training starts from: see `StartModel`."""
    pool: str = ""
    """The digest of the start's pool of cover pages, which results of the privacy experiment depend on; "": no pool."""

    @property
    def quick(self) -> bool:
        """Whether fewer points of a figure will do."""
        return self.name == "quick"


QUICK = Profile(
    name="quick",
    seeds=(0, 1),
    rounds=15,
    # As many epochs as in the paper, so that the attackers' 5 more weigh as much as there, but short ones. So few steps
    # must be long: with this rate the built-in pages are learnt by round 15 (clean FedAvg: 0.87, as good as a linear
    # model on all pages at once), and `convergence attackers weights`, 146 runs, take some minutes on two cores.
    plan=TrainingPlan(epochs=10, max_batches=4, learning_rate=0.2),
)
PAPER = Profile(
    name="paper",
    # The paper's 442,190 pages give each of 10 clients, and still of 100, more than 30 batches: 10 epochs are 300
    # steps. Our data sets have a twenty-fifth of the pages, so that 10 epochs of a client's own would be a fraction of
    # that work, and with 100 clients next to nothing. With the steps fixed, clients go through their pages repeatedly.
    steps=300,
)
PROFILES = {profile.name: profile for profile in (QUICK, PAPER)}

MOST_SEEDS = 1000


def make_profile(
    name: str, *, data: str = "builtin", seeds: int | None = None, start: str = RANDOM, pool: str = ""
) -> Profile:
    """Return a profile on a data set, with seeds 0 .. seeds-1, of federations with this start and its pool."""
    if name not in PROFILES:
        raise InputError(f"there is no profile {name!r}; there are: {', '.join(PROFILES)}")
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"the number of seeds must be between 1 and {MOST_SEEDS}, not {seeds}")
    chosen = PROFILES[name]
    taken = chosen.seeds if seeds is None else tuple(range(seeds))
    return replace(chosen, data=data_name(data), seeds=taken, start=start, pool=pool)


def data_name(data: str) -> str:
    """Return the name by which a data set is known: that of a prepared file is the file's, without folder and ending.

    >>> data_name("prepared/news-sections.npz")
    'news-sections'
    """
    if not data.endswith(".npz"):
        return data
    name = Path(data).stem
    if name == "builtin":
        raise InputError(f"{data} would be taken for the generated data: give the file another name")
    return name
