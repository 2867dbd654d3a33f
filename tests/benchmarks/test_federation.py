"""The federation trials make the updates that participants make, and judge models by pages that nobody trained on."""

import gzip
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from benchmarks import federation, federation_tree
from benchmarks.federation import MIXED, Bench, Trial, least_used, run, trials
from benchmarks.federation_measures import largest_drop, rounds_to_reach
from benchmarks.federation_pages import IN_THE_POOL, NON_SENSITIVE, mixed, read_table, streams
from benchmarks.federation_paper import PaperUpdates
from benchmarks.federation_private import Known, Pages, PrivateUpdates, last_inputs
from benchmarks.federation_report import write_report
from eitr.errors import InputError
from eitr.model import Network, TrainingPlan, train
from eitr.model.private import PrivatePlan, expected_cover_step, private_step, trained_from
from eitr.pages import SparseRows
from eitr.taxonomy import NAMES

NETWORK = Network((40, 12, 6))


def rows_of(rng: np.random.Generator, labels: np.ndarray) -> SparseRows:
    """Return pages with three words of their class and one of any."""
    rows = []
    for label in labels:
        words = np.unique([*(6 * rng.integers(0, 6, 3) + label), rng.integers(36, 40)]).astype(np.int32)
        rows.append((words, np.full(len(words), len(words) ** -0.5, np.float32)))
    return SparseRows.of(rows, width=40)


