"""One round from files to files: what `eitr aggregate` does."""

import io
import json
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.interface import INPUTS, Result, Round, Scorer
from eitr.aggregation.ray_blocks import column_engine
from eitr.aggregation.registry import make_rule, rule_class
from eitr.aggregation.rule_state import load_state, state_bytes
from eitr.aggregation.warm_up import warm_up
from eitr.cluster.engine import LOCAL, Engine
from eitr.errors import InputError
from eitr.io.atomic import write_together
from eitr.io.safetensors_file import read_limited
from eitr.model import Classifier, Network
from eitr.pages.vocabulary import Vocabulary
from eitr.settings import parse_settings

TEXT_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Which files go in, which come out."""

    rule: str
    updates: Path
    out: Path
    report: Path
    clients: Path | None = None
    counts: Path | None = None
    base: Path | None = None
    root: Path | None = None
    state: Path | None = None
    validation: Path | None = None
    vocabulary: Path | None = None
    settings: tuple[str, ...] = ()
    index: int = 0
    engine: str = LOCAL


def run(job: Job) -> dict[str, Any]:
    """Aggregate; write parameters, report and state together or not at all; return the report."""
    engine = Engine.parse(job.engine)
    rule = make_rule(job.rule, **parse_settings(rule_class(job.rule), job.settings))
    rule.check_inputs({name for name in INPUTS if getattr(job, name) is not None})
    outputs = [_place(path) for path in (job.out, job.report, job.state) if path is not None]
    given = (job.updates, job.clients, job.counts, job.base, job.root, job.validation, job.vocabulary)
    inputs = [_place(path) for path in given if path is not None]
    if len(set(outputs)) < len(outputs) or set(outputs) & set(inputs):
        raise InputError("the parameters, the report and the state need files of their own")
    for folder in {path.parent for path in outputs}:
        if not os.access(folder, os.W_OK):
            raise InputError(f"cannot write to the folder {folder}")
    state = load_state(job.state, rule.name) if job.state and job.state.exists() else rule.init()
    updates = _array(job.updates)
    round = Round(
        base=_array(job.base) if job.base else None,
        updates=updates,
        ids=_lines(job.clients) if job.clients else _row_numbers(updates),
        index=job.index,
        counts=_numbers(job.counts) if job.counts else None,
        root=_array(job.root) if job.root else None,
        scorer=_scorer(job, updates) if job.validation else None,
    )
    rule.for_clients(len(round.ids))  # refuses a round of too few clients before anything is compiled
    with column_engine(engine) as columns:
        warm_up(rule, like=round)  # so that compiling does not count as aggregation
        start = time.perf_counter()
        state, result = rule.update(state, round.computed_by(columns))
        seconds = time.perf_counter() - start
    report = _report(rule.name, seconds, round, result)
    files = {job.out: _npy(result.model), job.report: json.dumps(report, indent=2).encode() + b"\n"}
    if job.state:
        files[job.state] = state_bytes(state)  # last: should the machine stop in between, the round can be run again
    write_together(files)
    return report


def _scorer(job: Job, updates: NDArray[Any]) -> Scorer:
    """Return what scores models on pages of known class; the network is the usual one for the vocabulary."""
    from eitr.datasets.validation import ValidationSet  # it reads pages, which other rounds do without

    words = Vocabulary.load(job.vocabulary) if job.vocabulary else Classifier.shipped().vocabulary
    network = Network((len(words), *Network().layers[1:]))
    if updates.shape[-1] != network.size:
        raise InputError(
            f"the updates have {updates.shape[-1]} parameters, a model for {len(words)} words has {network.size}: "
            "give the vocabulary they belong to with --vocabulary, or leave --validation out"
        )
    return ValidationSet(job.validation).scorer(network, words)


def _place(path: Path) -> Path:
    """Return where a file is or will be, links followed; refuse what no file can be, such as a link to itself."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return path.resolve()


def _report(rule: str, seconds: float, round: Round, result: Result) -> dict[str, Any]:
    columns = {
        "weight": result.weights,
        "positive": result.positive,
        "negative": result.negative,
        "reputation": result.reputation,
    }
    clients = [
        {"id": client, **{name: None if column is None else column[row].item() for name, column in columns.items()}}
        for row, client in enumerate(round.ids)
    ]
    return {
        "rule": rule,
        "seconds": seconds,
        "clients": clients,
        **({"notes": dict(result.notes)} if result.notes else {}),
    }


def _array(path: Path) -> NDArray[Any]:
    """Read a .npy file; it can hold numbers only, and what its header promises must be there."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about odd headers: the error below says it in one line
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header makes numpy's parser raise almost anything
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a whole .npy file of numbers"
        raise InputError(f"{path}: {reason}") from error
    if not isinstance(mapped, np.memmap):
        raise InputError(f"{path}: not a .npy file")
    return np.array(mapped)


def _lines(path: Path) -> list[str]:
    try:
        return read_limited(path, TEXT_LIMIT).decode("utf-8-sig").rstrip().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text in UTF-8") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _numbers(path: Path) -> NDArray[np.float64]:
    numbers = []
    for number, line in enumerate(_lines(path), 1):
        try:
            numbers.append(float(line))
        except ValueError:
            raise InputError(f"{path}: line {number} is not a number: {line[:40]!r}") from None
    return np.array(numbers)


def _row_numbers(updates: NDArray[Any]) -> list[str]:
    """Name clients by their row, padded with zeros so that they sort as numbers do.

    The width does not depend on how many there are: a state must know them again in a larger round.
    """
    rows = updates.shape[0] if updates.ndim else 0
    return [f"{row:06}" for row in range(rows)]


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
