"""The data files of a check: each is read once for everything that its runs ask, and long ones not even that where
the user's cache knows them."""

from __future__ import annotations

import os
import sys

from epochlint.records import (
    Count,
    Disagreements,
    Duplicates,
    Leak,
    Leaks,
    Lengths,
    Problem,
    inside,
    kept,
    read_through,
)
from epochlint.records.looks import Judged, Look, Records
from epochlint.records.repeats import Repeats, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from epochlint.project.lookup import Lookup
    from epochlint.run.run import DataSource

    State = kept.State

MOST_JUDGED = 10
"""Records of a file in which a trainer or provider finds fault that are told one by one."""


class Want:
    """Something to look for in a file: the name under which it is known, the look, and what it comes to in plain
    values. `lasting`: the name means the same in the next run."""

    __slots__ = ("lasting", "look", "name", "told")

    def __init__(
        self, name: str, look: Callable[[], Look], told: Callable[[str, Any], object], lasting: bool = True
    ) -> None:
        self.name = name
        self.look = look
        self.told = told
        self.lasting = lasting


class Readings:
    """Reads for one check. `cache`: what was found in long files is kept in the user's cache folder."""

    __slots__ = ("_held", "_kept", "_known", "_lasting", "_lookup", "max_bytes")

    def __init__(self, lookup: Lookup, max_bytes: int, cache: bool = False) -> None:
        self.max_bytes = max_bytes
        self._lookup = lookup
        folder = kept.folder() if cache else None
        self._kept = kept.Kept(folder) if folder is not None else None
        self._known: dict[tuple[str, State, str | None], dict[str, Any]] = {}
        self._lasting: set[str] = set()
        self._held: list[Want] = []  # whose names mean something only as long as they live

    def of(
        self,
        path: str,
        most: int,
        wants: Sequence[Want] = (),
        extra: Sequence[Look] = (),
        field: str | None = None,
    ) -> dict[str, Any]:
        """What is known of a file, by name: what was wanted (None where the file was not read whole) and `count`.

        Reads it, at most `most` bytes of it, where something is not known yet, or where further looks have to see it.
        `field`: the key under which its rows stand.
        """
        state = kept.state_of(path)
        if state is None:
            return {}
        known = self._known.get((path, state, field))
        if known is None:
            known = self._known[path, state, field] = self._load(path, state) if field is None else {}
        estimate = f"count {most}"
        missing = [want for want in wants if want.name not in known]
        if missing or extra or ("count" not in known and estimate not in known):
            self._read(path, state, most, missing, extra, known, field)
        return {**known, "count": known["count"] if "count" in known else known.get(estimate)}

    def _read(
        self,
        path: str,
        state: State,
        most: int,
        missing: Sequence[Want],
        extra: Sequence[Look],
        known: dict[str, Any],
        field: str | None,
    ) -> None:
        looks = [want.look() for want in missing]
        why: list[tuple[str, bool]] = []
        count = read_through(path, (*looks, *extra), max_bytes=most, field=field, why=why)
        whole = count is not None and not count.estimated
        found: dict[str, Any] = {"count" if whole else f"count {most}": _plain(count)}
        if why:
            found["unread"] = [*why[0]]
            self._lasting.add("unread")
        for want, look in zip(missing, looks, strict=True):
            found[want.name] = want.told(path, look) if whole else None
            if want.lasting and whole:
                self._lasting.add(want.name)
            elif not want.lasting:
                self._held.append(want)
        known.update(found)
        if field is None:  # what is kept of a file is of the whole of it
            self.keep(path, state, known)

    def keep(self, path: str, state: State, known: dict[str, Any]) -> None:
        """Keeps what will hold in the next run, too, where the file is still what was read."""
        if self._may_keep(path, state) and kept.state_of(path) == state:
            assert self._kept is not None
            lasting = {
                name: value for name, value in known.items() if name.startswith("count") or name in self._lasting
            }
            self._kept.save(path, state, lasting)

    def known(self, path: str) -> dict[str, Any]:
        """What is known of a file without reading it."""
        state = kept.state_of(path)
        if state is None:
            return {}
        found = self._known.get((path, state, None))
        if found is None:
            found = self._known[path, state, None] = self._load(path, state)
        return found

    def add(self, path: str, name: str, value: object) -> None:
        """Something else that was found about a file, which holds in the next run."""
        state = kept.state_of(path)
        known = self._known.get((path, state, None)) if state is not None else None
        if state is not None and known is not None:
            self._lasting.add(name)
            known[name] = value
            self.keep(path, state, known)

    def _load(self, path: str, state: State) -> dict[str, Any]:
        if not self._may_keep(path, state):
            return {}
        assert self._kept is not None
        loaded = self._kept.load(path, state)
        found = {name: value for name, value in loaded.items() if _is_sound(name, value)}
        self._lasting.update(found)
        return found

    def _may_keep(self, path: str, state: State) -> bool:
        """Only what takes a while to read, and never in a folder of the project itself."""
        if self._kept is None or state[0] < kept.FROM_BYTES:
            return False
        return not inside(self._kept.folder, self._lookup.root(os.path.dirname(path)))


