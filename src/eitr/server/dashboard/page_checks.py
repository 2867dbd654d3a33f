"""Checks of a study's pages that run beside the requests: one per study at a time."""

import logging
import threading

from eitr.server.domain.errors import BusyError
from eitr.server.domain.study.pages_list import StudyPages

log = logging.getLogger("eitr.server")


class PageChecks:
    """The checks that run in this process. What they find is stored page by page, so that one that ends early is not
    lost."""

    def __init__(self, pages: StudyPages) -> None:
        self._pages = pages
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def start(self, slug: str, *, archive: bool, who: str) -> threading.Thread:
        """Start a check."""
        with self._lock:
            if slug in self._running:
                raise BusyError("The pages are being checked already.")
            self._running.add(slug)
        thread = threading.Thread(target=self._run, args=(slug, archive, who), name="page-check", daemon=True)
        thread.start()
        return thread

    def running(self, slug: str) -> bool:
        """Say whether the pages of a study are being checked."""
        return slug in self._running

    def _run(self, slug: str, archive: bool, who: str) -> None:
        try:
            self._pages.check(slug, who=who, archive=archive)
        except Exception as error:
            log.error("a check of pages failed", exc_info=error)
        finally:
            with self._lock:
                self._running.discard(slug)
