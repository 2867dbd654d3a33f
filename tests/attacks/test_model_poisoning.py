"""Attacks that write their own update: each against a plain reading of its formula."""

import math

import numpy as np
import pytest
from scipy.stats import norm

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

from eitr.attacks.alie import Alie, z_max  # noqa: E402
from eitr.attacks.fang import Fang  # noqa: E402
from eitr.attacks.ipm import Ipm  # noqa: E402
from eitr.attacks.mimic import Mimic, outermost  # noqa: E402
from eitr.attacks.min_max import MinMax  # noqa: E402
from eitr.attacks.min_sum import MinSum  # noqa: E402
from eitr.attacks.noise import Noise  # noqa: E402
from eitr.attacks.shift import Shift  # noqa: E402
from eitr.attacks.sign_flip import SignFlip  # noqa: E402
from eitr.attacks.slander import Slander  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from tests.attacks.scenes import numbers, scene  # noqa: E402


def sent_by(attack, given):
    return attack.craft(given).double().numpy()


def same_for_all(sent):
    assert (sent == sent[0]).all()
    return sent[0]


def test_alie_is_some_deviations_below_the_mean():
    given = scene()
    (others,) = numbers(given.others)
    for z in (0.3, 1.0, 2.0):
        sent = same_for_all(sent_by(Alie(z=z), given))
        assert sent == pytest.approx(others.mean(axis=0) - z * others.std(axis=0), abs=1e-6)


@pytest.mark.parametrize(("clients", "attackers"), [(50, 24), (10, 3), (10, 4), (51, 20)])
def test_the_largest_z_of_alie_is_that_of_the_publication(clients, attackers):
    supporters = math.floor(clients / 2 + 1) - attackers
    share = (clients - attackers - supporters) / (clients - attackers)
    assert z_max(clients, attackers) == pytest.approx(norm.ppf(share))


@pytest.mark.parametrize(("clients", "attackers"), [(10, 0), (10, 1), (10, 9), (10, 10), (1, 1), (2, 1), (10, 6)])
def test_the_largest_z_of_alie_is_finite_and_never_helps(clients, attackers):
    assert 0 <= z_max(clients, attackers) < 10


def test_alie_without_a_z_takes_the_largest():
    given = scene(attackers=4, others=6)
    assert np.array_equal(sent_by(Alie(z=0), given), sent_by(Alie(z=z_max(10, 4)), given))
    assert not np.array_equal(sent_by(Alie(z=0), given), sent_by(Alie(), given))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ipm_goes_against_the_mean_step_of_the_others(epsilon):
    given = scene()
    base, others = numbers(given.base, given.others)
    sent = same_for_all(sent_by(Ipm(epsilon=epsilon), given))
    assert sent == pytest.approx(base - epsilon * (others - base).mean(axis=0), abs=1e-6)


def distances(others):
    return ((others[:, None] - others[None]) ** 2).sum(axis=-1)


@pytest.mark.parametrize("perturbation", ["std", "unit", "sign"])
@pytest.mark.parametrize("others", [2, 7, 30])
def test_min_max_is_as_far_as_two_honest_clients_are_apart_and_no_farther(perturbation, others):
    given = scene(others=others, parameters=500)
    (theirs,) = numbers(given.others)
    sent = same_for_all(sent_by(MinMax(perturbation=perturbation), given))
    assert ((sent - theirs) ** 2).sum(axis=1).max() == pytest.approx(distances(theirs).max(), rel=1e-5)


@pytest.mark.parametrize("perturbation", ["std", "unit", "sign"])
@pytest.mark.parametrize("others", [2, 7, 30])
def test_min_sum_is_as_far_from_all_as_the_outermost_honest_client_and_no_farther(perturbation, others):
    given = scene(others=others, parameters=500)
    (theirs,) = numbers(given.others)
    sent = same_for_all(sent_by(MinSum(perturbation=perturbation), given))
    assert ((sent - theirs) ** 2).sum() == pytest.approx(distances(theirs).sum(axis=1).max(), rel=1e-5)


@pytest.mark.parametrize("attack", [MinMax, MinSum])
@pytest.mark.parametrize("perturbation", ["std", "unit", "sign"])
def test_min_max_and_min_sum_leave_the_mean_in_the_direction_named(attack, perturbation):
    given = scene()
    base, others = numbers(given.base, given.others)
    mean = others.mean(axis=0)
    towards = {
        "std": -others.std(axis=0),
        "unit": base - mean,
        "sign": np.sign(base - mean),
    }[perturbation]
    off = same_for_all(sent_by(attack(perturbation=perturbation), given)) - mean
    assert off @ towards / np.linalg.norm(off) / np.linalg.norm(towards) == pytest.approx(1, abs=1e-5)


def test_min_sum_is_the_more_cautious_of_the_two():
    given = scene()
    mean = given.others.mean(dim=0)
    near, far = (float((attack.craft(given)[0] - mean).norm()) for attack in (MinSum(), MinMax()))
    assert near < far


