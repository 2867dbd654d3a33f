"""What attackers among the participants do to the model: rounds with the rule `fused`, which sees what it may see."""

import numpy as np
import torch
from torch import Tensor

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack, Batches, Twins
from eitr.attacks.label_flip import WORDS, LabelFlip
from eitr.lab.runs.privacy import BACKDOOR, FLIP, PoisonRun
from eitr.lab.simulation.privacy.learning import ROUNDS, TrainingOf
from eitr.lab.simulation.privacy.server_round import EACH, Crowd, ServerRounds
from eitr.lab.simulation.privacy.training import Pages

TRIGGER = Backdoor()
ATTACKS: dict[str, Attack] = {FLIP: LabelFlip(), BACKDOOR: TRIGGER}


def after_attack(
    run: PoisonRun, training_of: TrainingOf, model: Tensor, pages: Pages, twins: Tensor, crowd: Crowd
) -> Tensor:
    """Return the model after 40 rounds, in each of which all clients have new pages.

    `twins` (pages, width) are the inputs of the pages that a backdoor made. In groups, which are drawn anew for every
    round, the rule judges the groups' means, and remembers nothing: a group has no past.
    """
    rng = np.random.default_rng((run.seed, 4))
    table = torch.cat([pages.inputs, twins])
    places, group = crowd.places.cpu().numpy(), run.defence.group
    attackers = round(run.attacker_share * run.clients) if run.poison in ATTACKS else 0
    rank = torch.from_numpy(np.random.default_rng((run.seed, 5)).integers(WORDS, size=len(pages.labels)))
    rounds = None
    for _ in range(ROUNDS):
        rows = torch.from_numpy(rng.choice(places, (run.clients, EACH))).to(model.device)
        labels = pages.labels[rows]
        if attackers:
            bad = slice(attackers)
            sizes = torch.full((attackers, 1), EACH, device=model.device)
            theirs = Batches(rows[bad, None], labels[bad, None], sizes, rank.to(model.device)[rows[bad, None]])
            found = ATTACKS[run.poison].poison_batches(theirs, Twins(len(pages.labels), len(pages.labels)))
            rows = torch.cat([found.rows[:, 0], rows[attackers:]])
            labels = torch.cat([found.labels[:, 0], labels[attackers:]])
        training = training_of(model)
        updates = training.updates(Pages(table[rows], labels))[0]
        if group > 1:
            order = torch.from_numpy(rng.permutation(run.clients)).to(model.device)
            updates = updates[order].view(run.clients // group, group, -1).mean(1)
        if rounds is None or group > 1:
            rounds = ServerRounds(training, crowd, 1, len(updates))
        rounds.training = training
        model = model + rounds.end(updates.unsqueeze(0), members=group).steps[0]
    return model
