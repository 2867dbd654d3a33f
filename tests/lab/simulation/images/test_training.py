import numpy as np
import pytest
import torch

from eitr.errors import InputError
from eitr.lab.runs.image import Training
from eitr.lab.simulation.images import training
from eitr.lab.simulation.images.batches import Field, ImagePreparation, draw_batches
from eitr.lab.simulation.images.resnet import ResNet18, initial_vector, load_vector, vector_of
from eitr.lab.simulation.images.training import Trainer, shared_out

SETTINGS = Training(width=8, batch=8)


@pytest.fixture
def preparation(tinted):
    return ImagePreparation(torch.from_numpy(np.ascontiguousarray(tinted.pixels.transpose(0, 2, 3, 1))))


@pytest.fixture
def batches(tinted):
    return [draw_batches(np.arange(30 * i, 30 * i + 30), tinted.labels, 3 + i, 8, key=i) for i in range(3)]


def test_a_step_is_that_of_torchs_own_optimiser(preparation, batches):
    base = initial_vector(8, 10, seed=2)
    trained = Trainer(SETTINGS, 10, preparation, 64).train(base, batches[:1])[0]
    model = ResNet18(8)
    load_vector(model, base)
    optimiser = torch.optim.SGD(model.train().parameters(), lr=0.05, momentum=0.9)
    for step in range(3):
        batch = torch.from_numpy(batches[0][:, step])
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(preparation.augmented(batch)), batch[Field.LABEL]).backward()
        optimiser.step()
    torch.testing.assert_close(trained, vector_of(model))


def test_clients_do_not_learn_from_one_another(preparation, batches):
    base = initial_vector(8, 10, seed=2)
    together = Trainer(SETTINGS, 10, preparation, 64).train(base, batches)
    alone = [Trainer(SETTINGS, 10, preparation, 64).train(base, [mine])[0] for mine in batches]
    assert torch.equal(together, torch.stack(alone))
    assert torch.equal(base, initial_vector(8, 10, seed=2))


def test_lanes_do_not_change_what_is_learned(preparation, batches):
    base = initial_vector(8, 10, seed=2)
    one, three = (Trainer(SETTINGS, 10, preparation, 64) for _ in range(2))
    three._lanes += [training.Lane(SETTINGS, 10, preparation, three._plan) for _ in range(2)]
    assert torch.equal(one.train(base, batches), three.train(base, batches))


def test_a_trainer_has_no_memory(preparation, batches):
    base = initial_vector(8, 10, seed=2)
    trainer = Trainer(SETTINGS, 10, preparation, 64)
    assert torch.equal(trainer.train(base, batches), trainer.train(base, batches))


def test_a_failed_capture_leaves_a_trainer_that_works(preparation, batches, monkeypatch):
    def refuse(lane):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(training.Lane, "capture", refuse)
    trainer = Trainer(SETTINGS, 10, preparation, 64)
    with pytest.warns(UserWarning, match="no CUDA graph"):
        trainer._capture()
    assert trainer.train(initial_vector(8, 10, seed=2), batches).isfinite().all()


def test_the_longest_client_goes_first_and_lanes_are_even():
    shares = shared_out([10, 2, 7, 3, 8], 2)
    assert sorted(client for share in shares for client in share) == [0, 1, 2, 3, 4]
    assert sorted(sum([10, 2, 7, 3, 8][client] for client in share) for share in shares) == [15, 15]
    assert shared_out([4], 3) == [[0], [], []]


def test_the_number_of_lanes_is_the_users(monkeypatch):
    monkeypatch.delenv(training.LANES, raising=False)
    assert training.lanes_wanted() == training.USUAL_LANES
    monkeypatch.setenv(training.LANES, "3")
    assert training.lanes_wanted() == 3
    monkeypatch.setenv(training.LANES, "many")
    with pytest.raises(InputError, match="EITR_IMAGE_LANES"):
        training.lanes_wanted()