# What can be wanted, and what it comes to -----------------------------------------------------------------------------


def records_want(source: DataSource) -> Want | None:
    """The records that a trainer makes of the rows, where that is not one of each."""
    if source.keep is None and source.records_of is None:
        return None
    names = [_name(judge) for judge in (source.keep, source.records_of) if judge is not None]
    return Want(
        "records " + " ".join(name for name, _ in names),
        lambda: Records(source.keep, source.records_of),
        lambda _, look: [look.least, look.most],
        all(lasting for _, lasting in names),
    )


def strict_want(source: DataSource) -> Want | None:
    """What stops a reader that takes less than the loaders of `datasets` do: line and reason, or nothing."""
    strict = source.strict
    if strict is None:
        return None
    from epochlint.records.strict import Strict

    marked = strict == "jsonlines"  # the package, which takes a mark off
    return Want(
        f"strict {strict}",
        lambda: Strict(document=strict == "document", marked=marked),
        lambda path, look: look.told(path),
    )


def strict_problem(plain: Any) -> tuple[int, str] | None:
    """Line and reason; None where nothing stops it, or nobody looked."""
    try:
        line, reason = plain
        return int(line), str(reason)
    except (TypeError, ValueError):
        return None


def judged_want(source: DataSource) -> Want | None:
    """The records in which the trainer or provider finds fault: lists of line and two texts."""
    check = source.check
    if check is None:
        return None
    name, lasting = _name(check)
    return Want(
        "judged " + name, lambda: Judged(check, MOST_JUDGED), lambda _, look: [list(one) for one in look.found], lasting
    )


def lengths_want() -> Want:
    """Tokens, as `lengths` reads them."""
    return Want(
        "lengths",
        Lengths,
        lambda _, look: [look.rows, look.low, look.high, look.longest, [list(pair) for pair in look.lows.items()]],
    )


def exact_want(path: str) -> Want | None:
    """Tokens by a tokenizer.json: fewest and most; None where there is no tokenizer to ask."""
    from epochlint.records import exact

    state = kept.state_of(path)
    tokenizer = exact.load(path)
    if state is None or tokenizer is None:
        return None

    def told(_: str, look: Any) -> object:
        found = look.range()
        return list(found) if found is not None else None

    return Want(f"exact {path} {state}", lambda: exact.Exact(tokenizer), told)


def span(plain: Any) -> tuple[int, int] | None:
    """Fewest and most tokens; None where they are not known."""
    try:
        low, high = plain
        return int(low), int(high)
    except (TypeError, ValueError):
        return None


def repeats_want(most: int, field: str | None = None) -> Want:
    """What stands there twice, as `repeats` reads it; at most so many bytes are read again for it."""

    def told(path: str, look: Repeats) -> object:
        twice, differing = settle(path, look, True, most, field)
        return [
            [twice.rows, twice.unique, [list(group) for group in twice.groups], twice.complete],
            [differing.prompts, differing.rows, [list(group) for group in differing.groups], differing.complete],
        ]

    return Want("repeats", lambda: Repeats(prompts=True), told)


