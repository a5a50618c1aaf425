"""What `$(...)` gives and which variables the surroundings set, as far as that is known without running anything."""

from __future__ import annotations

from epochlint.documents.document import Scalar
from epochlint.documents.shell import printed
from epochlint.documents.shell.directives import slurm_variables
from epochlint.documents.shell.expand import Expander
from epochlint.documents.shell.syntax import Chain, Parser, Pipeline, Simple, Statement, TooDeepError
from epochlint.documents.shell.text import Text
from epochlint.documents.shell.values import BREAK, LONGEST, Piece, Value, limited, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.documents.document import Entry, Mapping
    from epochlint.documents.shell.syntax import Redirection
    from epochlint.source import Source

DEEPEST_CALLS = 12  # of functions, and of commands within commands


class Substituting(Expander):
    """Expands words, with the variables of the batch system and the environment, and with what commands print."""

    __slots__ = ("_calls", "_given", "_slurm")

    def __init__(self, source: Source, settings: Mapping, scheduler: str, environment: Mapping | None) -> None:
        super().__init__(source)
        self._calls = 0
        self._slurm = slurm_variables(settings) if scheduler == "slurm" else {}
        self._given: dict[str, Entry] = dict(environment.last) if environment is not None else {}

    def special(self, name: str) -> Value | None:
        if name in self._given:
            entry = self._given[name]
            span = entry.value.span
            if isinstance(entry.value, Scalar):
                raw = entry.value.raw
                piece = Piece(raw, (0, 0), written=span)
            else:
                piece = Piece(None, (0, 0), reason=f"{name} is not known here", name=name)
            return Value([piece], (0, 0), (0, 0))
        if name in ("0", "BASH_SOURCE"):
            return Value([Piece(self.source.path, (0, 0))], (0, 0), (0, 0))
        if name == "PWD":
            folder = self.scope.folder
            return None if folder is None else Value([Piece(folder or ".", (0, 0))], (0, 0), (0, 0))
        if name.startswith("SLURM_") and self._slurm:
            found = self._slurm.get(name)
            if found is not None:
                return Value([Piece(found.raw, (0, 0), written=found.span)], (0, 0), (0, 0))
            gap = Piece(None, (0, 0), reason=f"Slurm sets {name} when the job runs", name=name)
            return Value([gap], (0, 0), (0, 0))
        return None

    def substitute(self, text: Text, start: int, end: int, place: tuple[int, int], quoted: bool) -> list[Piece]:
        reason = f"it is what `{_shortened(text.text[start:end])}` prints"
        unknown = Piece(None, place, reason=reason, quoted=quoted)
        inner = text.text[start:end]
        long = end - start > 2_000
        if self._calls >= DEEPEST_CALLS or (long and (end - start > LONGEST or "<<" not in inner)):
            return [unknown]
        parser = Parser(text.text, start, end)
        try:
            statements = parser.parse()
        except TooDeepError:
            return [unknown]
        self.work -= 4 * (end - start)
        self._calls += 1
        try:
            document = self.document(text, statements[0]) if len(statements) == 1 else None
            if document is not None:
                return _without_last_breaks([piece.like(piece.text, quoted=quoted, split=False) for piece in document])
            if long:
                return [unknown]
            known, assumed, gap = self._printed(text, statements)
        finally:
            self._calls -= 1
        if known is None or len(known) > 4_096:
            unknown.absent = gap is not None and gap.absent  # $(echo $1 | ...)
            unknown.name = inner if len(inner) < 40 else ""
            return [unknown]
        return [Piece(known.rstrip("\n"), place, quoted=quoted, split=not quoted, assumed=assumed)]

    def _printed(self, text: Text, statements: Sequence[Statement]) -> tuple[str | None, bool, Piece | None]:
        """What statements print, where that is simple; whether it rests on assumptions; the gap that hides it."""
        folder: str | None = None
        steps: list[Statement] = []
        for statement in statements:
            steps += [part for _, part in statement.parts] if isinstance(statement, Chain) else [statement]
        for step in steps[:-1]:
            words, _, gap = self._known_words(text, step)
            if words is None or words[:1] not in (["cd"], ["pushd"]):
                return None, False, gap
            folder = words[-1] if len(words) > 1 else None
        if not steps:
            return "", False, None
        last = steps[-1]
        parts = last.parts if isinstance(last, Pipeline) else [last]
        output: str | None = None
        assumed = False
        for index, part in enumerate(parts):
            words, soft, gap = self._known_words(text, part)
            assumed = assumed or soft
            if words is None:
                return None, False, gap
            if words == ["pwd"]:
                here = self.scope.folder or "." if self.scope.folder is not None else None
                output = folder if folder is not None else here
            else:
                output = printed.output(words, self._given_to(text, part, output if index else None))
            if output is None:
                return None, False, None
        return output, assumed, None

    def document(self, text: Text, statement: Statement) -> list[Piece] | None:
        """The here-document or here-string that `cat` prints; None for every other statement."""
        if not isinstance(statement, Simple) or len(statement.words) != 1:
            return None
        if text.text[slice(*statement.words[0])] not in ("cat", "/bin/cat"):
            return None
        if any(found.operator.startswith(">") for found in statement.redirections):
            return None
        return self.given(text, statement)

    def given(self, text: Text, node: Simple) -> list[Piece] | None:
        """The here-document or here-string that a command is given."""
        here = next((found for found in node.redirections if found.operator in ("<<", "<<-", "<<<")), None)
        return self.here(text, here) if here is not None else None

    def here(self, text: Text, here: Redirection) -> list[Piece]:
        """What a here-document holds."""
        start, end = here.target
        self.work -= end - start
        if here.literal:
            return [Piece(text.text[start:end], text.place(start, end), written=text.written(start, end))]
        found = self.pieces(text, start, end, document=here.operator != "<<<")
        return limited([piece for piece in found if piece is not BREAK])

    def _given_to(self, text: Text, part: Statement, piped: str | None) -> str | None:
        """What a command reads: what is piped into it, or the word behind `<<<`."""
        if isinstance(part, Simple):
            here = next((found for found in part.redirections if found.operator == "<<<"), None)
            if here is not None:
                return text_of(self.value(text, *here.target))
        return piped

    def _known_words(self, text: Text, statement: Statement) -> tuple[list[str] | None, bool, Piece | None]:
        """A command's words where all are known, whether they rest on assumptions, and the first gap."""
        if not isinstance(statement, Simple) or statement.assignments:
            return None, False, None
        words: list[str] = []
        assumed = False
        for word in statement.words:
            for field in self.fields(text, *word):
                known = field.text
                if known is None or len(words) > 256:
                    return None, False, next((piece for piece in field.pieces if piece.text is None), None)
                assumed = assumed or any(piece.assumed for piece in field.pieces)
                words.append(known)
        return words, assumed, None


def _without_last_breaks(pieces: list[Piece]) -> list[Piece]:
    """What `$(...)` leaves of what is printed: the line breaks at its end are taken off."""
    if pieces and pieces[-1].text is not None:
        kept = pieces[-1].text.rstrip("\n")
        start, end = pieces[-1].place
        pieces[-1] = pieces[-1].like(kept, place=(start, max(start, end - len(pieces[-1].text) + len(kept))))
    return pieces


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:37] + "..."
