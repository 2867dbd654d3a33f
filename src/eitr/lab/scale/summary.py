"""The numbers of an outcome: peaks, sums, what they need and what they cost."""

import math
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from eitr.lab.scale.plan import WEIGHTS
from eitr.lab.scale.simulation import DAY, LOAD, Outcome

MONTH: Final = 30
KEPT_VERSIONS: Final = 1000
"""EITR_KEEP_MODELS."""
KEPT_DAYS: Final = 365
"""EITR_KEEP_OBSERVATIONS_DAYS."""
CORES: Final = 8
"""Of a machine: API processes of which each has a core of its own."""


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return what an outcome comes to, as JSON values; peaks are those of the busiest minute of the last day."""
    plan, costs = outcome.plan, outcome.costs
    day = {name: outcome.last_day(name) for name in outcome.series}
    start = (plan.days - 1) * DAY
    rounds = [one for one in outcome.rounds if one.ended < math.inf and one.ended >= start]
    published = [one for one in rounds if one.received >= plan.minimum]
    peak = {name: float(values.max()) / 60 for name, values in day.items()}
    total = {name: float(values.sum()) for name, values in day.items()}
    needed = max(1, math.ceil(peak["busy_seconds"] / LOAD))
    prepared, refused = outcome.totals["prepared"], outcome.totals["refused_updates"]
    settled = outcome.totals["uses_taken"] + outcome.totals["uses_refused"]
    return {
        "plan": asdict(plan),
        "processes": outcome.processes,
        "online": {"peak": int(outcome.online.max()), "least": int(outcome.online.min())},
        "polls": {"peak_per_second": round(peak["polls"], 1), "a_day": int(total["polls"])},
        "requests": {"peak_per_second": round(peak["requests"], 1), "a_day": int(total["requests"])},
        "unanswered": _share(total["failures"], total["polls"] + total["sends"]),
        "wait_ms": {"p50": _ms(outcome.wait_quantile(0.5)), "p99": _ms(outcome.wait_quantile(0.99))},
        "load": round(peak["busy_seconds"] / outcome.processes, 3),
        "processes_needed": needed,
        "machines_needed": math.ceil(needed / CORES),
        "versions_a_day": len(published),
        "downloads_a_day": int(total["downloads"]),
        "origin_gbit_peak": round(8 * peak["origin_bytes"] / 1e9, 3),
        "cdn_gbit_peak": round(8 * peak["cdn_bytes"] / 1e9, 3),
        "origin_tb_a_month": round(MONTH * total["origin_bytes"] / 1e12, 2),
        "cdn_tb_a_month": round(MONTH * total["cdn_bytes"] / 1e12, 2),
        "received_gb_a_month": round(MONTH * total["received_bytes"] / 1e9, 2),
        "updates_a_day": {
            "sent": int(total["sends"]),
            "accepted": int(total["accepted"]),
            "judged": sum(one.judged for one in published),
        },
        "refused_share": _share(refused, prepared - outcome.totals["waiting"]),
        "uses_lost_share": _share(outcome.totals["uses_refused"], settled),
        "places_gone_after_seconds": _median([one.filled - one.opened for one in rounds if one.filled < math.inf]),
        "round_seconds": _median([one.closed - one.opened for one in published]),
        "aggregation_seconds": _median([one.ended - one.closed for one in published]),
        "rows_a_day": int(costs.update_rows * total["accepted"]),
        "storage_gb": _storage(outcome, total["accepted"], len(published)),
        "totals": outcome.totals,
    }


def _storage(outcome: Outcome, accepted: float, versions: int) -> dict[str, float]:
    """Return gigabytes of the database after a year of days like the last one."""
    costs, plan = outcome.costs, outcome.plan
    remembered = min(plan.browsers, accepted * MONTH)  # EITR_KEEP_STEPS_DAYS
    parts = {
        "participants": costs.participant_bytes * plan.browsers,
        "rule": costs.state_bytes * remembered,
        "updates": costs.update_bytes * accepted * KEPT_DAYS,
        "versions": WEIGHTS * float(min(KEPT_VERSIONS, versions * KEPT_DAYS)),
    }
    return {name: round(size / 1e9, 2) for name, size in parts.items()} | {"all": round(sum(parts.values()) / 1e9, 2)}


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _ms(seconds: float) -> float | None:
    return None if seconds == math.inf else round(1000 * seconds, 2)


def _median(values: list[float]) -> float | None:
    return round(float(np.median(values)), 1) if values else None
