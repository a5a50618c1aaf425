"""How many rows a public data set has, that is named as on the Hugging Face hub and not there as files.

Asked in this order: what `datasets` counted when it prepared the set in its local cache, the card in the hub's local
cache, and, only where the user asked for it (`--online`), the hub itself; else a small table that came with epochlint.
What is not certain is unknown: a set of several configurations without a word which, caches that disagree.

Source of the layouts: datasets 5.2.0 (builder.py `_relative_data_dir`, naming.py `camelcase_to_snakecase`, info.py),
huggingface_hub 2.4.0 (file_download.py `repo_folder_name`, constants.py).
"""

from __future__ import annotations

import json
import os
import re

from epochlint.project import cards
from epochlint.run.known import COUNTED, ESTIMATED, ON_ESTIMATE, ON_TABLE
from epochlint.splits import parts as split_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.project.cards import Splits

_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?").fullmatch
_BIGGEST_CARD = 1 << 20
_MOST_FOLDERS = 200
_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "public_data.json")


class Rows:
    """Rows of a split, with the origin and basis in the run's words, and where they stand."""

    __slots__ = ("basis", "origin", "rows", "source")

    def __init__(self, rows: int, origin: str, basis: int, source: str) -> None:
        self.rows = rows
        self.origin = origin
        self.basis = basis
        self.source = source


def rows_of(
    name: str, subset: str | None, split: str | None, *, online: bool, environment: Mapping[str, str] = os.environ
) -> Rows | None:
    """The rows of a split of a public data set; None where they are not certain.

    subset: the configuration, "" where none is written, None where nobody knows whether one is. split: None for the
    one that a trainer takes by itself.
    """
    if not _is_name(name):
        return None
    for find, origin, basis, source in (
        (_prepared, COUNTED, 0, "the local cache of datasets"),
        (_card, ESTIMATED, ON_ESTIMATE, "the card in the local cache of the hub"),
        (_asked if online else None, ESTIMATED, ON_ESTIMATE, "the hub"),
        (_table, ESTIMATED, ON_TABLE, "a table of public data sets"),
    ):
        configs = find(name, environment) if find is not None else None
        rows = choose(configs, subset, split) if configs else None
        if rows is not None:
            return Rows(rows, origin, basis, source)
    return None


def choose(configs: Mapping[str, Splits], subset: str | None, split: str | None) -> int | None:
    """The rows of one split of one configuration; None where it is not certain which is meant."""
    if subset:
        splits = configs.get(subset)
    elif len(configs) == 1:
        splits = next(iter(configs.values()))
    else:
        splits = configs.get("default") if subset == "" else None
    if not splits:
        return None
    if split is None:
        return splits.get("train") if "train" in splits else next(iter(splits.values())) if len(splits) == 1 else None
    parts = split_parts(split)
    if parts is None or not all(part.name in splits for part in parts):
        return None
    return sum(part.rows(splits[part.name]) for part in parts)


# The caches on this machine -------------------------------------------------------------------------------------------


def _home(environment: Mapping[str, str]) -> str:
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.expanduser(environment.get("HF_HOME") or os.path.join(base, "huggingface"))


def _prepared(name: str, environment: Mapping[str, str]) -> dict[str, Splits]:
    """What `datasets` wrote beside the sets that it prepared: <org>___<name>/<config>/<version>/<hash>/."""
    cache = environment.get("HF_DATASETS_CACHE") or os.path.join(_home(environment), "datasets")
    owner, _, own = name.rpartition("/")
    folder = os.path.join(os.path.expanduser(cache), f"{owner}___{_snake(own)}" if owner else _snake(own))
    found: dict[str, list[Splits]] = {}
    for config in _folders(folder):
        for version in _folders(config):
            for one in _folders(version):
                text = _start(os.path.join(one, "dataset_info.json"))
                if text is None:
                    continue
                try:
                    info = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                splits = cards.splits(info.get("splits")) if type(info) is dict else {}
                named = info.get("config_name") if type(info) is dict else None
                # a configuration with data files or arguments of its own has a longer folder's name
                if splits and type(named) is str and os.path.basename(config) == named:
                    found.setdefault(named, []).append(splits)
    return {config: several[0] for config, several in found.items() if all(one == several[0] for one in several)}


def _snake(name: str) -> str:
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).lower()


def cached(model: str, file: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """A file of a model in the hub's local cache; None where it is not there."""
    if not _is_name(model):
        return None
    folder = _snapshot("models", model, environment)
    path = os.path.join(folder, file) if folder is not None else ""
    return path if os.path.isfile(path) else None


def _is_name(name: str) -> bool:
    return _NAME(name) is not None and ".." not in name and "--" not in name


def _card(name: str, environment: Mapping[str, str]) -> dict[str, Splits]:
    folder = _snapshot("datasets", name, environment)
    return cards.rows(os.path.join(folder, "README.md")) if folder is not None else {}


def _snapshot(kind: str, name: str, environment: Mapping[str, str]) -> str | None:
    """The folder of the revision that the hub's cache calls main, or of its only one."""
    cache = environment.get("HF_HUB_CACHE") or os.path.join(_home(environment), "hub")
    folder = os.path.join(os.path.expanduser(cache), f"{kind}--" + name.replace("/", "--"))
    revision = (_start(os.path.join(folder, "refs", "main")) or "").strip()
    snapshots = [os.path.basename(path) for path in _folders(os.path.join(folder, "snapshots"))]
    if revision not in snapshots:
        revision = snapshots[0] if len(snapshots) == 1 else ""
    return os.path.join(folder, "snapshots", revision) if revision else None


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            found = sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        return []
    return found if len(found) <= _MOST_FOLDERS else []


def _start(path: str) -> str | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read(_BIGGEST_CARD).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


# What came along, and the hub -----------------------------------------------------------------------------------------


def _table(name: str, _: Mapping[str, str]) -> dict[str, Splits]:
    with open(_TABLE, encoding="utf-8") as file:
        table = json.load(file)
    entry = table["sets"].get(table["older_names"].get(name, name))
    return entry["splits"] if entry is not None else {}


def _asked(name: str, environment: Mapping[str, str]) -> dict[str, Splits]:
    from epochlint.project.online import splits

    return splits(name, environment)
