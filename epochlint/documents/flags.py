"""The flags of a command line as a mapping: `--lr 1e-4`, `--lr=1e-4`, `--bf16`, `optimizer.lr=1e-4`, `train.yaml`."""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.shell.document import ShellUnresolved, ShellWord, cut
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence as Words

_FLAG = re.compile(r"--?(?!inf\b|nan\b)[A-Za-z_][^\s=]*(?:=|\Z)|--[^\s=]+(?:=|\Z)")
# key=value as Hydra, OmegaConf and torchtune take it; `+` and `++` add a key, `~` removes one.
_OVERRIDE = re.compile(r"(\+\+|\+|~)?([A-Za-z_][\w.\-/@\[\]]*)=")
_REMOVAL = re.compile(r"~[A-Za-z_][\w.\-/@]*\Z")
# Flags that take such overrides as their values, and Hydra's switches that they may follow.
_BEFORE_OVERRIDES = frozenset(
    {"override", "overrides", "set", "opts", "options", "cfg_options", "multirun", "m", "override_args"}
)


class _Reader:
    """Collects the entries word by word. `pending` is the flag that still takes values, with those it has."""

    __slots__ = ("entries", "open_ended", "pending", "positional", "switches", "values")

    def __init__(self, switches: frozenset[str]) -> None:
        self.entries: list[Entry] = []
        self.open_ended = False
        self.positional = 0
        self.switches = switches
        self.pending: tuple[str, Span] | None = None
        self.values: list[Node] = []

    def close(self) -> None:
        """The pending flag is complete."""
        if self.pending is not None:
            key, span = self.pending
            self.entries.append(Entry(key, span, _value(span, self.values)))
        self.pending = None
        self.values = []

    def take(self, word: Node) -> None:
        """A word that is no flag."""
        if self.pending is not None:
            self.values.append(word)
        else:
            self.entries.append(Entry(str(self.positional), word.span, word))
            self.positional += 1

    def flag(self, word: Node, known: str) -> None:
        """`--key` or `--key=value`, the value perhaps unknown."""
        self.close()
        name, equals, _ = known.partition("=")
        key = name.lstrip("-").replace("-", "_")
        if equals:
            self.entries.append(Entry(key, _head(word, len(name)), _behind(word, len(name) + 1)))
        elif key in self.switches:
            self.entries.append(Entry(key, word.span, _true(word.span)))
        else:
            self.pending = (key, word.span)

    def override(self, word: Node, found: re.Match[str]) -> None:
        """`key=value`."""
        key = ("~" if found[1] == "~" else "") + found[2]
        self.entries.append(Entry(key, _head(word, found.end() - 1), _behind(word, found.end())))


def parse(words: Words[Node], *, switches: frozenset[str] = frozenset()) -> Mapping:
    """The flags among the words of a command, in the order written; a flag written twice stands twice.

    Keys have no leading dashes, and underscores for the others. A flag without a value is True; one with several has a
    sequence. Words that belong to no flag stand under "0", "1", ... `switches` are flags that never take a value.
    The mapping is open-ended where words that cannot be known may hold further flags.
    """
    reader = _Reader(switches)
    ended = False
    for word in words:
        if isinstance(word, Unresolved):
            _unknown(reader, word)
            continue
        raw = word.raw if isinstance(word, Scalar) else ""
        if ended or not raw:
            reader.take(word)
        elif raw == "--":
            reader.close()
            ended = True
        elif _FLAG.match(raw):
            reader.flag(word, raw)
        else:
            _other(reader, word, raw)
    reader.close()
    return Mapping(_around(words), reader.entries, reader.open_ended)


def _other(reader: _Reader, word: Node, raw: str) -> None:
    """A known word that is no flag: an override, a value or a positional word."""
    found = _OVERRIDE.match(raw)
    removal = _REMOVAL.match(raw)
    waits = reader.pending is not None and not reader.values
    if waits and reader.pending is not None and reader.pending[0] in _BEFORE_OVERRIDES and found:
        reader.override(word, found)
    elif waits or not (found or removal):
        reader.take(word)
    else:
        if reader.pending is None or reader.pending[0] not in _BEFORE_OVERRIDES:
            reader.close()
        if found:
            reader.override(word, found)
        else:
            reader.entries.append(Entry(raw, word.span, _true(word.span)))


def _unknown(reader: _Reader, word: Unresolved) -> None:
    prefix = word.prefix if isinstance(word, ShellUnresolved) else ""
    if _FLAG.match(prefix) and "=" in prefix:
        reader.flag(word, prefix)
        return
    found = _OVERRIDE.match(prefix)
    if found and (reader.pending is None or reader.values or reader.pending[0] in _BEFORE_OVERRIDES):
        if reader.pending is None or reader.pending[0] not in _BEFORE_OVERRIDES:
            reader.close()
        reader.override(word, found)
        return
    further = isinstance(word, ShellUnresolved) and (word.several or (word.loose and bool(reader.values)))
    if further or prefix.startswith("-"):  # $EXTRA, --$NAME
        reader.close()
        reader.open_ended = True
    else:
        reader.take(word)


def _value(span: Span, values: list[Node]) -> Node:
    if not values:
        return _true(span)
    if len(values) == 1:
        return values[0]
    first, last = values[0].span, values[-1].span
    whole = (
        Span(first.source, first.start, last.end) if first.source is last.source and first.start <= last.end else first
    )
    return Sequence(whole, values)


def _true(span: Span) -> Scalar:
    return Scalar(span, "True", True, True)


def _head(word: Node, length: int) -> Span:
    """The span of the first characters of a word: the flag of `--lr=1e-4`."""
    rest = cut(word, length)
    span = word.span
    if rest is span:
        return span
    return Span(span.source, rest.start - length, rest.start)


def _behind(word: Node, count: int) -> Node:
    """What stands behind the first characters of a word."""
    if isinstance(word, ShellWord):
        return word.behind(count)
    span = cut(word, count)
    if isinstance(word, Scalar):
        return Scalar(span, word.raw[count:], word.raw[count:], True)
    if isinstance(word, ShellUnresolved):
        return ShellUnresolved(span, word.reason, prefix=word.prefix[count:], name=word.name)
    return Unresolved(span, word.reason if isinstance(word, Unresolved) else "")


def _around(words: Words[Node]) -> Span:
    if not words:
        return Span(Source("", ""), 0, 0)
    first, last = words[0].span, words[-1].span
    if first.source is last.source and first.start <= last.end:
        return Span(first.source, first.start, last.end)
    return first
