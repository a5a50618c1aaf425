"""Simple commands: assignments, the shell's own commands, and the programs that are run."""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Problem, Scalar
from epochlint.documents.shell import arithmetic, directives
from epochlint.documents.shell.below import local_names
from epochlint.documents.shell.conditions import Judging
from epochlint.documents.shell.document import Command, ShellWord
from epochlint.documents.shell.substitute import DEEPEST_CALLS
from epochlint.documents.shell.syntax import DECLARERS, Assignment, Parser, Redirection, Simple, Statement
from epochlint.documents.shell.text import Text
from epochlint.documents.shell.values import BREAK, Field, Piece, Value, behind, limited, stored, text_of
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.source import Source

MOST_COMMANDS = 1_000

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
# They take a whole command line as one word.
_CARRIERS = frozenset({"ssh", "pdsh", "clush", "tmux", "screen", "su", "watch"})
_SUBMITTERS = frozenset({"sbatch", "qsub", "bsub"})
# Commands that start no training, whatever their words say.
_NEVER = frozenset(
    {":", "[", "alias", "awk", "basename", "bg", "break", "builtin", "cat", "cd", "chmod", "chown", "clear",
     "column", "comm", "continue", "cp", "cut", "date", "declare", "df", "diff", "dirname", "du", "echo", "egrep",
     "enable", "exit", "export", "false", "fg", "fgrep", "file", "find", "free", "getopts", "git", "grep", "gunzip",
     "gzip", "hash", "head", "help", "hf", "history", "hostname", "huggingface-cli", "id", "jobs", "jq", "kill",
     "ldd", "less", "let", "ln", "local", "logger", "ls", "lscpu", "lspci", "md5sum", "mkdir", "mktemp", "ml",
     "module", "more", "mv", "nproc", "nvidia-smi", "pgrep", "pkill", "popd", "printenv", "printf", "ps", "pushd",
     "pwd", "read", "readarray", "readlink", "readonly", "realpath", "return", "rm", "rmdir", "rsync", "scp", "sed",
     "seq", "set", "sha256sum", "shift", "shopt", "sleep", "sort", "source", "spack", "split", "stat", "stty",
     "tail", "tar", "tee", "test", "touch", "tr", "trap", "true", "tty", "type", "typeset", "ulimit", "umask",
     "unalias", "uname", "uniq", "unset", "unzip", "wait", "wc", "wget", "which", "whoami", "yes", "zcat",
     "zip"}
)  # fmt: skip
_BUILTINS = frozenset(
    {"exit", "return", "break", "continue", "unset", "set", "shift", "cd", "pushd", "popd", "source", ".", "let",
     "read", "mapfile", "readarray", "getopts", "printf", "eval"}
)  # fmt: skip
_ACTIVATES = re.compile(
    r"activate|conda|mamba|\.bashrc|profile|modules?\b|setvars|\.venv|virtualenv|lmod", re.IGNORECASE
)
# Scripts that are read by one, and how long they may be: what holds settings is short.
MOST_SOURCED = 20
MOST_FILES = 50  # that one writes and that are kept
LARGEST_SOURCED = 16_000
_OVERRIDE = re.compile(r"[~+]{0,2}[A-Za-z_][\w.@/-]*=")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_STANDARD_INPUT = frozenset({"@-", "-", "@/dev/stdin", "/dev/stdin"})
_ITEM = re.compile(r"\[([^\]]*)\]=")


