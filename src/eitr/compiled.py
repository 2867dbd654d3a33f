"""How functions are compiled: `@compiled` is numba's `njit`, without the GIL and with a cache that is never stale.

numba's own cache notices only changes of the file a function stands in. Machine code that inlined a function of
another file would be loaded after that file changed, and an edited constant then reads memory it does not own.
Here the cache is bound to all sources of the function's folder. Where no cache can be written (a read-only
installation without a home), functions are compiled in each process, unless `cache_in` names a folder. Where numba is
not installed, as on a GPU machine with numpy and torch only, functions stay plain Python: right, slow, and not what
such a machine computes with.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

try:
    import numba
except ImportError:
    numba = None  # type: ignore[assignment]

JIT: bool = numba is not None and not cast(Any, numba.config).DISABLE_JIT
"""False under `NUMBA_DISABLE_JIT=1`: kernels are then ordinary Python functions, for coverage and debuggers."""

CACHE_VARIABLE = "NUMBA_CACHE_DIR"
"""Where numba keeps its cache, if it is set."""
_without_cache: list[tuple[Any, Any]] = []
"""Functions whose machine code can be kept nowhere: as numba has them, and as they were."""

Arguments = ParamSpec("Arguments")
Output = TypeVar("Output")


def compiled(function: Callable[Arguments, Output]) -> Callable[Arguments, Output]:
    """Compile a function to machine code on first use; leave it as it is where the JIT is switched off."""
    if not JIT:
        return function
    dispatcher: Any = numba.njit(nogil=True)(function)
    try:
        _use_cache(dispatcher, function)
    except RuntimeError:  # nowhere to write
        dispatcher = numba.njit(nogil=True)(function)
        _without_cache.append((dispatcher, function))
    except AttributeError:  # another numba: no cache at all is always right
        dispatcher = numba.njit(nogil=True)(function)
    return cast(Callable[Arguments, Output], dispatcher)


def cache_in(folder: Path) -> bool:
    """Keep the cache in a folder if it can be kept nowhere else, also in processes started later; say whether it is.

    Call it before any of the functions, which then have been compiled already.
    """
    if not _without_cache:
        return False
    os.environ[CACHE_VARIABLE] = str(folder)
    cast(Any, numba.config).CACHE_DIR = str(folder)
    while _without_cache:
        _use_cache(*_without_cache.pop())
    return True


def _use_cache(dispatcher: Any, function: Any) -> None:
    dispatcher.enable_caching()
    dispatcher._cache._cache_file._source_stamp = folder_digest(Path(function.__code__.co_filename).parent)
    dispatcher._cache.save_overload = _if_possible(dispatcher._cache.save_overload)


def _if_possible(save: Callable[..., None]) -> Callable[..., None]:
    """Ignore errors while saving to the cache: on a full disk the compiled function still works."""

    def attempt(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    return attempt


@lru_cache
def folder_digest(folder: Path) -> str:
    """Return a digest of all Python sources in a folder: what machine code in the cache was compiled from."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
