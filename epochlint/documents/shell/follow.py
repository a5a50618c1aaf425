"""Follows a script from its first line to its last, as far as it can be known without running anything.

Each command is met with the variables that are set by then. Where a condition is not known, both branches are
followed and what differs between them becomes unknown. Loops over known words are followed word by word. What a script
does when nothing is given to it counts as known: `${LR:-2e-4}`, a `while` loop over its arguments that does not turn.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Problem
from epochlint.documents.shell.below import assigned, every, is_test, raw_words
from epochlint.documents.shell.conditions import Verdict
from epochlint.documents.shell.patterns import matches
from epochlint.documents.shell.simple import Running
from epochlint.documents.shell.syntax import (
    Arithmetic,
    Case,
    Chain,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Simple,
    Statement,
    TooDeepError,
    While,
)
from epochlint.documents.shell.text import Text
from epochlint.documents.shell.values import Field, Piece, Scope, Value, assumed, stored, text_of
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.source import Source

MOST_STEPS = 20_000  # statements followed in one script
MOST_VARIANTS = 64  # commands that one line gives in loops

_SEVERAL = re.compile(r"\s|\A--?[A-Za-z]")  # a value that is more than one word, or a flag
_ARGUMENTS = ('"$@"', "$@", '"$*"', "$*")
_LEAVES = ("exit", "return")


def _is_glob(text: str) -> bool:
    """Whether a word asks for files: a sign for any of them, or a choice in brackets."""
    return "*" in text or "?" in text or 0 <= text.find("[") < text.rfind("]") - 1


class Follower(Running):
    """Follows one script: `commands` are the programs that it runs."""

    __slots__ = ("_steps", "_stopped")

    def __init__(
        self,
        source: Source,
        settings: Mapping,
        scheduler: str,
        environment: Mapping | None,
        load: Callable[[str, str | None], Source | None] | None = None,
    ) -> None:
        super().__init__(source, settings, scheduler, environment, load)
        self._steps = MOST_STEPS
        self._stopped = False

    def follow(self, text: Text, statements: Sequence[Statement]) -> None:
        """Follows a script's statements, then the functions that it defines and never calls."""
        try:
            self.run(text, statements)
            self._guarded += 1
            for name, (inside, statement) in list(self.scope.functions.items()):
                if name not in self._called:
                    before = self.scope
                    self.scope = before.copy()
                    self._call(inside, statement, None)
                    self.scope = before
            self._guarded -= 1
        except TooDeepError:
            self._problem("too-deep", "it is nested too deeply to follow", 0)

    def _problem(self, kind: str, reason: str, at: int) -> None:
        if len(self.problems) < 20:
            self.problems.append(Problem(kind, reason, Span(self.source, at, at)))

    def run(self, text: Text, statements: Sequence[Statement]) -> str:
        """Follows statements in order; how they end: "" at their end, or by leaving."""
        for statement in statements:
            flow = self.statement(text, statement)
            if flow:
                return flow
        return ""

    def statement(self, text: Text, node: Statement) -> str:
        self._steps -= 1
        if self._steps < 0 or self.work < 0:
            if not self._stopped:
                self._problem("too-large", "it does more than can be followed", text.place(node.start, node.end)[0])
            self._stopped = True
            return "exit"
        if isinstance(node, Simple):
            return self._simple(text, node)
        if isinstance(node, Chain):
            return self._chain(text, node)
        if isinstance(node, Pipeline):
            if len(node.parts) == 1:
                self.statement(text, node.parts[0])
                return ""
            piped = self._piped
            for index, part in enumerate(node.parts):
                self._piped = self.printed(text, node.parts[index - 1]) if index else piped
                self.aside(text, [part])
            self._piped = piped
            return ""
        if isinstance(node, If):
            return self._if(text, node)
        if isinstance(node, For):
            return self._for(text, node)
        if isinstance(node, While):
            return self._while(text, node)
        if isinstance(node, Case):
            return self._case(text, node)
        if isinstance(node, Function):
            if node.body is not None:
                self.scope.functions[node.name] = (text, node.body)
            return ""
        if isinstance(node, Group):
            return self._group(text, node)
        if isinstance(node, Arithmetic):
            self.computed(text, *node.inside, text.place(node.start, node.end), True)
        return ""

    def _group(self, text: Text, node: Group) -> str:
        if not node.subshell:
            return self.run(text, node.body)
        self.aside(text, node.body)
        return ""

    def aside(self, text: Text, statements: Sequence[Statement]) -> tuple[Scope, str]:
        """Follows statements in a copy of the state; the copy afterwards, and how they ended."""
        before = self.scope
        self.scope = before.copy()
        self.work -= 4 * len(before.variables)
        try:
            flow = self.run(text, statements)
        finally:
            after, self.scope = self.scope, before
        return after, flow

    def _guarded_aside(self, text: Text, statements: Sequence[Statement]) -> tuple[Scope, str]:
        """The same for statements that may not run."""
        self._guarded += 1
        try:
            return self.aside(text, statements)
        finally:
            self._guarded -= 1

    # Branches ------------------------------------------------------------------------------------------------------

    def _chain(self, text: Text, node: Chain) -> str:
        flow = self.statement(text, node.parts[0][1])
        verdict = self._verdict(text, node.parts[0][1], run=False)
        for operator, part in node.parts[1:]:
            if flow:
                return flow
            wanted = operator == "&&"
            if verdict.holds is None and not is_test(node.parts[0][1]):
                # A command that does something: `cd x && python ...` goes on, `... || exit 1` does not.
                if wanted:
                    flow = self.statement(text, part)
                else:
                    self._guarded_aside(text, [part])
                continue
            if verdict.holds is None:
                after, ended = self._guarded_aside(text, [part])
                if not ended:
                    self._join([self.scope, after], text, node)
                continue
            if verdict.holds is not wanted:
                self._guarded_aside(text, [part])
                continue
            if verdict.assumed:
                after, ended = self.aside(text, [part])
                if ended in _LEAVES:
                    continue  # `[ -z "$1" ] && exit`: somebody gives the argument
                self.scope = after
                flow = ended
            else:
                flow = self.statement(text, part)
            verdict = Verdict(True) if not is_test(part) else self._verdict(text, part, run=False)
        return flow

    def _if(self, text: Text, node: If) -> str:
        outcomes: list[tuple[Scope, str]] = []
        base = self.scope
        for condition, body in node.branches:
            verdict = self._condition(text, condition)
            if verdict.holds is False:
                self._guarded_aside(text, body)
                continue
            if verdict.holds and not outcomes:
                after, flow = self.aside(text, body)
                if flow in _LEAVES and verdict.assumed:
                    continue  # a usage message: somebody gives what is missing
                self.scope = after
                self._others(text, node, body)
                return flow
            outcomes.append(self._guarded_aside(text, body))
            if verdict.holds:
                break
        else:
            otherwise = node.otherwise
            if not outcomes:
                return self.run(text, otherwise) if otherwise is not None else ""
            if otherwise is not None:
                outcomes.append(self._guarded_aside(text, otherwise))
            else:
                outcomes.append((base.copy(), ""))
        return self._merge(outcomes, text, node)

    def _others(self, text: Text, node: If, taken: list[Statement]) -> None:
        """The branches behind the one that is taken: nobody runs them now, but they are in the file."""
        behind = False
        for _, body in node.branches:
            if behind:
                self._guarded_aside(text, body)
            behind = behind or body is taken
        otherwise = node.otherwise
        if otherwise is not None:
            self._guarded_aside(text, otherwise)

    def _case(self, text: Text, node: Case) -> str:
        subject = text_of(self.value(text, *node.subject))
        outcomes: list[tuple[Scope, str]] = []
        complete = False
        for patterns, body in node.items:
            raws = [text_of(self.value(text, *pattern)) for pattern in patterns]
            default = "*" in raws
            if subject is not None and None not in raws:
                fits = [matches(subject, raw or "") for raw in raws]
                matched = True if True in fits else None if None in fits else False
                if matched and not outcomes:
                    after, flow = self.aside(text, body)
                    self.scope = after
                    self._steps -= 1
                    self._rest(text, node, body)
                    return flow
                if matched is False:
                    self._guarded_aside(text, body)
                    continue
            outcomes.append(self._guarded_aside(text, body))
            complete = complete or default
        if not complete:
            outcomes.append((self.scope.copy(), ""))
        return self._merge(outcomes, text, node)

    def _rest(self, text: Text, node: Case, taken: list[Statement]) -> None:
        behind = False
        for _, body in node.items:
            if behind:
                self._guarded_aside(text, body)
            behind = behind or body is taken

    def _merge(self, outcomes: list[tuple[Scope, str]], text: Text, node: Statement) -> str:
        """Goes on with what the branches that come to their end have in common."""
        living = [scope for scope, flow in outcomes if not flow]
        if not living:
            return outcomes[0][1] if outcomes else ""
        self._join(living, text, node)
        return ""

    def _join(self, scopes: list[Scope], text: Text, node: Statement) -> None:
        first = scopes[0]
        joined = first.copy()
        names = set().union(*(scope.variables for scope in scopes))
        for name in names:
            values = [scope.variables.get(name) for scope in scopes]
            if all(value is values[0] for value in values[1:]):
                continue
            joined.variables[name] = self._common(name, values, text.place(node.start, node.end))
        for scope in scopes[1:]:
            joined.exported |= scope.exported
            joined.functions.update(scope.functions)
            joined.sourced = joined.sourced or scope.sourced
            if scope.folder != joined.folder:
                joined.folder = None
        self.scope = joined

    def _common(self, name: str, values: list[Value | None], place: tuple[int, int]) -> Value:
        """The value that a variable has after branches."""
        known = [value for value in values if value is not None]
        first = known[0]
        if len(known) == len(values) and all(value.same(first) for value in known[1:]):
            return first
        given = [value for value in known if value.gap is not None and value.gap.absent]
        others = [value for value in known if value not in given]
        if given and others and len(known) == len(values) and all(value.same(others[0]) for value in others[1:]):
            return assumed(others[0])  # an argument of the script replaces it, if one is given
        several = any(value.items is not None or _SEVERAL.search(value.text or "") for value in known)
        gap = Piece(None, first.place, reason=f"{name} depends on a condition", several=several, name=name)
        gap.absent = False
        return Value([gap], first.place, first.name_place)

    # Loops ---------------------------------------------------------------------------------------------------------

    def _for(self, text: Text, node: For) -> str:
        if node.header is not None:
            return self._counted(text, node)
        place = text.place(node.start, node.start + 3)
        over_arguments = node.words is None or any(text.text[slice(*word)] in _ARGUMENTS for word in node.words)
        if over_arguments and self.scope.arguments is None:
            return self._parsing_loop(text, node.body, node.name)
        values: list[Field] | None = []
        for word in node.words or []:
            for field in self.fields(text, *word):
                known = field.text
                if known is None or (_is_glob(known) and not all(piece.quoted for piece in field.pieces)):
                    values = None
                    break
                values.append(field)  # type: ignore[union-attr] # not None before the break
            if values is None:
                break
        if node.words is None and self.scope.arguments is not None:
            values = list(self.scope.arguments)
        if values is None or len(values) * self._variants > MOST_VARIANTS:
            self._blind(text, node.body, node.name, place)
            return ""
        self._variants *= max(1, len(values))
        flow = ""
        try:
            for field in values:
                pieces = [stored(piece) for piece in field.pieces]
                span = pieces[0].place if pieces else place
                self._set(node.name, Value(pieces, span, place))
                flow = self.run(text, node.body)
                if flow in ("exit", "return", "break"):
                    break
        finally:
            self._variants //= max(1, len(values))
        return flow if flow in _LEAVES else ""

    def _counted(self, text: Text, node: For) -> str:
        """`for ((i = 0; i < 4; i++))`."""
        header = node.header or (0, 0)
        parts: list[tuple[int, int]] = []
        at = header[0]
        for _ in range(3):
            stop = text.text.find(";", at, header[1])
            stop = header[1] if stop < 0 else stop
            parts.append((at, stop))
            at = min(stop + 1, header[1])
        place = text.place(node.start, node.start + 3)
        self.computed(text, *parts[0], place, True)
        before = self.scope.copy()
        turns = 0
        while turns <= MOST_VARIANTS:
            holds = self.computed(text, *parts[1], place, True).text
            if holds is None:
                break
            if holds == "0":
                turns = -turns - 1
                break
            turns += 1
            self.computed(text, *parts[2], place, True)
        count = -turns - 1
        self.scope = before
        if count < 0 or count * self._variants > MOST_VARIANTS:
            names = set(re.findall(r"[A-Za-z_]\w*", text.text[slice(*parts[0])]))
            for name in names:
                self._unknown(name, "it is counted in a loop", place)
            self._blind(text, node.body, "", place)
            return ""
        self._variants *= max(1, count)
        flow = ""
        try:
            for _ in range(count):
                flow = self.run(text, node.body)
                if flow in ("exit", "return", "break"):
                    break
                self.computed(text, *parts[2], place, True)
        finally:
            self._variants //= max(1, count)
        return flow if flow in _LEAVES else ""

    def _while(self, text: Text, node: While) -> str:
        raw = text.text[node.condition[0].start : node.condition[-1].end] if node.condition else ""
        shifts = any(raw_words(text, statement)[:1] == ["shift"] for statement in every(node.body))
        if "getopts" in raw or "$#" in raw or ("$1" in raw and shifts) or ("true" in raw and shifts):
            return self._parsing_loop(text, node.body, "")
        place = text.place(node.start, node.start + 5)
        self._guarded += 1
        try:
            for statement in node.condition:
                if not is_test(statement):
                    self.statement(text, statement)
            self._blind(text, node.body, "", place)
        finally:
            self._guarded -= 1
        return ""

    def _parsing_loop(self, text: Text, body: list[Statement], name: str) -> str:
        """A loop over the script's arguments: without any it does not turn, so what was set before stands."""
        base = self.scope
        self.scope = base.copy()
        self._guarded += 1
        self._blind(text, body, name, (0, 0))
        self._guarded -= 1
        self.scope = base
        for changed in assigned(text, body):
            value = base.variables.get(changed)
            if value is not None:
                base.variables[changed] = assumed(value)
        return ""

    def _blind(self, text: Text, body: list[Statement], name: str, place: tuple[int, int]) -> str:
        """A loop's body once, with everything that changes from turn to turn unknown."""
        for changing in assigned(text, body):
            if changing in self.scope.variables:
                self._unknown(changing, f"{changing} changes in a loop", place)
        if name:
            self._unknown(name, f"{name} is different in each turn of a loop", place)
        before = self.scope.copy()
        flow = self.run(text, body)
        after = self.scope
        self._join([before] if flow in _LEAVES else [before, after], text, body[0] if body else Statement(0))
        return ""
