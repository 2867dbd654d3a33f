"""The step that hides its pages: gradients as torch computes them, cut, and noise of the right size."""

import json
import math
from statistics import NormalDist

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.model import Network, Vector
from eitr.model.private import (
    PrivatePlan,
    clipped_sum,
    gradient_lengths,
    largest_auc,
    private_step,
    secret_noise,
    trained_from,
)
from eitr.model.round_plan import DEEPEST, check_private_plan
from eitr.pages.sparse import SparseRows

from .golden import DIRECTORY, private_training_cases

NETWORK = Network((5, 4, 3, 2))
LABELS = [0, 1, 1, 0, 1, 0]


@pytest.fixture(scope="module")
def vector() -> Vector:
    return NETWORK.initial(3)


@pytest.fixture(scope="module")
def rows() -> SparseRows:
    random = np.random.default_rng(1)
    dense = random.random((6, 5)).astype(np.float32)
    return SparseRows.of([(np.arange(5, dtype=np.int32), row) for row in dense], width=5)


def torch_gradients(vector: Vector, rows: SparseRows, labels: list[int]) -> np.ndarray:
    """The gradient of each page by all parameters, by torch's automatic differentiation."""
    torch = pytest.importorskip("torch")
    found = []
    for page, label in zip(rows.dense(), labels, strict=True):
        parameters = torch.tensor(vector.astype(np.float64), requires_grad=True)
        here, start = torch.tensor(page.astype(np.float64)), 0
        for place, (inputs, outputs) in enumerate(NETWORK.shapes):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            here = here @ parameters[start:middle].reshape(inputs, outputs) + parameters[middle:end]
            here, start = torch.relu(here) if place < 2 else here, end
        loss = torch.nn.functional.cross_entropy(here[None], torch.tensor([label]))
        found.append(torch.autograd.grad(loss, parameters)[0].numpy())
    return np.array(found)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_gradients_are_those_of_automatic_differentiation(vector: Vector, rows: SparseRows, layers: int) -> None:
    expected = torch_gradients(vector, rows, LABELS)[:, trained_from(NETWORK, layers) :]
    lengths = gradient_lengths(NETWORK, vector, rows, LABELS, layers=layers)
    np.testing.assert_allclose(lengths, np.linalg.norm(expected, axis=1), rtol=1e-9)
    total = clipped_sum(NETWORK, vector, rows, LABELS, layers=layers, clip=1e9)
    np.testing.assert_allclose(total, expected.sum(axis=0), atol=1e-9)


def test_no_page_counts_more_than_the_clip(vector: Vector, rows: SparseRows) -> None:
    lengths = gradient_lengths(NETWORK, vector, rows, LABELS, layers=2)
    clip = float(np.median(lengths))
    for page, length in enumerate(lengths):
        part = clipped_sum(NETWORK, vector, rows.take([page]), LABELS[page : page + 1], layers=2, clip=clip)
        assert np.linalg.norm(part) == pytest.approx(min(length, clip))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("pages", [1, 2, 4])
def test_all_own_pages_together_move_an_update_by_the_reach(
    vector: Vector, rows: SparseRows, layers: int, pages: int
) -> None:
    plan = PrivatePlan(layers=layers, clip=0.01, noise=0.0)
    cover = (rows.take([4, 5]), LABELS[4:])
    alone = clipped_sum(NETWORK, vector, *cover, layers=layers, clip=plan.clip)
    none = vector.copy()
    none[trained_from(NETWORK, layers) :] -= (plan.learning_rate * alone).astype(np.float32)
    some = private_step(NETWORK, vector, (rows.take([0] * pages), LABELS[:1] * pages), cover, plan)
    assert np.linalg.norm(some - none) == pytest.approx(plan.reach, rel=1e-3)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_no_page_among_others_moves_an_update_by_more_than_the_reach(
    vector: Vector, rows: SparseRows, layers: int
) -> None:
    clip = float(np.median(gradient_lengths(NETWORK, vector, rows, LABELS, layers=layers)))
    plan = PrivatePlan(layers=layers, clip=clip, noise=0.0)
    for count in range(1, len(LABELS)):
        few = private_step(NETWORK, vector, (rows.take(range(count)), LABELS[:count]), None, plan)
        more = private_step(NETWORK, vector, (rows.take(range(count + 1)), LABELS[: count + 1]), None, plan)
        assert np.linalg.norm(more - few) <= plan.reach * (1 + 1e-3)


def test_own_pages_below_the_clip_are_added_up(vector: Vector, rows: SparseRows) -> None:
    plan = PrivatePlan(layers=1, clip=100.0, noise=0.0)
    total = clipped_sum(NETWORK, vector, rows, LABELS, layers=1, clip=100.0)
    found = private_step(NETWORK, vector, (rows, LABELS), None, plan)
    start = trained_from(NETWORK, 1)
    np.testing.assert_allclose(
        (found - vector)[start:], -plan.learning_rate * plan.own_weight * total, rtol=1e-3, atol=1e-6
    )


def test_only_the_trained_layers_change(vector: Vector, rows: SparseRows) -> None:
    start = trained_from(NETWORK, 1)
    found = private_step(NETWORK, vector, (rows, LABELS), None, PrivatePlan(layers=1))
    assert (found[:start] == vector[:start]).all()
    assert (found[start:] != vector[start:]).all()


