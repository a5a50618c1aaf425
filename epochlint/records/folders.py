"""Which files a folder or a glob pattern stands for, and how `datasets` 5.2.0 deals them out to splits.

Source: datasets/data_files.py and datasets/load.py; tests/records/datasets_rows.json holds what it said.
Links to files are followed, links to folders are not (as there), so there are no loops.
"""

from __future__ import annotations

import os
import re

from epochlint.records.counting import FORMATS, format_of
from epochlint.records.opening import is_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ENTRIES = 100_000
"""Folder entries that are looked at; what has more is unknown."""

_NOT_DATA = frozenset(
    ("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
)
_DEEPEST = 40

_SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_BETWEEN = r"[-._ 0-9]"
_SHARD = re.compile(r"data/([^/]+)-\d{5}-of-\d{5}[^/]*\.[^/]*$")
_PATTERN_SIGN = re.compile(r"[*?\[]")


def expand(path: str, *, root: str | None = None) -> list[str]:
    """The data files of a file, folder or glob pattern, sorted. Empty where there are none, or too many to tell.

    A file stands for itself, whatever its ending. Folders are searched to the bottom for data files (by their
    ending), without hidden ones and folders like `__pycache__`; all splits together. `root`: no file that lies,
    links resolved, outside of this folder. Raises nothing.
    """
    if is_regular(path):
        found = [path]
    elif os.path.isdir(path):
        found = [os.path.join(path, name) for name in _below(path) if _is_data(name)]
    elif _PATTERN_SIGN.search(path):
        found = _glob(path)
    else:
        return []
    return [name for name in found if root is None or inside(name, root)]


def inside(path: str, root: str) -> bool:
    """Whether a path lies in a folder, with all links resolved."""
    try:
        real, base = os.path.realpath(path), os.path.realpath(root)
        return os.path.commonpath((real, base)) == base
    except (OSError, ValueError):
        return False


def splits(folder: str, *, root: str | None = None) -> dict[str, list[str]]:
    """The files of each split of a folder as `load_dataset(folder)` deals them out. Empty where it would refuse, or
    where something else decides (`configs` in the README).

    A file whose name fits two patterns of a split stands there twice, and is loaded twice.
    """
    names = list(_below(folder))
    if _decided_elsewhere(folder):
        return {}
    saved = _saved(folder)
    if saved is not None:
        return {"train": saved} if all(root is None or inside(name, root) for name in saved) else {}
    dealt = {split: _one_format(found) for split, found in _deal([name for name in names if _allowed(name)]).items()}
    kinds = {kind for kind, _ in dealt.values()}
    if len(kinds) != 1 or None in kinds:
        return {}
    paths = {split: [os.path.join(folder, name) for name in found] for split, (_, found) in dealt.items()}
    if root is not None and not all(inside(path, root) for found in paths.values() for path in found):
        return {}
    return paths


def training_files(path: str, *, root: str | None = None) -> list[str]:
    """The files of a folder's training split (or its only split), those of a pattern, or the file itself."""
    if not os.path.isdir(path):
        return expand(path, root=root)
    dealt = splits(path, root=root)
    if "train" in dealt:
        return dealt["train"]
    return next(iter(dealt.values())) if len(dealt) == 1 else []


def _below(folder: str, *, hidden: bool = False) -> Iterator[str]:
    """Names of the files below a folder, relative to it with "/", sorted by path. Nothing where there are too many."""
    found: list[str] = []
    waiting = [("", 0)]
    seen = 0
    while waiting:
        below, depth = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST_ENTRIES:
                        return iter(())
                    name = below + entry.name
                    if entry.name.startswith(".") and not hidden:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _DEEPEST and (hidden or not entry.name.startswith("__")):
                            waiting.append((name + "/", depth + 1))
                    elif is_regular(entry.path):
                        found.append(name)
        except (OSError, ValueError):
            continue
    return iter(sorted(found))


def _is_data(name: str) -> bool:
    return os.path.basename(name) not in _NOT_DATA and format_of(name) is not None


def _allowed(name: str) -> bool:
    """Whether the loader looks at a file at all: any part of its name is a known ending."""
    base = os.path.basename(name)
    return base not in _NOT_DATA and any("." + part.lower() in FORMATS for part in base.split(".")[1:])


def _one_format(names: list[str]) -> tuple[str | None, list[str]]:
    """The commonest format among the files' endings, and the files that have it."""
    numbers: dict[str, int] = {}
    for name in names:
        for part in os.path.basename(name).split(".")[1:]:
            numbers["." + part.lower()] = numbers.get("." + part.lower(), 0) + 1
    favourites = (".parquet", ".arrow", ".jsonl", ".json", ".csv")
    endings = sorted(
        (ending for ending in numbers if ending in FORMATS),
        key=lambda ending: (numbers[ending], *(ending == favourite for favourite in favourites), ending),
    )
    if not endings:
        return None, []
    kind = FORMATS[endings[-1]]
    family = "csv" if kind == "tsv" else kind
    same = [ending for ending, other in FORMATS.items() if ("csv" if other == "tsv" else other) == family]
    fits = re.compile(f".*({'|'.join(map(re.escape, same))})(\\..+)?$")
    return kind, [name for name in names if fits.match(os.path.basename(name))]


def _deal(names: list[str]) -> dict[str, list[str]]:
    """Files by split: numbered shards below data/ first, then folders named like a split, then files, else all."""
    shards: dict[str, list[str]] = {}
    for name in names:
        match = _SHARD.match(name)
        if match:
            shards.setdefault(match[1], []).append(name)
    if shards:
        return shards
    for fits in (_folder_fits, _file_fits):
        dealt: dict[str, list[str]] = {}
        for split, words in _SPLIT_WORDS.items():
            found = [name for word in words for pattern in fits(word) for name in names if pattern.match(name)]
            if found:
                dealt[split] = found
        if dealt:
            return dealt
    return {"train": names} if names else {}


def _folder_fits(word: str) -> list[re.Pattern[str]]:
    before, after = f"[^/]*{_BETWEEN}", f"{_BETWEEN}[^/]*"
    return [
        re.compile(rf"(?:.*/)?{begin}{word}{end}/.+$")
        for begin, end in (("", ""), ("", after), (before, ""), (before, after))
    ]


def _file_fits(word: str) -> list[re.Pattern[str]]:
    return [re.compile(rf"(?:.*/)?{begin}{word}{_BETWEEN}[^/]*$") for begin in ("", f"[^/]*{_BETWEEN}")]


def _decided_elsewhere(folder: str) -> bool:
    """Whether the folder's README or YAML names its configurations."""
    if os.path.exists(os.path.join(folder, ".huggingface.yaml")):
        return True
    readme = os.path.join(folder, "README.md")
    if not is_regular(readme):
        return False
    try:
        with open(readme, "rb") as file:
            start = file.read(1 << 16)
    except OSError:
        return False
    return start.startswith(b"---") and re.search(rb"^configs\s*:", start, re.MULTILINE) is not None


def _saved(folder: str) -> list[str] | None:
    """The files of a dataset written by `save_to_disk`, which its state.json names; None where it is none."""
    state = os.path.join(folder, "state.json")
    if not is_regular(state):
        return None
    import json

    try:
        with open(state, "rb") as file:
            names = [entry["filename"] for entry in json.loads(file.read(1 << 20))["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(type(name) is str and name == os.path.basename(name) for name in names):
        return None
    return [os.path.join(folder, name) for name in names]


def _glob(pattern: str) -> list[str]:
    """Files that fit a pattern: * within a name, ** over folders, ?, [abc], [!abc]. Hidden files and folders and
    folders like `__pycache__` only where the pattern names them."""
    parts = pattern.replace(os.sep, "/").split("/")
    fixed = next(index for index, part in enumerate(parts) if _PATTERN_SIGN.search(part))
    base = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") and fixed else ".")
    rest = parts[fixed:]
    expression = _translate(rest)
    if expression is None:
        return []
    hidden = sum(part.startswith(".") for part in rest)
    special = sum(part.startswith("__") for part in rest[:-1])
    found = []
    for name in _below(base, hidden=True) if hidden or special else _below(base):
        steps = name.split("/")
        if (
            expression.match(name)
            and steps[-1] not in _NOT_DATA - {rest[-1]}
            and sum(step.startswith(".") for step in steps) == hidden
            and sum(step.startswith("__") for step in steps[:-1]) == special
        ):
            found.append(name)
    prefix = "/".join(parts[:fixed])
    return [f"{prefix}/{name}" if fixed else name for name in found]


def _translate(parts: list[str]) -> re.Pattern[str] | None:
    written = []
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            written.append(".+" if last else "(?:[^/]+/)*")
            continue
        text = ""
        position = 0
        while position < len(part):
            sign = part[position]
            position += 1
            end = part.find("]", position + 1) if sign == "[" else -1
            if sign == "*":
                text += "[^/]*" if not text.endswith("[^/]*") else ""
            elif sign == "?":
                text += "[^/]"
            elif end > 0:
                inner = part[position:end].replace("\\", "\\\\").replace("[", "\\[")
                text += "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]"
                position = end + 1
            else:
                text += re.escape(sign)
        written.append(text if last else text + "/")
    try:
        return re.compile("".join(written) + "$", re.DOTALL)
    except re.error:
        return None
