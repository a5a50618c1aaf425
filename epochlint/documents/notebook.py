"""Notebooks: the code cells in order as one Python program, the shell lines in them, and the numbers in their outputs.

The `.ipynb` file is JSON; only its frame is taken apart here, with the standard library's scanner, so that pictures in
outputs cost nothing. Every character of a cell knows its place in the file, through the JSON escapes.
"""

from __future__ import annotations

import json
import re
from array import array
from json.decoder import scanstring  # type: ignore[attr-defined]

from epochlint.documents import comments
from epochlint.documents.document import Problem, Scalar
from epochlint.documents.python import may_train
from epochlint.documents.python.model import Cell, Output, PythonDocument, Unknown
from epochlint.source import Excerpt, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from epochlint.documents.document import Document, Mapping
    from epochlint.documents.python.interpreter import Find, Interpreter
    from epochlint.documents.python.syntax import Locator
    from epochlint.source import Source

# Pictures and tables in the outputs make notebooks large; their text is scanned at the speed of the disk.
LARGEST = 64_000_000

_SPACE = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)

# Lines of IPython: `%magic`, `!command`, `?name`, `name?`, `values = !command`.
_MAGIC_LINE = re.compile(r"[ \t]*(?:%|!|\?)|[ \t]*[\w.]+\?{1,2}[ \t]*(?:#.*)?$")
_MAGIC_VALUE = re.compile(r"([ \t]*[A-Za-z_][\w, \t.]*=[ \t]*)([!%].*)$")
_CELL_MAGIC = re.compile(r"[ \t\n]*%%(\w+)[^\n]*(?:\n|$)")
# Cell magics whose body is Python for this kernel.
_PYTHON_MAGICS = frozenset(
    ("time", "timeit", "capture", "prun", "memit", "python", "python3", "snakeviz", "wandb", "debug")
)
_SHELL_MAGICS = frozenset(("bash", "sh", "shell", "system", "script", "sx", "!"))
# What editors call the language of a cell (`metadata.vscode.languageId`), and kernels theirs.
_SHELLS = frozenset(("shellscript", "bash", "sh", "shell"))
_BLOCK = "pass"
# `%env NAME=value`, `%set_env NAME value`.
_VARIABLE = re.compile(r"^[ \t]*%(?:set_)?env[ \t]+([A-Za-z_]\w*)(?:=|[ \t]+)([^\s{$]+)[ \t]*$", re.MULTILINE)
_SHELL_FLAG = re.compile(r"(?:^|\s)--[a-z]")
_CALL = re.compile(r"\w\(")
_NAME = re.compile(r"^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)", re.MULTILINE)

# What transformers' Trainer and Unsloth print when a run starts. Sources: transformers 4.36-5.x trainer.py ("*****
# Running training *****"), unsloth models/_utils.py; "N of" forms are the older Unsloth's "Total batch size = N |".
_NUMBERS = (
    ("records", re.compile(r"Num examples = ([\d,]+)")),
    ("epochs", re.compile(r"Num Epochs = ([\d,]+)")),
    ("total_steps", re.compile(r"Total (?:optimization )?steps = ([\d,]+)")),
    ("per_device_batch", re.compile(r"(?:Instantaneous batch size per device|Batch size per device) = ([\d,]+)")),
    ("accumulation", re.compile(r"Gradient [Aa]ccumulation steps = ([\d,]+)")),
    (
        "effective_batch",
        re.compile(r"(?:Total train batch size \([^)\n\"]*\)|Total batch size(?: \([^)\n\"]*\))?) = ([\d,]+)"),
    ),
    ("gpus", re.compile(r"(?:Data Parallel GPUs|Num GPUs used) = ([\d,]+)")),
    ("global_step", re.compile(r"TrainOutput\(global_step=(\d+)")),
)
_START = "Num examples ="


