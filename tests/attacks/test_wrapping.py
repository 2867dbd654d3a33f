"""Attacks that carry another one: when, under which names, and how loudly."""

import pytest

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

from eitr.attacks import make_attack  # noqa: E402
from eitr.attacks.any_round import ANY_ROUND  # noqa: E402
from eitr.attacks.interface import Batches, Twins  # noqa: E402
from eitr.attacks.on_off import OnOff  # noqa: E402
from eitr.attacks.scaling import Scaling  # noqa: E402
from eitr.attacks.sybil import Sybil  # noqa: E402
from eitr.attacks.whitewash import Whitewash  # noqa: E402
from eitr.attacks.wrapping import ON_DATA  # noqa: E402
from eitr.datasets import load  # noqa: E402
from eitr.errors import InputError  # noqa: E402
from tests.attacks.scenes import scene  # noqa: E402


@pytest.fixture(scope="module")
def examples():
    return load("builtin", size=300, words=60)


def batches():
    rows = torch.arange(32).reshape(2, 2, 8)
    return Batches(rows, rows % 6, torch.full((2, 2), 8), torch.zeros_like(rows))


@pytest.mark.parametrize("of", ANY_ROUND)
@pytest.mark.parametrize("wrapping", [OnOff, Whitewash])
def test_a_carrier_does_all_as_the_attack_it_carries(wrapping, of, examples):
    wrapped, alone, given = wrapping(of=of), make_attack(of), scene()
    assert wrapped.extra_epochs == alone.extra_epochs
    assert wrapped.crafts == alone.crafts
    assert torch.equal(wrapped.craft(given), alone.craft(given))
    poisoned, expected = (attack.poison_batches(batches(), Twins(1000, 500)) for attack in (wrapped, alone))
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(poisoned, expected, strict=True))
    assert (wrapped.made_rows(examples) is None) == (alone.made_rows(examples) is None)
    probe, its = wrapped.probe(examples), alone.probe(examples)
    assert (probe is None) == (its is None)
    if probe is not None:
        assert probe.rows.tolist() == its.rows.tolist()


@pytest.mark.parametrize("of", ON_DATA)
def test_scaling_lengthens_the_step_of_the_attack_it_carries(of, examples):
    given = scene()
    sent = Scaling(factor=3.0, of=of).craft(given)
    assert torch.allclose(sent - given.base, 3 * (given.mine - given.base), atol=1e-6)
    assert (Scaling(of=of).made_rows(examples) is not None) == (of == "backdoor")
    assert Scaling(of=of).inner == make_attack(of)


def test_a_carrier_hands_its_epochs_on():
    assert Scaling(extra_epochs=2).inner.extra_epochs == 2
    carried = OnOff(of="scaling", extra_epochs=3).inner
    assert isinstance(carried, Scaling)
    assert carried.inner.extra_epochs == 3
    assert OnOff(of="sign-flip") == OnOff(of="sign-flip", extra_epochs=0)


def test_on_off_rests_and_strikes_in_turn():
    attack = OnOff(rest=4, strike=3)
    pattern = "".join("x" if attack.active(round) else "." for round in range(1, 20))
    assert pattern == "....xxx....xxx....x"
    assert all(OnOff(rest=0, strike=2).active(round) for round in range(1, 10))


def test_whitewash_renews_after_every_period_and_never_in_the_first_round():
    attack = Whitewash(period=4)
    assert [round for round in range(1, 15) if attack.renews(round)] == [5, 9, 13]
    assert [round for round in range(1, 5) if Whitewash(period=1).renews(round)] == [2, 3, 4]
    assert all(attack.active(round) for round in range(1, 15))


def test_sybils_are_noisy_copies_of_the_first():
    given = scene(attackers=4, parameters=20_000)
    step = given.mine[0] - given.base
    off = Sybil(noise=0.5).craft(given) - given.mine[0]
    assert (off.norm(dim=1) / step.norm()).tolist() == pytest.approx([0.5] * 4, rel=0.03)
    unit = off / off.norm(dim=1, keepdim=True)
    assert (unit @ unit.T - torch.eye(4)).abs().max() < 0.03  # each has noise of its own
    assert torch.equal(Sybil(noise=0.0).craft(given), given.mine[:1].repeat(4, 1))


@pytest.mark.parametrize(
    ("wrapping", "settings"),
    [
        (OnOff, {"of": "bribery"}),
        (OnOff, {"strike": 0}),
        (Whitewash, {"period": 0}),
        (Sybil, {"of": "ipm"}),
        (Scaling, {"extra_epochs": -2}),
    ],
)
def test_settings_out_of_bounds_are_refused(wrapping, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        wrapping(**settings)
