"""Stand-ins for packages that a trainer imports but that its arithmetic never uses (kernels, GPUs, trackers, hubs).

``install()`` puts a finder at the *end* of the import system: whatever is really installed is imported as it is; any
other
module becomes a stand-in whose attributes are empty classes. A recorder that uses it says so, and names what it stubs.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any


class _Anything(type):
    """A class that has every attribute, can be a base, a decorator, a context manager, a default value."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = _Anything(name, (Stand,), {})
        setattr(cls, name, value)
        return value

    def __iter__(cls) -> Any:
        return iter(())

    def __or__(cls, other: Any) -> Any:
        return Any

    def __ror__(cls, other: Any) -> Any:
        return Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]) and not cls.__dict__.get("__init__"):
            return args[0]  # used as a decorator
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, item: Any) -> Any:
        return cls


class Stand(metaclass=_Anything):
    """An instance of a stand-in class."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Anything(name, (Stand,), {})

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        pass


class _Module(types.ModuleType):
    __version__ = "0.0.0"
    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = _Anything(name, (Stand,), {})
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.made: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        self.made.add(spec.name.partition(".")[0])
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def install(*names: str) -> _Finder:
    """Let these top-level packages be stood in for where not installed; the finder's ``made`` tells which were."""
    finder = _Finder(names)
    sys.meta_path.append(finder)
    return finder
