"""The plans that docs/scale.md compares: the server of today, what settings can do, and what has to be built."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from eitr.errors import InputError
from eitr.lab.scale.plan import Plan

FOUNDERS: Final = 2_000
"""People with an invitation for founders, whose updates let a round close before its deadline."""


@dataclass(frozen=True)
class Scenario:
    """A plan with a name and what it is about."""

    id: str
    title: str
    changes: Mapping[str, int | float | bool]

    def plan(self, base: Plan) -> Plan:
        """Return the plan of this scenario, with the sizes of another."""
        changes: dict[str, Any] = dict(self.changes)
        if "founders" in changes:
            changes["founders"] = min(changes["founders"], base.browsers)
        return replace(base, **changes)


_FOUNDED: Final = {"founders": FOUNDERS}
_SETTINGS: Final = {**_FOUNDED, "quorum": 200, "maximum": 4_000, "pause": 3_600, "cdn": True}
_SMALL: Final = {**_SETTINGS, "keep_vocabulary": True, "last_layer": True}
_SELDOM: Final = {**_SMALL, "wait": 21_600}

SCENARIOS: Final = {
    one.id: one
    for one in (
        Scenario("today", "defaults, nobody is established", {}),
        Scenario("founders", "defaults, 2,000 founders", _FOUNDED),
        Scenario("aligned", "the same, all alarms within one minute", {**_FOUNDED, "spread": 1 / 15}),
        Scenario("one-machine", "the same, two API processes", {**_FOUNDED, "processes": 2}),
        Scenario("settings", "quorum 200, maximum 4,000, pause of an hour, files from a CDN", _SETTINGS),
        Scenario("last-layer", "and only the layer that changed is downloaded", _SMALL),
        Scenario("seldom", "and browsers ask every six hours", _SELDOM),
        Scenario("cohort", "and newcomers draw lots", {**_SELDOM, "cohort": 1_600}),
    )
}
"""In the order of the document: each of the last four has what the ones before it have."""


def scenario(id: str) -> Scenario:
    """Return a scenario by its id."""
    if id not in SCENARIOS:
        raise InputError(f"there is no scenario {id!r}; there are: {', '.join(SCENARIOS)}")
    return SCENARIOS[id]
