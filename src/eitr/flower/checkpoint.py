"""The memory of a federation on the disk: model, rule state and round, in one file that is replaced as a whole.

A SuperLink that is killed may leave a ServerApp behind that does not know it. So a checkpoint names the run that owns
it: a new run takes it over, and the old one, if it lives, is refused when it saves.
"""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from eitr.aggregation.interface import Rule
from eitr.aggregation.rule_state import SIZE_LIMIT, RuleState, state_from_parts, state_parts
from eitr.errors import InputError
from eitr.flower.round_step import Arrays
from eitr.io.atomic import write_atomically
from eitr.io.safetensors_file import pack, read_limited, unpack

FORMAT: Final = "eitr-flower"
VERSION: Final = 1
FILE: Final = "checkpoint.safetensors"
LOCK_FILE: Final = "checkpoint.lock"
MODEL, STATE = "model/", "state/"
STORABLE: Final = (np.float32, np.float64, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A federation after some rounds."""

    round: int
    """How many rounds are done."""
    model: Arrays
    state: RuleState
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What must be the same when a run goes on, as JSON values."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Every node ever seen, by the fingerprint of its key, with the name it was registered under."""
    history: tuple[Mapping[str, Any], ...] = ()
    """What each of the last rounds did, as JSON values."""
    run: int = 0
    """The Flower run that owns the checkpoint."""


class TakenOverError(InputError):
    """Another run has taken the checkpoint over."""


def checked_model(model: Arrays) -> Arrays:
    """Return a model; refuse one with arrays of types that a checkpoint cannot hold."""
    for name, array in model.items():
        if array.dtype not in STORABLE:
            types = ", ".join(np.dtype(kind).name for kind in STORABLE)
            raise InputError(f"the array {name!r} has the type {array.dtype}: a checkpoint holds {types}")
    return model


def load_checkpoint(folder: Path, rule: Rule) -> Checkpoint | None:
    """Return the checkpoint in a folder; None where there is none, InputError where it is damaged or another rule's."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        described, arrays = unpack(read_limited(path, SIZE_LIMIT))
        _check_description(described)
        state = state_from_parts(described["state"], _part(arrays, STATE), rule.name)
        rule.check_state(state)
        return Checkpoint(
            described["round"],
            _in_order(_part(arrays, MODEL), described["arrays"]),
            state,
            described["settings"],
            described["nodes"],
            tuple(described["history"]),
            described["run"],
        )
    except InputError as error:
        raise InputError(f"{path}: {error}; restore the file, or start anew in another folder") from error


def rule_of(folder: Path) -> str:
    """Return the name of the rule whose state a checkpoint holds."""
    path = folder / FILE
    try:
        described, _ = unpack(read_limited(path, SIZE_LIMIT))
        _check_description(described)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return str(described["state"].get("rule"))


def take_over(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whoever owned the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        write_atomically(folder / FILE, _bytes(checkpoint))


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace a checkpoint of the same run; raise `TakenOverError` if it belongs to another one by now."""
    with _locked(folder):
        described, _ = unpack(read_limited(folder / FILE, SIZE_LIMIT))
        if described.get("run") != checkpoint.run:
            raise TakenOverError(
                f"{folder}: run {described.get('run')} took over the checkpoint of run {checkpoint.run}, which ends"
            )
        write_atomically(folder / FILE, _bytes(checkpoint))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time look at the owner and write; the lock ends with the process that holds it."""
    with (folder / LOCK_FILE).open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _bytes(checkpoint: Checkpoint) -> bytes:
    header, state = state_parts(checkpoint.state)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "round": checkpoint.round,
        "run": checkpoint.run,
        "settings": dict(checkpoint.settings),
        "nodes": dict(checkpoint.nodes),
        "history": list(checkpoint.history),
        "arrays": list(checkpoint.model),
        "state": header,
    }
    arrays = {
        **{f"{MODEL}{name}": array for name, array in checkpoint.model.items()},
        **{f"{STATE}{name}": array for name, array in state.items()},
    }
    return pack(description, arrays)


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _in_order(model: Arrays, names: list[str]) -> Arrays:
    """Return the arrays in the order they had: the file forgets it, and a model is a vector in this order."""
    if sorted(names) != sorted(model):
        raise InputError("the list of arrays is damaged")
    return {name: model[name] for name in names}


def _check_description(described: Mapping[str, Any]) -> None:
    if described.get("format") != FORMAT:
        raise InputError("not a checkpoint of a federation on Flower")
    if described.get("version") != VERSION:
        raise InputError(f"a checkpoint of version {described.get('version')}, and this EITR reads version {VERSION}")
    kinds = {"round": int, "run": int, "settings": dict, "nodes": dict, "history": list, "arrays": list, "state": dict}
    for name, kind in kinds.items():
        if not isinstance(described.get(name), kind):
            raise InputError(f"the entry {name!r} is missing or damaged")
