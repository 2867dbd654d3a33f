"""Compiling the rule's kernels before the first round needs them.

It takes half a minute, once. In the server's own process requests would wait for it, and so would a signal to stop:
another process compiles into the cache, from which this one then loads.
"""

import logging
import multiprocessing
import signal
from contextlib import suppress
from multiprocessing.context import SpawnProcess

from eitr.aggregation import Rule, warm_up

log = logging.getLogger("eitr.worker")


class KernelCompilation:
    """The compilation of one rule. Whatever goes wrong is no harm: the first round compiles what is missing."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._process: SpawnProcess | None = None
        self._loaded = False

    def go_on(self) -> None:
        """Start compiling, or load what was compiled meanwhile; return at once while it is under way."""
        if self._loaded or (self._process is not None and self._process.is_alive()):
            return
        try:
            if self._process is None:
                self._process = multiprocessing.get_context("spawn").Process(
                    target=compile_kernels, args=(self._rule,), daemon=True
                )
                self._process.start()
                return
            self._loaded = True
            warm_up(self._rule)
        except Exception:
            self._loaded = True
            log.warning("the rule's kernels could not be compiled beforehand; the first round does it", exc_info=True)

    def end(self) -> None:
        """End the process that compiles, if it still does."""
        if self._process is not None and self._process.is_alive():
            self._process.terminate()
            self._process.join()


def compile_kernels(rule: Rule) -> None:
    """Compile the kernels of a rule; the target of a process of its own, which its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes of a program
    with suppress(Exception):
        warm_up(rule)
