"""Sweeps: one file that starts many runs. Each corner of the grid is a run of its own.

Weights & Biases: `program` (or `command` with `${program}`) and `parameters`, each with `value`, `values` or `min` and
`max`; the agent starts `python PROGRAM --name=value ...` (wandb 0.31, `wandb_agent.py` `_command_run` and
`sdk/launch/sweeps/utils.py` `create_sweep_command_args`; the kinds of parameters: sweeps 0.3, `config/schema.json`;
recorded in tests/conformance). Of a range its two ends are corners, of one of whole numbers in a grid all of them;
what is drawn from a distribution without ends is unknown.

Axolotl: `axolotl train config.yml --sweep sweeps.yml`, lists of values by key, and under `_` a list of mappings whose
values belong together; each combination replaces keys of the config (axolotl 0.8 to 0.19, `cli/utils/sweeps.py`
`generate_sweep_configs`).

At most `MOST` corners are looked at: of longer lists the two ends, and further parameters are unknown.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar, Sequence, Unresolved
from epochlint.documents.scalars import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from epochlint.documents.document import Document, Node
    from epochlint.documents.shell.document import Command
    from epochlint.findings.finding import Finding
    from epochlint.run.run import Run

MOST = 64  # corners of one sweep
_APART = 3  # findings of one rule at one place that are told one by one

_METHODS = frozenset({"grid", "random", "bayes"})
# Distributions whose `min` and `max` are values of the parameter itself; those of log_uniform are exponents.
_BETWEEN = frozenset({"", "uniform", "int_uniform", "log_uniform_values", "inv_log_uniform_values"})
_SWITCHES = "${args_no_boolean_flags}"  # a flag that is off is left out
# What the agent puts for `${args}` and its sisters; json and dictionaries go into a file that is not there yet.
_FLAGS = frozenset({"${args}", _SWITCHES, "${args_no_hyphens}", "${args_append_hydra}",
                    "${args_override_hydra}", "${args_no_equals}"})  # fmt: skip
_DEFAULT_COMMAND = ("${env}", "${interpreter}", "${program}", "${args}")


class Corner:
    """One run of a sweep: `entries` are its settings, `values` those that differ between corners, as texts.

    `sweep` is the same object for all corners of a sweep, and holds them all.
    """

    __slots__ = ("entries", "sweep", "values")

    def __init__(self, entries: list[Entry], values: dict[str, str], sweep: list[Corner]) -> None:
        self.entries = entries
        self.values = values
        self.sweep = sweep
        sweep.append(self)

    @property
    def label(self) -> str:
        """ "learning_rate=2e-4, num_epochs=4"."""
        return _listed(self.values)


def may_hold(text: str) -> bool:
    """Whether a file can be a Weights & Biases sweep."""
    return "parameters" in text and "method" in text and ("program" in text or "command" in text)


# Weights & Biases -----------------------------------------------------------------------------------------------------


def started(document: Document) -> Iterator[tuple[Command, Corner]]:
    """The commands that the agents of a sweep start, with the corner whose flags each is given."""
    if not may_hold(document.source.text):
        return
    from epochlint.documents.shell.document import Command

    for root in document.mappings():
        parameters, method = root.mapping("parameters"), root.get("method")
        if parameters is None or not isinstance(method, Scalar) or method.value not in _METHODS:
            continue
        words = _words(root)
        if words is None:
            continue
        switches = any(isinstance(item, Scalar) and item.raw == _SWITCHES for item in _items(root.get("command")))
        for corner in _grid([_choices(entry, method.value) for entry in parameters.entries]):
            if switches:
                corner.entries = [entry for entry in corner.entries if not _is_false(entry.value)]
            yield Command(list(words), words[0].span), corner


def _items(node: Node | None) -> list[Node]:
    return node.items if isinstance(node, Sequence) else []


def _is_false(node: Node) -> bool:
    return isinstance(node, Scalar) and node.raw == "False"


def _words(root: Mapping) -> list[Node] | None:
    """The words of the command before the flags; None where the corner's values do not come as flags."""
    program = root.get("program")
    command = root.get("command")
    items: list[Node]
    if isinstance(command, Sequence):
        items = command.items
    elif isinstance(program, Scalar):
        items = [Scalar(program.span, word, word) for word in _DEFAULT_COMMAND]
    else:
        return None
    words: list[Node] = []
    flags = False
    for item in items:
        raw = item.raw if isinstance(item, Scalar) else ""
        if raw in _FLAGS:
            flags = True
        elif raw == "${interpreter}":
            words.append(Scalar(item.span, "python", "python", True))
        elif raw == "${program}":
            if not isinstance(program, Scalar):
                return None
            words.append(Scalar(program.span, program.raw, program.raw, True))
        elif raw in ("${env}", "/usr/bin/env"):
            continue
        elif "${" in raw or not raw:
            words.append(Unresolved(item.span, "what the sweep's agent puts here"))
        else:
            words.append(Scalar(item.span, raw, raw, True))
    return words if flags and words else None


