"""Compile every kernel once, before tests start: `python -m tests.kernels`, called by `make test`.

Tests run in several processes and start more: servers, workers, the command line. Without this step each of them would
compile the same kernels at the same time. The cache lies outside `__pycache__`, in a folder that `tests/conftest.py`
hands to all of them; an entry stays valid until a file next to its kernel changes (`eitr.compiled`).
"""

import os
import pickle
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "numba-cache"
SOURCES = tuple(ROOT / "src" / "eitr" / folder for folder in ("model", "robust", "lab/scale"))
"""The folders that hold kernels."""
CLIENTS, PARAMETERS = 12, 40


def use_cache() -> Path:
    """Have this process and all that it starts use the cache; return where it is. Call it before numba is imported."""
    return Path(os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE)))


def compile_all() -> None:
    """Run every kernel on tiny inputs, in each of the types that tests use."""
    from eitr.aggregation import RULES
    from eitr.robust.detection import MANY

    for kind in ("float32", "float64"):
        _aggregate(kind, CLIENTS, RULES)
        # From so many clients on, columns are judged by kernels of their own.
        _aggregate(kind, MANY, ["reputation"])
    _train()
    _serve()


def _aggregate(kind: str, clients: int, rules: Iterable[str]) -> None:
    import numpy as np

    from eitr.aggregation import Round, make_rule

    generator = np.random.default_rng(0)
    base = generator.normal(size=PARAMETERS).astype(kind)
    updates = base + generator.normal(scale=0.1, size=(clients, PARAMETERS)).astype(kind)
    round = Round(
        base,
        updates,
        [f"client{number}" for number in range(clients)],
        counts=np.ones(clients),
        root=base,
        scorer=lambda vectors: np.ones((len(vectors), 2)),
    )
    for name in rules:
        rule = make_rule(name)
        rule.update(rule.init(), round)


def _serve() -> None:
    import numpy as np

    from eitr.lab.scale.stations import Station

    Station(2).serve(np.arange(3.0), np.ones(3))


def _train() -> None:
    import numpy as np

    from eitr.model import TrainingPlan, train
    from eitr.model.network import Network
    from eitr.pages.sparse import SparseRows

    network = Network((6, 4, 3))
    rows = SparseRows.of([(np.arange(3, dtype=np.int32), np.ones(3, np.float32))] * 4, width=6)
    labels, vector = np.array([0, 1, 2, 0]), network.initial(0)
    train(network, vector, rows, labels, TrainingPlan(), 0)
    for array in (vector, labels, rows.starts, rows.columns, rows.values):  # to numba, a type of its own
        array.flags.writeable = False
    train(network, vector, rows, labels, TrainingPlan(), 0)


def prune(cache: Path, sources: Iterable[Path]) -> None:
    """Delete what was not compiled from these folders as they are now, or every edit would leave its files behind."""
    from eitr.compiled import folder_digest

    valid = {folder_digest(folder) for folder in sources}
    for index in cache.rglob("*.nbi"):
        with index.open("rb") as stream:
            pickle.load(stream)  # numba's version
            stamp, entries = pickle.load(stream)
        if stamp not in valid:
            entries = {}
            index.unlink()
        for data in index.parent.glob(f"{index.stem}.*.nbc"):
            if data.name not in entries.values():
                data.unlink()


def main() -> None:
    cache = use_cache()
    start = time.monotonic()
    from eitr.compiled import JIT

    if not JIT:
        sys.exit("kernels: nothing to compile, the JIT is off (NUMBA_DISABLE_JIT)")
    compile_all()
    prune(cache, SOURCES)
    print(f"kernels: ready in {time.monotonic() - start:.0f} s ({cache})")


if __name__ == "__main__":
    main()
