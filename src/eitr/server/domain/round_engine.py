"""What computes a round for the worker: its own process, or a Ray cluster.

The connection to the cluster is in a process of its own, which ends with the round: if the cluster's head is lost, Ray
ends the process that is connected to it, and this must not be the server. Whatever goes wrong there, the worker then
computes the round itself. The result is the same to the last bit; it only takes longer.
"""

import logging
import multiprocessing
import signal
from multiprocessing.connection import Connection

from eitr.aggregation.interface import Result, Round, Rule
from eitr.aggregation.ray_blocks import column_engine
from eitr.aggregation.rule_state import RuleState
from eitr.cluster.engine import Engine
from eitr.errors import EngineError
from eitr.robust.column_blocks import BLOCK_STEP

log = logging.getLogger("eitr.worker")

SMALLEST = 2 * BLOCK_STEP
"""Parameters: fewer are one block, and it would take longer to send it than to compute it."""


class RoundEngine:
    """Applies rules with the engine of the settings."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def update(self, rule: Rule, state: RuleState, round: Round) -> tuple[RuleState, Result]:
        """Combine the updates of a round; return the state after it and the result."""
        if not self._engine.is_local and round.updates.shape[1] >= SMALLEST:
            try:
                found = _elsewhere(self._engine, rule, state, round)
                log.info("the Ray cluster computed the round", extra={"round": round.index})
                return found
            except EngineError as error:
                log.warning("the engine failed, and the worker computes the round itself: %s", error)
        return rule.update(state, round)


def _elsewhere(engine: Engine, rule: Rule, state: RuleState, round: Round) -> tuple[RuleState, Result]:
    """Apply the rule in a process that is connected to the cluster; whatever goes wrong is an `EngineError`."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    process = context.Process(target=_connected, args=(its,), daemon=True)
    process.start()
    its.close()  # so that the end of the process is the end of the pipe
    try:
        mine.send((engine, rule, state, round))
        found = mine.recv()
    except Exception as error:  # it ended, or something cannot be sent
        process.join(timeout=1)
        raise EngineError(f"the process that uses it ended with status {process.exitcode} ({error!r})") from error
    finally:
        mine.close()
        process.terminate()
        process.join()
    if isinstance(found, Exception):
        raise EngineError(str(found)) from found
    done: tuple[RuleState, Result] = found
    return done


def _connected(pipe: Connection) -> None:
    """Apply a rule that comes through a pipe on a cluster; the target of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes of a program
    engine, rule, state, round = pipe.recv()
    try:
        with column_engine(engine) as columns:
            pipe.send(rule.update(state, round.computed_by(columns)))
    except Exception as error:
        pipe.send(EngineError(str(error)))