def _choices(entry: Entry, method: object) -> list[Entry]:
    """The values that a parameter takes at the corners: a grid takes every whole number of a range."""
    key = entry.key.lstrip("-").replace("-", "_")
    block = entry.value
    if not isinstance(block, Mapping):
        return [Entry(key, entry.key_span, Unresolved(block.span, "no parameter of a sweep"))]
    if "value" in block:
        return [Entry(key, entry.key_span, _as_flag(block.get("value")))]
    values = block.get("values")
    if isinstance(values, Sequence) and values.items:
        return [Entry(key, entry.key_span, _as_flag(item)) for item in values.items]
    kind = block.get("distribution")
    name = kind.raw if isinstance(kind, Scalar) else ""
    ends = [block.get("min"), block.get("max")]
    low, high = (end.value if isinstance(end, Scalar) else None for end in ends)
    if method == "grid" and name in ("", "int_uniform") and type(low) is type(high) is int and low <= high < low + MOST:
        return [Entry(key, entry.key_span, _as_flag(_number(ends[0], value))) for value in range(low, high + 1)]
    if name in _BETWEEN and all(number(end) is not None for end in ends):
        return [Entry(key, entry.key_span, _as_flag(end)) for end in ends]
    return [Entry(key, entry.key_span, Unresolved(block.span, "drawn from a distribution"))]


def _number(place: Node | None, value: int) -> Scalar:
    assert place is not None
    return Scalar(place.span, str(value), value)


def _as_flag(node: Node | None) -> Node:
    """A value as it arrives in a flag: Python's text for it."""
    assert node is not None
    if not isinstance(node, Scalar):
        return Unresolved(node.span, "a value with parts")
    raw = str(node.value) if node.value is None or isinstance(node.value, bool) else node.raw
    return Scalar(node.span, raw, raw, True)


# Axolotl ------------------------------------------------------------


def combined(document: Document | None) -> list[Corner]:
    """The corners of an Axolotl sweep file; none where it is not there or holds something else."""
    root = next(document.mappings(), None) if document is not None else None
    if root is None:
        return []
    choices: list[list[Entry]] = []
    pairs: list[list[Entry]] = []
    for entry in root.last.values():
        if not isinstance(entry.value, Sequence):
            return []
        if entry.key == "_":
            pairs = [list(item.entries) for item in entry.value.items if isinstance(item, Mapping)]
        elif entry.value.items:
            choices.append([Entry(entry.key, entry.key_span, item) for item in entry.value.items])
    return _grid(choices, pairs)


# The grid ------------------------------------------------------------


