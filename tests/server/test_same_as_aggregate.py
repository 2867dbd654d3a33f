"""A round through the server gives what `eitr aggregate` gives on the same vectors, to the last bit."""

import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from eitr.aggregation.registry import make_rule
from eitr.cli import app
from eitr.client import Participant
from eitr.datasets.validation import ValidationSet
from eitr.model import Network
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS, encoded
from eitr.server.db.connection import Database
from eitr.server.db.tables import ModelRow, ObservationRow, RoundRow, RoundStatus
from eitr.server.domain import rule_states
from eitr.server.domain.keys import Key
from tests.server.process import Running

HONEST, ATTACKERS = 7, 3
ROUNDS = 2


def vectors(base: np.ndarray, number: int) -> dict[int, np.ndarray]:
    """Ten updates: seven about a common step, three against it, of which one is far too long."""
    rng = np.random.default_rng(number)
    common = rng.normal(0, 0.01, base.shape)
    found = {}
    for person in range(HONEST + ATTACKERS):
        own = rng.normal(0, 0.01, base.shape)
        step = own + common if person < HONEST else -3.0 * common if person == HONEST else own - 2 * common
        found[person] = (base + step).astype(np.float32)
    return found


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_round_with_attackers_gives_the_model_of_the_command_line(tmp_path: Path, order: int) -> None:
    folder = tmp_path / "server"
    chance = random.Random(order)
    state = tmp_path / "memory.safetensors"
    settings: dict[str, Any] = {
        "training": "paper",  # the command line knows no pool, and scores whole models
        "minimum": 2,
        "quorum": 10,
        "maximum": 10,
        "pause_seconds": 0,
        "poll_seconds": 0.05,
        "margin": 1,
        "class_margin": 1,
    }
    with Running("serve", folder, **settings).ready() as server:
        people = []
        for _ in range(HONEST + ATTACKERS):
            one = Participant(server.address)
            one.enrol()
            people.append(one)
        last = 0
        for number in range(1, ROUNDS + 1):
            found = people[0].wait_for_round(after=last, seconds=600, every=0.05)
            last = found.id
            base = people[0].model(found.base).model.vector
            sent = vectors(base, number)
            places = list(sent)
            chance.shuffle(places)
            for place in places:
                # Some of them send differences: the command line then gets what these come to.
                encoding = DIFFERENCE if place % 3 == 0 else PARAMETERS
                data = encoded(encoding, sent[place], base)
                if encoding == DIFFERENCE:
                    sent[place] = base + np.frombuffer(data, "<f2").astype(np.float32)
                people[place].send_bytes(found.id, data, encoding)
            ids = {place: str(people[place].id) for place in sent}
            rule = rule_states.private_rule(make_rule("fused"), Key.of(folder), Network())
            report = by_hand(tmp_path, state, base, {ids[place]: sent[place] for place in sent}, found.id, rule)
            people[0].wait_for_round(after=last, seconds=600, every=0.05)
            with Database(f"sqlite:///{folder / 'eitr.db'}").reading() as session:
                assert session.get_one(RoundRow, found.id).status == RoundStatus.PUBLISHED
                model = session.scalars(select(ModelRow).where(ModelRow.round == found.id)).one()
                seen = {
                    one.participant: (one.weight, one.reputation, one.positive, one.negative)
                    for one in session.scalars(select(ObservationRow).where(ObservationRow.round == found.id))
                }
            assert np.array_equal(np.frombuffer(model.weights, "<f4"), np.load(tmp_path / "model.npy"))
            assert seen == {
                one["id"]: (one["weight"], one["reputation"], one["positive"], one["negative"]) for one in report
            }
            weights = [seen[ids[place]][0] for place in range(HONEST + ATTACKERS)]
            assert max(weights[HONEST:]) < min(weights[:HONEST])
        assert server.stop() == 0


def by_hand(
    folder: Path, state: Path, base: np.ndarray, sent: dict[str, np.ndarray], number: int, rule: Any
) -> list[dict[str, object]]:
    """Run `eitr aggregate` with the server's secret seed, with the clients in an order of its own."""
    import json

    ids = sorted(sent, reverse=True)
    np.save(folder / "base.npy", base)
    np.save(folder / "updates.npy", np.stack([sent[id] for id in ids]))
    (folder / "ids.txt").write_text("\n".join(ids))
    pages = files("eitr").joinpath("assets", "validation.jsonl").read_text("utf-8").splitlines()
    shown = [page for page, is_shown in zip(pages, ValidationSet().shown, strict=True) if is_shown]
    (folder / "validation.jsonl").write_text("\n".join(shown), "utf-8")
    arguments = {
        "--global": folder / "base.npy",
        "--updates": folder / "updates.npy",
        "--clients": folder / "ids.txt",
        "--state": state,
        "--out": folder / "model.npy",
        "--report": folder / "report.json",
        "--validation": folder / "validation.jsonl",
        "--round": number,
    }
    private = ["--set", f"seed={rule.seed}", "--set", f"start={rule.start}"]
    named = [str(part) for pair in arguments.items() for part in pair]
    done = CliRunner().invoke(app, ["aggregate", *named, *private])
    assert done.exit_code == 0, done.output
    found: list[dict[str, object]] = json.loads((folder / "report.json").read_text())["clients"]
    return found