class Running(Judging):
    """Follows simple commands and keeps the programs that are run, with the statement that each came from."""

    __slots__ = (
        "_called",
        "_directives",
        "_environment",
        "_guarded",
        "_inside",
        "_piped",
        "_running",
        "_seen",
        "_variants",
        "commands",
        "files",
        "load",
        "origins",
        "problems",
        "sourced",
    )

    def __init__(
        self,
        source: Source,
        settings: Mapping,
        scheduler: str,
        environment: Mapping | None,
        load: Callable[[str, str | None], Source | None] | None,
    ) -> None:
        super().__init__(source, settings, scheduler, environment)
        self.load = load
        self.sourced: list[str] = []  # the scripts that this one reads, as it names them
        self._inside = [source.path]
        self.commands: list[Command] = []
        self.files: dict[str, Node] = {}  # that the script writes from here-documents, by path
        self.origins: dict[int, list[Command]] = {}  # by id of the statement in the script itself
        self.problems: list[Problem] = []
        self._directives = settings
        self._environment: tuple[tuple[Value, ...], Mapping] | None = None
        self._called: set[str] = set()
        self._guarded = 0
        self._piped: list[Piece] | None = None  # what the command before prints, inside a pipeline
        self._variants = 1
        self._seen: set[tuple[object, ...]] = set()
        self._running: set[int] = set()  # by id of the functions' bodies

    def run(self, text: Text, statements: Sequence[Statement]) -> str:
        """Follows statements in order; how they end: "" at their end, or "exit", "return", "break", "continue"."""
        raise NotImplementedError

    def aside(self, text: Text, statements: Sequence[Statement]) -> tuple[object, str]:
        """Follows statements in a copy of the state."""
        raise NotImplementedError

    def _simple(self, text: Text, node: Simple) -> str:
        name = text.text[slice(*node.words[0])] if node.words else ""
        if name in DECLARERS:
            self._declare(text, node, name)
            return ""
        if not node.words:
            for assignment in node.assignments:
                self._set(assignment.name, self._assigned_value(text, assignment))
            return ""
        if name in ("cat", "tee"):
            self._write(text, node, name)
        if name in _NEVER and name not in _BUILTINS and name != ":" and name not in self.scope.functions:
            return ""
        fields: list[Field] = []
        places: list[tuple[int, int]] = []
        for word in node.words:
            place = text.place(*word)
            for field in self.fields(text, *word):
                fields.append(field)
                places.append(place)
            if len(fields) > 4_096:
                break
        if not fields:
            return ""
        first = fields[0].text
        if first in self.scope.functions:
            inside, body = self.scope.functions[first]
            self._called.add(first)
            saved = self._set_before(text, node.assignments)
            flow = self._call(inside, body, fields[1:])
            self._restore(saved)
            return flow
        if first is not None and first in _BUILTINS:
            return self._builtin(text, node, first, fields)
        saved = self._set_before(text, node.assignments)
        self._command(text, node, fields, places)
        self._restore(saved)
        return ""

    def _write(self, text: Text, node: Simple, name: str) -> None:
        """`cat > config.yaml <<EOF`: a file that the script writes itself."""
        target = next((found.target for found in node.redirections if found.operator in (">", ">|")), None)
        if name == "tee" and len(node.words) == 2:
            target = node.words[1]
        pieces = self.given(text, node) if target is not None and (name == "tee" or len(node.words) == 1) else None
        path = text_of(self.value(text, *target)) if target is not None and pieces else None
        if pieces and path and self.scope.folder is not None and len(self.files) < MOST_FILES:
            path = path if path.startswith("/") or not self.scope.folder else f"{self.scope.folder}/{path}"
            self.files[path] = self.node(Field(pieces), pieces[0].place)

    def _set_before(self, text: Text, assignments: list[Assignment]) -> list[tuple[str, Value | None, bool]]:
        """Assignments that stand before a command hold for it alone; what they replace."""
        saved = []
        for assignment in assignments:
            name = assignment.name
            saved.append((name, self.scope.variables.get(name), name in self.scope.exported))
            self.scope.variables[name] = self._assigned_value(text, assignment)
            self.scope.exported.add(name)
        return saved

    def _restore(self, saved: list[tuple[str, Value | None, bool]]) -> None:
        for name, value, exported in reversed(saved):
            if value is None:
                self.scope.variables.pop(name, None)
            else:
                self.scope.variables[name] = value
            if not exported:
                self.scope.exported.discard(name)

    def _assigned_value(self, text: Text, assignment: Assignment) -> Value:
        name_place = text.place(assignment.start, assignment.start + len(assignment.name))
        place = text.place(assignment.value[0], assignment.end)
        old = self.scope.variables.get(assignment.name)
        if assignment.items is not None:
            items = dict(old.items) if assignment.append and old is not None and old.items is not None else {}
            if assignment.append and old is not None and old.items is None:
                items["0"] = old.pieces
            for start, end in assignment.items:
                self._item(text, start, end, items)
            return Value([], place, name_place, items)
        pieces = [stored(piece) for piece in self.value(text, *assignment.value)]
        if assignment.index is not None:
            items = dict(old.items) if old is not None and old.items is not None else {}
            if old is not None and old.items is None:
                if old.gap is not None:
                    return old
                items["0"] = old.pieces
            known = text_of(self.value(Text(assignment.index), 0, len(assignment.index)))
            number = arithmetic.evaluate(known, self._number) if known is not None else None
            key = known if known is not None and (number is None or known in items) else str(number)
            if known is None:
                gap = Piece(None, place, reason=f"an element of {assignment.name} is not known", several=True)
                return Value([gap], place, name_place)
            items[key or ""] = pieces
            return Value([], place, name_place, items)
        if assignment.append and old is not None:
            if old.items is not None:
                return Value([], place, name_place, {**old.items, "0": limited([*old.first(), *pieces])})
            return Value(limited([*old.pieces, *pieces]), place, name_place)
        return Value(pieces, place, name_place)

    def _item(self, text: Text, start: int, end: int, items: dict[str, list[Piece]]) -> None:
        """An element of `name=(...)`, which may say its own index."""
        found = _ITEM.match(text.text, start, end)
        if found:
            key = text_of(self.value(text, found.start(1), found.end(1)))
            items[key if key is not None else f"?{start}"] = [stored(p) for p in self.value(text, found.end(), end)]
            return
        for field in self.fields(text, start, end):
            if len(items) >= 4_096:
                return
            key = str(len(items))
            items[key] = [stored(piece, keep=field.spread) for piece in field.pieces]

    def _set(self, name: str, value: Value) -> None:
        if not name:
            return
        self.scope.variables[name] = value
        if self.scope.export_all:
            self.scope.exported.add(name)

    def _unknown(self, name: str, reason: str, place: tuple[int, int]) -> None:
        self._set(name, Value([Piece(None, place, reason=reason, name=name)], place, place))

    def _declare(self, text: Text, node: Simple, name: str) -> None:
        options = "".join(
            text.text[slice(*word)][1:] for word in node.words[1:] if text.text[slice(*word)].startswith("-")
        )
        exports = (name == "export" and "n" not in options) or (name in ("declare", "typeset") and "x" in options)
        for assignment in node.assignments:
            self._set(assignment.name, self._assigned_value(text, assignment))
            if exports:
                self.scope.exported.add(assignment.name)
        for word in node.words[1:]:
            for field in self.fields(text, *word):
                known = field.text
                if known is None or known.startswith("-"):
                    continue
                key, equals, _ = known.partition("=")
                if not _PLAIN_NAME.match(key):
                    continue
                if equals:  # export "A=1", export $(...)
                    place = text.place(*word)
                    self._set(key, Value([Piece(known[len(key) + 1 :], place)], place, place))
                if exports:
                    self.scope.exported.add(key)
                elif "n" in options and name == "export":
                    self.scope.exported.discard(key)

    def _call(self, text: Text, body: Statement, arguments: list[Field] | None) -> str:
        """A function's body, with its arguments; those of the script where they are not known."""
        if self._calls >= DEEPEST_CALLS or id(body) in self._running:
            return ""  # a function that calls itself is followed once
        before = self.scope.arguments
        if arguments is not None and any(field.text is None and field.pieces[0].several for field in arguments):
            arguments = None  # main "$@"
        self.scope.arguments = arguments
        names = local_names(text, body)
        saved = {local: self.scope.variables.get(local) for local in names}
        self._calls += 1
        self._running.add(id(body))
        try:
            flow = self.statement(text, body)
        finally:
            self._calls -= 1
            self._running.discard(id(body))
            self.scope.arguments = before
            for local, value in saved.items():
                if value is None:
                    self.scope.variables.pop(local, None)
                else:
                    self.scope.variables[local] = value
        return "exit" if flow == "exit" else ""

    # The shell's own commands --------------------------------------------------------------------------------------

    def _builtin(self, text: Text, node: Simple, name: str, fields: list[Field]) -> str:
        scope = self.scope
        words = [field.text for field in fields[1:]]
        if name in ("exit", "return", "break", "continue"):
            return name
        if name == "exec" and not words:
            return ""
        if name == "unset":
            for word in words:
                if word:
                    scope.variables.pop(word.partition("[")[0], None)
                    scope.exported.discard(word)
        elif name == "set":
            self._set_options(words, fields)
        elif name == "shift":
            if scope.arguments is not None:
                count = arithmetic.number(words[0] or "") if words else 1
                scope.arguments = scope.arguments[count or 0 :]
        elif name in ("cd", "pushd"):
            self._change_folder(words)
        elif name == "popd":
            scope.folder = None
        elif name in ("source", "."):
            self._source(words[0] if words else None, fields)
        elif name == "let":
            for word in words:
                if word is not None:
                    arithmetic.evaluate(word, self._number, self._assign)
        elif name in ("read", "mapfile", "readarray", "getopts", "printf"):
            self._read(text, node, name, fields)
        elif name == "eval":
            pieces: list[Piece] = []
            for field in fields[1:]:
                if pieces:
                    pieces.append(Piece(" ", field.pieces[0].place if field.pieces else (0, 0), inner=(0, 0)))
                pieces += field.pieces
            self._nested(pieces, [], None)
        return ""

    def _source(self, name: str | None, fields: list[Field]) -> None:
        """`source env.sh`: another script of the project is followed as if it stood here, as far as it is short."""
        found = None
        if name is not None:
            self.sourced.append(name)
            if self.load is not None and len(self.sourced) <= MOST_SOURCED:
                found = self.load(name, self.scope.folder)
        if found is not None and len(found.text) <= LARGEST_SOURCED and found.path not in self._inside:
            place = fields[1].pieces[0].place if fields[1].pieces else (0, 0)
            self._inside.append(found.path)
            self._nested([Piece(found.text.replace("\r\n", "\n"), place, inner=place)], [], None)
            self._inside.pop()
        elif name is None or not _ACTIVATES.search(name):
            self.scope.sourced = True

    def _set_options(self, words: list[str | None], fields: list[Field]) -> None:
        if "--" in words:
            self.scope.arguments = fields[words.index("--") + 2 :]
            if any(field.text is None and field.pieces and field.pieces[0].several for field in self.scope.arguments):
                self.scope.arguments = None
        for index, word in enumerate(words):
            if word == "-a" or (word == "-o" and words[index + 1 : index + 2] == ["allexport"]):
                self.scope.export_all = True
            elif word == "+a" or (word == "+o" and words[index + 1 : index + 2] == ["allexport"]):
                self.scope.export_all = False

    def _change_folder(self, words: list[str | None]) -> None:
        target = words[0] if words else None
        if target is None or target == "-" or self.scope.folder is None:
            self.scope.folder = None
        elif target.startswith(("/", "~")) or not self.scope.folder:
            self.scope.folder = target
        else:
            self.scope.folder = f"{self.scope.folder}/{target}"

    def _read(self, text: Text, node: Simple, name: str, fields: list[Field]) -> None:
        """`read -ra NAMES <<< "$VALUE"`, `read -r -d '' NAME <<EOF`; whatever else is read is not known."""
        names: list[str] = []
        array = whole = False
        options = iter(fields[1:])
        for field in options:
            word = field.text or ""
            if name == "printf":
                if word == "-v":
                    names = [next(options, field).text or ""]
                break
            if name == "getopts":
                names = [w.text or "" for w in list(options)[:1]] + ["OPTARG"]
                break
            if word.startswith("-"):
                array = array or "a" in word
                if word[-1:] in "dinNptu" and len(word) <= 3:  # -d, -rd
                    argument = next(options, None)
                    whole = whole or (word[-1] == "d" and argument is not None and argument.text == "")
            else:
                names.append(word)
        place = text.place(node.start, node.end)
        document = next((r for r in node.redirections if r.operator in ("<<", "<<-")), None)
        if whole and document is not None and name == "read" and len(names) == 1 and not array:
            self._set(names[0], Value(self._here(text, document, None)[0], text.place(*document.target), place))
            return
        here = next((r for r in node.redirections if r.operator == "<<<"), None)
        known = text_of(self.value(text, *here.target)) if here is not None and name == "read" else None
        if known is None or not names:
            for one in names:
                self._unknown(one, f"{one} is read when the script runs", place)
            return
        separators = next((text_of(self.value(text, *a.value)) for a in node.assignments if a.name == "IFS"), None)
        parts = re.split(f"[{re.escape(separators)}]", known.strip("\n")) if separators else known.split()
        written = text.place(*here.target) if here is not None else place
        if array:
            items = {str(i): [Piece(part, written)] for i, part in enumerate(parts)}
            self._set(names[0], Value([], written, place, items))
            return
        for index, one in enumerate(names):
            last = index == len(names) - 1
            part = " ".join(parts[index:]) if last else parts[index] if index < len(parts) else ""
            self._set(one, Value([Piece(part, written)], written, place))

    # Programs ------------------------------------------------------------------------------------------------------

    def _command(self, text: Text, node: Simple, fields: list[Field], places: list[tuple[int, int]]) -> None:
        """A program that is run: kept, unless it can start no training."""
        first = fields[0].text
        base = first.rpartition("/")[2] if first is not None else ""
        if base == "command" and len(fields) > 1 and (fields[1].text or "").startswith("-"):
            return  # it only asks where a program is
        if base in _NEVER or (fields[0].pieces and (fields[0].pieces[0].text or "").startswith("-")):
            return
        if self._nests(text, node, fields, places):
            return
        if first is not None and _OVERRIDE.match(first):
            return
        reads = any(field.text in _STANDARD_INPUT for field in fields)
        given = (self.given(text, node) or self._piped) if reads else None
        self._keep(self._nodes(fields, places), text.place(node.start, node.end), None, node, given)

    def _nodes(self, fields: list[Field], places: list[tuple[int, int]]) -> list[Node]:
        nodes: list[Node] = []
        for field, place in zip(fields, places, strict=True):
            if self.source.text[place[0] : place[1]].startswith("\\") and not (field.text or "?").strip():
                continue  # a blank behind a backslash
            nodes.append(self.node(field, place))
        return nodes

    def _keep(
        self,
        nodes: list[Node],
        place: tuple[int, int],
        settings: Mapping | None,
        node: Statement,
        given: list[Piece] | None = None,
    ) -> None:
        key = (place, tuple(word.raw if isinstance(word, Scalar) else None for word in nodes))
        if key in self._seen or len(self.commands) >= MOST_COMMANDS or not nodes:
            return
        self._seen.add(key)
        command = Command(
            nodes,
            Span(self.source, *place),
            environment=self._exported(place),
            directives=settings if settings is not None else self._directives,
            guarded=self._guarded > 0,
            variants=self._variants,
            folder=self.scope.folder,
            given=self.node(Field(given), given[0].place) if given else None,
        )
        self.commands.append(command)
        self.origins.setdefault(id(node), []).append(command)

    def _exported(self, place: tuple[int, int]) -> Mapping:
        """The variables that a command is given."""
        scope = self.scope
        names = [name for name in scope.variables if name in scope.exported or name in self._given]
        values = tuple(scope.variables[name] for name in names)
        if self._environment is not None and self._environment[0] == values:
            return self._environment[1]
        entries = [entry for name, entry in self._given.items() if name not in scope.variables]
        for name, value in zip(names, values, strict=True):
            if value.items is None:
                field = Field(value.pieces)
                entries.append(Entry(name, Span(self.source, *value.name_place), self.node(field, value.place)))
        mapping = Mapping(Span(self.source, *place), entries)
        self._environment = (values, mapping)
        return mapping

    # Commands within commands --------------------------------------------------------------------------------------

    def _nests(self, text: Text, node: Simple, fields: list[Field], places: list[tuple[int, int]]) -> bool:
        """`bash -c "..."`, `sbatch <<EOF`, `sbatch --wrap "..."`: the commands inside, with the words in front."""
        words = [field.text for field in fields]
        bases = [word.rpartition("/")[2] if word is not None else "" for word in words]
        for index, base in enumerate(bases):
            if base in _SHELLS:
                for at in range(index + 1, len(words)):
                    word = words[at]
                    if word is None or not word.startswith(("-", "+")):
                        break
                    if not word.startswith("--") and "c" in word and at + 1 < len(words):
                        outer = self._nodes(fields[:index], places[:index])
                        self._nested(_whole(fields[at + 1].pieces), outer, None, node)
                        return True
        if bases[0] in _CARRIERS:
            carried = [at for at, word in enumerate(words) if at and word is not None and " " in word.strip()]
            if carried:
                longest = max(carried, key=lambda at: len(words[at] or ""))
                self._nested(fields[longest].pieces, [], None, node)
                return True
        settings = None
        if bases[0] in _SUBMITTERS:
            settings = self._submitted(fields, places)
            for index, word in enumerate(words):
                if word is not None and (word == "--wrap" or word.startswith("--wrap=")):
                    field = fields[index + 1] if word == "--wrap" and index + 1 < len(fields) else fields[index]
                    pieces = field.pieces if word == "--wrap" else behind(field.pieces, len("--wrap="))
                    self._nested(_whole(pieces), [], settings, node)
                    return True
        here = next((r for r in node.redirections if r.operator in ("<<", "<<-", "<<<")), None)
        takes = (
            bases[-1] in _SHELLS
            or bases[0] in ("sbatch", "qsub", "bsub", "ssh")
            or (bases[-1] == "-s" and bases[-2:-1] != [] and bases[-2] in _SHELLS)
        )
        if here is None or not takes:
            return False
        outer = self._nodes(fields[:-1], places[:-1]) if bases[-1] in _SHELLS else []
        body, settings = self._here(text, here, settings)
        self._nested(body, outer, settings, node)
        return True

    def _here(self, text: Text, here: Redirection, settings: Mapping | None) -> tuple[list[Piece], Mapping | None]:
        """What a here-document holds, and the batch system's settings in it."""
        pieces = self.here(text, here)
        _, inside = directives.read(self.source, *text.place(*here.target))
        if inside.entries:
            entries = [*inside.entries, *(settings.entries if settings is not None else [])]
            settings = Mapping(inside.span, entries)
        return pieces, settings

    def printed(self, text: Text, statement: Statement) -> list[Piece] | None:
        """What a command of a pipeline prints: `cat <<EOF`, `echo "$BODY"`; None where that is not known."""
        document = self.document(text, statement)
        if document is not None or not isinstance(statement, Simple) or not statement.words:
            return document
        name = text.text[slice(*statement.words[0])]
        fields = [field for word in statement.words[1:] for field in self.fields(text, *word)]
        if name not in ("echo", "printf") or statement.redirections or len(fields) != 1:
            return None
        first = fields[0].pieces[0].text if fields[0].pieces else None
        plain = first is not None and not first.startswith("-") and (name == "echo" or "%" not in first)
        return fields[0].pieces if plain else None

    def _submitted(self, fields: list[Field], places: list[tuple[int, int]]) -> Mapping:
        """The settings that `sbatch` is given as options."""
        nodes = [word for word in self._nodes(fields[1:], places[1:]) if isinstance(word, ShellWord)]
        return Mapping(Span(self.source, *places[0]), directives.options(nodes))

    def _nested(
        self, pieces: list[Piece], outer: list[Node], settings: Mapping | None, node: Statement | None = None
    ) -> None:
        """Follows a text that the script hands to a shell. `outer` are the words in front of each command in it."""
        if self._calls >= DEEPEST_CALLS:
            return
        inner = Text.joined(limited(pieces))
        if not inner.text.strip():
            return
        self.work -= 8 * len(inner.text)
        parser = Parser(inner.text)
        parser.parse()
        before = len(self.commands)
        saved = self._directives
        if settings is not None:
            self._directives = settings
        self._calls += 1
        try:
            if outer:
                self.aside(inner, parser.statements)
            else:
                self.run(inner, parser.statements)
        finally:
            self._calls -= 1
            self._directives = saved
        for command in self.commands[before:]:
            command.words = [*outer, *command.words]
            if node is not None:
                self.origins.setdefault(id(node), []).append(command)


def _whole(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece is not BREAK]
