"""All results as one long table: one row per number, ready for pandas, polars, R or DuckDB.

Columns say which run a number belongs to, in which round and for which client it was recorded, what it is (`quantity`)
and its `value`. It is written run by run, so that memory stays small however many runs there are.
"""

import json
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.lab.results.store import Result
from eitr.taxonomy import NAMES

GROUP_ROWS = 250_000
"""Rows of a row group, at least: so many are held in memory."""

PARAMETERS = ("kind", "data", "rule", "attack", "attackers", "clients", "alpha", "seed")
"""What a run is asked for by name, whatever its kind; null where its kind has no such thing."""
_WHOLE = ("attackers", "clients", "seed")
_BY_CLIENT = ("attacker", "counts", "kinds", "right_labels")
"""Arrays over clients, never over rounds, also where there are as many rounds as clients."""
PARTICIPANTS = "participants"
"""The array (rounds, participants) that says who took part, where only some clients did."""
_BY_PAGE = "page_"
"""Begins the names of arrays over pages, whose quantities have the number of the page behind the name."""
_BY_PARTICIPANT = ("weights", "reputation", "negative")
"""Arrays over rounds and those who took part."""


def write_long_table(path: Path, results: Iterable[Result]) -> int:
    """Write the table of some results as Parquet; return how many rows it has. The same results give the same bytes."""
    parquet = _pyarrow().parquet
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    rows = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(temporary, _schema(), compression="zstd") as writer:
            for group in _groups(results):
                writer.write_table(group, row_group_size=len(group))
                rows += len(group)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return rows


def _pyarrow() -> Any:
    """Import pyarrow, which only this table needs."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError("the table of all rounds needs pyarrow: pip install pyarrow") from error
    return pyarrow


def _groups(results: Iterable[Result]) -> Iterator[Any]:
    """Yield tables of many rows: small row groups would make a large file."""
    pa = _pyarrow()
    waiting: list[Any] = []
    for result in results:
        waiting.append(_table(result))
        if sum(map(len, waiting)) >= GROUP_ROWS:
            yield pa.concat_tables(waiting).unify_dictionaries().combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries().combine_chunks()


def _schema() -> Any:
    pa = _pyarrow()
    word = pa.dictionary(pa.int32(), pa.string())
    kinds = {name: pa.int64() if name in _WHOLE else pa.float64() if name == "alpha" else word for name in PARAMETERS}
    return pa.schema(
        [
            ("run", word),
            *kinds.items(),
            ("settings", word),
            ("round", pa.int32()),
            ("client", pa.int32()),
            ("attacker", pa.bool_()),
            ("quantity", word),
            ("value", pa.float64()),
        ]
    )


def _table(result: Result) -> Any:
    """Return the rows of one run."""
    pa = _pyarrow()
    parts = [part for name, array in sorted(result.arrays.items()) for part in _parts(result, name, array)]
    rows = sum(len(part.value) for part in parts)
    columns: dict[str, Any] = {name: _repeated(value, rows) for name, value in _parameters(result.run).items()}
    quantities = pa.array([part.quantity for part in parts], pa.string())
    lengths = [len(part.value) for part in parts]
    columns["quantity"] = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(len(parts), dtype=np.int32), lengths)), quantities
    )
    for name, kind in (("round", np.int32), ("client", np.int32), ("value", np.float64)):
        joined = np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0)
        # -1 stands for "none" until here; a value may be negative.
        columns[name] = pa.array(joined.astype(kind), mask=None if name == "value" else joined < 0)
    columns["attacker"] = _attackers(result, columns["client"])
    schema = _schema()
    return pa.table([_cast(columns[field.name], field.type) for field in schema], schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def _repeated(value: Any, rows: int) -> Any:
    """Return a column with the same value in every row, words as a dictionary of one."""
    pa = _pyarrow()
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
    if value is None:
        return pa.nulls(rows)
    return pa.array(np.full(rows, value))


def _parameters(run: Any) -> dict[str, Any]:
    """Return what determines a run: by name what most runs have, the rest as JSON text."""
    described = run.describe()
    found = {"run": run.key, "kind": run.kind}
    for name in PARAMETERS[1:]:
        value = getattr(run, name, None)
        found[name] = getattr(value, "name", value)
    rest = {name: value for name, value in described.items() if name not in ("is", *PARAMETERS)}
    rest |= {name: described[name] for name in ("rule", "attack") if isinstance(described.get(name), dict)}
    return found | {"settings": json.dumps(rest, sort_keys=True)}


class _Part:
    """The rows of one quantity; -1 for no round, no client."""

    def __init__(self, quantity: str, value: NDArray[Any], round: Any = -1, client: Any = -1) -> None:
        self.quantity = quantity
        self.value = np.asarray(value, np.float64).ravel()
        self.round = np.broadcast_to(np.asarray(round, np.int64), value.shape).ravel()
        self.client = np.broadcast_to(np.asarray(client, np.int64), value.shape).ravel()


def _parts(result: Result, name: str, array: NDArray[Any]) -> Iterator[_Part]:
    """Turn a recorded array into rows: by round, by client, or one quantity per column; words are left out."""
    if array.dtype.kind not in "fiub" or (name == "attacker" and array.dtype == bool) or name == PARTICIPANTS:
        return
    rounds, clients = getattr(result.run, "rounds", None), getattr(result.run, "clients", None)
    if array.ndim == 0:
        yield _Part(name, array)
    elif array.ndim == 1:
        places = np.arange(len(array))
        if name.startswith(_BY_PAGE):
            for place, value in enumerate(array):
                yield _Part(f"{name}.{place}", np.asarray(value))
        elif name not in _BY_CLIENT and len(array) == rounds:
            yield _Part(name, array, round=places + 1)
        elif name not in _BY_CLIENT and rounds is not None and len(array) == rounds + 1:
            yield _Part(name, array, round=places)  # from round 0, the start, on
        elif len(array) == clients:
            yield _Part(name, array, client=places)
        else:
            for place, value in enumerate(array):
                yield _Part(f"{name}.{place}", np.asarray(value))
    elif name in _BY_PARTICIPANT and PARTICIPANTS in result:
        yield _Part(name, array, np.arange(len(array))[:, None] + 1, result[PARTICIPANTS])
    elif len(array) == rounds and array.shape[1] == clients and array.ndim == 2 and not name.startswith("class_"):
        yield _Part(name, array, np.arange(rounds)[:, None] + 1, np.arange(clients)[None, :])
    elif len(array) == rounds:
        flat = array.reshape(rounds, -1)
        classes = NAMES if name.startswith("class_") and flat.shape[1] == len(NAMES) else range(flat.shape[1])
        for column, label in enumerate(classes):
            yield _Part(f"{name}.{label}", flat[:, column], np.arange(rounds) + 1)
    else:
        for index, value in np.ndenumerate(array):
            yield _Part(f"{name}.{'.'.join(map(str, index))}", np.asarray(value))


def _attackers(result: Result, clients: Any) -> Any:
    """Return, for rows of a client, whether it attacks: a flag, or the number of an attacker and -1 for the others."""
    pa = _pyarrow()
    if "attacker" not in result:
        return pa.nulls(len(clients), pa.bool_())
    attacker = result["attacker"]
    return pa.array(attacker if attacker.dtype == bool else attacker >= 0).take(clients)
