"""The pages of a study through HTTP: those that people label, and those that models are judged by."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eitr.datasets import builtin
from eitr.datasets.interface import Labelled
from eitr.datasets.registry import SOURCES
from eitr.pages import Page

GENERATED = "builtin"
GENERATED_PAGES = 400


@dataclass(frozen=True, eq=False)
class StudyPages:
    """Pages and their classes."""

    study: list[Page]
    study_labels: NDArray[np.int64]
    truth: list[Page]
    truth_labels: NDArray[np.int64]

    @property
    def addresses(self) -> list[str]:
        """An address for each page of the study; copies are shown instead, so nobody visits it."""
        return [f"https://page-{place:05d}.example/" for place in range(len(self.study))]


def read_pages(data: str, data_dir: Path | None) -> StudyPages:
    """Read a data set: its training pages are those of the study."""
    if data == GENERATED:
        drawn = builtin.pages(size=GENERATED_PAGES, seed=0)
        found = [one._replace(test=place % 4 == 0) for place, one in enumerate(drawn)]
    else:
        found = list(SOURCES[data].checked_pages(data_dir))
    study, truth = ([one for one in found if bool(one.test) == test] for test in (False, True))
    return StudyPages(_pages(study), _labels(study), _pages(truth), _labels(truth))


def _pages(found: list[Labelled]) -> list[Page]:
    return [one.page for one in found]


def _labels(found: list[Labelled]) -> NDArray[np.int64]:
    return np.array([one.label for one in found], np.int64)
