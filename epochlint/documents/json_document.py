"""JSON: the standard library decides whether a text is valid, a tokenizer of ours gives every key and value its span.

`json.loads` runs first, so the tokenizer may assume a valid text; it is iterative and has no depth limit of its own.
Comments and trailing commas, which `json.loads` refuses and other readers take (hjson, JSON5, editors), become a
problem of the kind "relaxed" with the tree still read; in a `.jsonc` file they are no problem.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

from epochlint.documents.document import Document, Entry, Mapping, Node, Problem, Scalar, Sequence
from epochlint.documents.scalars import number_word
from epochlint.documents.templates import REASON, is_template
from epochlint.source import Source, Span

# Configs and notebooks are far below; what is above is data.
LARGEST = 5_000_000
# A list at the top of a file is a dataset, whose records are counted elsewhere, or a short list of runs.
LARGEST_LIST = 500_000

_TOKEN = re.compile(
    r"[ \t\n\r]*(?:"
    r'("[^"\\]*(?:\\.[^"\\]*)*")'  # 1: a string
    r"|([\]}\[{:,])"  # 2: punctuation
    r"|([^ \t\n\r,\]}:\"\[{]+))",  # 3: a number or a word
    re.DOTALL,
)
_STRING_OR_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n\r]*|#[^\n\r]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|,(?=\s*[\]}])', re.DOTALL)


def read(source: Source) -> Document:
    """Read a JSON text into one root. Never raises; what is wrong stands in `problems`."""
    document = Document(source, "json")
    text = source.text
    if len(text) > LARGEST:
        return _refused(document, "too-large", f"larger than {LARGEST // 1_000_000} MB, which no config is")
    if len(text) > LARGEST_LIST and text.lstrip(" \t\n\r")[:1] == "[":
        return _refused(document, "too-large", "a list of this size is data, not a config")
    try:
        json.loads(text)
    except RecursionError:
        return _refused(document, "too-deep", "nested too deeply")
    except json.JSONDecodeError as error:
        return _relaxed(document, error)
    except ValueError:
        # Python refuses to convert integers beyond 4300 digits.
        return _refused(document, "syntax", "a number with too many digits")
    document.roots.append(_tree(source, text))
    return document


def _refused(document: Document, kind: str, reason: str, start: int = 0, end: int = 0) -> Document:
    document.problems.append(Problem(kind, reason, Span(document.source, start, end)))
    return document


def _tree(source: Source, text: str) -> Node:
    """The tree of a valid JSON text; `text` may differ from the source's in what stands for comments only."""
    match = _TOKEN.match
    at = 0
    stack: list[Mapping | Sequence] = []
    entries: list[Entry] | None = None
    items: list[Node] | None = None
    key = ""
    key_span: Span | None = None
    while True:
        found = match(text, at)
        if found is None:
            raise ValueError(f"no JSON token at {at}")
        at = found.end()
        string, mark, word = found.groups()
        node: Node
        if string is not None:
            start = at - len(string)
            raw = string[1:-1] if "\\" not in string else scanstring(text, start + 1, False)[0]
            if entries is not None and key_span is None:
                key, key_span = raw, Span(source, start, at)
                continue
            node = Scalar(Span(source, start, at), raw, raw)
        elif word is not None:
            node = Scalar(Span(source, at - len(word), at), word, number_word(word))
        elif mark in ",:":
            continue
        elif mark in "{[":
            container = Mapping(Span(source, at - 1, at), []) if mark == "{" else Sequence(Span(source, at - 1, at), [])
            if entries is not None and key_span is not None:
                entries.append(Entry(key, key_span, container))
                key_span = None
            elif items is not None:
                items.append(container)
            stack.append(container)
            entries = container.entries if isinstance(container, Mapping) else None
            items = container.items if isinstance(container, Sequence) else None
            continue
        else:
            closed = stack.pop()
            closed.span.end = at
            if not stack:
                return closed
            outer = stack[-1]
            entries = outer.entries if isinstance(outer, Mapping) else None
            items = outer.items if isinstance(outer, Sequence) else None
            continue
        if entries is not None and key_span is not None:
            entries.append(Entry(key, key_span, node))
            key_span = None
        elif items is not None:
            items.append(node)
        else:
            return node


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0])


def _relaxed(document: Document, error: json.JSONDecodeError) -> Document:
    """Why a text is no JSON; where only comments and trailing commas are to blame, with its tree."""
    source = document.source
    text = source.text
    cleared = _STRING_OR_COMMENT.sub(_blank, text)
    cleared = _STRING_OR_COMMA.sub(_blank, cleared)
    jsonc = source.path.endswith(".jsonc")
    at = _position(text, error)
    if cleared != text:
        try:
            json.loads(cleared)
        except json.JSONDecodeError as second:
            error, at = second, _position(cleared, second)
        except (RecursionError, ValueError):
            pass
        else:
            document.roots.append(_tree(source, cleared))
            if not jsonc:
                first = next((i for i, (a, b) in enumerate(zip(text, cleared, strict=True)) if a != b), at)
                comma = text[first] == ","
                reason = "a ',' behind the last value" if comma else "a comment, which JSON does not have"
                _refused(document, "relaxed", reason, first, first + 1)
            return document
    if error.msg.startswith("Extra data") and _is_lines(text):
        return _refused(document, "lines", "JSON Lines, which is data and no config", at, at)
    if is_template(text, at, quotes_matter=True):
        return _refused(document, "template", REASON, at, at)
    reason = _reason(cleared, at, error)
    return _refused(document, "syntax", reason, at, min(at + 1, len(text)))


def _is_lines(text: str) -> bool:
    """Whether the first lines are a JSON object or list each."""
    lines = [line for line in text[:200_000].splitlines() if line.strip()][:3]
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), (dict, list)) for line in lines[:2])
    except (ValueError, RecursionError):
        return False


def _position(text: str, error: json.JSONDecodeError) -> int:
    """Where to look: at the end of the text, the last line that is not blank."""
    return min(len(text.rstrip()), error.pos)


def _reason(text: str, at: int, error: json.JSONDecodeError) -> str:
    said, there = error.msg, text[at : at + 1].strip()
    if not text.strip():
        return "the file is empty"
    if said.startswith("Expecting ',' delimiter"):
        return "a ',' is missing before this" if there else "the text ends before everything is closed"
    if said.startswith("Expecting property name"):
        if there == "'":
            return "a key in single quotes: JSON has double quotes only"
        return "a key in double quotes is missing" if there else "the text ends before everything is closed"
    if said.startswith("Expecting ':' delimiter"):
        return "a ':' is missing behind the key"
    if said.startswith("Expecting value"):
        if not there:
            return "the text ends where a value belongs"
        if text.startswith(("True", "False", "None"), at):
            return "True, False and None are Python's words: JSON has true, false and null"
        if there == "'":
            return "a text in single quotes: JSON has double quotes only"
        return "a value is missing" if there in ",}]:" else "this is no JSON value"
    if said.startswith("Unterminated string"):
        return "a quotation mark that is not closed"
    if said.startswith("Invalid control character"):
        return "a line break or control character inside a text"
    if said.startswith("Invalid") and "escape" in said:
        return "an unknown escape sequence"
    if said.startswith("Extra data"):
        return "text behind the end of the value"
    return said[:1].lower() + said[1:]
