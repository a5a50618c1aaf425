"""Files that a script opens, and the config files among them: their values, typed as the script's loader types them."""

from __future__ import annotations

import posixpath

from epochlint.documents.document import Document, Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python import written
from epochlint.documents.python.model import DatasetNode, Load, Unknown
from epochlint.documents.python.values import (
    Contents,
    File,
    Instance,
    Items,
    PathText,
    Site,
    Table,
    derived,
    elements,
    names_in,
    text_of,
)
from epochlint.documents.scalars import OMEGACONF, PYYAML, YAML12
from epochlint.source import Excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.documents.scalars import Typing
    from epochlint.source import Span

# A config file that a script reads has some hundred values; more is data.
MOST_VALUES = 20_000
# Characters of a config that stands in the script itself.
LARGEST_TEXT = 100_000


def _open(it: Interpreter, site: Site, origin: str) -> Node | None:
    path = site.get("file", 0) or Unknown(site.whole, "the path is not known")
    mode = text_of(site.get("mode", 1)) or "r"
    reference = it.record(site, "open", "builtins.open")
    if any(letter in mode for letter in "wax"):
        return written.target(it, site, path, mode)
    return File(site.whole, path, reference)


def method(it: Interpreter, receiver: File | Contents, name: str, site: Site) -> Node | None:
    """Methods of an opened file and of a file's text."""
    if isinstance(receiver, File):
        if name in ("read", "readlines", "__enter__"):
            return receiver if name == "__enter__" else Contents(site.whole, receiver.path)
        return Unknown(site.whole, f"the result of {name}()")
    if name in ("append", "extend", "insert", "pop", "remove", "clear"):
        receiver.changed = True
    if name in ("strip", "splitlines", "split", "decode", "rstrip", "replace"):
        return receiver
    if name in ("get", "pop", "setdefault"):
        key = text_of(site.get("key", 0))
        names = frozenset((key,)) if key else names_in()
        return Unknown(site.whole, "the file it comes from is not visible", names)
    return Unknown(site.whole, f"the result of {name}()")


def path_method(it: Interpreter, receiver: Scalar, name: str, site: Site) -> Node | None:
    """Methods of a pathlib path."""
    if not isinstance(receiver, PathText):
        return None
    text = str(receiver.value)
    if name in ("read_text", "read_bytes"):
        return Contents(site.whole, receiver)
    if name == "open":
        mode = text_of(site.get("mode", 0)) or "r"
        return written.target(it, site, receiver, mode) if mode[:1] in "wax" else File(site.whole, receiver)
    if name in ("write_text", "write_bytes"):
        return written.whole_text(it, site, receiver)
    if name in ("resolve", "absolute", "as_posix", "__str__"):
        return receiver
    if name == "joinpath":
        parts = [text_of(part) for part in site.positional]
        if all(part is not None for part in parts):
            joined = posixpath.normpath(posixpath.join(text, *(part for part in parts if part is not None)))
            return PathText(site.whole, joined, joined, default=receiver.default)
    if name in ("with_suffix", "with_name") and site.positional:
        part = text_of(site.positional[0])
        if part is not None:
            stem = posixpath.splitext(text)[0]
            changed = stem + part if name == "with_suffix" else posixpath.join(posixpath.dirname(text), part)
            return PathText(site.whole, changed, changed, default=receiver.default)
    return Unknown(site.whole, f"the result of {name}()", names_in(receiver))


# --- Loaders ----------------------------------------------------------------------------------------------------------


def fetch(it: Interpreter, path: Node, via: str, span: Span) -> Document | None:
    """Note that the script opens a config file, and find it."""
    text = text_of(path)
    document: Document | None = None
    if text and it.load is not None:
        if text not in it.loaded:
            it.loaded[text] = it.load(text)
        document = it.loaded[text]
    if it.remember_load(path, via, span):
        it.loads.append(Load(path, via, span, document))
    return document


def contents(it: Interpreter, document: Document, typing: Typing, form: str, position: int = 0) -> Node | None:
    """A loaded document's value as the script sees it; None where it holds nothing or too much."""
    if len(document.roots) <= position or any(
        problem.kind not in ("template", "relaxed") for problem in document.problems
    ):
        return None
    budget = [MOST_VALUES]
    value = _typed(it, document.roots[position], typing, form, {}, budget)
    return value if budget[0] > 0 else None


