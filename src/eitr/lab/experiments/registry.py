"""All experiments by id, in the order of the paper, then ours: the one list that the command line and the report go by.

Three lines make a figure again from results that are there:

    from eitr.lab.experiments.registry import experiment
    results = store.load_all(experiment("convergence").runs(profile))
    experiment("convergence").figure(results).savefig("convergence.svg")
"""

from collections.abc import Mapping
from typing import Any

from eitr import plugins
from eitr.errors import InputError
from eitr.lab.experiments.ablation import Ablation
from eitr.lab.experiments.agreement import Agreement
from eitr.lab.experiments.attacker_epochs import AttackerEpochs
from eitr.lab.experiments.attackers import Attackers
from eitr.lab.experiments.centralised import Centralised
from eitr.lab.experiments.clients import Clients
from eitr.lab.experiments.clients_100 import Clients100
from eitr.lab.experiments.comparison import Comparison
from eitr.lab.experiments.comparison_grid import Grid
from eitr.lab.experiments.convergence import Convergence
from eitr.lab.experiments.crowd import Crowd
from eitr.lab.experiments.hyper import Hyper
from eitr.lab.experiments.images import ImagesExperiment
from eitr.lab.experiments.inside import Inside
from eitr.lab.experiments.interface import Experiment
from eitr.lab.experiments.looping import Looping
from eitr.lab.experiments.new_topic import NewTopic
from eitr.lab.experiments.poison_rate import PoisonRate
from eitr.lab.experiments.privacy import Privacy
from eitr.lab.experiments.privacy_labels import PrivacyLabels
from eitr.lab.experiments.reputation_continuous import ReputationContinuous
from eitr.lab.experiments.reputation_loop import ReputationLoop
from eitr.lab.experiments.reputation_once import ReputationOnce
from eitr.lab.experiments.robustness import Robustness
from eitr.lab.experiments.theory import Theory
from eitr.lab.experiments.users import Users
from eitr.lab.experiments.weights import Weights
from eitr.lab.results.metadata import COMPARE

_OWN: dict[str, Experiment] = {
    kind.id: kind()
    for kind in (
        Centralised,
        ReputationOnce,
        ReputationContinuous,
        ReputationLoop,
        Convergence,
        Attackers,
        AttackerEpochs,
        PoisonRate,
        Clients,
        Looping,
        Hyper,
        Weights,
        Users,
        Agreement,
        ImagesExperiment,
        Clients100,
        Theory,
        Robustness,
        NewTopic,
        Ablation,
        Inside,
        Crowd,
        Privacy,
        PrivacyLabels,
    )
}


def _adopted(value: Any) -> tuple[str, Experiment]:
    if not isinstance(value, type) or not issubclass(value, Experiment):
        raise InputError(f"{value!r} is no subclass of eitr.lab.experiments.interface.Experiment")
    missing = [name for name in ("id", "title", "paper") if not isinstance(getattr(value, name, None), str)]
    if missing:
        raise InputError(f"the experiment {value.__name__} needs the class variables {', '.join(missing)}, texts")
    if value.id == COMPARE:
        raise InputError(f"the id {COMPARE!r} belongs to `eitr lab compare`; give {value.__name__} another one")
    if value.__abstractmethods__:
        raise InputError(f"{value.__name__} does not implement {', '.join(sorted(value.__abstractmethods__))}")
    return value.id, value()


EXPERIMENTS: plugins.Registry[Experiment] = plugins.Registry("experiment", plugins.EXPERIMENTS, _OWN, _adopted)


def experiment(id: str) -> Experiment:
    """Return the experiment of an id.

    >>> experiment("hyper").paper
    'Fig. 11 (hyper)'
    """
    if id not in EXPERIMENTS:
        raise InputError(f"there is no experiment {id!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[id]


def experiment_of(id: str, grid: Mapping[str, Any]) -> Experiment:
    """Return the experiment of an id in a result folder, which has a grid if it holds a comparison."""
    return Comparison(Grid.from_json(grid)) if grid and id == COMPARE else experiment(id)
