"""The figure that the consent states about what updates on task pages reveal. It is made here and nowhere else."""

import math

from eitr.model.private import largest_auc


def points_above_share(noise: float, uses: int) -> int:
    """Return how much more often than its share a label of a task page is guessed right, at most, in percentage points.

    The server knows which pages somebody was given, not how they labelled them. The figure is the proven limit for two
    classes that are equally frequent (docs/privacy.md, "What an update reveals"): another label moves an update at
    most twice as far as a page does that is there or not. It is an area under the ROC curve; a single guess is right
    less often, and attacks that were tried found far less (docs/results/privacy, "Known pages, unknown labels").
    `uses` is in how many rounds a page may be used; without noise everything is revealed. As a limit it is rounded up.

    >>> points_above_share(4.0, 2), points_above_share(4.0, 40), points_above_share(0.0, 1)
    (20, 49, 50)
    """
    return math.ceil(100 * largest_auc(noise / 2, uses)) - 50