def _typed(
    it: Interpreter, node: Node, typing: Typing, form: str, seen: dict[int, Node], budget: list[int], depth: int = 0
) -> Node:
    """A copy that the script may change, with the loader's types. Shared (aliased) nodes stay shared."""
    known = seen.get(id(node))
    if known is not None:
        return known
    budget[0] -= 1
    if budget[0] <= 0 or depth > 100:
        return Unknown(node.span, "too large")
    if isinstance(node, Scalar):
        value = typing(node)
        return node if value is node.value else Scalar(node.span, node.raw, value, node.plain)
    if isinstance(node, Mapping):
        table = Table(node.span, [], it.guard, form, node.open_ended)
        seen[id(node)] = table
        for entry in node.last.values():
            held = _typed(it, entry.value, typing, form, seen, budget, depth + 1)
            table.entries.append(Entry(entry.key, entry.key_span, held))
        return table
    if isinstance(node, Sequence):
        items = Items(node.span, [], it.guard)
        seen[id(node)] = items
        items.items = [_typed(it, item, typing, form, seen, budget, depth + 1) for item in node.items]
        return items
    return node


def _path_of(value: Node | None) -> Node | None:
    return value.path if isinstance(value, (File, Contents)) else None


def _loader(
    typing: Typing, form: str = "dict", by_path: bool = False
) -> Callable[[Interpreter, Site, str], Node | None]:
    """A loader: of an opened file or its text, or with `by_path` of a path."""

    def load(it: Interpreter, site: Site, origin: str) -> Node | None:
        given = site.positional[0] if site.positional else None
        if given is None and site.keywords:
            given = site.keywords[0].value
        path = _path_of(given)
        if path is None and by_path and given is not None:
            path = given
        if path is None and isinstance(given, Scalar) and isinstance(given.value, str):
            held = _held(it, given, origin.partition(".")[0], typing, form)
            if held is not None:
                return held
        if path is None:
            return Unknown(site.whole, f"what {site.callee}() reads is not visible")
        return loaded(it, path, _shown(origin), site.whole, typing, form)

    return load


def _held(it: Interpreter, given: Scalar, loader: str, typing: Typing, form: str) -> Node | None:
    """What a loader makes of a text that the script holds itself: `yaml.safe_load(\"\"\"lr: 2e-4\"\"\")`."""
    text = given.value
    if not isinstance(text, str) or len(text) > LARGEST_TEXT:
        return None
    from epochlint.documents.read import read

    span = given.span
    at = span.text.find(text)
    offsets = range(span.start + at, span.start + at + len(text) + 1) if at >= 0 else [span.start] * (len(text) + 1)
    inside = Excerpt(span.source, text, offsets, span.source.label or "the text")
    syntax = "yaml" if loader == "yaml" else "toml" if loader.startswith("toml") else "json"
    document = read(inside, syntax)
    return contents(it, document, typing, form) if document is not None else None


def loaded(it: Interpreter, path: Node, via: str, span: Span, typing: Typing, form: str) -> Node:
    """The value of a config file, or its unseen contents."""
    document = fetch(it, path, via, span)
    if document is None:
        return Contents(span, path, via)
    value = contents(it, document, typing, form)
    if value is None:
        return Contents(span, path, via)
    if isinstance(value, Items) and len(value.items) > 0 and isinstance(value.items[0], Mapping):
        # A list of records: data rather than settings.
        text = text_of(path)
        return DatasetNode(span, files=(text,) if text is not None else None, form="rows")
    if typing is OMEGACONF and isinstance(value, Table):
        interpolate(it, value)
    return value


def _shown(origin: str) -> str:
    """How a loader is named in `Load.via`."""
    return origin.removeprefix("omegaconf.")


def _omegaconf(it: Interpreter, site: Site, origin: str) -> Node | None:
    """OmegaConf.create: a config made of a dict or of another config."""
    value = site.get("obj", 0)
    if value is None:
        return Table(site.whole, [], it.guard, "config")
    return as_config(it, value)


def as_config(it: Interpreter, value: Node, depth: int = 0) -> Node:
    """A copy whose keys are attributes, too."""
    it.spend()
    if isinstance(value, Instance):
        value = value.attributes
    if isinstance(value, Table) and depth < 40:
        entries = [Entry(e.key, e.key_span, as_config(it, e.value, depth + 1)) for e in value.last.values()]
        return Table(value.span, entries, it.guard, "config", value.open_ended, value.reason)
    return value


def _merge(it: Interpreter, site: Site, origin: str) -> Node | None:
    """OmegaConf.merge: later configs win, level by level."""
    merged: Node = Table(site.whole, [], it.guard, "config")
    for value in site.positional:
        merged = merge(it, merged, as_config(it, value))
    return merged


def merge(it: Interpreter, base: Node, over: Node) -> Node:
    if not isinstance(base, Table):
        return over
    if not isinstance(over, Table):
        if isinstance(over, (Unresolved, Contents)):
            base.forget("a config that is not known is merged in")
            return base
        return over
    if over.open_ended:
        base.forget(over.reason or "a config that is not known is merged in")
    for entry in over.last.values():
        old = base.get(entry.key)
        value = merge(it, old, entry.value) if isinstance(old, Table) else entry.value
        base.put(entry.key, entry.key_span, value)
    return base


