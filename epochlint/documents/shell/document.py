"""What reading a shell script gives: commands, the settings of its batch system, and where a command is cut short."""

from __future__ import annotations

from epochlint.documents.document import Document, Mapping, Node, Scalar, Unresolved
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.source import Source


class ShellWord(Scalar):
    """A word of a command whose text is known.

    `span` is the word as it stands in the command, or in the array or string that was expanded to several words.
    `written` is where the text itself stands: for `--lr $LR` the right side of the assignment `LR=2e-4`.
    `assumed` says that the text rests on a default which the environment or an argument of the script may replace
    (`${LR:-2e-4}`). `parts` are the pieces that the text was put together from, each with its own `written`.
    """

    __slots__ = ("assumed", "parts", "written")

    def __init__(
        self,
        span: Span,
        raw: str,
        *,
        written: Span | None = None,
        assumed: bool = False,
        parts: Sequence[tuple[str, Span]] = (),
    ) -> None:
        super().__init__(span, raw, raw, True)
        self.written = written if written is not None else span
        self.assumed = assumed
        self.parts = parts

    def behind(self, count: int) -> ShellWord:
        """The rest of the word behind its first `count` characters: the value of `--lr=2e-4`."""
        span = cut(self, count)
        written: Span | None = None
        left = count
        rest: list[tuple[str, Span]] = []
        for text, place in self.parts:
            if left >= len(text):
                left -= len(text)
                continue
            rest.append((text[left:], _behind(place, text, left)))
            left = 0
        if len(rest) == 1:
            written = rest[0][1]
        return ShellWord(span, self.raw[count:], written=written, assumed=self.assumed, parts=rest)


class ShellUnresolved(Unresolved):
    """A word that cannot be known.

    `prefix` is the text that is known in front of the first gap: `--nproc_per_node=` of `--nproc_per_node=$NGPUS`.
    `several` says that it may stand for any number of words (`$EXTRA`, `"$@"`, `"${ARGS[@]}"`), `loose` that it is an
    unquoted variable, which is one word if a person meant one. `name` is the variable, where it is one.
    `parts` are the pieces of a word that is known in part, None for a gap.
    """

    __slots__ = ("loose", "name", "parts", "prefix", "several")

    def __init__(
        self,
        span: Span,
        reason: str,
        *,
        prefix: str = "",
        several: bool = False,
        loose: bool = False,
        name: str = "",
        parts: Sequence[tuple[str | None, Span]] = (),
    ) -> None:
        super().__init__(span, reason)
        self.parts = parts
        self.prefix = prefix
        self.several = several
        self.loose = loose
        self.name = name


def filled(word: Node | None) -> Scalar | None:
    """A word of JSON with a placeholder for each gap: `{"training_file": "$ID"}` is known but for the id."""
    if isinstance(word, Scalar):
        return word
    parts: list[tuple[str, Span]] = []
    quoted = False
    for text, place in word.parts if isinstance(word, ShellUnresolved) else ():
        known = text if text is not None else "${}" if quoted else '"${}"'
        if text is not None:
            quoted ^= (text.count('"') - text.count('\\"')) % 2 == 1
        parts.append((known, place))
    return ShellWord(word.span, "".join(known for known, _ in parts), parts=parts) if parts and word else None


def cut(word: Node, count: int) -> Span:
    """The span of what stands behind the first `count` characters of a word, as exactly as its quotes allow."""
    span = word.span
    text = span.text
    if isinstance(word, Scalar):
        known = word.raw
    else:
        known = word.prefix if isinstance(word, ShellUnresolved) else ""
    head = known[:count]
    at = 0
    if text[:1] in "\"'" and text[1:].startswith(head):
        at = 1
    elif not text.startswith(head):
        return span
    end = span.end - 1 if at and len(text) > 1 and text[-1] == text[0] else span.end
    return Span(span.source, span.start + at + count, max(end, span.start + at + count))


def _behind(place: Span, text: str, count: int) -> Span:
    if count == 0:
        return place
    if place.end - place.start == len(text):
        return Span(place.source, place.start + count, place.end)
    return place


class Cut:
    """Where a command ends before its author meant it to.

    `kind`: "comment" or "blank" (such a line stands inside a command that a backslash continues), "space" (a blank
    stands behind the backslash), "missing" (no backslash at all). `span` is the line that ends the command. `flags`
    are the flags behind it, as written, which are not passed; `words` all the words there. `command` is the span of
    the command that was cut.
    """

    __slots__ = ("command", "flags", "kind", "span", "words")

    def __init__(self, kind: str, span: Span, flags: list[str], words: list[Node], command: Span) -> None:
        self.kind = kind
        self.span = span
        self.flags = flags
        self.words = words
        self.command = command


class Command:
    """One command as it is run.

    `words`: `ShellWord`s (from a manifest plain `Scalar`s) and `Unresolved`s, the program's name first.
    `environment`: the variables that the command is given, prefix assignments last.
    `guarded`: it stands in a branch, a loop or a function that may not run.
    `variants`: how many commands the same line gives, in a loop over settings or a function that is called again.
    `directives`: the settings of the batch system that starts it (`nodes`, `ntasks_per_node`, `gres`, ...).
    `folder`: where it runs, if the script changes folders before: "" where it does not, None where it is not known.
    `cuts`: the places where it ends before its author meant it to.
    `given`: the text in its standard input, where a word (`@-`) says that it is read: a here-document, what `echo` or
    `cat` pipe into it; None where it is not known.
    """

    __slots__ = ("cuts", "directives", "environment", "folder", "given", "guarded", "span", "variants", "words")

    def __init__(
        self,
        words: list[Node],
        span: Span,
        *,
        environment: Mapping | None = None,
        directives: Mapping | None = None,
        guarded: bool = False,
        variants: int = 1,
        folder: str | None = "",
        cuts: list[Cut] | None = None,
        given: Node | None = None,
    ) -> None:
        self.words = words
        self.span = span
        self.environment = environment if environment is not None else Mapping(span, [])
        self.directives = directives if directives is not None else Mapping(span, [])
        self.guarded = guarded
        self.variants = variants
        self.folder = folder
        self.cuts = cuts if cuts is not None else []
        self.given = given

    @property
    def text(self) -> str:
        """The words as a line, `?` for what is not known."""
        return " ".join(word.raw if isinstance(word, Scalar) else "?" for word in self.words)

    def over(self, environment: Mapping) -> Command:
        """The same command over variables that are set only where it is not given them."""
        given = self.environment
        return Command(
            self.words,
            self.span,
            environment=Mapping(given.span, [*environment.entries, *given.entries], given.open_ended),
            directives=self.directives,
            guarded=self.guarded,
            variants=self.variants,
            folder=self.folder,
            cuts=self.cuts,
            given=self.given,
        )

    def __repr__(self) -> str:
        return f"<Command {self.text[:60]}>"


class ShellDocument(Document):
    """A shell script. `scheduler` is "slurm", "pbs", "lsf", "sge" or "" by its directives. `sourced`: the scripts that
    it reads (`source env.sh`), as it names them. `files`: the texts of those that it writes from here-documents."""

    __slots__ = ("cuts", "directives", "files", "launches", "scheduler", "sourced")

    def __init__(self, source: Source) -> None:
        super().__init__(source, "shell")
        self.launches: list[Command] = []
        self.directives = Mapping(Span(source, 0, 0), [])
        self.scheduler = ""
        self.sourced: list[str] = []
        self.files: dict[str, Node] = {}
        self.cuts: list[Cut] = []
