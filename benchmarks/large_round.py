"""How long a rule takes for a round of thousands of updates, and how much memory, with the server's table of updates.

    python -m benchmarks.large_round [--clients 10000] [--parameters 198] [--rule fused] [--rule fedavg] ...

The server reads updates one object at a time into a table (`eitr.server.domain.update_table`): in memory up to 512 MB,
in a nameless file beyond. Each rule runs in a process of its own. Anonymous memory cannot be taken back by the system,
so it is what bounds a round; pages of the file that are resident can be, and are counted apart. Writes large_round.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.machine import describe_machine, machine_line
from benchmarks.markdown import significant, table
from eitr.aggregation import Round, make_rule
from eitr.server.domain import update_table

MEGABYTE = 1e6
TICK = 0.01
FIELDS = ("RssAnon", "RssFile")


def measure(clients: int, parameters: int, rule: str, folder: Path) -> dict[str, float]:
    """Aggregate a round in this process; return seconds and the most memory, in bytes, beyond what there was before."""
    make_rule(rule).update(make_rule(rule).init(), _round(12, parameters, folder))  # compiles kernels, or loads them
    before, most, over = _memory(), dict.fromkeys(FIELDS, 0), threading.Event()

    def watch() -> None:
        while not over.wait(TICK):
            for name, bytes in _memory().items():
                most[name] = max(most[name], bytes)

    watching = threading.Thread(target=watch)
    watching.start()
    start = time.perf_counter()
    round = _round(clients, parameters, folder)
    filled = time.perf_counter()
    made = make_rule(rule)
    made.update(made.init(), round)
    seconds = time.perf_counter() - filled
    over.set()
    watching.join()
    return {"fill": filled - start, "seconds": seconds, **{name: max(0, most[name] - before[name]) for name in FIELDS}}


def _round(clients: int, parameters: int, folder: Path) -> Round:
    rng = np.random.default_rng(0)
    updates = update_table.new_table(clients, parameters, folder)
    for row in range(clients):
        updates[row] = rng.standard_normal(parameters, np.float32) * 0.01
    return Round(np.zeros(parameters, np.float32), updates, [f"{row:032x}" for row in range(clients)])


def _memory() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith(FIELDS)}
    return {name: found[name] for name in FIELDS}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    options = _parser().parse_args(arguments)
    if options.inside:
        print(json.dumps(measure(options.clients, options.parameters, options.inside, options.folder)))
        return 0
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for rule in options.rule or ["fused"]:
            size = [f"--clients={options.clients}", f"--parameters={options.parameters}", f"--folder={folder}"]
            command = [sys.executable, "-m", "benchmarks.large_round", f"--inside={rule}", *size]
            told = subprocess.run(command, check=False, capture_output=True, text=True)
            if told.returncode:
                rows.append((rule, "", "", "", told.stderr.strip().splitlines()[-1][:80]))
                continue
            found = json.loads(told.stdout.splitlines()[-1])
            memory = [f"{found[name] / MEGABYTE:.0f}" for name in FIELDS]
            rows.append((rule, significant(found["fill"]), significant(found["seconds"]), *memory))
            print(rows[-1], file=sys.stderr, flush=True)
    text = (
        f"{machine_line(describe_machine(2))}\n\n{options.clients} updates of {options.parameters} float32, a table of "
        f"{options.clients * options.parameters * 4 / MEGABYTE:.0f} MB.\n\n"
        + table(("rule", "filling s", "aggregation s", "anonymous memory MB", "of the file MB"), rows)
        + "\n"
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "large_round.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_round", description="Memory of large rounds.")
    parser.add_argument("--clients", type=int, default=10_000, help="updates of the round (10000)")
    parser.add_argument("--parameters", type=int, default=198, help="numbers of an update (198: the last layer)")
    parser.add_argument("--rule", action="append", help="a rule to measure; more than once for several (fused)")
    parser.add_argument("--folder", type=Path, default=Path(), help="where a large table is (the current folder)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