def read(
    source: Source,
    *,
    load: Callable[[str], Document | None] | None = None,
    flags: Mapping | None = None,
    environment: dict[str, str] | None = None,
    find: Find | None = None,
) -> PythonDocument:
    """Read a notebook; as `documents.python.read`, with `cells`, `commands` and `outputs` filled in. Nothing is run."""
    document = PythonDocument(source, "notebook")
    if not may_train(source.text):
        return document
    if len(source.text) > LARGEST:
        document.problems.append(Problem("too-large", "not analysed: larger than 64 MB", source.span(0, 0)))
        return document
    frame = _Frame(source)
    try:
        frame.read()
    except RecursionError:
        document.problems.append(Problem("too-deep", "nested too deeply", source.span(0, 0)))
        return document
    except ValueError as error:  # JSONDecodeError, numbers of thousands of digits
        at = min(getattr(error, "pos", 0), len(source.text))
        reason = getattr(error, "msg", str(error))
        document.problems.append(Problem("syntax", f"not a notebook: {reason}", source.span(at, at)))
        return document
    document.cells = frame.cells
    for cell in frame.cells:
        cell.language = cell.language or frame.language
    _outputs(document, frame)
    for cell in document.cells:
        if cell.kind == "code":
            document.comments.extend(comments.find(cell.source, "python"))
    _program(document, load, flags, environment, find)
    return document


# --- The file ---------------------------------------------------------------------------------------------------------


class _Frame:
    """The cells of a notebook's JSON, found without building the rest of it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.cells: list[Cell] = []
        # (cell number, start, end) of the outputs of code cells.
        self.outputs: list[tuple[int, int, int]] = []
        self.language = ""
        self._skip = json.JSONDecoder().raw_decode

    def read(self) -> None:
        """Raises ValueError where the text is no JSON object."""
        at = self._space(0)
        end = self._members(at, {"cells": self._cells, "worksheets": self._worksheets, "metadata": self._metadata})
        if self._space(end) != len(self.text):
            raise json.JSONDecodeError("Extra data", self.text, end)

    def _space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _expect(self, character: str, at: int) -> int:
        if self.text[at : at + 1] != character:
            raise json.JSONDecodeError(f"Expecting {character!r}", self.text, at)
        return at + 1

    def _members(self, at: int, wanted: dict[str, Callable[[int], int]]) -> int:
        """Go through an object, handing the values under wanted keys to their readers; the offset behind it."""
        text = self.text
        at = self._space(self._expect("{", at))
        if text[at : at + 1] == "}":
            return at + 1
        while True:
            key, at = scanstring(text, self._expect('"', at))
            at = self._space(self._expect(":", self._space(at)))
            reader = wanted.get(key)
            at = reader(at) if reader is not None else self._skip(text, at)[1]
            at = self._space(at)
            if text[at : at + 1] == "}":
                return at + 1
            at = self._space(self._expect(",", at))

    def _elements(self, at: int, reader: Callable[[int], int]) -> int:
        text = self.text
        at = self._space(self._expect("[", at))
        if text[at : at + 1] == "]":
            return at + 1
        while True:
            at = self._space(reader(at))
            if text[at : at + 1] == "]":
                return at + 1
            at = self._space(self._expect(",", at))

    def _cells(self, at: int) -> int:
        return self._elements(at, self._cell) if self.text[at : at + 1] == "[" else self._skip(self.text, at)[1]

    def _metadata(self, at: int) -> int:
        value, end = self._skip(self.text, at)
        for key, name in (("kernelspec", "language"), ("language_info", "name")):
            part = value.get(key) if isinstance(value, dict) else None
            language = part.get(name) if isinstance(part, dict) else None
            if isinstance(language, str):
                self.language = language.lower()
        return int(end)

    def _worksheets(self, at: int) -> int:
        """Notebook format 3: the cells stand in worksheets."""
        return self._elements(at, lambda inner: self._members(inner, {"cells": self._cells}))

    def _cell(self, at: int) -> int:
        kind = language = ""
        parts: list[tuple[str, array[int]]] = []
        outputs: list[tuple[int, int]] = []

        def cell_type(start: int) -> int:
            nonlocal kind
            value, end = self._skip(self.text, start)
            kind = value if isinstance(value, str) else ""
            return int(end)

        def metadata(start: int) -> int:
            nonlocal language
            value, end = self._skip(self.text, start)
            vscode = value.get("vscode") if isinstance(value, dict) else None
            named = vscode.get("languageId") if isinstance(vscode, dict) else None
            language = named.lower() if isinstance(named, str) else ""
            return int(end)

        def text(start: int) -> int:
            if self.text[start : start + 1] == "[":
                return self._elements(start, line)
            return line(start)

        def line(start: int) -> int:
            if self.text[start : start + 1] != '"':
                return int(self._skip(self.text, start)[1])
            value, end = scanstring(self.text, start + 1)
            parts.append((value, self._offsets(value, start + 1, end - 1)))
            return int(end)

        def output(start: int) -> int:
            end = int(self._skip(self.text, start)[1])
            outputs.append((start, end))
            return end

        readers: dict[str, Callable[[int], int]] = {
            "cell_type": cell_type,
            "metadata": metadata,
            "source": text,
            "input": text,
            "outputs": output,
        }
        end = self._members(at, readers)
        number = len(self.cells) + 1
        offsets = array("I")
        for _, places in parts:
            offsets.extend(places)
        offsets.append(self._end_of(parts, at))
        excerpt = Excerpt(self.source, "".join(value for value, _ in parts), offsets, f"cell {number}")
        self.cells.append(Cell(number, kind, excerpt, language))
        if kind == "code":
            self.outputs.extend((number, start, stop) for start, stop in outputs)
        return end

    def _end_of(self, parts: list[tuple[str, array[int]]], at: int) -> int:
        for _, places in reversed(parts):
            if places:
                last = places[-1]
                escape = _ESCAPE.match(self.text, last)
                return escape.end() if escape else last + 1
        return at

    def _offsets(self, value: str, start: int, end: int) -> array[int]:
        """The offset in the file of each character of a decoded JSON string: four bytes each, not a list's forty."""
        if end - start == len(value):
            return array("I", range(start, end))
        places = array("I")
        at = start
        for escape in _ESCAPE.finditer(self.text, start, end):
            places.extend(range(at, escape.start()))
            places.append(escape.start())
            at = escape.end()
        places.extend(range(at, end))
        return places


