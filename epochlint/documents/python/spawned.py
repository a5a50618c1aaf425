"""Commands that a program starts: `subprocess.run([...])`, `os.system("...")` and their kin.

A command is read where all of its words can be told: a list of them, or one line for a shell.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python.model import Derived, Symbol
from epochlint.documents.shell.document import Command, ShellUnresolved, ShellWord
from epochlint.source import Excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.python.model import Call, PythonDocument

# Callee -> the position of its command.
_BY_WORDS = {
    "subprocess.run": 0, "subprocess.call": 0, "subprocess.check_call": 0, "subprocess.check_output": 0,
    "subprocess.Popen": 0, "os.execv": 1, "os.execvp": 1, "os.execve": 1, "os.execvpe": 1,
}  # fmt: skip
_BY_LINE = frozenset(("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"))
SPAWNERS = frozenset((*_BY_WORDS, *_BY_LINE))

_LARGEST = 20_000


def commands(document: PythonDocument) -> Iterator[Command]:
    """The commands that a program starts, in the order in which they stand there."""
    for call in document.calls:
        if call.origin in _BY_LINE:
            yield from _line(call, call.argument("cmd", 0) or call.argument("command"), document)
        elif call.origin in _BY_WORDS:
            given = call.argument("args", _BY_WORDS[call.origin])
            if isinstance(given, Sequence):
                yield _command(call, [_word(item) for item in given.items], document)
            elif _is_true(call.argument("shell")):
                yield from _line(call, given, document)


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is True


def _word(node: Node) -> Node:
    if isinstance(node, Symbol) and node.origin == "sys.executable":
        return ShellWord(node.span, "python")
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return ShellWord(node.span, node.value, assumed=isinstance(node, Derived) and node.default)
    return ShellUnresolved(node.span, node.reason if isinstance(node, Unresolved) else "it is no text")


def _command(call: Call, words: list[Node], document: PythonDocument) -> Command:
    folder = call.argument("cwd")
    known = folder.value if isinstance(folder, Scalar) else None
    given = call.argument("env")
    environment = document.environment
    if given is not None and not (isinstance(given, Scalar) and given.value is None):
        environment = given if isinstance(given, Mapping) else Mapping(call.span, [], open_ended=True)
    return Command(
        words or [ShellUnresolved(call.span, "there is no word")],
        call.span,
        environment=environment,
        guarded=call.guarded,
        folder=known if isinstance(known, str) else "" if folder is None or isinstance(folder, Scalar) else None,
    )


def _line(call: Call, node: Node | None, document: PythonDocument) -> Iterator[Command]:
    """What a shell makes of a line that is known."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or len(node.value) > _LARGEST:
        return
    from epochlint.documents import shell

    text, span = node.value, node.span
    at = span.text.find(text)
    places = range(span.start + at, span.start + at + len(text) + 1) if at >= 0 else [span.start] * (len(text) + 1)
    for inner in shell.read(Excerpt(span.source, text, places, span.source.label)).launches:
        outer = _command(call, inner.words, document)
        entries = [*outer.environment.entries, *inner.environment.entries]
        environment = Mapping(inner.environment.span, entries, outer.environment.open_ended)
        folders = (outer.folder, inner.folder)
        folder = None if None in folders else "/".join(part for part in folders if part)
        yield Command(
            inner.words,
            inner.span,
            environment=environment,
            directives=inner.directives,
            guarded=inner.guarded or call.guarded,
            variants=inner.variants,
            folder=folder,
            cuts=inner.cuts,
        )