def lengths(plain: Any) -> Lengths | None:
    """The lengths that were wanted; None where they are not known."""
    try:
        found = Lengths()
        rows, low, high, longest, lows = plain
        pairs = ((int(length), int(number)) for length, number in lows)
        found.join((int(rows), int(low), int(high), int(longest), dict(pairs)))
    except (TypeError, ValueError):
        return None
    return found


def repeats(plain: Any) -> tuple[Duplicates, Disagreements] | None:
    """The repeats that were wanted; None where they are not known."""
    try:
        (rows, unique, groups, complete), (prompts, differing, pairs, told) = plain
        return (
            Duplicates(int(rows), int(unique), _groups(groups), complete is True),
            Disagreements(int(prompts), int(differing), _groups(pairs), told is True),
        )
    except (TypeError, ValueError):
        return None


def plain_leaks(found: Leaks) -> object:
    first = [[leak.validation_path, leak.validation_line, leak.train_path, leak.train_line] for leak in found.first]
    return [found.leaked, found.validation_rows, first, found.complete]


def leaks(plain: Any) -> Leaks | None:
    """The leaks that were found; None where they are not known."""
    try:
        leaked, rows, first, complete = plain
        places = tuple(Leak(str(path), int(line), str(train), int(at)) for path, line, train, at in first)
        return Leaks(int(leaked), int(rows), places, complete is True)
    except (TypeError, ValueError):
        return None


def unread(plain: Any) -> tuple[str, bool] | None:
    """Why a file could not be counted, and whether no reader of its format can read it."""
    try:
        reason, broken = plain
        return str(reason), broken is True
    except (TypeError, ValueError):
        return None


def judged(plain: Any) -> list[tuple[int, str, str]]:
    """The verdicts that were wanted."""
    try:
        return [(int(line), str(name), str(reason)) for line, name, reason in plain]
    except (TypeError, ValueError):
        return []


def count(path: str, plain: Any) -> Count | None:
    """The count of a file; None where it has none, or none that can be read."""
    try:
        format, rows, shape, messages, turns, multi, estimated, problems = plain  # noqa: A001 # the room's own word
        return Count(
            path,
            str(format),
            int(rows),
            str(shape),
            int(messages) if messages is not None else None,
            int(turns) if turns is not None else None,
            int(multi),
            estimated is True,
            problems=tuple(
                Problem(int(line), int(column), str(reason), arrow is True) for line, column, reason, arrow in problems
            ),
        )
    except (TypeError, ValueError):
        return None


def _is_sound(name: str, value: Any) -> bool:
    """Whether something that was kept can be what it says."""
    kind = name.partition(" ")[0]
    if kind == "count":
        return value is None or count("", value) is not None
    if kind == "strict":
        return value == [] or strict_problem(value) is not None
    if kind == "judged":
        return isinstance(value, list) and len(judged(value)) == len(value)
    if kind == "unread":
        return unread(value) is not None
    parsed: Any = {"exact": span, "records": span, "lengths": lengths, "repeats": repeats, "leaks": leaks}.get(kind)
    return parsed is not None and parsed(value) is not None


def _plain(count: Count | None) -> object:
    if count is None:
        return None
    problems = [[problem.line, problem.column, problem.reason, problem.arrow] for problem in count.problems]
    return [
        count.format, count.rows, count.shape, count.messages, count.assistant_turns, count.conversations_multi,
        count.estimated, problems,
    ]  # fmt: skip


def _groups(plain: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(line) for line in group) for group in plain)


def _name(judge: Any) -> tuple[str, bool]:
    """What tells a function or a thing that judges records from others, and whether it does so in the next run.

    A plain function is told by its place and its module's file, a thing by its `key` (all that its verdicts hang on).
    """
    owner = getattr(judge, "__self__", judge)
    key = getattr(owner, "key", None)
    plain = key is None and getattr(judge, "__closure__", owner) is None
    if not plain and not isinstance(key, str):
        return f"{id(owner)}", False
    module = sys.modules.get(getattr(judge, "__module__", None) or type(owner).__module__)
    state = kept.state_of(getattr(module, "__file__", None) or "")
    place = getattr(judge, "__qualname__", None) or type(owner).__qualname__
    return f"{place} {key if key is not None else ''} {state[:2] if state is not None else ''}", state is not None