# --- Outputs ----------------------------------------------------------------------------------------------------------


def _outputs(document: PythonDocument, frame: _Frame) -> None:
    """The numbers that trainers printed. Their words hold nothing that JSON would escape."""
    text = frame.text
    for cell, start, end in frame.outputs:
        found: list[tuple[int, Output]] = []
        if text.find(_START, start, end) < 0 and text.find("TrainOutput(", start, end) < 0:
            continue
        for name, expression in _NUMBERS:
            for match in expression.finditer(text, start, end):
                digits = match[1].replace(",", "")
                if digits and len(digits) < 18:
                    span = Span(frame.source, match.start(1), match.end(1))
                    found.append((match.start(), Output(name, int(digits), cell, 0, span)))
        found.sort(key=lambda pair: pair[0])
        block = 0
        seen: set[str] = set()
        for _, output in found:
            if output.name in seen:
                # The same number once more: another run of the same cell. Unsloth names the GPUs before the rest.
                block += 1
                seen = set()
            seen.add(output.name)
            output.block = block
        document.outputs.extend(output for _, output in found)


# --- The program ------------------------------------------------------------------------------------------------------


def _program(
    document: PythonDocument,
    load: Callable[[str], Document | None] | None,
    flags: Mapping | None,
    environment: dict[str, str] | None,
    find: Find | None,
) -> None:
    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.documents.python.script import run
    from epochlint.documents.python.syntax import Locator

    pieces: list[tuple[Locator, ast.Module]] = []
    for cell in document.cells:
        if cell.kind != "code":
            continue
        if cell.language in _SHELLS:
            document.commands.append(cell.source)
        if cell.language not in ("", "python"):
            continue
        tree = _cell_tree(document, cell)
        if tree is not None:
            pieces.append((Locator(cell.source), tree))
    if pieces:
        interpreter = Interpreter(pieces[0][0], load, flags, environment, find)
        interpreter.steps += sum(len(at.source.text) for at, _ in pieces[1:]) // 2
        interpreter.texts = [at.source.text for at, _ in pieces]
        for at, _ in pieces:
            for found in _VARIABLE.finditer(at.source.text):
                span = Span(at.source, found.start(2), found.end(2))
                value = Scalar(span, found[2], found[2])
                interpreter.set_variables.put(found[1], Span(at.source, found.start(1), found.end(1)), value)
        run(interpreter, pieces, document)
        _fill_in(document, interpreter, [tree for _, tree in pieces])


