"""What the tests of the lab share."""

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Tensors here are so small that threads cost more than they save: twenty times more on a busy machine."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
