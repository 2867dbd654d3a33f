"""What malicious clients do: one attack per file, one protocol, one registry."""

from eitr.attacks.interface import Attack
from eitr.attacks.registry import ATTACKS, make_attack
from eitr.attacks.schedule import Schedule

__all__ = ["ATTACKS", "Attack", "Schedule", "make_attack"]
