"""Our goals for the default of private training; they were fixed before anything was measured."""

import math
from collections.abc import Sequence

from eitr.lab.experiments.interface import ClaimVerdict
from eitr.lab.experiments.privacy_cells import Cell, Leak, cells_of, strongest
from eitr.lab.experiments.privacy_runs import DEFAULT, FACTOR
from eitr.lab.results.store import Results
from eitr.lab.runs.privacy import CORRECTED_TOPIC, OUTSIDER, SERVER, WeightRun
from eitr.model.private import largest_auc

MOST_AUC, MOST_UPPER_END, MOST_BEST, MOST_LABEL, LEAST_WEIGHT_ERROR = 0.60, 0.65, 0.04, 0.15, 0.20
RATIO = "likelihood-ratio"
"""The attack that knows everything but the noise and the one page."""


def judged(results: Results) -> list[ClaimVerdict]:
    """Judge the goals for the default; for whoever sees the victim, and whatever base the server chose."""
    cells = [cell for cell in cells_of(results) if cell.run.defence == DEFAULT]
    return [
        _area(cells, "auc", "which pages are the victim's"),
        _area(cells, "words", "which words are on them, beyond how frequent they are"),
        _share(cells, "best", MOST_BEST, "An own page is among the best 3 candidates at most {} % of the time."),
        _share(cells, "label", MOST_LABEL, "The label is right at most {} points above its share."),
        _below_bound(cells),
        _topic(cells),
        _weight(results),
    ]


def bound(cell: Cell) -> float:
    """Return the most that any test can tell the viewer of a cell."""
    defence = cell.run.defence
    noise = defence.noise * defence.group**0.5 if cell.run.viewer == SERVER else defence.noise
    if cell.run.viewer == OUTSIDER:
        noise = math.hypot(noise, defence.published_noise)
    return largest_auc(noise, cell.run.uses)


def _area(cells: Sequence[Cell], measure: str, what: str) -> ClaimVerdict:
    """Judge the largest area, and the largest upper end of an interval, over all cells and attacks."""
    claim = (
        f"No attack tells {what}: AUC at most {MOST_AUC:.2f}, the upper end of its interval at most "
        f"{MOST_UPPER_END:.2f}."
    )
    largest = strongest(cells, measure)
    upper = strongest(cells, measure, by=lambda leak: leak.upper)
    if largest is None or upper is None:
        return _not_measured(claim)
    return ClaimVerdict(
        claim=claim,
        measured=f"At most {largest.mean:.3f} ({largest.words}); upper end at most {upper.upper:.3f} ({upper.words}).",
        holds=largest.mean <= MOST_AUC and upper.upper <= MOST_UPPER_END,
    )


def _share(cells: Sequence[Cell], measure: str, most: float, claim: str) -> ClaimVerdict:
    claim = claim.format(f"{100 * most:.0f}")
    found = strongest(cells, measure)
    if found is None:
        return _not_measured(claim)
    return ClaimVerdict(
        claim=claim,
        measured=f"At most {100 * found.mean:.1f} % ({found.words}).",
        holds=found.mean <= most,
    )


def _below_bound(cells: Sequence[Cell]) -> ClaimVerdict:
    """Judge whether the best possible test stays within what the noise allows: otherwise the step has a mistake."""
    above: list[tuple[float, Leak, Cell]] = []
    for cell in cells:
        leak = cell.leak("auc_label_known", RATIO)
        if leak is not None:
            above.append((leak.mean - (leak.error or 0.0) - bound(cell), leak, cell))
    claim = "The best possible test, which knows all but the noise and one page, stays within its bound."
    if not above:
        return _not_measured(claim)
    excess, closest, where = max(above, key=lambda one: one[0])
    return ClaimVerdict(
        claim=claim,
        measured=f"Closest to it: {closest.mean:.3f} ± {closest.error or 0.0:.3f} with a bound of {bound(where):.3f} "
        f"({closest.words}).",
        holds=excess <= 0,
    )


def _topic(cells: Sequence[Cell]) -> ClaimVerdict:
    """Judge what a round tells about a person all of whose pages are of one class; more rounds are only measured."""
    claim = f"One update tells the topic of all its pages at most {100 * MOST_LABEL:.0f} points above its share."
    found = [(cell, leak) for cell in cells if (leak := cell.leak("topic", "interest")) is not None]
    if not found:
        return _not_measured(claim)
    kinds = {CORRECTED_TOPIC: " corrections"}
    told = (
        f"{100 * leak.mean:.1f} ({cell.run.own_pages} own{kinds.get(cell.run.choice, '')}, "
        f"{cell.run.uses} round{'s' if cell.run.uses > 1 else ''})"
        for cell, leak in found
    )
    once = [leak.mean for cell, leak in found if cell.run.uses == 1]
    return ClaimVerdict(
        claim=claim, measured=f"Points above the share: {'; '.join(told)}.", holds=max(once, default=1.0) <= MOST_LABEL
    )


def _weight(results: Results) -> ClaimVerdict:
    """Judge how well participants read their own weight, with the secret factors of a server."""
    claim = "A participant learns its own weight to no better than 20 %."
    found = [one for one in results if isinstance(one.run, WeightRun) and one.run.defence == DEFAULT]
    secret = [one for one in found if one.run.factor == FACTOR]
    if not secret:
        return _not_measured(claim)
    told = (
        f"{100 * float(one['weight_error']):.0f} % ({one.run.clients} participants, {one.run.known} of them known, "
        f"{one.run.rounds} round{'s' if one.run.rounds > 1 else ''}"
        f"{f' after {one.run.calibrated} honest ones' if one.run.calibrated else ''})"
        for one in secret
    )
    measured = f"Error of the weight: {'; '.join(told)}."
    plain = [float(one["weight_error"]) for one in found if not one.run.factor]
    if plain:
        measured += f" Without the server's secret factor: {100 * min(plain):.0f} to {100 * max(plain):.0f} %."
    least = min(float(one["weight_error"]) for one in secret)
    return ClaimVerdict(claim=claim, measured=measured, holds=least >= LEAST_WEIGHT_ERROR)


def _not_measured(claim: str) -> ClaimVerdict:
    return ClaimVerdict(claim=claim, measured="It was not measured.", holds=None)
