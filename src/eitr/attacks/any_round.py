"""Attacks that mean the same in any round and whoever sends them: those that can be sent at chosen times."""

from eitr.attacks.interface import Attack
from eitr.attacks.ipm import Ipm
from eitr.attacks.noise import Noise
from eitr.attacks.scaling import Scaling
from eitr.attacks.shift import Shift
from eitr.attacks.sign_flip import SignFlip
from eitr.attacks.wrapping import ON_DATA

ANY_ROUND: dict[str, type[Attack]] = {
    **ON_DATA,
    **{attack.name: attack for attack in (SignFlip, Ipm, Shift, Noise, Scaling)},
}
