"""What a rule remembers of its clients from round to round: a value, never changed in place, and a file.

The file is safetensors: a JSON header (format, version, rule, client ids) and arrays, everything in it checked before
it is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.io.atomic import write_atomically
from eitr.io.safetensors_file import pack, read_limited, unpack

FORMAT = "eitr-state"
VERSION = 1
SIZE_LIMIT = 16 << 30
"""Rules that remember whole vectors, such as FoolsGold, need a megabyte per client."""

Array = NDArray[Any]


def _no_rounds() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class RuleState:
    """The memory of a rule. Equal contents are equal states, whatever order clients joined in."""

    rule: str
    clients: tuple[str, ...] = ()
    """Everybody ever seen, sorted."""
    rounds: NDArray[np.int64] = field(default_factory=_no_rounds)
    """(clients,): rounds each client took part in."""
    memory: Mapping[str, Array] = field(default_factory=dict)
    """The rule's own arrays, one row per client."""
    parameters: int = 0
    """How many parameters the models of its rounds have; 0: not known, as in files of version 0.1."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleState) and state_bytes(self) == state_bytes(other)

    __hash__ = None  # type: ignore[assignment]

    def known(self, ids: Sequence[str]) -> "RuleState":
        """Return this state with rows for all of `ids`; rows of new clients are zero (NaN in float64 arrays)."""
        new = sorted(set(ids) - set(self.clients))
        if not new:
            return self
        clients = (*self.clients, *new)
        order = sorted(range(len(clients)), key=clients.__getitem__)
        return replace(
            self,
            clients=tuple(clients[row] for row in order),
            rounds=_extended(self.rounds, len(new))[order],
            memory={name: _extended(array, len(new))[order] for name, array in self.memory.items()},
        )

    def rows(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each client, all of them known."""
        place = {client: row for row, client in enumerate(self.clients)}
        return np.array([place[client] for client in ids], dtype=np.int64)

    def joined(self, ids: Sequence[str], parameters: int) -> "RuleState":
        """Return this state after a round in which `ids` took part with models of so many parameters."""
        state = self.known(ids)
        rounds = state.rounds.copy()
        rounds[state.rows(ids)] += 1
        return replace(state, rounds=rounds, parameters=parameters)

    def with_memory(self, name: str, array: Array) -> "RuleState":
        """Return this state with one of the rule's arrays replaced."""
        return replace(self, memory={**self.memory, name: array})

    def without(self, client: str) -> "RuleState":
        """Return this state with everything about one client erased."""
        keep = [row for row, other in enumerate(self.clients) if other != client]
        return replace(
            self,
            clients=tuple(self.clients[row] for row in keep),
            rounds=self.rounds[keep],
            memory={name: array[keep] for name, array in self.memory.items()},
        )


def blank(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return rows of clients of whom nothing is known: NaN in float64 arrays, which hold histories, else 0."""
    return np.full(shape, np.nan if dtype == np.float64 else 0, dtype=dtype)


def _extended(array: Array, new: int) -> Array:
    return np.concatenate([array, blank((new, *array.shape[1:]), array.dtype)])


def save_state(state: RuleState, path: Path) -> None:
    """Write a state file, replacing an old one atomically."""
    write_atomically(path, state_bytes(state))


def state_bytes(state: RuleState) -> bytes:
    """Return the content of a state file."""
    return pack(*state_parts(state))


def state_parts(state: RuleState) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the arrays of a state, for a file that holds more than a state."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "rule": state.rule,
        "parameters": state.parameters,
        "clients": list(state.clients),
    }
    arrays = {"rounds": state.rounds, **{f"memory/{name}": array for name, array in sorted(state.memory.items())}}
    return header, arrays


def load_state(path: Path, rule: str) -> RuleState:
    """Read a state file that `rule` wrote; anything else is an `InputError` that says what is wrong."""
    try:
        return state_from_parts(*unpack(read_limited(path, SIZE_LIMIT)), rule)
    except InputError as error:
        raise InputError(f"{path}: {error}; restore the file, or start anew without it") from error


def state_from_parts(header: Mapping[str, Any], arrays: Mapping[str, Array], rule: str) -> RuleState:
    """Return the state of `rule` that `state_parts` took apart; refuse anything else."""
    _check_header(header, rule)
    return replace(_checked(rule, header.get("clients"), dict(arrays)), parameters=_parameters(header))


def _check_header(header: Mapping[str, Any], rule: str) -> None:
    if header.get("format") != FORMAT:
        raise InputError("not a state file of EITR")
    if header.get("version") != VERSION:
        raise InputError(f"a state of version {header.get('version')}, and this EITR reads version {VERSION}")
    if header.get("rule") != rule:
        raise InputError(f"the state of the rule {header.get('rule')!r}, not of {rule!r}")


def _parameters(header: Mapping[str, Any]) -> int:
    parameters = header.get("parameters", 0)
    if not isinstance(parameters, int) or parameters < 0:
        raise InputError(f"the number of parameters must be a count, not {parameters!r}")
    return parameters


def _checked(rule: str, clients: object, arrays: dict[str, Array]) -> RuleState:
    if not isinstance(clients, list) or not all(isinstance(client, str) for client in clients):
        raise InputError("the list of clients is missing or damaged")
    if clients != sorted(set(clients)):
        raise InputError("the clients are not sorted, or one occurs twice")
    rounds = arrays.pop("rounds", None)
    if rounds is None or rounds.dtype != np.int64 or rounds.shape != (len(clients),) or (rounds < 0).any():
        raise InputError("the number of rounds of each client is missing or damaged")
    for name, array in arrays.items():
        if not name.startswith("memory/") or array.ndim != 2 or len(array) != len(clients):
            raise InputError(f"the array {name!r} does not hold a row for each of {len(clients)} clients")
        if np.isinf(array).any() or (array.dtype == np.float32 and np.isnan(array).any()):
            raise InputError(f"the array {name!r} holds an infinity or a NaN")
    memory = {name.removeprefix("memory/"): array for name, array in arrays.items()}
    return RuleState(rule, tuple(clients), rounds, memory)