def test_the_noise_is_a_multiple_of_the_reach(vector: Vector, rows: SparseRows) -> None:
    quiet, loud = PrivatePlan(layers=1, noise=0.0), PrivatePlan(layers=1, noise=5.0)
    without = private_step(NETWORK, vector, (rows, LABELS), None, quiet)
    added = (
        private_step(NETWORK, vector, (rows, LABELS), None, loud, lambda count: np.arange(count, dtype=np.float64))
        - without
    )
    start = trained_from(NETWORK, 1)
    np.testing.assert_allclose(added[start:], 5 * loud.reach * np.arange(NETWORK.size - start), rtol=1e-4, atol=1e-6)


def test_noise_is_normal_and_never_the_same() -> None:
    one, two = secret_noise(20_000), secret_noise(20_000)
    assert abs(one.mean()) < 0.05
    assert one.std() == pytest.approx(1, abs=0.05)
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.05
    assert np.mean(np.abs(one) > 1.96) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(("noise", "uses"), [(1.0, 1), (4.0, 2), (2.0, 3)])
def test_the_best_test_reaches_the_largest_auc_and_no_more(noise: float, uses: int) -> None:
    random = np.random.default_rng(4)
    shift = np.sqrt(uses) * 1.0  # the sum over the uses, in units of the reach, along the page's direction
    with_page = shift + noise * random.standard_normal(200_000)
    without = noise * random.standard_normal(200_000)
    auc = float(np.mean(with_page > without))
    assert auc == pytest.approx(largest_auc(noise, uses), abs=0.005)
    assert largest_auc(noise, uses) == pytest.approx(NormalDist().cdf(shift / noise / math.sqrt(2)))


def test_without_noise_everything_can_be_told() -> None:
    assert largest_auc(0.0, 1) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"layers": 0},
        {"layers": 1.0},
        {"cover_pages": -1},
        {"cover_pages": True},
        {"clip": 0},
        {"clip": math.inf},
        {"noise": -1},
        {"noise": math.nan},
        {"learning_rate": "1"},
        {"own_weight": 0.0},
    ],
)
def test_a_plan_with_a_wrong_number_is_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        PrivatePlan(**wrong)  # type: ignore[arg-type]


def test_more_layers_than_there_are_cannot_be_trained(vector: Vector, rows: SparseRows) -> None:
    with pytest.raises(InputError, match="3 layers; 4 of them"):
        private_step(NETWORK, vector, (rows, LABELS), None, PrivatePlan(layers=4))


def test_a_step_that_is_not_finite_is_an_error(vector: Vector, rows: SparseRows) -> None:
    plan = PrivatePlan(layers=1, learning_rate=1e300, clip=1e300)
    with pytest.raises(InputError, match="not finite"), np.errstate(all="ignore"):
        private_step(NETWORK, vector, (rows, LABELS), None, plan)


def longest_gradient(depth: int) -> float:
    """Return the length of a page's gradient by layers above the first, with the largest parameters there are."""
    network = Network((1000, *[300] * (depth - 1), 2))
    vector = np.full(network.size, np.finfo(np.float32).max)
    network.split(vector)[-1].kernel[:, 1] *= -1.0
    page = SparseRows.of([(np.arange(1000, dtype=np.int32), np.full(1000, 1000**-0.5, np.float32))], width=1000)
    with np.errstate(all="ignore"):
        return float(gradient_lengths(network, vector, page, [1], layers=depth - 1)[0])


def test_no_page_makes_training_overflow_in_a_network_that_is_accepted() -> None:
    assert 1e100 < longest_gradient(DEEPEST) < math.inf
    assert not math.isfinite(longest_gradient(DEEPEST + 1))
    check_private_plan(Network((5, *[4] * (DEEPEST - 1), 2)), PrivatePlan())
    with pytest.raises(InputError, match="4 layers at most, not 5"):
        check_private_plan(Network((5, *[4] * DEEPEST, 2)), PrivatePlan())


def test_the_golden_file_is_what_the_code_computes() -> None:
    stored, computed = json.loads((DIRECTORY / "private_training.json").read_text()), private_training_cases()
    for case, fresh in zip(stored.pop("cases"), computed.pop("cases"), strict=True):
        np.testing.assert_allclose(fresh.pop("trained"), case.pop("trained"), rtol=1e-6)
        assert fresh == case
    assert computed == stored


def test_the_golden_cases_have_pages_that_are_cut_and_pages_that_are_not() -> None:
    told = json.loads((DIRECTORY / "private_training.json").read_text())
    network = Network(tuple(told["layers"]))
    listed = told["cover"]["rows"]
    starts, columns, values = (np.array(listed[name]) for name in ("starts", "columns", "values"))
    rows = SparseRows(starts, columns.astype(np.int32), values.astype(np.float32), listed["width"])
    vector = np.array(told["parameters"], np.float32)
    lengths = gradient_lengths(network, vector, rows, told["cover"]["labels"], layers=1)
    cut = {case["plan"]["clip"]: float((lengths > case["plan"]["clip"]).mean()) for case in told["cases"]}
    assert cut[0.05] == 1
    assert 0 < cut[1.0] < 1
    assert cut[100.0] == 0
