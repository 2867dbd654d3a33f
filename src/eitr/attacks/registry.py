"""All attacks by name: the one list that the lab goes by."""

from typing import Any

from eitr.attacks.backdoor import Backdoor
from eitr.attacks.interface import Attack
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.scaling import Scaling
from eitr.errors import InputError

ATTACKS: dict[str, type[Attack]] = {attack.name: attack for attack in (LabelFlip, Backdoor, Scaling)}


def make_attack(name: str, **settings: Any) -> Attack:
    """Make an attack by its name.

    >>> make_attack("label-flip", share=0.5).extra_epochs
    5
    """
    if name not in ATTACKS:
        raise InputError(f"no attack is called {name!r}; there are: {', '.join(ATTACKS)}")
    return ATTACKS[name](**settings)
