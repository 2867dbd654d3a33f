"""Rules, attacks, data sets and experiments from outside the package: in installed packages, and in single files.

Each of the four kinds has one `Registry`: the package's own entries by name, then those of plugins. There are three
ways in:

- an installed package names a class, or a `Source`, as an entry point of the group `eitr.rules`, `eitr.attacks`,
  `eitr.datasets` or `eitr.experiments`; the entry point has the name of what it names;
- `--plugin FILE` on the command line, or `load_plugin(path)` in Python;
- the variable `EITR_PLUGINS`, files separated as in `PATH`.

Nothing of it is imported before a registry is asked for a name that the package does not have, or for all names;
`load_plugin` imports its file at once. Of a file, everything counts that it defines with a public name.
"""

import dataclasses
import hashlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from eitr.errors import InputError

VARIABLE = "EITR_PLUGINS"
GROUP = "plugin_group"
"""The class variable by which the base class of a kind says to which registry its subclasses, or instances, belong."""
RULES, ATTACKS, DATA_SETS, EXPERIMENTS = "eitr.rules", "eitr.attacks", "eitr.datasets", "eitr.experiments"
"""The groups of entry points. Those of data sets are values, the others classes."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")

Entry = TypeVar("Entry")


class _Found(NamedTuple):
    """Something that a plugin brings."""

    plugin: str
    """The file, or the entry point, as messages name it."""
    value: Any


_waiting: dict[str, list[_Found]] = {}
"""By group: what files brought and no registry has taken yet."""
_loaded: dict[Path, str] = {}
"""Files that were loaded, with the SHA-256 of their content."""
_packages: dict[str, str] = {}
"""Installed packages of which an entry point was loaded, with their versions."""


class Registry(Mapping[str, Entry]):
    """Everything of one kind by name: the package's own in their order, then what plugins bring.

    `adopt` turns what a plugin brings into an entry; it raises an InputError that says what does not fit.
    """

    def __init__(
        self, what: str, group: str, own: Mapping[str, Entry], adopt: Callable[[Any], tuple[str, Entry]]
    ) -> None:
        self._what, self._group, self._adopt = what, group, adopt
        self._entries = dict(own)
        self._installed: dict[str, EntryPoint] | None = None

    def __getitem__(self, name: str) -> Entry:
        self._take_waiting()
        if name not in self._entries:
            _load_named_files()
            self._take_waiting()
        if name not in self._entries and name in self._entry_points():
            self._add_installed(self._entry_points()[name])
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        _load_named_files()
        self._take_waiting()
        for point in self._entry_points().values():
            if point.name not in self._entries:
                self._add_installed(point)
        return iter(list(self._entries))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._installed is None:
            self._installed = {}
            for point in entry_points(group=self._group):
                if point.name in self._entries or point.name in self._installed:
                    raise InputError(f"{_title(point)}: there is a {self._what} {point.name!r} already; uninstall one")
                self._installed[point.name] = point
        return self._installed

    def _add_installed(self, point: EntryPoint) -> None:
        try:
            value = point.load()
        except Exception as error:
            raise InputError(f"{_title(point)} cannot be loaded: {_told(error)}; fix or uninstall it") from error
        name = self._add(_Found(_title(point), value))
        if point.dist is not None:
            _packages[point.dist.name] = point.dist.version
        if name != point.name:
            raise InputError(f"{_title(point)}: the entry point must have the name of its {self._what}, {name!r}")

    def _take_waiting(self) -> None:
        while _waiting.get(self._group):
            self._add(_waiting[self._group].pop(0))

    def _add(self, found: _Found) -> str:
        try:
            name, entry = self._adopt(found.value)
        except InputError as error:
            raise InputError(f"{found.plugin}: {error}") from error
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"{found.plugin}: a {self._what} has a name of a-z, 0-9 and hyphens, not {name!r}")
        if self._entries.get(name, entry) is not entry:  # the same one again: a file imported one of the package's
            raise InputError(f"{found.plugin}: there is a {self._what} {name!r} already; give it another name")
        self._entries[name] = entry
        return name


def load_plugin(path: str | Path) -> None:
    """Import a Python file and register the rules, attacks, data sets and experiments that it defines.

    A file that was loaded before is left alone. One that fails, or brings nothing, is an InputError.
    """
    file = Path(path).resolve()
    if file in _loaded:
        return
    title = f"plugin {path}"
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{title}: cannot be read: {error.strerror or error}") from error
    found = [_Found(title, value) for value in _defined(_imported(file, digest, title))]
    if not found:
        raise InputError(f"{title}: it defines no rule, attack, data set or experiment with a public name")
    _loaded[file] = digest
    for one in found:
        _waiting.setdefault(getattr(one.value, GROUP), []).append(one)


def loaded_files(before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the files `before` and those that were loaded since: names with the SHA-256 of their content.

    A second file `mine.py` has the name `2/mine.py`: its folder is left out, as it may name a person.
    """
    found = dict(before or {})
    for file, digest in _loaded.items():
        if digest not in found.values():
            names = (f"{number}/{file.name}" for number in count(2))
            found[file.name if file.name not in found else next(name for name in names if name not in found)] = digest
    return found


