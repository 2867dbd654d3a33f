"""All attacks by name, in the order of tables."""

from collections.abc import Callable, Mapping
from typing import Final

from eitr.lab.simulation.privacy.filters import difference, known_cover, least_squares, matched_filter, whitened_filter
from eitr.lab.simulation.privacy.label_bias import label_bias
from eitr.lab.simulation.privacy.likelihood_ratio import likelihood_ratio
from eitr.lab.simulation.privacy.measures import Guesses
from eitr.lab.simulation.privacy.moved_rows import moved_rows
from eitr.lab.simulation.privacy.subspace import subspace
from eitr.lab.simulation.privacy.view import Attacker, View

ATTACKS: Final[Mapping[str, Callable[[Attacker, View], Guesses | None]]] = {
    "moved-rows": moved_rows,
    "subspace": subspace,
    "matched-filter": matched_filter,
    "least-squares": least_squares,
    "whitened-filter": whitened_filter,
    "difference": difference,
    "known-cover": known_cover,
    "likelihood-ratio": likelihood_ratio,
    "label-bias": label_bias,
}
"""None where an attack does not apply to a defence."""
