"""What every attack of the registry keeps to, whatever it does."""

import pytest

torch = pytest.importorskip("torch", reason="attacks work on torch tensors; install eitr[lab]")

from eitr.attacks import ATTACKS, make_attack  # noqa: E402
from eitr.attacks.interface import Attack  # noqa: E402
from tests.attacks.scenes import scene, with_inside_knowledge  # noqa: E402

ON_DATA = ("label-flip", "backdoor", "scaling", "dba", "neurotoxin", "sybil", "inside")


def make(name):
    return make_attack(name, candidates=12) if name == "inside" else make_attack(name)


def knowing(given):
    return with_inside_knowledge(given)[0]


every_attack = pytest.mark.parametrize("name", ATTACKS)


@every_attack
@pytest.mark.parametrize(("attackers", "others"), [(3, 7), (1, 1), (2, 0), (5, 2), (1, 0)])
def test_every_attacker_sends_finite_numbers_of_the_right_kind(name, attackers, others):
    sent = make(name).craft(knowing(scene(attackers, others)))
    assert sent.shape == (attackers, 40)
    assert sent.dtype == torch.float32
    assert torch.isfinite(sent).all()


@every_attack
def test_the_same_scene_gives_the_same_bytes_and_is_not_changed(name):
    given = knowing(scene(round=4, seed=3))
    before = [part.clone() for part in given[:4]]
    first, second = make(name).craft(given), make(name).craft(given)
    assert first.numpy().tobytes() == second.numpy().tobytes()
    assert all(torch.equal(part, kept) for part, kept in zip(given[:4], before, strict=True))


@every_attack
@pytest.mark.parametrize("value", [0.0, 0.3])
def test_clients_that_all_stand_still_or_agree_do_not_make_it_fail(name, value):
    given = scene()
    alike = given._replace(mine=given.base + value + 0 * given.mine, others=given.base + value + 0 * given.others)
    for known in (alike, alike._replace(previous=None), alike._replace(previous=given.base)):
        assert torch.isfinite(make(name).craft(knowing(known))).all()


@every_attack
def test_nothing_sent_is_a_window_on_something_else(name):
    sent = make(name).craft(knowing(scene()))
    rows = {row.data_ptr() for row in sent}
    assert len(rows) == len(sent)


@every_attack
def test_whoever_writes_an_update_trains_honestly_and_whoever_poisons_data_trains_longer(name):
    # What on-off and whitewash carry decides: a scaled flip, and a flipped sign.
    assert make(name).extra_epochs == (5 if name in (*ON_DATA, "on-off") else 0)
    assert make_attack(name, extra_epochs=7).extra_epochs == 7


@every_attack
def test_an_attack_that_says_it_sends_what_was_trained_does(name):
    attack, given = make(name), knowing(scene())
    assert attack.crafts == (attack.craft(given) is not given.mine)


@every_attack
def test_the_random_numbers_of_a_round_are_its_own(name):
    attack = make(name)
    first, second, other_seed = (
        attack.craft(knowing(scene(round=number, seed=seed))) for number, seed in ((1, 5), (2, 5), (1, 6))
    )
    draws = name in ("noise", "fang", "sybil", "inside")
    assert torch.equal(first, second) != draws
    if name != "slander":  # whose victims are drawn, once
        assert torch.equal(first, other_seed) != draws


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "inside"])  # which only processors rehearse
def test_what_is_sent_is_on_the_device_of_the_scene(name):
    # "meta" has no numbers, and refuses to meet tensors of another device: it stands for any accelerator.
    given = scene()
    there = given._replace(**{part: getattr(given, part).to("meta") for part in given._fields[:4]})
    assert make(name).craft(there).is_meta


@every_attack
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_sends_what_a_processor_sends(name):
    if name == "inside":
        pytest.skip("only the engine for processors rehearses")
    given = scene(attackers=4, parameters=5000)
    there = given._replace(**{part: getattr(given, part).cuda() for part in ("base", "mine", "others", "previous")})
    sent = make(name).craft(there)
    assert sent.is_cuda
    assert torch.allclose(sent.cpu(), make(name).craft(given), rtol=1e-5, atol=1e-6)


def test_only_attacks_with_a_rhythm_of_their_own_ever_rest_or_renew():
    resting = [name for name in ATTACKS if not all(make(name).active(round) for round in range(1, 50))]
    renewing = [name for name in ATTACKS if any(make(name).renews(round) for round in range(1, 50))]
    assert (resting, renewing) == (["on-off"], ["whitewash"])
    assert Attack.renews(make("label-flip"), 1) is False
