"""The settings: `[tool.epochlint]` in pyproject.toml, or epochlint.toml; the nearest one wins.

A folder without settings costs a few looks at file names. pydantic is imported only where there is a table to check
(`model.py`), whose JSON Schema is published as `schema.json` beside this file.
"""

from __future__ import annotations

import os

from epochlint.files import matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES = ("epochlint.toml", "pyproject.toml")


class SettingsError(Exception):
    """A settings file that cannot be used. `line` and `column` are 1-based; 0 where there is no place."""

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        where = f"{path}:{line}:{column}" if line else path
        super().__init__(f"{where}: {message}")


class Override:
    """Assumptions and the trainer for the files that some patterns mean."""

    __slots__ = ("assume", "matches", "trainer")

    def __init__(self, matches: Callable[[str], bool], assume: dict[str, str], trainer: str | None) -> None:
        self.matches = matches
        self.assume = assume
        self.trainer = trainer


class Ignored:
    """Rules that are silent for the files that a pattern means; `pointer` narrows it to one place of a JSON file."""

    __slots__ = ("codes", "matches", "pattern", "pointer")

    def __init__(self, pattern: str, matches: Callable[[str], bool], pointer: str | None, codes: list[str]) -> None:
        self.pattern = pattern  # as written
        self.matches = matches
        self.pointer = pointer
        self.codes = codes


class Settings:
    """What a settings file says. Patterns are compared with paths from `folder`, the file's own."""

    __slots__ = (
        "_excludes",
        "assume",
        "baseline",
        "exclude",
        "folder",
        "ignore",
        "ignored",
        "levels",
        "overrides",
        "path",
        "place",
        "rules",
        "select",
        "thresholds",
    )

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self.folder = os.path.dirname(path) if path is not None else os.getcwd()
        self.select: list[str] = []
        self.ignore: list[str] = []
        self.ignored: list[Ignored] = []
        self.levels: dict[str, str] = {}
        self.thresholds: dict[str, dict[str, float]] = {}
        self.exclude: list[str] = []
        self._excludes: Callable[[str], bool] | None = None  # made when first asked
        self.assume: dict[str, str] = {}
        self.overrides: list[Override] = []
        self.rules: list[str] = []  # absolute folders
        self.baseline: str | None = None  # absolute
        self.place: Callable[[tuple[str | int, ...]], tuple[int, int]] | None = None  # keys -> line and column

    def error(self, where: tuple[str | int, ...], message: str) -> SettingsError:
        """An error about the setting at some keys: `("overrides", 0, "trainer")`."""
        line, column = self.place(where) if self.place is not None else (0, 0)
        return SettingsError(self.path or "settings", line, column, message)

    def below(self, path: str) -> str:
        """An absolute path as the patterns see it: from the settings' folder, forward slashes."""
        return os.path.relpath(path, self.folder).replace(os.sep, "/")

    def excluded(self, path: str) -> bool:
        """Whether `exclude` means a file, by its absolute path."""
        if not self.exclude:
            return False
        if self._excludes is None:
            self._excludes = matcher(self.exclude)
        return self._excludes(self.below(path))

    def assumed(self, path: str) -> dict[str, str]:
        """The assumptions that hold for a file, the later overrides winning."""
        found = dict(self.assume)
        for override in self.overrides:
            if override.matches(self.below(path)):
                found.update(override.assume)
        return found

    def trainer(self, path: str) -> str | None:
        """The trainer that the settings name for a file."""
        named = [
            override.trainer for override in self.overrides if override.trainer and override.matches(self.below(path))
        ]
        return named[-1] if named else None


class Nearest:
    """The settings that hold for each file: those of the nearest settings file above it, else the check's own.

    `fixed`: the check's own hold for every file (`--config`, `--isolated`).
    """

    __slots__ = ("_by_folder", "_loaded", "fixed", "own")

    def __init__(self, own: Settings, fixed: bool = False) -> None:
        self.own = own
        self.fixed = fixed
        self._by_folder: dict[str, Settings] = {}
        self._loaded: dict[str | None, Settings] = {None: own, own.path: own}

    def of(self, path: str) -> Settings:
        """The settings for an absolute path. Raises SettingsError."""
        if self.fixed:
            return self.own
        folder = os.path.dirname(path)
        found = self._by_folder.get(folder)
        if found is None:
            name = find(folder)
            if name not in self._loaded:
                self._loaded[name] = load(name)
            found = self._by_folder[folder] = self._loaded[name]
        return found

    def used(self) -> list[Settings]:
        """The check's own settings, and the others that were asked for so far."""
        return list(dict.fromkeys([self.own, *self._by_folder.values()]))


def find(folder: str) -> str | None:
    """The settings file that holds for a folder: in it or the nearest folder above, up to a repository's top."""
    current = os.path.abspath(folder)
    while True:
        for name in _NAMES:
            path = os.path.join(current, name)
            if os.path.isfile(path) and (name == "epochlint.toml" or _mentions(path)):
                return path
        upper = os.path.dirname(current)
        if upper == current or os.path.exists(os.path.join(current, ".git")):
            return None
        current = upper


def _mentions(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"tool.epochlint" in file.read(4 << 20)
    except OSError:
        return False


def load(path: str | None) -> Settings:
    """The settings of a file; without one, the defaults. Raises SettingsError."""
    if path is None:
        return Settings()
    from epochlint.settings.model import read

    return read(path)