def loaded_paths() -> dict[str, str]:
    """Return the whole paths of the files that were loaded, with the SHA-256 of their content."""
    return {str(file): digest for file, digest in _loaded.items()}


def loaded_packages() -> dict[str, str]:
    """Return the installed packages of which something was loaded, with their versions."""
    return dict(_packages)


def check_class(value: Any, base: type[Any], what: str, like: str) -> None:
    """Refuse what is not a concrete subclass of `base` whose fields are all settings; `like` names an example."""
    if not isinstance(value, type) or not issubclass(value, base):
        raise InputError(f"{value!r} is no subclass of {base.__module__}.{base.__name__}")
    for name in ("name", "summary"):
        if not isinstance(getattr(value, name, None), str):
            raise InputError(f"the {what} {value.__name__} needs a class variable `{name}`, a text; see {like}")
    if inspect.isabstract(value):
        missing = ", ".join(sorted(getattr(value, "__abstractmethods__", ())))
        raise InputError(f"the {what} {value.__name__} does not implement {missing}; see {like}")
    if any(isinstance(own, dataclasses.Field) for own in vars(value).values()):
        raise InputError(f"{value.__name__} has settings: write @dataclass(frozen=True, kw_only=True) above it")
    for item in dataclasses.fields(value):
        if "bounds" not in item.metadata:
            raise InputError(f"{value.__name__}: declare {item.name!r} with eitr.settings.setting(default, help)")
    try:
        value()
    except Exception as error:
        raise InputError(f"{value.__name__} cannot be made with its default settings: {_told(error)}") from error


def _load_named_files() -> None:
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_plugin(path)


def _imported(file: Path, digest: str, title: str) -> ModuleType:
    name = f"eitr_plugin_{digest[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{title}: a plugin is a Python file whose name ends with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module of a class
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        lines = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == str(file)]
        where = f" (line {lines[-1]})" if lines else ""
        raise InputError(f"{title} cannot be loaded: {_told(error)}{where}") from error
    return module


def _defined(module: ModuleType) -> Iterable[Any]:
    """Yield what a file defines for a registry; classes that it imports, and bases without a name, are left out."""
    for public, value in vars(module).items():
        group = getattr(value, GROUP, None)
        if public.startswith("_") or group is None or isinstance(value, type) == (group == DATA_SETS):
            continue
        helper = inspect.isabstract(value) and not hasattr(value, "name") and not hasattr(value, "id")
        if group == DATA_SETS or (value.__module__ == module.__name__ and not helper):
            yield value


def _title(point: EntryPoint) -> str:
    package = f" of the package {point.dist.name}" if point.dist is not None else ""
    return f"the entry point {point.name!r} in {point.group}{package}"


def _told(error: BaseException) -> str:
    """Return an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
