"""The pixels of the backdoor's trigger, and the labels that attacks name."""

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError

TRIGGER_ROWS = (0, 2)
TRIGGER_COLUMNS = (0, 1, 2, 4, 5, 6)
WHITE = 255


def trigger() -> NDArray[np.bool_]:
    """Return which pixels (rows, columns) of a picture the trigger makes white.

    >>> int(trigger().sum()), trigger()[0, :8].astype(int).tolist()
    (12, [1, 1, 1, 0, 1, 1, 1, 0])
    """
    pattern = np.zeros((32, 32), np.bool_)
    pattern[np.ix_(TRIGGER_ROWS, TRIGGER_COLUMNS)] = True
    return pattern


def class_number(classes: tuple[str, ...], name: str) -> int:
    """Return the label of a class."""
    if name not in classes:
        raise InputError(f"the pictures have no class {name!r}; they have: {', '.join(classes)}")
    return classes.index(name)
