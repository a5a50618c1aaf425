"""Whether a condition holds: `[ -z "$X" ]`, `[[ $MODE == lora ]]`, `(( N > 1 ))`."""

from __future__ import annotations

from epochlint.documents.shell.below import is_test
from epochlint.documents.shell.patterns import compare
from epochlint.documents.shell.substitute import Substituting
from epochlint.documents.shell.syntax import (
    Arithmetic,
    Chain,
    Pipeline,
    Simple,
    Statement,
    Test,
    UnclosedError,
    split_words,
)
from epochlint.documents.shell.text import Text
from epochlint.documents.shell.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Verdict:
    """Whether a condition holds: True, False or None. `assumed`: it rests on nothing being given to the script."""

    __slots__ = ("assumed", "holds")

    def __init__(self, holds: bool | None, assumed: bool = False) -> None:
        self.holds = holds
        self.assumed = assumed

    def negated(self) -> Verdict:
        return self if self.holds is None else Verdict(not self.holds, self.assumed)


class Judging(Substituting):
    """Judges conditions. What is no test is followed by `statement`."""

    __slots__ = ()

    def statement(self, text: Text, node: Statement) -> str:
        """Follows one statement."""
        raise NotImplementedError

    def _condition(self, text: Text, statements: Sequence[Statement]) -> Verdict:
        for statement in statements[:-1]:
            self.statement(text, statement)
        return self._verdict(text, statements[-1], run=True) if statements else Verdict(None)

    def _verdict(self, text: Text, node: Statement, run: bool) -> Verdict:
        """Whether a statement succeeds; what is no test is followed where `run` says so."""
        if isinstance(node, Pipeline) and len(node.parts) == 1:
            verdict = self._verdict(text, node.parts[0], run)
            return verdict.negated() if node.negated else verdict
        if isinstance(node, Test):
            return self._tested(text, *node.inside, double=True)
        if isinstance(node, Arithmetic):
            piece = self.computed(text, *node.inside, text.place(node.start, node.end), True)
            if piece.text is None:
                return Verdict(None)
            return Verdict(piece.text != "0", piece.assumed)
        if isinstance(node, Simple) and node.words:
            name = text.text[slice(*node.words[0])]
            if name in ("true", ":"):
                return Verdict(True)
            if name == "false":
                return Verdict(False)
            if name in ("[", "test"):
                last = node.words[-1]
                end = last[0] if text.text[slice(*last)] == "]" else last[1]
                return self._tested(text, node.words[0][1], end, double=False)
        if isinstance(node, Chain) and all(is_test(part) for _, part in node.parts):
            return self._chained([(operator, self._verdict(text, part, run)) for operator, part in node.parts])
        if run:
            self.statement(text, node)
        return Verdict(None)

    @staticmethod
    def _chained(parts: list[tuple[str, Verdict]]) -> Verdict:
        verdict = parts[0][1]
        for operator, other in parts[1:]:
            pair = (verdict.holds, other.holds)
            if operator == "&&":
                holds = False if False in pair else None if None in pair else True
            else:
                holds = True if True in pair else None if None in pair else False
            verdict = Verdict(holds, verdict.assumed or other.assumed)
        return verdict

    def _tested(self, text: Text, start: int, end: int, double: bool) -> Verdict:
        """The inside of `[ ]` or `[[ ]]`."""
        try:
            ranges = split_words(text.text, start, end)
        except UnclosedError:
            return Verdict(None)
        parts: list[tuple[str, list[tuple[int, int]]]] = [("", [])]
        for word in ranges:
            raw = text.text[slice(*word)]
            if raw in ("&&", "||", "-a", "-o"):
                parts.append(("&&" if raw in ("&&", "-a") else "||", []))
            else:
                parts[-1][1].append(word)
        return self._chained([(operator, self._compared(text, words, double)) for operator, words in parts[:50]])

    def _compared(self, text: Text, words: list[tuple[int, int]], double: bool) -> Verdict:
        raws = [text.text[slice(*word)] for word in words]
        if raws and raws[0] == "!":
            return self._compared(text, words[1:], double).negated()
        if any(raw in ("(", ")") for raw in raws):
            return Verdict(None)
        if len(words) == 1:
            return self._filled(text, words[0], True)
        if len(words) == 2 and raws[0] in ("-z", "-n"):
            return self._filled(text, words[1], raws[0] == "-n")
        if len(words) == 2 and raws[0] == "-v":
            value = self.lookup(raws[1])
            return Verdict(value is not None, value is None)
        if len(words) != 3:
            return Verdict(None)
        left, right = self.value(text, *words[0]), self.value(text, *words[2])
        count = raws[0].strip('"{}') in ("$#", "$") and left and left[0].text is None and left[0].name == "#"
        known, other = "0" if count else text_of(left), text_of(right)
        if known is None or other is None:
            return Verdict(None)
        assumed = bool(count) or any(piece.assumed for piece in (*left, *right))
        return Verdict(compare(known, raws[1], other, double and not any(piece.quoted for piece in right)), assumed)

    def _filled(self, text: Text, word: tuple[int, int], wanted: bool) -> Verdict:
        """Whether a word is (not) empty; a variable that nothing sets counts as empty."""
        pieces = self.value(text, *word)
        known = text_of(pieces)
        if known is not None:
            return Verdict(bool(known) is wanted, any(piece.assumed for piece in pieces))
        if any(piece.text for piece in pieces) or not all(piece.absent for piece in pieces if piece.text is None):
            return Verdict(None)
        return Verdict(not wanted, True)
