"""Files that a program writes: values that it dumps as JSON, YAML or TOML, and texts of its own.

What is written counts where it is one thing: a file that is written with different contents, appended to, or written
by something that cannot be seen is not known.
"""

from __future__ import annotations

import json
import posixpath

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence
from epochlint.documents.python.model import Choice, Derived, Unknown
from epochlint.documents.python.spawned import SPAWNERS
from epochlint.documents.python.values import export, rests_on_default, same, text_of
from epochlint.documents.read import syntax_of_name
from epochlint.documents.scalars import yaml11
from epochlint.source import Excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.documents.python.model import PythonDocument
    from epochlint.documents.python.values import Site
    from epochlint.source import Span

# What a dumper writes -> the syntaxes as which it can be read again: YAML takes JSON, too.
_READABLE = {"json": ("json", "yaml"), "yaml": ("yaml",), "toml": ("toml",)}
_MOST_FILES = 100
_PLAIN = (str, int, float, bool, type(None))


class Dumped(Unknown):
    """The text of a value: `json.dumps(args)`. To everything but a file it is a text that is not known."""

    __slots__ = ("form", "value")

    def __init__(self, span: Span, value: Node, form: str) -> None:
        super().__init__(span, "the text of a value")
        self.value = value
        self.form = form


class Target(Node):
    """A file that is opened to be written, and what has been written to it. `before`: so many calls were made then."""

    __slots__ = ("before", "contents", "path")

    def __init__(self, span: Span, path: Node, before: int) -> None:
        super().__init__(span)
        self.path = path
        self.before = before
        self.contents: list[Node] = []

    def content(self) -> Node:
        """What the file holds, as it is read again."""
        if len(self.contents) != 1:
            return Unknown(self.span, "what is written is not visible")
        given = self.contents[0]
        if isinstance(given, Dumped):
            syntax = syntax_of_name(text_of(self.path) or "")
            readable = syntax is not None and syntax in _READABLE[given.form]
            return _read_again(given.value, given.form, syntax or "") if readable else _unreadable(given)
        return given if text_of(given) is not None and not rests_on_default(given) else _unreadable(given)


def _unreadable(node: Node) -> Node:
    return Unknown(node.span, "what is written is not known")


def target(it: Interpreter, site: Site, path: Node, mode: str = "w") -> Target:
    """A file that the program opens to write it."""
    made = Target(site.whole, path, len(it.calls))
    if mode[:1] not in "wx":  # appended to: what stands there already is not visible
        made.contents += [_unreadable(made), _unreadable(made)]
    if len(it.targets) < _MOST_FILES:
        it.targets.append(made)
    return made


def method(it: Interpreter, receiver: Target, name: str, site: Site) -> Node:
    """Methods of a file that is written."""
    if name == "__enter__":
        return receiver
    if name == "write":
        put(receiver, site.get("s", 0), site)
    elif name == "writelines":
        put(receiver, None, site)
    return Unknown(site.whole, f"the result of {name}()")


def put(receiver: Node | None, value: Node | None, site: Site) -> None:
    """Something is written to a file."""
    if isinstance(receiver, Target):
        receiver.contents.append(value if value is not None else Unknown(site.whole, "what is written is not visible"))


def whole_text(it: Interpreter, site: Site, path: Node) -> Node:
    """`Path.write_text`, `Path.write_bytes`."""
    put(target(it, site, path), site.get("data", 0), site)
    return Unknown(site.whole, "the number of characters")


# --- Dumpers ----------------------------------------------------------------------------------------------------------


def _dumper(form: str, *names: str, by_path: bool = False) -> Callable[[Interpreter, Site, str], Node | None]:
    """A function that writes its first argument to a file, its second (or one of `names`); without one it gives the
    text. `by_path`: the file may be named, too."""

    def dump(it: Interpreter, site: Site, origin: str) -> Node | None:
        value = next((found for name in ("obj", "data", "o", "config") if (found := site.get(name)) is not None), None)
        positional = list(site.positional)
        if value is None:
            value = positional.pop(0) if positional else None
        stream = next((found for name in names if (found := site.get(name)) is not None), None)
        if stream is None and names and positional:
            stream = positional[0]
        if value is None or site.open_ended:
            put(stream, None, site)
            return None
        text = Dumped(site.whole, export(value), form)
        if by_path and stream is not None and text_of(stream) is not None:
            stream = target(it, site, stream)
        put(stream, text, site)
        if stream is None or (isinstance(stream, Scalar) and stream.value is None):
            return text
        return Unknown(site.whole, f"{site.name}() returns nothing")

    return dump


HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **{f"{module}.dump": _dumper("json", "fp") for module in ("json", "simplejson", "ujson")},
    **{f"{module}.dumps": _dumper("json") for module in ("json", "simplejson", "ujson")},
    **dict.fromkeys(("yaml.dump", "yaml.safe_dump"), _dumper("yaml", "stream")),
    "omegaconf.OmegaConf.save": _dumper("yaml", "f", by_path=True),
    "omegaconf.OmegaConf.to_yaml": _dumper("yaml"),
    "toml.dump": _dumper("toml", "f"),
    "tomli_w.dump": _dumper("toml", "fp"),
    **dict.fromkeys(("toml.dumps", "tomli_w.dumps"), _dumper("toml")),
}


def _read_again(node: Node, form: str, syntax: str) -> Node:
    """A dumped value as a document of its text holds it, each value where the program wrote it."""
    if isinstance(node, Mapping):
        entries = [Entry(one.key, one.key_span, _read_again(one.value, form, syntax)) for one in node.entries]
        # A value that is not known may be a section of settings, of which none is left to its default then.
        hidden = any(_may_hide_keys(one.value) for one in entries)
        return Mapping(node.span, entries, node.open_ended or hidden)
    if isinstance(node, Sequence):
        return Sequence(node.span, [_read_again(item, form, syntax) for item in node.items])
    if isinstance(node, Scalar) and isinstance(node.value, _PLAIN) and not (isinstance(node, Derived) and node.default):
        return _scalar(node.span, node.value, form, syntax)
    return node if isinstance(node, Unknown) else Unknown(node.span, "it is known only when the program runs")


def _may_hide_keys(node: Node) -> bool:
    if isinstance(node, Choice):
        return any(_may_hide_keys(option) for option in node.options)
    return node.open_ended if isinstance(node, Mapping) else isinstance(node, Unknown)


def _scalar(span: Span, value: object, form: str, syntax: str) -> Scalar:
    if isinstance(value, str):
        # PyYAML leaves those words without quotes that it reads as words; other loaders may read them otherwise.
        return Scalar(span, value, value, plain=form == "yaml" and bool(value) and yaml11(value) == value)
    raw = json.dumps(value)
    if form == "yaml" and isinstance(value, float) and "." not in raw and "e" in raw:
        raw = raw.replace("e", ".0e", 1)  # PyYAML, `represent_float`
    if syntax == "yaml":
        return Scalar(span, raw, yaml11(raw), plain=True)  # `5e-05`, as json writes it, is a word for PyYAML
    return Scalar(span, raw, value)


# --- The files --------------------------------------------------------------------------------------------------------


def keep(files: dict[str, Node | Excerpt], path: str, content: Node | Excerpt) -> None:
    """Notes what a file is written with; it is not known where it is written with something else, too."""
    path = posixpath.normpath(path)
    old = files.get(path)
    if old is not None and not _alike(old, content):
        place = content.span(0, 0) if isinstance(content, Excerpt) else content.span
        content = Unknown(place, "it is written with different contents")
    files[path] = content


def _alike(one: Node | Excerpt, other: Node | Excerpt) -> bool:
    texts = [node.text if isinstance(node, Excerpt) else text_of(node) for node in (one, other)]
    if None not in texts:
        return texts[0] == texts[1]
    return not isinstance(one, Excerpt) and not isinstance(other, Excerpt) and same(one, other)


def keep_all(it: Interpreter, document: PythonDocument) -> None:
    """Notes the files that a program wrote, but for those that something was started with before."""
    for one in it.targets:
        path = text_of(one.path)
        if path and not rests_on_default(one.path):
            keep(document.files, path, _unreadable(one) if _started(it, document, one, path) else one.content())


def _started(it: Interpreter, document: PythonDocument, one: Target, path: str) -> bool:
    earlier = (kept.call for kept in it.calls[: one.before])
    if any(call.origin in SPAWNERS and path in call.arguments.span.text for call in earlier):
        return True
    if not document.commands:
        return False
    place = one.span.in_file().start
    return any(path in command.text and command.outer(0)[1] < place for command in document.commands)
