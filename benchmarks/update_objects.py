"""How many updates a second a folder takes: each in a file of its own, or those of a transaction in one file.

    python -m benchmarks.update_objects [--folder .] [--megabytes 200]

Every file and its folder is on the disk before the next one is written (`eitr.server.update_store.folder`). Two threads
write, as the server's writers do. Prints a table; the numbers belong to a disk, and to what else it does.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.markdown import significant, table
from eitr.server.domain.ingest import MOST_BYTES, MOST_TOGETHER, WRITERS
from eitr.server.update_store.folder import FolderStore
from eitr.server.update_store.interface import new_name

SIZES = (396, 16_844, 529_356, 1_058_712)
"""Bytes of updates: of the last layer, of the upper layers, and of the whole model as float16 and as float32."""
MOST_UPDATES = 2048


def rate(folder: Path, size: int, together: int, updates: int) -> float:
    """Return how many updates a second are written, so many to a file."""
    store, parts = FolderStore(folder, "0" * 16), [os.urandom(size)] * together
    left, lock = [updates // together], threading.Lock()

    def write() -> None:
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
            store.put(new_name(store, 1), parts)

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    for one in store.objects():
        store.delete(one.name)
    return updates // together * together / seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.update_objects", description="Files of updates.")
    parser.add_argument("--folder", type=Path, default=Path(), help="on the disk to measure (the current folder)")
    parser.add_argument("--megabytes", type=int, default=200, help="written for a number, at most (200)")
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in SIZES:
            together = min(MOST_TOGETHER, -(-MOST_BYTES // size))
            updates = max(together * WRITERS, min(MOST_UPDATES, options.megabytes * 10**6 // size))
            alone, joined = (rate(Path(folder) / "updates", size, number, updates) for number in (1, together))
            cells = (significant(alone), str(together), significant(joined), significant(joined / alone))
            rows.append((f"{size} bytes", *cells))
    print(table(("an update", "a file each: updates/s", "together", "one file: updates/s", "times"), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
