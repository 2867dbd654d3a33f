"""What tests of every part share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.kernels import use_cache

use_cache()

# How long one example takes says nothing on a busy machine, and the first of all compiles and builds tables.
settings.register_profile("eitr", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=100)  # `make test-long`
settings.load_profile("eitr")


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: tests wait for browsers and servers."""
    return min(8, len(os.sched_getaffinity(0)) + 1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, which is not part of the project; without it the test is skipped."""
    named = os.environ.get("EITR_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set EITR_DATA to the folder that holds it")
    return folder
