"""The state of a rule, stored in one row per participant.

Only the rows of a round's participants are read and written. The result is the same as with all rows, because a rule
uses those of the round's clients only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.aggregation.interface import Rule
from eitr.aggregation.rule_state import RuleState, blank
from eitr.io.safetensors_file import pack, unpack
from eitr.server.db.tables import RuleStateRow

Arrays = dict[str, NDArray[Any]]


def packed(rows: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the rows of one participant, (columns,) each, as bytes."""
    return pack({}, dict(sorted(rows.items())))


def unpacked(data: bytes) -> Arrays:
    """Return the rows that `packed` turned into bytes."""
    return unpack(data)[1]


def load(session: Session, rule: Rule, ids: Sequence[str]) -> RuleState:
    """Return the state of a rule, restricted to some participants."""
    found = {
        kept.participant: (kept.rounds, unpacked(kept.arrays))
        for kept in session.scalars(
            select(RuleStateRow).where(RuleStateRow.rule == rule.name, RuleStateRow.participant.in_(ids))
        )
    }
    clients = sorted(found)
    rows = [found[client][1] for client in clients]
    memory = {name: _table([row.get(name) for row in rows]) for name in sorted({name for row in rows for name in row})}
    return RuleState(rule.name, tuple(clients), np.array([found[client][0] for client in clients], np.int64), memory)


def save(session: Session, state: RuleState) -> None:
    """Store a state, one row per participant."""
    for row, client in enumerate(state.clients):
        session.merge(
            RuleStateRow(
                participant=client,
                rule=state.rule,
                rounds=int(state.rounds[row]),
                arrays=packed({name: array[row] for name, array in state.memory.items()}),
            )
        )


def _table(rows: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Stack rows of one array; a missing or shorter row (from other settings) is filled with a newcomer's values."""
    there = [row for row in rows if row is not None]
    width = max(len(row) for row in there)
    table = blank((len(rows), width), there[0].dtype)
    for place, row in enumerate(rows):
        if row is not None:
            table[place, : len(row)] = row
    return table
