"""The batched rules on a GPU: do the CUDA kernels agree with float64, and how long do they take?

    python -m benchmarks.gpu_aggregation --out gpu.json            on a machine with CUDA: numpy and torch
    TRITON_INTERPRET=1 python -m benchmarks.gpu_aggregation --quick --out quick.json    on a CPU, by the interpreter

Agreement: all seven rules over sizes and kinds of input, the CUDA path against the torch path, which computes in
float64. Printed are the largest differences and the decisions that differ, and how far their confidence is from delta.
Times: medians of CUDA events after a warm-up, beside `torch.median` and reading the data once. A part that fails prints
its traceback and the others go on; the exit status then is 1.
"""

import argparse
import json
import statistics
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from eitr.aggregation.registry import RULES, make_rule  # noqa: E402
from eitr.lab.aggregation import batched  # noqa: E402

Row = dict[str, Any]


def ordinary(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return 0.1 * torch.randn(shape, generator=generator, device=generator.device)


def shifted(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    values = ordinary(shape, generator)
    values[:, : max(1, shape[1] // 4)] += 0.8
    return values


def far(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Clients far apart: the clipping and the paper's loop have work."""
    values = ordinary(shape, generator)
    values[:, : shape[1] // 3] += 30.0
    return values + torch.randn((shape[0], 1, shape[2]), generator=generator, device=generator.device)


def tied(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return (torch.randint(-3, 4, shape, generator=generator, device=generator.device) / 8).float()


def half_tied(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    values = ordinary(shape, generator)
    values[:, : shape[1] // 2] = 0.05
    return values


def wild(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    exponent = torch.rand(shape, generator=generator, device=generator.device) * 15 - 9
    return torch.where(ordinary(shape, generator) > 0, 1.0, -1.0) * 10.0**exponent


KINDS = {make.__name__: make for make in (ordinary, shifted, far, tied, half_tied, wild)}


def confidence_distance(updates: Tensor, client: int, rule: Any) -> float:
    """How far from delta the confidence of one client lies, in float64; `updates` (clients,) is one column."""
    from eitr.robust.confidence import confidence_bound, residual_factor

    column = updates.double().cpu()
    size = len(column)
    ordered, order = column.sort(stable=True)
    middle = 0.5 * (ordered[(size - 1) // 2] + ordered[size // 2])
    from eitr.lab.aggregation.repeated_median import median, repeated_median_slope

    if rule.rescale == "median":
        ordered = ordered.clamp(middle - rule.varpi / 2, middle + rule.varpi / 2)
    offsets = (ordered - middle)[None, :, None]
    slope = repeated_median_slope(offsets)[0, 0]
    tilted = offsets[0, :, 0] - slope * torch.arange(size)
    residual = (tilted - median(tilted[None])[0]).abs()
    tau = residual_factor(size) * median(residual[None])[0] + 1e-7 + 2.4e-7 * median(ordered.abs()[None])[0]
    bound = torch.from_numpy(confidence_bound(size, rule.lambda_))
    sure = torch.minimum(torch.ones(size, dtype=torch.float64), bound * tau / residual.clamp(min=1e-300))
    place = int((order == client).nonzero()[0, 0])
    return abs(float(sure[place]) - rule.delta)


def agreement(
    name: str, kind: str, runs: int, clients: int, parameters: int, device: torch.device, **chosen: Any
) -> Row:
    """One round of a rule on both paths."""
    generator = torch.Generator(device=device).manual_seed(clients * 1000 + parameters)
    updates = KINDS[kind]((runs, clients, parameters), generator).contiguous()
    base = ordinary((runs, 1, parameters), generator)[:, 0].contiguous()
    root = base + ordinary((runs, 1, parameters), generator)[:, 0]
    counts = torch.randint(1, 300, (runs, clients), generator=generator, device=device).double()
    rules = [make_rule(name, **chosen)] * runs
    outcomes = {
        kernels: batched(rules, clients, parameters, device, kernels=kernels).aggregate(base, updates, counts, root)
        for kernels in ("torch", "cuda")
    }
    right, got = outcomes["torch"], outcomes["cuda"]
    again = batched(rules, clients, parameters, device, kernels="cuda").aggregate(base, updates, counts, root)
    scale = updates.abs().amax(dim=1) + 1.0
    row: Row = {
        "rule": name,
        "settings": chosen,
        "kind": kind,
        "runs": runs,
        "clients": clients,
        "parameters": parameters,
        "model": float(((right.models - got.models).abs() / scale).max()),
        "weights": float((right.weights - got.weights).abs().nan_to_num(0).max()),
        "same_bits_again": bool(torch.equal(again.models, got.models)),
    }
    row["agrees"] = row["model"] <= 1e-6 and row["weights"] <= 1e-6 and row["same_bits_again"]
    if name == "reputation" and clients > 2:
        row |= decisions(updates, rules[0])
        # Decisions within 1e-5 of delta may fall either way, and move weights and models a little.
        row["agrees"] = row["same_bits_again"] and row["farthest"] <= 1e-5 and (row["differing"] > 0 or row["agrees"])
    return row


def decisions(updates: Tensor, rule: Any) -> Row:
    """Count the values on which the two paths decide differently, and how clear those decisions are."""
    from eitr.lab.aggregation.cuda_columns import detect_columns
    from eitr.lab.aggregation.detection import Settings, detect

    def of(value: float) -> Tensor:
        return torch.full((updates.shape[0],), value, dtype=torch.float64, device=updates.device)

    paper = rule.rescale == "paper"
    settings = Settings(of(rule.varpi), of(rule.delta), of(rule.lambda_), of(float(paper)) > 0, paper)
    right, got = detect(updates, settings), detect_columns(updates, settings)
    differing = torch.nonzero(right.accepted != got.accepted)
    distances = [
        confidence_distance(updates[run, :, column], int(client), rule)
        for run, client, column in differing[:50].tolist()
    ]
    return {
        "differing": len(differing),
        "farthest": max(distances, default=0.0),
        "rejected": float(1 - got.accepted.double().mean()),
    }


def milliseconds(work: Callable[[], Any], device: torch.device, repeats: int) -> float:
    """The median time of one call, after a warm-up."""
    if device.type != "cuda":
        import time

        before = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - before)
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def timed(
    what: str, runs: int, clients: int, parameters: int, device: torch.device, repeats: int, **chosen: Any
) -> Row:
    """Time a rule, or `torch.median`, or reading the data once."""
    generator = torch.Generator(device=device).manual_seed(1)
    updates = 0.1 * torch.randn((runs, clients, parameters), generator=generator, device=device)
    updates[:, : clients // 5] += 0.3
    base = torch.zeros((runs, parameters), device=device)
    counts = torch.ones((runs, clients), dtype=torch.float64, device=device)
    row: Row = {"what": what, "settings": chosen, "runs": runs, "clients": clients, "parameters": parameters}
    if what == "read once (sum)":
        work: Callable[[], Any] = updates.sum
    elif what == "torch.median":
        work = lambda: updates.median(dim=1)  # noqa: E731
    else:
        rule = batched([make_rule(what, **chosen)] * runs, clients, parameters, device, kernels="cuda")
        root = base + 0.1
        work = lambda: rule.aggregate(base, updates, counts, root)  # noqa: E731
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    row["ms"] = milliseconds(work, device, repeats)
    if device.type == "cuda":
        row["temporary_MiB"] = (torch.cuda.max_memory_allocated() - before) / 2**20
    return row


class Report:
    """Collects rows part by part; a part that fails is noted and the rest goes on."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.parts: dict[str, list[Row]] = {}
        self.failed: list[str] = []

    def part(self, name: str, work: Callable[..., Row | list[Row]], *arguments: Any, **options: Any) -> None:
        try:
            rows = work(*arguments, **options)
        except Exception:
            where = f"{name} {arguments} {options}"
            print(f"FAILED: {where}", flush=True)
            traceback.print_exc(limit=-6, file=sys.stdout)
            self.failed.append(where)
            return
        for row in rows if isinstance(rows, list) else [rows]:
            self.parts.setdefault(name, []).append(row)
            if row.get("agrees") is False:
                self.failed.append(f"{name}: {row}")
            print(name, "|", " ".join(f"{key}={_short(value)}" for key, value in row.items()), flush=True)
        self.out.write_text(json.dumps({"parts": self.parts, "failed": self.failed}, indent=1))


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu_aggregation.json"))
    parser.add_argument("--quick", action="store_true", help="small sizes: for the interpreter on a CPU")
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[3, 10, 16, 33, 100, 101, 200], help="sizes to compare at"
    )
    chosen = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    report = Report(chosen.out)
    print(torch.__version__, torch.cuda.get_device_name() if device.type == "cuda" else "cpu", flush=True)
    sizes = [(3, 50), (5, 40)] if chosen.quick else [(clients, 5000) for clients in chosen.clients]
    kinds = ("ordinary", "tied") if chosen.quick else tuple(KINDS)
    for clients, parameters in sizes:
        for kind in kinds:
            for rescale in ("median", "paper"):
                report.part("agreement", agreement, "reputation", kind, 2, clients, parameters, device, rescale=rescale)
        for name in RULES:
            if name != "reputation":
                for kind in kinds[:1] if chosen.quick else ("ordinary", "far", "tied"):
                    report.part("agreement", agreement, name, kind, 2, clients, parameters, device)
    if chosen.quick:
        report.part("time", timed, "median", 1, 5, 100, device, 1)
    else:
        for clients, parameters in ((100, 1_000_000), (10, 11_200_000)):
            report.part("time", timed, "read once (sum)", 1, clients, parameters, device, 20)
            report.part("time", timed, "torch.median", 1, clients, parameters, device, 3)
            for name in RULES:
                report.part("time", timed, name, 1, clients, parameters, device, 10)
        report.part("time", timed, "reputation", 1, 100, 1_000_000, device, 5, rescale="paper")
        for name in RULES:
            report.part("time", timed, name, 40, 100, 264_678, device, 3)
    print(f"{len(report.failed)} parts failed or disagree", flush=True)
    for failure in report.failed:
        print("  ", failure[:300])
    report.out.write_text(json.dumps({"parts": report.parts, "failed": report.failed}, indent=1))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
