import torch
from torch import nn

from eitr.lab.simulation.images.resnet import ResNet18, initial_vector, load_vector, vector_of


def test_the_full_width_is_resnet_18():
    model = ResNet18(64, 10, "meta")
    assert model.trainable == 11_173_962
    assert model.vector.numel() == 11_173_962 + 2 * 4_800  # and a mean and a variance for each channel


def test_a_model_is_its_vector_running_statistics_included():
    pictures = torch.randn(8, 3, 32, 32)
    trained, other = ResNet18(8), ResNet18(8)
    load_vector(trained, initial_vector(8, 10, seed=1))
    trained.train()(3 * pictures + 1)  # moves the statistics only
    load_vector(other, vector_of(trained))
    assert not torch.equal(vector_of(trained), initial_vector(8, 10, seed=1))
    assert torch.equal(vector_of(other), vector_of(trained))
    assert torch.equal(other.eval()(pictures), trained.eval()(pictures))


def test_a_vector_is_a_copy_that_training_leaves_alone():
    model = ResNet18(8)
    load_vector(model, initial_vector(8, 10, seed=1))
    before = vector_of(model)
    model.weights.add_(1.0)
    assert torch.equal(before, initial_vector(8, 10, seed=1))


def test_every_number_of_the_vector_is_a_weight_or_a_statistic_once():
    model = ResNet18(8)
    model.vector.copy_(torch.arange(model.vector.numel(), dtype=torch.float32))
    seen = [weight.detach().flatten() for weight in model.parameters()]
    seen += [each.flatten() for name, each in model.named_buffers()]
    assert torch.equal(torch.cat(seen).sort().values, model.vector)
    assert all(name.endswith(("running_mean", "running_var")) for name, _ in model.named_buffers())


def test_the_network_computes_what_torch_layers_with_the_same_numbers_compute():
    # The views into the vector have strides of their own; a contiguous copy of each weight must mean the same.
    model, copy = ResNet18(8), ResNet18(8)
    load_vector(model, initial_vector(8, 10, seed=3))
    for layer, twin in zip(model.modules(), copy.modules(), strict=True):
        for name, weight in layer.named_parameters(recurse=False):
            setattr(twin, name, nn.Parameter(weight.detach().clone(memory_format=torch.contiguous_format)))
        for name, buffer in layer.named_buffers(recurse=False):
            setattr(twin, name, buffer.clone())
    pictures = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(model.eval()(pictures), copy.eval()(pictures))


def test_a_negative_variance_counts_as_zero():
    model = ResNet18(8)
    vector = initial_vector(8, 10, seed=1)
    vector[-1] = -0.5
    load_vector(model, vector)
    assert model.variances.min() == 0
    assert model.eval()(torch.randn(2, 3, 32, 32)).isfinite().all()


def test_the_start_depends_on_the_seed_alone():
    torch.manual_seed(1)
    first = initial_vector(8, 10, seed=7)
    torch.manual_seed(2)
    assert torch.equal(first, initial_vector(8, 10, seed=7))
    assert not torch.equal(first, initial_vector(8, 10, seed=8))