def _grid(choices: list[list[Entry]], pairs: list[list[Entry]] | None = None) -> list[Corner]:
    """Every combination of the choices with every group of pairs, at most `MOST`."""
    groups = pairs or [[]]
    groups = groups if len(groups) <= MOST else [groups[0], groups[-1]]
    lists = _few(choices, MOST // len(groups))
    together: list[list[Entry]] = [[]]
    for one in lists:
        together = [[*before, entry] for before in together for entry in one]
    varied = {one[0].key for one in lists if len(one) > 1}
    if len(groups) > 1:
        varied |= {entry.key for group in groups for entry in group}
    sweep: list[Corner] = []
    for before in together:
        for group in groups:
            entries = [*before, *group]
            Corner(entries, {entry.key: _text(entry.value) for entry in entries if entry.key in varied}, sweep)
    return sweep


def _few(choices: list[list[Entry]], most: int) -> list[list[Entry]]:
    """The choices, so few that they make at most `most` combinations: long lists by their ends, then unknown."""
    lists = [list(one) for one in choices]
    while _product(lists) > most:
        longest = max(range(len(lists)), key=lambda index: len(lists[index]))
        one = lists[longest]
        if len(one) > 2:
            lists[longest] = _ends(one)
        else:
            last = max(index for index, each in enumerate(lists) if len(each) > 1)
            first = lists[last][0]
            lists[last] = [Entry(first.key, first.key_span, Unresolved(first.value.span, "one value of many"))]
    return lists


def _product(lists: list[list[Entry]]) -> int:
    product = 1
    for one in lists:
        product *= len(one)
    return product


def _ends(entries: list[Entry]) -> list[Entry]:
    """The least and the greatest, where all are numbers; else the first and the last."""
    sized = [(value, index) for index, entry in enumerate(entries) if (value := number(entry.value)) is not None]
    if len(sized) < len(entries):
        return [entries[0], entries[-1]]
    return [entries[min(sized)[1]], entries[max(sized)[1]]]


def _text(node: Node) -> str:
    return node.raw if isinstance(node, Scalar) else "..."


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


# Findings of corners ------------------------------------------------------------


def together(found: Iterable[tuple[Run, list[Finding]]], corners: dict[int, Corner]) -> list[Finding]:
    """The findings of runs; what several corners of a sweep have in common is said once, with where it holds.

    `corners` are those of the runs that a sweep starts, by the run's id.
    """
    kept: list[Finding] = []
    groups: dict[tuple[int, str, str, str, int, int], list[tuple[Corner, Finding]]] = {}
    for run, findings in found:
        mine = corners.get(id(run))
        if mine is None:
            kept.extend(findings)
            continue
        for finding in findings:
            span = finding.span
            place = (span.source.path, span.start, span.end)
            key = (id(mine.sweep), finding.code, finding.level, *place)
            groups.setdefault(key, []).append((mine, finding))
    for group in groups.values():
        by_message: dict[str, list[tuple[Corner, Finding]]] = {}
        for corner, finding in group:
            by_message.setdefault(finding.message, []).append((corner, finding))
        kept.extend(_one(part) for part in (by_message.values() if len(by_message) <= _APART else [group]))
    return kept


def _one(group: list[tuple[Corner, Finding]]) -> Finding:
    """One finding for all corners of a group."""
    corner, finding = group[0]
    corners = [one for one, _ in group]
    alike = all(each.message == finding.message for _, each in group)
    everywhere = len({id(one) for one in corners}) == len(corner.sweep)
    if alike and everywhere:
        finding.run = ""
        return finding
    shared = _shared(corners) if alike else None
    where = shared if shared is not None else corner.label
    others = len({id(one) for one in corners}) - 1 if shared is None else 0
    more = f", and in {others} more {'corner' if others == 1 else 'corners'} of the sweep" if others else ""
    finding.message += f" (at {where}{more})"
    finding.run = where
    return finding


def _shared(corners: list[Corner]) -> str | None:
    """The values that all corners of a group have in common, if no other corner of the sweep has them all."""
    common = dict(corners[0].values)
    for corner in corners[1:]:
        common = {key: value for key, value in common.items() if corner.values.get(key) == value}
    if not common:
        return None
    having = [one for one in corners[0].sweep if common.items() <= one.values.items()]
    return _listed(common) if len(having) == len({id(one) for one in corners}) else None
