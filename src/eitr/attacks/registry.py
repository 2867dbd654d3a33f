"""All attacks by name: the one list that the lab goes by."""

from typing import Any

from eitr import plugins
from eitr.attacks.alie import Alie
from eitr.attacks.backdoor import Backdoor
from eitr.attacks.dba import Dba
from eitr.attacks.fang import Fang
from eitr.attacks.inside import Inside
from eitr.attacks.interface import Attack
from eitr.attacks.ipm import Ipm
from eitr.attacks.label_flip import LabelFlip
from eitr.attacks.mimic import Mimic
from eitr.attacks.min_max import MinMax
from eitr.attacks.min_sum import MinSum
from eitr.attacks.neurotoxin import Neurotoxin
from eitr.attacks.noise import Noise
from eitr.attacks.on_off import OnOff
from eitr.attacks.scaling import Scaling
from eitr.attacks.shift import Shift
from eitr.attacks.sign_flip import SignFlip
from eitr.attacks.slander import Slander
from eitr.attacks.sybil import Sybil
from eitr.attacks.whitewash import Whitewash
from eitr.errors import InputError

_OWN: dict[str, type[Attack]] = {
    attack.name: attack
    for attack in (
        LabelFlip,
        Backdoor,
        Scaling,
        Dba,
        Neurotoxin,
        Sybil,
        SignFlip,
        Noise,
        Shift,
        Ipm,
        Alie,
        MinMax,
        MinSum,
        Fang,
        Slander,
        Mimic,
        OnOff,
        Whitewash,
        Inside,
    )
}


def _adopted(value: Any) -> tuple[str, type[Attack]]:
    plugins.check_class(value, Attack, "attack", "eitr.attacks.sign_flip")
    attack: type[Attack] = value
    return attack.name, attack


ATTACKS: plugins.Registry[type[Attack]] = plugins.Registry("attack", plugins.ATTACKS, _OWN, _adopted)


def attack_class(name: str) -> type[Attack]:
    """Return the attack of a name."""
    if name not in ATTACKS:
        raise InputError(f"no attack is called {name!r}; there are: {', '.join(ATTACKS)}")
    return ATTACKS[name]


def make_attack(name: str, **settings: Any) -> Attack:
    """Make an attack by its name.

    >>> make_attack("label-flip", share=0.5).extra_epochs
    5
    """
    return attack_class(name)(**settings)