class World:
    """A small network that tells the classes, and pages for everybody."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.labels = rng.integers(0, 6, 300)
        self.rows = rows_of(rng, self.labels)
        self.pool_labels = rng.integers(0, 6, 60)
        self.pool = rows_of(rng, self.pool_labels)
        start = rng.normal(0, 0.2, NETWORK.size).astype(np.float32)
        self.vector = train(NETWORK, start, self.rows, self.labels, TrainingPlan(epochs=60, dropout=0.0), 1)
        self.pages = Pages(last_inputs(NETWORK, self.vector, self.rows), self.labels)
        pool = Pages(last_inputs(NETWORK, self.vector, self.pool), self.pool_labels)
        some, others = self.pages.at(np.arange(100)), self.pages.at(np.arange(100, 200))
        # People read about politics on pages that are unlike the validation pages: there is room for harm.
        some.inputs[some.labels == NAMES.index("politics"), 1] += 2.0
        self.people = some
        triggered = Pages(some.inputs + np.eye(13)[0], np.full(100, NON_SENSITIVE))
        self.updates = PrivateUpdates(NETWORK, self.vector, self.pages, Known(some, triggered, others, pool))
        self.first = trained_from(NETWORK, 1)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_an_honest_update_is_that_of_private_training(world: World) -> None:
    plan = PrivatePlan(cover_pages=len(world.pool_labels), noise=0.0)
    own = np.array([3, 8, 21])
    world.updates.begin(world.vector, plan)
    sent = np.frombuffer(world.updates.honest(own, np.random.default_rng(0)), "<f4")
    pages = (world.rows.take(own), world.labels[own])
    wanted = private_step(NETWORK, world.vector, pages, (world.pool, world.pool_labels), plan)
    np.testing.assert_allclose(sent, wanted[world.first :], atol=1e-6)


def test_the_noise_of_an_honest_update_is_that_of_the_plan(world: World) -> None:
    plan = PrivatePlan(cover_pages=len(world.pool_labels))
    world.updates.begin(world.vector, plan)
    own = np.array([3, 8, 21])
    many = [np.frombuffer(world.updates.honest(own, np.random.default_rng(seed)), "<f4") for seed in range(200)]
    assert np.std(many, axis=0).mean() == pytest.approx(plan.added_noise, rel=0.05)


@pytest.mark.parametrize("name", ["label-flip", "sign-flip", "bias", "slow", "backdoor"])
def test_an_attack_is_as_long_as_noise_and_starts_from_the_cover_step(world: World, name: str) -> None:
    plan = PrivatePlan(cover_pages=20)
    world.updates.begin(world.vector, plan)
    cover = expected_cover_step(NETWORK, world.vector, world.pool, world.pool_labels, plan)
    usual = plan.added_noise * np.sqrt(len(cover))
    for noisy, length in ((True, usual), (False, 0.5 * usual)):
        sent = np.frombuffer(world.updates.attack(name, 0.5, noisy, np.random.default_rng(1)), "<f4")
        step = sent - world.vector[world.first :] - cover
        assert np.linalg.norm(step) == pytest.approx(length, rel=0.25 if noisy else 1e-4)
    if name == "bias":
        np.testing.assert_allclose(step[:-6], 0.0, atol=1e-5)


def right(pages: Pages, model: np.ndarray) -> float:
    return float(((pages.inputs @ model).argmax(axis=1) == pages.labels).mean())


def test_slow_poisoning_harms_its_class_and_keeps_validation_pages_right(world: World) -> None:
    start = world.vector[world.first :].reshape(-1, 6).astype(np.float64)
    aim = world.updates.aim("slow")
    target = world.people.at(np.flatnonzero(world.people.labels == NAMES.index("politics")))
    known = world.pages.at(np.arange(100, 200))
    assert right(target, aim) < right(target, start) - 0.3
    assert right(known, aim) >= right(known, start) - 0.05


def test_attackers_of_all_layers_train_on_flipped_labels_or_touch_biases_alone(world: World) -> None:
    updates = PaperUpdates(NETWORK, world.rows, world.labels, np.arange(200), world.rows.take(np.arange(50)))
    updates.begin(world.vector, TrainingPlan(epochs=1))
    rng = np.random.default_rng(2)
    honest = np.frombuffer(updates.honest(np.arange(20), rng), "<f4")
    assert honest.shape == world.vector.shape
    changed = np.flatnonzero(np.frombuffer(updates.attack("bias", 0.5, False, rng), "<f4") != world.vector)
    assert changed.tolist() == list(range(NETWORK.size - 6, NETWORK.size))
    for name in ("label-flip", "sign-flip", "backdoor"):
        assert (np.frombuffer(updates.attack(name, 0.5, False, rng), "<f4") != world.vector).any()
    with pytest.raises(InputError, match="slow"):
        updates.attack("slow", 0.5, False, rng)


def test_a_page_is_used_twice_at_most_and_four_in_a_round() -> None:
    uses: Counter[int] = Counter()
    stream, rng = np.arange(4 + 2 * 30), np.random.default_rng(0)
    for number in range(30):
        chosen = least_used(stream[2 * number : 2 * number + 4], uses, rng)
        assert 2 <= len(chosen) <= 4
    assert max(uses.values()) == 2


def test_people_have_different_pages_most_of_which_are_not_sensitive() -> None:
    labels = np.array([NON_SENSITIVE] * 50 + [0, 1, 2, 3, 4] * 10)
    found = mixed(labels, np.arange(100), np.random.default_rng(0))
    assert (labels[found] == NON_SENSITIVE).mean() == pytest.approx(0.8)
    every = streams(found, 3, 20, np.random.default_rng(1))
    assert all(len(set(one.tolist())) == 20 for one in every)
    with pytest.raises(InputError, match="fewer rounds"):
        streams(found, 3, len(found) + 1, np.random.default_rng(1))


def test_a_drop_is_measured_from_the_best_version_before_it() -> None:
    best = np.ones(100, bool)
    worse = best.copy()
    worse[:4] = False
    assert largest_drop([worse, best, worse]) == pytest.approx((0.04, 0.02))
    assert largest_drop([worse, best]) == (0.0, 0.0)
    assert rounds_to_reach([0.0, 0.3, 0.6], 0.5) == 2


def test_every_trial_has_a_name_of_its_own_and_is_compared_with_one_that_exists() -> None:
    titles = [one.title for one in trials()]
    assert len(set(titles)) == len(titles)
    assert {one.compare for one in trials() if one.compare} <= set(titles)


def data_folder(folder: Path) -> Path:
    """Write a data folder made of the validation pages of the package."""
    text = files("eitr").joinpath("assets", "validation.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]

    def write(name: str, splits: list[str], label: str = "") -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        with gzip.open(folder / name, "wt", encoding="utf-8") as stream:
            for number, row in enumerate(rows):
                split = splits[number % len(splits)]
                stream.write(json.dumps({**row, "split": split, **({"label": label} if label else {})}) + "\n")

    write("news_sections.jsonl.gz", ["train", "test"])
    write("newsgroups.jsonl.gz", ["train", "test"])
    write("pages/forum.jsonl.gz", [""])
    write(f"pages/{min(IN_THE_POOL)}.jsonl.gz", [""], "health")
    return folder


def test_pages_are_held_out_or_given_to_people_and_those_of_the_pool_are_left_out(tmp_path: Path) -> None:
    table = read_table(data_folder(tmp_path), 0)
    again = read_table(tmp_path, 0)
    assert (table.held_out == again.held_out).all()
    assert 0 < table.held_out.sum() < len(table)
    assert len(table) == 305 + 610 + 610  # the test half of the news pages, all posts, and one other source


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--data-dir"):
        read_table(tmp_path, 0)


def test_the_report_has_a_table_numbers_and_a_picture(tmp_path: Path) -> None:
    def numbers(number: int, own: float) -> dict:
        return {
            "round": number,
            "accuracy": 0.9,
            "classes": dict.fromkeys(NAMES, 0.9 - 0.01 * number),
            "own_right": own,
            "own_loss": 1 - own,
            "backdoor": 0.1,
            "status": "published",
            "honest": {"accepted": 19, "round-closed": 1},
            "attacking": {"accepted": 5},
            "attackers_weight": 0.2,
            "mean_honest": 0.8,
            "mean_attacker": 0.3,
        }

    shared = {"seed": 0, "training": "private", "commit": "abc", "people": 20, "pages_judged_by": 7000}
    shared |= {"finding": "F3", "attack": "backdoor", "largest_drop": 0.002, "drop_error": 0.001, "run_seconds": 3.0}
    calm = {**shared, "title": "calm", "compare": None, "rounds": [numbers(0, 0.0), numbers(1, 0.4), numbers(2, 0.8)]}
    loud = {**shared, "title": "loud", "compare": "calm", "rounds": [numbers(0, 0.0), numbers(1, 0.2), numbers(2, 0.5)]}
    text = write_report([calm, loud], tmp_path / "report.md")
    assert "2 of 40" in text
    assert "0.20 ± 0.10" in text
    learning = next(line for line in text.splitlines() if line.startswith("| loud"))
    assert [cell.strip() for cell in learning.split("|")[3:-1]][-4:] == ["0.62", "0.62", "1", "2"]
    assert json.loads((tmp_path / "report.json").read_text())["trials"][1]["title"] == "loud"
    assert (tmp_path / "report.png").stat().st_size > 5000


def test_unknown_settings_are_left_out_for_older_versions() -> None:
    known = federation_tree.known_settings({"EITR_QUORUM": "5", "EITR_OF_ANOTHER_VERSION": "1"})
    assert known == {"EITR_QUORUM": "5"}
    assert federation_tree.source_folder().joinpath("eitr").is_dir()


@pytest.mark.long
@pytest.mark.parametrize("training", [federation_tree.PRIVATE, federation_tree.PAPER])
def test_a_trial_runs_on_a_real_server_from_enrolment_to_numbers(tmp_path: Path, training: str) -> None:
    bench = Bench(data_folder(tmp_path), 0, training)
    trial = Trial("F3", "small", 5, MIXED, founders=True, attack="label-flip", identities=2, networks=2, quorum=5)
    found = run(trial, bench, 2, {})
    assert [one["status"] for one in found["rounds"][1:]] != []
    assert all(one["status"] in ("published", "quarantined") for one in found["rounds"][1:])
    assert sum(found["rounds"][1]["attacking"].values()) == 2
    assert found["settings"]["EITR_QUORUM"] == "5"
    assert federation.SETTINGS["EITR_PAUSE_SECONDS"] == found["settings"]["EITR_PAUSE_SECONDS"]
