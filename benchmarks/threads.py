"""The same number of threads for everybody: our kernels, PyTorch, and the BLAS behind NumPy."""

import os

_VARIABLES = ("EITR_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def limit_threads(count: int) -> None:
    """Set the number of threads of this process and those it starts.

    Call it before NumPy is imported: BLAS reads its variable when it is loaded.
    """
    for variable in _VARIABLES:
        os.environ[variable] = str(count)
    import torch

    torch.set_num_threads(count)


def usable_threads() -> int:
    """Return the processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