def test_with_a_single_honest_client_min_max_can_only_copy_it():
    given = scene(others=1)
    assert torch.allclose(MinMax(perturbation="sign").craft(given), given.others.repeat(3, 1), atol=1e-7)


def test_fang_draws_from_beyond_the_extreme_on_the_side_the_model_leaves():
    given = scene(attackers=20, parameters=200)
    base, others = numbers(given.base, given.others)
    sent = sent_by(Fang(), given)
    for place in range(200):
        least, most = others[:, place].min(), others[:, place].max()
        if others[:, place].mean() > base[place]:
            low, high = (least / 2, least) if least > 0 else (2 * least, least)
        else:
            low, high = (most, 2 * most) if most > 0 else (most, most / 2)
        drawn = sent[:, place]
        slack = 1e-6
        assert low - slack <= drawn.min() < drawn.max() <= high + slack
        assert drawn.max() - drawn.min() > 0.5 * (high - low)  # twenty draws cover most of it


def test_fang_leaves_parameters_alone_that_nobody_moves():
    given = scene()
    still = given.others.clone()
    still[:, 3] = given.base[3]
    assert (Fang().craft(given._replace(others=still))[:, 3] == given.base[3]).all()


def test_a_flipped_sign_is_the_attackers_own_step_backwards():
    given = scene()
    base, mine = numbers(given.base, given.mine)
    assert sent_by(SignFlip(scale=2.0), given) == pytest.approx(base - 2 * (mine - base), abs=1e-6)


def test_noise_has_the_deviation_asked_for_and_every_attacker_its_own():
    given = scene(parameters=20_000)
    off = sent_by(Noise(sigma=0.5), given) - numbers(given.mine)[0]
    assert off.std(axis=1) == pytest.approx([0.5] * 3, rel=0.03)
    assert off.mean(axis=1) == pytest.approx([0] * 3, abs=0.02)
    assert np.abs(np.corrcoef(off) - np.eye(3)).max() < 0.03
    assert torch.allclose(Noise(sigma=1e-6).craft(given), given.mine, atol=1e-5)


def test_a_shift_moves_every_parameter_alike():
    given = scene()
    assert sent_by(Shift(by=-2.0), given) == pytest.approx(numbers(given.mine)[0] - 2, abs=1e-6)


def test_slander_copies_a_different_victim_for_each_attacker_and_the_same_in_every_round():
    given = scene(attackers=4, others=6)
    sent = Slander().craft(given)
    victims = [[torch.equal(row, other) for other in given.others].index(True) for row in sent]
    assert len(set(victims)) == 4
    assert torch.equal(sent, Slander().craft(given._replace(round=9)))
    others = {tuple(map(tuple, Slander().craft(given._replace(seed=seed)).tolist())) for seed in range(5)}
    assert len(others) > 1  # drawn by the seed


def test_slander_of_more_attackers_than_victims_goes_round():
    given = scene(attackers=5, others=2)
    sent = Slander().craft(given)
    assert torch.equal(sent[0], sent[2])
    assert not torch.equal(sent[0], sent[1])


def test_slander_with_noise_is_near_its_victims():
    given = scene(parameters=20_000)
    copies, noisy = Slander().craft(given), Slander(noise=0.1).craft(given)
    size = (noisy - copies).norm(dim=1) / (copies - given.base).norm(dim=1)
    assert size.tolist() == pytest.approx([0.1] * 3, rel=0.03)


def test_mimic_copies_the_client_farthest_out_where_honest_steps_differ_most():
    given = scene(attackers=4, others=9, parameters=300)
    base, others = numbers(given.base, given.others)
    centred = others - base - (others - base).mean(axis=0)
    direction = np.linalg.svd(centred)[2][0]
    chosen = int(np.argmax(np.abs(centred @ direction)))
    assert torch.equal(Mimic().craft(given), given.others[chosen].repeat(4, 1))


def test_mimic_looks_at_the_direction_of_the_differences_not_at_the_longest_step():
    steps = torch.tensor([[9.0, 3.0], [9.0, -3.0], [9.5, 0.0], [9.0, 0.1]])
    assert int(outermost(steps)) in (0, 1)


def test_mimic_of_equally_distant_clients_copies_the_first():
    assert [int(outermost(torch.tensor(steps))) for steps in ([[1.0], [3.0]], [[3.0], [1.0]])] == [0, 0]


def test_mimic_where_nobody_is_honest_sends_what_was_trained():
    given = scene(attackers=3, others=0)
    assert torch.equal(Mimic().craft(given), given.mine)


@pytest.mark.parametrize(
    ("attack", "settings"),
    [(Alie, {"z": -1.0}), (Ipm, {"epsilon": 0.0}), (MinMax, {"perturbation": "up"}), (Fang, {"b": 1.0})],
)
def test_settings_out_of_bounds_are_refused(attack, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        attack(**settings)
