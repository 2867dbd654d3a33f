"""Bounds on newcomers and on networks: who is judged in a round, and how much weight they have together.

Identities cost nothing, so their number must not decide. Before the rule runs, newcomers and crowded networks are
drawn: the rule compares everybody with the median client, and attackers who are the majority would be that client.
Afterwards the weights of the rule are bounded. What is taken away goes to others as far as their bounds allow; the rest
shortens the step.

Nothing here knows the database. `eitr.server.domain.trust` says who is established.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eitr.aggregation.fused.features import shortening
from eitr.aggregation.interface import Floats, Result
from eitr.robust.steps import lengths_of_steps

SHARE = 0.25
"""The part of a round that newcomers together, and each network, have at most."""
FEWEST_NETWORKS = 4
"""With fewer networks than this, one of them has more than its share of a round."""
ENOUGH = 5
"""Established participants from which on a round is bounded by them."""
FIRST_STEPS = 0.5
"""The length of steps, beside the usual one, in rounds with fewer; and what they may lose, beside the margins."""
MOST_RAISED = 2.0
"""Nobody's weight is raised further than this by what others lose: who has little weight has it for a reason."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the server trusts a participant before it has seen their update."""

    established: bool = False
    unbounded: bool = False
    """Whether their invitation lifts the bounds."""
    silenced: bool = False
    """Whether an operator muted or banned them."""

    @property
    def keeps_a_place(self) -> bool:
        """Whether a round keeps a place for them; also if they are silenced, or they could tell."""
        return self.established or self.unbounded

    @property
    def trusted(self) -> bool:
        """Whether the bounds on newcomers do not hold for them."""
        return self.keeps_a_place and not self.silenced


@dataclass(frozen=True, slots=True)
class Sender:
    """Somebody who sent an update."""

    id: str
    standing: Standing
    network: str
    """Senders of one network have the same one here."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Whose updates are judged in a round, and the bounds on their weights."""

    senders: tuple[Sender, ...]
    judged: frozenset[str]
    network_share: float = 1.0
    newcomer_share: float = 1.0
    length: float = 1.0
    """What the step is multiplied by, and what the gate lets it lose."""
    crowded: frozenset[str] = frozenset()
    """The networks of which not everybody is judged."""
    lifted: bool = False
    """Whether there are no bounds at all."""

    @property
    def established(self) -> dict[str, bool]:
        """Who is established, by id."""
        return {one.id: one.standing.established and not one.standing.silenced for one in self.senders}

    @property
    def left_out(self) -> list[str]:
        """Who was not drawn, sorted; not those whom an operator silenced."""
        return sorted(one.id for one in self.senders if one.id not in self.judged and not one.standing.silenced)

    def bounded(
        self, result: Result, base: NDArray[Any], updates: NDArray[Any], ids: Sequence[str], factors: Floats
    ) -> tuple[Result, dict[str, Any] | None]:
        """Return a rule's result within the bounds, and what they did, as JSON values; None if there are none.

        `ids` names the judged participants, in the order of the result, and `factors` what the server multiplies their
        weights by. Rules that have no weights are bounded by the draw alone, and by the length of the step.
        """
        if self.lifted:
            return result, None
        by_id = {one.id: one for one in self.senders}
        senders = [by_id[id] for id in ids]
        newcomers = np.array([not one.standing.trusted for one in senders])
        networks = np.array(["" if one.standing.unbounded else one.network for one in senders])
        model, weights = np.asarray(result.model, np.float64), result.weights
        left, capped = 1.0, set(self.crowded)
        if weights is not None:
            effective = weights * factors
            total = float(effective.sum())
            shares = effective / total
            allowed = limited(shares, networks, newcomers, self.network_share, self.newcomer_share)
            if allowed is not shares:
                left = float(allowed.sum())
                capped |= {
                    name
                    for name in set(networks.tolist()) - {""}
                    if shares[networks == name].sum() > self.network_share + 1e-9
                }
                model = model + _moved(total * (allowed - shares), base, updates)
                weights = np.asarray(total * allowed / factors)
        if self.length != 1:
            model = base + self.length * (model - base)
        document = {
            **self._counts(),
            "networks": len({one.network for one in senders}),
            "bounded_networks": len(capped),
            "length": round(self.length * left, 4),
        }
        return replace(result, model=np.asarray(model, np.float32), weights=weights), document

    def _counts(self) -> dict[str, int]:
        there = [one for one in self.senders if not one.standing.silenced]
        newcomers = [one for one in there if not one.standing.trusted]
        return {
            "established": sum(one.standing.established for one in there),
            "unbounded": sum(one.standing.unbounded for one in there),
            "newcomers": len(newcomers),
            "drawn": len(self.judged),
            "drawn_newcomers": sum(one.id in self.judged for one in newcomers),
        }


def everybody(senders: Sequence[Sender]) -> Draw:
    """Return the draw of a round without bounds: all but those whom an operator silenced."""
    return Draw(tuple(senders), frozenset(one.id for one in senders if not one.standing.silenced), lifted=True)


