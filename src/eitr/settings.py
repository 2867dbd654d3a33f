"""Settings of rules and attacks: declared once with help and bounds, checked, and read from `name=value`."""

import math
import sys
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from eitr.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a setting may be."""

    help: str
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    choices: tuple[str, ...] = ()
    """What a text may be, unless it has a form."""
    form: str = ""
    """What a text looks like that is none of a few choices; whoever declares it checks the text."""

    def describe(self) -> str:
        """Say in words what is allowed."""
        if self.form:
            return self.form
        if self.choices:
            return " or ".join(choice or "empty" for choice in self.choices)
        parts = [
            f"{word} {bound:g}"
            for word, bound in (
                ("at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if math.isfinite(bound)
        ]
        return ", ".join(parts)


ADDED_LATER = "added later"
"""The metadata of a dataclass field that earlier versions did not have: names of results omit it at its default."""


def setting(default: Any, help: str, *, added_later: bool = False, **bounds: Any) -> Any:
    """Declare a setting of a rule or an attack: a dataclass field with its help text and bounds.

    With `added_later`, results that the lab computed before there was the setting are found under their old names.
    """
    later = {ADDED_LATER: True} if added_later else {}
    return field(default=default, metadata={"bounds": Bounds(help=help, **bounds), **later})


def settings_of(rule: Any) -> list[tuple[Field[Any], Bounds]]:
    """Return the settings of a rule class or a rule, its own first, those common to all rules last."""
    found = [(item, item.metadata["bounds"]) for item in fields(rule)]
    return found[1:] + found[:1]


def spelled(item: Field[Any]) -> str:
    """Return the name people write: `lambda`, which Python reserves, is the field `lambda_`."""
    return item.name.removesuffix("_")


def check_settings(rule: Any) -> None:
    """Refuse a rule with a setting outside its bounds."""
    for item, bounds in settings_of(rule):
        value = getattr(rule, item.name)
        if not _allowed(value, item.default, bounds):
            raise InputError(f"{rule.name}: {spelled(item)} must be {_expected(item.default, bounds)}, not {value!r}")


def parse_settings(rule: Any, assignments: Iterable[str]) -> dict[str, Any]:
    """Turn `name=value` texts into the settings of a rule class."""
    known = {spelled(item): item for item, _ in settings_of(rule)}
    parsed = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise InputError(f"a setting is written name=value, not {assignment!r}")
        if name not in known:
            raise InputError(f"{rule.name!r} has no setting {name!r}; it has: {', '.join(known)}")
        parsed[known[name].name] = _parse(name, text, known[name].default)
    return parsed


def _parse(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name} must be true or false, not {text!r}")
        return text.lower() == "true"
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"{name} must be {kind}, not {text!r}") from None


def _allowed(value: Any, default: Any, bounds: Bounds) -> bool:
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, str):
        return isinstance(value, str) if bounds.form else value in bounds.choices
    kind = Integral if isinstance(default, int) else Real
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    number: Any = value
    return bool(
        abs(number) <= sys.float_info.max  # neither NaN nor infinite, also for whole numbers beyond any float
        and bounds.least <= number <= bounds.most
        and bounds.above < number < bounds.below
    )


def _expected(default: Any, bounds: Bounds) -> str:
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, str):
        return bounds.describe()
    kind = "a whole number" if isinstance(default, int) else "a number"
    return f"{kind}, {bounds.describe()}" if bounds.describe() else kind