def _from_cli(it: Interpreter, site: Site, origin: str) -> Node | None:
    """OmegaConf.from_cli: `key.inner=value` words of the launch."""
    return overrides(it, site.whole)


def overrides(it: Interpreter, span: Span, groups: set[str] | None = None) -> Table:
    """The launch's `a.b=value` words as a nested config; empty without a launch that is known. `groups` are words that
    choose a group of configs instead."""
    table = Table(span, [], it.guard, "config")
    if it.flags is None:
        return table
    for entry in it.flags.last.values():
        if groups is not None and entry.key in groups:
            continue
        *above, last = entry.key.lstrip("+~").split(".")
        inner = table
        for part in above:
            held = inner.get(part)
            if not isinstance(held, Table):
                held = Table(span, [], it.guard, "config")
                inner.put(part, entry.key_span, held)
            inner = held
        value = entry.value
        if isinstance(value, Scalar) and value.raw:
            typed = Scalar(value.span, value.raw, value.value, plain=True)
            value = Scalar(value.span, value.raw, OMEGACONF(typed), plain=True)
        inner.put(last, entry.key_span, value)
    return table


def _to_container(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.get("cfg", 0)
    if isinstance(value, Table):
        return _as_dict(it, value)
    return value


def _as_dict(it: Interpreter, value: Node, depth: int = 0) -> Node:
    it.spend()
    if isinstance(value, Table) and depth < 40:
        entries = [Entry(e.key, e.key_span, _as_dict(it, e.value, depth + 1)) for e in value.last.values()]
        return Table(value.span, entries, it.guard, "dict", value.open_ended, value.reason)
    return value


def _nothing(it: Interpreter, site: Site, origin: str) -> Node | None:
    return Unknown(site.whole, f"{site.name}() returns nothing")


def hydra_config(it: Interpreter, site: Site | None, span: Span) -> Node:
    """The config that `@hydra.main(config_path=..., config_name=...)` hands to its function."""
    folder = text_of(site.get("config_path", 0)) if site is not None else None
    name = text_of(site.get("config_name", 1)) if site is not None else None
    unseen = Table(span, [], it.guard, "config", open_ended=True, reason="the Hydra config is not visible")
    if name is None:
        return unseen
    home = posixpath.dirname(it.at.source.path)
    stem = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    place = posixpath.normpath(posixpath.join(home, folder or "", stem))
    path = derived(span, place)
    document = fetch(it, path, "hydra", span)
    value = contents(it, document, OMEGACONF, "config") if document is not None else None
    if not isinstance(value, Table):
        return unseen
    groups = _Groups(it, posixpath.dirname(place), span)
    composed = groups.compose(value, groups.folder)
    groups.add_chosen(composed)
    interpolate(it, composed)
    return merge(it, composed, overrides(it, span, groups.used))


class _Groups:
    """Composes a Hydra config from its defaults list (hydra-core 1.3, `_internal/defaults_list.py`).

    Groups before `_self_`, the config's own values, groups after it; without `_self_` the own values come last. A
    launch may choose another option of a group (`train=lora`) or add one (`+experiment=small`).
    """

    def __init__(self, it: Interpreter, folder: str, span: Span) -> None:
        self.it = it
        self.folder = folder
        self.span = span
        self.chosen = {entry.key: entry.value for entry in (it.flags.last.values() if it.flags is not None else ())}
        self.used: set[str] = set()

    def compose(self, value: Table, folder: str, depth: int = 0) -> Table:
        defaults = value.get("defaults")
        items = elements(defaults) if defaults is not None else None
        if items is None or depth > 4:
            return value
        value.drop("defaults")
        result = Table(value.span, [], self.it.guard, "config")
        placed = False
        for entry in items:
            if text_of(entry) == "_self_":
                merge(self.it, result, value)
                placed = True
                continue
            self._add(result, entry, folder, depth)
        if not placed:
            merge(self.it, result, value)
        return result

    def _add(self, result: Table, entry: Node, folder: str, depth: int) -> None:
        group, options = _default_entry(entry)
        replacement = self.chosen.get(group)
        if replacement is not None:
            self.used.add(group)
            options = [replacement]
        if group.removeprefix("override ").startswith(("hydra/", "hydra")):
            return
        for option in options:
            named = text_of(option)
            if named is None and isinstance(option, Scalar):
                continue  # null: a place for a launch to fill
            part = self._part(folder, group, named, depth) if named is not None else None
            if part is None or group.startswith("override "):
                # What it brings is not visible, and it may replace values that come before it.
                result.forget(f"the config group {group or '?'} is not visible")
            else:
                merge(self.it, result, part)

    def add_chosen(self, result: Table) -> None:
        """Groups that only the launch names."""
        for key, node in self.chosen.items():
            option = text_of(node)
            if key in self.used or "." in key or option is None or isinstance(result.get(key), Scalar):
                continue
            part = self._part(self.folder, key, option, 0)
            if part is not None:
                self.used.add(key)
                merge(self.it, result, part)

    def _part(self, folder: str, group: str, option: str, depth: int) -> Table | None:
        """The config of one option, under its package."""
        it = self.it
        name, _, inner = group.partition("@") if "@" in group else (group, "", group)
        stem = option if option.endswith((".yaml", ".yml")) else f"{option}.yaml"
        root = self.folder if name.startswith("/") else folder
        place = posixpath.normpath(posixpath.join(root, name.lstrip("/"), stem))
        document = it.load(place) if it.load is not None and not place.startswith("..") else None
        value = contents(it, document, OMEGACONF, "config") if document is not None else None
        if document is None or not isinstance(value, Table):
            return None
        head = document.source.text[:400]
        named = head.partition("@package")[2].partition("\n")[0].strip() if "# @package" in head else ""
        value = self.compose(value, posixpath.dirname(place), depth + 1)
        package = named or inner.strip("/").replace("/", ".")
        if package == "_group_":
            package = name.strip("/").replace("/", ".")
        for part in reversed(package.split(".") if package not in ("_global_", "") else []):
            value = Table(value.span, [Entry(part, value.span, value)], it.guard, "config")
        return value


def _default_entry(entry: Node) -> tuple[str, list[Node]]:
    """The group and options of one entry of a defaults list: `train: sft`, `db: [a, b]`, `db/mysql`."""
    text = text_of(entry)
    if text is not None:
        group = posixpath.dirname(text)
        name = posixpath.basename(text)
        return group, [Scalar(entry.span, name, name)]
    if isinstance(entry, Mapping) and len(entry.last) == 1:
        key, held = next(iter(entry.last.items()))
        return key.removeprefix("optional "), elements(held.value) or [held.value]
    return "", [entry]


def interpolate(it: Interpreter, root: Table) -> None:
    """Fill in `${a.b}` where it names a value of the same config; other interpolations are not known."""
    budget = MOST_VALUES
    waiting: list[Table] = [root]
    seen: set[int] = set()
    while waiting and budget > 0:
        table = waiting.pop()
        if id(table) in seen:
            continue
        seen.add(id(table))
        for entry in table.entries:
            budget -= 1
            value = entry.value
            if isinstance(value, Table):
                waiting.append(value)
            elif isinstance(value, Scalar) and isinstance(value.value, str) and "${" in value.value:
                entry.value = _interpolated(root, value)
        table._last = None


def _interpolated(root: Table, value: Scalar, depth: int = 0) -> Node:
    text = str(value.value)
    if text.startswith("${") and text.endswith("}") and text.count("${") == 1 and ":" not in text and depth < 5:
        held: Node | None = root
        for part in text[2:-1].split("."):
            held = held.get(part) if isinstance(held, Mapping) else None
        if isinstance(held, Scalar):
            return _interpolated(root, held, depth + 1) if "${" in str(held.value) else held
        if held is not None:
            return held
    return Unknown(value.span, f"{text} is filled in when the program runs")


HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    "builtins.open": _open,
    "io.open": _open,
    "codecs.open": _open,
    "gzip.open": _open,
    **dict.fromkeys(("yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load"), _loader(PYYAML)),
    **dict.fromkeys(
        ("json.load", "json.loads", "orjson.loads", "ujson.load", "json5.load", "json5.loads"), _loader(PYYAML)
    ),
    **dict.fromkeys(("tomllib.load", "tomllib.loads", "tomli.load", "tomli.loads", "toml.loads"), _loader(PYYAML)),
    "toml.load": _loader(PYYAML, by_path=True),
    "omegaconf.OmegaConf.load": _loader(OMEGACONF, "config", by_path=True),
    "omegaconf.OmegaConf.create": _omegaconf,
    "omegaconf.OmegaConf.structured": _omegaconf,
    "omegaconf.DictConfig": _omegaconf,
    "omegaconf.OmegaConf.merge": _merge,
    "omegaconf.OmegaConf.unsafe_merge": _merge,
    "omegaconf.OmegaConf.from_cli": _from_cli,
    "omegaconf.OmegaConf.to_container": _to_container,
    "omegaconf.OmegaConf.to_object": _to_container,
    **dict.fromkeys(("omegaconf.OmegaConf.resolve", "omegaconf.OmegaConf.set_struct"), _nothing),
    **written.HANDLERS,
}


def ruamel_load(it: Interpreter, site: Site) -> Node | None:
    """`YAML(typ="safe").load(handle)`."""
    given = site.positional[0] if site.positional else None
    path = _path_of(given) or (given if isinstance(given, PathText) else None)
    if path is None:
        return None
    return loaded(it, path, "ruamel", site.whole, YAML12, "dict")
