"""What the dashboard calls the detectors of `fused`, and what it says about each."""

from dataclasses import dataclass

FUSED = "fused"
"""What all detectors say together, in the opinions of an observation."""


@dataclass(frozen=True, slots=True)
class DetectorWords:
    """A detector in words for people."""

    title: str
    question: str
    """One sentence: what it looks at."""


WORDS = {
    "residual": DetectorWords("Outliers", "Do many of its numbers lie far from everybody else's?"),
    "direction": DetectorWords(
        "Direction", "Does it move the model elsewhere than the other participants do, over many rounds?"
    ),
    "collusion": DetectorWords(
        "Collusion", "Does it pull in a direction that only a few participants share, round after round?"
    ),
    "concentration": DetectorWords(
        "Concentration", "Is most of its step in a few parameters, such as the biases, unlike other steps?"
    ),
    "magnitude": DetectorWords("Length", "Is its step much longer or shorter than is usual in the round?"),
    "validation": DetectorWords(
        "Harm", "Does it make the model worse on a class of the validation pages than other updates do?"
    ),
    FUSED: DetectorWords(
        "All together", "The opinions of all detectors, joined. The reputation follows from them over rounds."
    ),
}


def detector(name: str) -> DetectorWords:
    """Return a detector in words; one that is not known here is called by its name.

    >>> detector("magnitude").title, detector("new-one").title
    ('Length', 'new-one')
    """
    return WORDS.get(name, DetectorWords(name, ""))
