"""All experiments by id, in the order of the paper, then ours: the one list that the command line and the report go by.

Three lines make a figure again from results that are there:

    from eitr.lab.experiments.registry import experiment
    results = store.load_all(experiment("convergence").runs(profile))
    experiment("convergence").figure(results).savefig("convergence.svg")
"""

from eitr.errors import InputError
from eitr.lab.experiments.ablation import Ablation
from eitr.lab.experiments.attacker_epochs import AttackerEpochs
from eitr.lab.experiments.attackers import Attackers
from eitr.lab.experiments.centralised import Centralised
from eitr.lab.experiments.clients import Clients
from eitr.lab.experiments.clients_100 import Clients100
from eitr.lab.experiments.convergence import Convergence
from eitr.lab.experiments.hyper import Hyper
from eitr.lab.experiments.images import ImagesExperiment
from eitr.lab.experiments.inside import Inside
from eitr.lab.experiments.interface import Experiment
from eitr.lab.experiments.looping import Looping
from eitr.lab.experiments.new_topic import NewTopic
from eitr.lab.experiments.poison_rate import PoisonRate
from eitr.lab.experiments.reputation_continuous import ReputationContinuous
from eitr.lab.experiments.reputation_loop import ReputationLoop
from eitr.lab.experiments.reputation_once import ReputationOnce
from eitr.lab.experiments.robustness import Robustness
from eitr.lab.experiments.theory import Theory
from eitr.lab.experiments.weights import Weights

EXPERIMENTS: dict[str, Experiment] = {
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
        ImagesExperiment,
        Clients100,
        Theory,
        Robustness,
        NewTopic,
        Ablation,
        Inside,
    )
}


def experiment(id: str) -> Experiment:
    """Return the experiment of an id.

    >>> experiment("hyper").paper
    'Fig. 11 (hyper)'
    """
    if id not in EXPERIMENTS:
        raise InputError(f"there is no experiment {id!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[id]