# What IPython replaces in a `!` line by a value of the program: `{lr}`, `{config["lr"]}`, `$lr`.
_VALUE = re.compile(
    r"(?<![${\\])\{(?P<braced>[A-Za-z_][\w.]*(?:\[[^{}\n]*\]|\([^{}\n]*\)|:[^{}\s]*)*)\}(?!\})"
    r"|(?<![$\\])\$(?P<named>[A-Za-z_]\w*)"
)
_UNKNOWN_VALUE = '"$(python)"'  # one word that no reader of a shell can know


def _fill_in(document: PythonDocument, interpreter: Interpreter, trees: list[ast.Module]) -> None:
    """Puts the values of Python variables into the shell lines that name them; what is set twice is not known."""
    import ast

    names = {
        found["named"] or found["braced"] for command in document.commands for found in _VALUE.finditer(command.text)
    }
    if not names:
        return
    places: dict[str, int] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
                places[node.id] = places.get(node.id, 0) + 1
    values = {}
    for name in names & interpreter.module.names.keys():
        value = interpreter.module.names[name]
        known = isinstance(value, Scalar) and not getattr(value, "default", False) and places.get(name) == 1
        values[name] = str(value.value) if known and isinstance(value, Scalar) else _UNKNOWN_VALUE
    document.commands = [
        _filled(command, values)
        if document.source.text[command.offsets[0] - 1 : command.offsets[0]] == "!"
        else command
        for command in document.commands
    ]


def _filled(command: Excerpt, values: dict[str, str]) -> Excerpt:
    text: list[str] = []
    offsets: list[int] = []
    at = 0
    for found in _VALUE.finditer(command.text):
        name = found["named"] or found["braced"]
        if found["named"] and name not in values:
            continue  # the shell's own
        value = values.get(name, _UNKNOWN_VALUE)
        text += [command.text[at : found.start()], value]
        offsets += [*command.offsets[at : found.start()], *([command.offsets[found.start()]] * len(value))]
        at = found.end()
    text.append(command.text[at:])
    offsets += command.offsets[at:]
    return Excerpt(command.within, "".join(text), offsets, command.label)


def _cell_tree(document: PythonDocument, cell: Cell) -> ast.Module | None:
    """The tree of a code cell, its magics masked; None where it is no Python."""
    from epochlint.documents.python.syntax import parse

    text = cell.source.text
    magic = _CELL_MAGIC.match(text)
    if magic is not None:
        name = magic[1]
        if name in _SHELL_MAGICS or (name.startswith("script") and "bash" in magic[0]):
            document.commands.append(_part(cell.source, magic.end(), len(text)))
        if name in ("writefile", "file"):
            words = [word for word in magic[0].split()[1:] if not word.startswith("-")]
            if len(words) == 1 and not set(words[0]) & set("${}"):
                from epochlint.documents.python.written import keep

                path, content = words[0].strip("'\""), _part(cell.source, magic.end(), len(text))
                if words == magic[0].split()[1:]:
                    keep(document.files, path, content)
                elif path in document.files:  # appended to
                    keep(document.files, path, Unknown(content.span(0, 0), "it is appended to"))
        if name not in _PYTHON_MAGICS:
            return None
        text = (
            " " * (magic.end() - 1) + "\n" + text[magic.end() :] if text[magic.end() - 1 : magic.end()] == "\n" else ""
        )
    if "!" in text or "%" in text or "?" in text:
        text = _masked(document, cell.source, text)
    shown = (
        cell.source if text == cell.source.text else Excerpt(cell.source, text, range(len(text) + 1), cell.source.label)
    )
    found = parse(shown)
    if isinstance(found, Problem):
        if _SHELL_FLAG.search(text) and not _CALL.search(text):
            # A shell script without `%%bash`: for a kernel, or an editor, that knows.
            document.commands.append(cell.source)
            return None
        if not may_train(text):
            return _bindings(text)
        document.problems.append(Problem(found.kind, found.reason, Span(cell.source, found.span.start, found.span.end)))
        return _bindings(text)
    return found