def draw(
    senders: Sequence[Sender], lot: Callable[[str], bytes], *, experienced: bool, quorum: int, minimum: int = 1
) -> Draw:
    """Choose whose updates are judged, by lots that nobody outside can compute.

    A round with enough trusted participants is theirs: newcomers are at most a third as many. So is every round, if any
    of them came, of a federation that has had enough of them lately (`experienced`). Other rounds judge newcomers, too,
    spread over networks, until there are as many as the quorum; their steps are shorter.

    If networks are so crowded that fewer than the minimum would be judged, more of each are. The bounds on weights
    still hold; but nobody's update is published almost alone.
    """
    there = [one for one in senders if not one.standing.silenced]
    free = [one.id for one in there if one.standing.unbounded]
    trusted = _by_network([one for one in there if one.standing.trusted and not one.standing.unbounded], lot)
    newcomers = _by_network([one for one in there if not one.standing.trusted], lot)
    names = sorted({*trusted, *newcomers})
    first = np.array([len(trusted.get(name, ())) for name in names], np.int64)
    new = np.array([len(newcomers.get(name, ())) for name in names], np.int64)
    came = len(free) + int(first.sum())
    theirs = came >= ENOUGH or (experienced and came > 0)
    if theirs:
        strict = _level(first, new, len(free), SHARE, third=True)
        level = strict or _level(first, new, len(free), 1 / max(1, len(trusted)), third=True)
        network_share, newcomer_share = SHARE, SHARE
    else:
        network_share, newcomer_share = max(SHARE, 1 / max(1, len(names) + len(free))), 1.0
        level = _level(first, new, len(free), network_share, third=False)
        if len(names) + len(free) >= FEWEST_NETWORKS:
            level = _lower(first + new, len(free), level, quorum)
    sizes = first if theirs else first + new
    while len(free) + int(np.minimum(sizes, level).sum()) < minimum and level < sizes.max(initial=0):
        level += 1
    judged = [*free, *(id for ids in trusted.values() for id in ids[:level])]
    room = {name: level - min(level, len(trusted.get(name, ()))) for name in names}
    # By their place in their network first: all networks have one newcomer before any has two.
    waiting = sorted(
        (place, lot(id), id) for name, ids in newcomers.items() for place, id in enumerate(ids[: room[name]])
    )
    judged += [id for _, _, id in waiting[: len(judged) // 3 if theirs else None]]
    return Draw(
        tuple(senders),
        frozenset(judged),
        network_share,
        newcomer_share,
        1.0 if came >= ENOUGH else FIRST_STEPS,
        frozenset(name for name, size in zip(names, first + new, strict=True) if size > level),
    )


def limited(
    weights: Floats, networks: NDArray[Any], newcomers: NDArray[np.bool_], network_share: float, newcomer_share: float
) -> Floats:
    """Return weights of which no network, and newcomers together, have more than their share.

    `weights` sum to 1. What some lose is given to the others, in proportion to their weights and within the same
    bounds; the sum is below 1 if not all of it can be given away. The empty network has no bound.

    >>> weights, newcomers = np.array([0.2, 0.2, 0.2, 0.4]), np.array([False, False, False, True])
    >>> limited(weights, np.array(["a", "b", "c", "d"]), newcomers, 1.0, 0.25).round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> limited(weights, np.array(["a", "a", "a", "a"]), newcomers, 0.25, 1.0).round(3).tolist()
    [0.05, 0.05, 0.05, 0.1]
    """
    groups = [(networks == name, network_share) for name in sorted(set(networks.tolist()) - {""})]
    groups.append((newcomers, newcomer_share))

    def raised(factor: float) -> Floats:
        found = np.asarray(weights * factor)
        for members, share in groups:
            together = float(found[members].sum())
            if together > share:
                found[members] *= share / together
        return found

    low, high = 1.0, MOST_RAISED
    if raised(low).sum() >= 1 - 1e-12:  # nobody exceeds a bound
        return weights
    if raised(high).sum() <= 1:
        return raised(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if raised(middle).sum() <= 1 else (low, middle)
    return raised(low)


def _by_network(senders: Sequence[Sender], lot: Callable[[str], bytes]) -> Mapping[str, list[str]]:
    """Return ids by network, in the order of their lots."""
    found: dict[str, list[str]] = {}
    for one in sorted(senders, key=lambda one: lot(one.id)):
        found.setdefault(one.network, []).append(one.id)
    return found


def _level(first: NDArray[np.int64], new: NDArray[np.int64], free: int, share: float, *, third: bool) -> int:
    """Return how many of one network are judged at most, so that none has more than its share; 0 if none is possible.

    `first` (networks,) come before `new` (networks,), and `free` have no bound. With `third`, newcomers are at most a
    third as many as the others.
    """
    largest = int((first + new).max(initial=0))
    for level in range(min(largest, int(share * (free + first.sum() + new.sum()) + 1e-9)), 0, -1):
        trusted = np.minimum(first, level)
        others = free + int(trusted.sum())
        room = int(np.minimum(new, level - trusted).sum())
        if level <= share * (others + (min(others // 3, room) if third else room)) + 1e-9:
            return level
    return 0


def _lower(sizes: NDArray[np.int64], free: int, level: int, wanted: int) -> int:
    """Return the lowest level, up to the given one, at which as many are judged as wanted."""
    for lower in range(1, level):
        if free + int(np.minimum(sizes, lower).sum()) >= wanted:
            return lower
    return level


def _moved(weights: Floats, base: NDArray[Any], updates: NDArray[Any]) -> Floats:
    """Return the sum of steps with these weights, none longer than usual, as the rule `fused` takes them."""
    moved = np.zeros(len(base))
    short = shortening(lengths_of_steps(updates, base, np.arange(len(updates))))
    for weight, update in zip(weights * short, updates, strict=True):
        moved += weight * (update.astype(np.float64) - base)
    return moved
