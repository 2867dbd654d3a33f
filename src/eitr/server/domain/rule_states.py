"""The state of a rule, stored in one row per participant.

Only the rows of a round's participants are read and written. The result is the same as with all rows, because a rule
uses those of the round's clients only.

Arrays of float64 hold reputations. All others are made of the steps that a participant sent: they leave out the first
layer of the network, projections take a secret seed, and they are forgotten when they count for next to nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from eitr.aggregation.interface import Rule
from eitr.aggregation.rule_state import RuleState, blank
from eitr.io.safetensors_file import pack, unpack
from eitr.model import Network
from eitr.server.db.connection import DELETED
from eitr.server.db.tables import RoundRow, RoundStatus, RuleStateRow
from eitr.server.domain.keys import Key

Arrays = dict[str, NDArray[Any]]


def packed(rows: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the rows of one participant, (columns,) each, as bytes."""
    return pack({}, dict(sorted(rows.items())))


def unpacked(data: bytes) -> Arrays:
    """Return the rows that `packed` turned into bytes."""
    return unpack(data)[1]


def without_steps(data: bytes) -> bytes:
    """Return the bytes of one participant's rows without those that are made of steps."""
    return packed({name: array for name, array in unpacked(data).items() if array.dtype == np.float64})


def private_rule(rule: Rule, key: Key, network: Network, first: int = 0) -> Rule:
    """Return a rule as this server uses it on updates of a network's parameters from `first` on: with the server's
    secret seed, which never changes, and without a memory of the first layer."""
    start = max(0, network.first_layer - first)
    return rule.private(seed=int.from_bytes(key.hash("seed", "projection")), start=start)


def projection_hash(rule: Rule, key: Key, network: Network, first: int = 0) -> bytes:
    """Return what tells steps that can be compared from others: the same for the same rule, seed and parameters."""
    return key.hash("projection", f"{rule.name} {network.layers}" + (f" from {first}" if first else ""))


def load(session: Session, rule: Rule, ids: Sequence[str], projection: bytes) -> RuleState:
    """Return the state of a rule, restricted to some participants; steps of another projection are left out."""
    found = {
        kept.participant: (
            kept.rounds,
            unpacked(kept.arrays if kept.projection == projection else without_steps(kept.arrays)),
        )
        for kept in session.scalars(
            select(RuleStateRow).where(RuleStateRow.rule == rule.name, RuleStateRow.participant.in_(ids))
        )
    }
    clients = sorted(found)
    rows = [found[client][1] for client in clients]
    memory = {name: _table([row.get(name) for row in rows]) for name in sorted({name for row in rows for name in row})}
    return RuleState(rule.name, tuple(clients), np.array([found[client][0] for client in clients], np.int64), memory)


def save(session: Session, state: RuleState, projection: bytes, round: int, senders: Collection[str]) -> None:
    """Store a state, one row per participant, after a round in which some of them sent an update."""
    steps = any(array.dtype != np.float64 for array in state.memory.values())
    for row, client in enumerate(state.clients):
        kept = session.merge(
            RuleStateRow(
                participant=client,
                rule=state.rule,
                rounds=int(state.rounds[row]),
                arrays=packed({name: array[row] for name, array in state.memory.items()}),
                projection=projection if steps else None,
            )
        )
        if client in senders:
            kept.last_round = round


def forget_steps_after(session: Session, rounds: int) -> None:
    """Forget the steps of participants who took part in none of the last `rounds` rounds that had a result."""
    with_result = RoundRow.status.in_((RoundStatus.PUBLISHED, RoundStatus.QUARANTINED))
    last = session.scalar(select(RoundRow.id).where(with_result).order_by(RoundRow.id.desc()).offset(rounds).limit(1))
    if last is not None:
        forget_steps(session, RuleStateRow.last_round <= last)


def forget_steps(session: Session, where: ColumnElement[bool]) -> int:
    """Forget the steps of some participants, whatever rule remembers them; their reputations stay. Say of how many."""
    old = (RuleStateRow.projection.is_not(None), where | RuleStateRow.last_round.is_(None))
    found = session.scalars(select(RuleStateRow).where(*old)).all()
    for kept in found:
        kept.arrays, kept.projection = without_steps(kept.arrays), None
        session.info[DELETED] = True
    return len(found)


def _table(rows: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Stack rows of one array; a missing or shorter row (from other settings) is filled with a newcomer's values."""
    there = [row for row in rows if row is not None]
    width = max(len(row) for row in there)
    table = blank((len(rows), width), there[0].dtype)
    for place, row in enumerate(rows):
        if row is not None:
            table[place, : len(row)] = row
    return table