def _bindings(text: str) -> ast.Module | None:
    """What a cell that does not parse may assign: those names are no longer known."""
    import ast

    names = dict.fromkeys(found[1] for found in _NAME.finditer(text))
    lines = [f"{name} = __unreadable_cell__" for name in names if name.isidentifier()]
    try:
        return ast.parse("\n".join(lines)) if lines else None
    except (SyntaxError, ValueError):
        return None


def _masked(document: PythonDocument, source: Excerpt, text: str) -> str:
    """The text with IPython's own lines blanked out, column for column; shell lines become commands."""
    lines = text.split("\n")
    at = 0
    inside = ""
    index = 0
    while index < len(lines):
        line = lines[index]
        start = at
        at += len(line) + 1
        continued = index > 0 and lines[index - 1].endswith("\\")
        if not inside and not continued and (_MAGIC_LINE.match(line) or _MAGIC_VALUE.match(line)):
            last = index
            while lines[last].rstrip().endswith("\\") and last + 1 < len(lines):
                last += 1
            value = _MAGIC_VALUE.match(line)
            mark = value.start(2) if value else len(line) - len(line.lstrip())
            end = start + sum(len(part) + 1 for part in lines[index : last + 1]) - 1
            if line[mark : mark + 1] == "!":
                skip = 2 if line[mark : mark + 2] == "!!" else 1
                document.commands.append(_part(source, start + mark + skip, end))
            elif line[mark:].startswith(("%sx ", "%system ", "%run ")):
                document.commands.append(_part(source, start + mark, end))
            replacement = "_" if value else _BLOCK if len(line) - mark >= len(_BLOCK) else "0"
            lines[index] = line[:mark] + replacement[: len(line) - mark].ljust(len(line) - mark)
            for inner in range(index + 1, last + 1):
                lines[inner] = " " * len(lines[inner])
                at += len(lines[inner]) + 1
            index = last + 1
            continue
        inside = _string_state(line, inside)
        index += 1
    return "\n".join(lines)


_QUOTE = re.compile(r"\\.|#[^\n]*|\"\"\"|'''|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[(\[{]|[)\]}]")
_CLOSING = {'"""': re.compile(r'(?:[^\\]|\\.)*?"""'), "'''": re.compile(r"(?:[^\\]|\\.)*?'''")}


def _string_state(line: str, inside: str) -> str:
    """Whether the next line begins inside a triple-quoted string (its quotes) or inside brackets (as many "(")."""
    at = 0
    depth = len(inside) if inside.startswith("(") else 0
    quotes = inside if not depth else ""
    while True:
        if quotes.startswith(('"""', "'''")):
            closed = _CLOSING[quotes[:3]].match(line, at)
            if closed is None:
                return quotes
            at, depth, quotes = closed.end(), len(quotes) - 3, ""
            continue
        found = _QUOTE.search(line, at)
        if found is None:
            return "(" * depth
        word = found[0]
        at = found.end()
        if word in _CLOSING:
            # The brackets around the string are kept behind its quotes.
            quotes = word + "(" * depth
        elif word in "([{":
            depth += 1
        elif word in ")]}":
            depth = max(0, depth - 1)


def _part(source: Excerpt, start: int, end: int) -> Excerpt:
    """A part of a cell as a text of its own, placed in the file."""
    end = max(start, end)
    offsets = [source.offsets[index] for index in range(start, end)]
    offsets.append(source.offsets[end] if end < len(source.offsets) else source.offsets[-1])
    if offsets[:-1] and end < len(source.text) and source.text[end - 1 : end] != "\n":
        offsets[-1] = offsets[-2] + 1
    return Excerpt(source.within, source.text[start:end], offsets, source.label)
