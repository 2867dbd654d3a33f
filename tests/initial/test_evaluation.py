import numpy as np
import pytest

from eitr.initial.evaluation import evaluate_probabilities


def test_accuracy_and_recall_count_right_pages_by_class() -> None:
    probabilities = np.zeros((4, 6), np.float32)
    probabilities[[0, 1, 2, 3], [0, 0, 0, 1]] = 1
    found = evaluate_probabilities(probabilities, np.array([0, 0, 1, 1]))
    assert found.pages == 4
    assert found.accuracy == 0.75
    assert found.recall == {"health": 1.0, "politics": 0.5}
    assert found.macro_recall == 0.75


def test_a_model_that_is_as_sure_as_it_is_right_has_no_calibration_error() -> None:
    probabilities = np.tile(np.array([0.75, 0.25, 0, 0, 0, 0], np.float32), (4, 1))
    assert evaluate_probabilities(probabilities, np.array([0, 0, 0, 1])).calibration_error == pytest.approx(0)
    assert evaluate_probabilities(probabilities, np.array([1, 1, 1, 1])).calibration_error == pytest.approx(0.75)
