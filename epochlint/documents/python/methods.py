"""Methods of dicts, lists and texts, and what is merged into a dict."""

from __future__ import annotations

from epochlint.documents.document import Node, Scalar, Unresolved
from epochlint.documents.python.model import Unknown
from epochlint.documents.python.values import (
    Items,
    Site,
    Table,
    derived,
    elements,
    expand,
    names_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.python.interpreter import Interpreter

DICT_METHODS = frozenset(
    ("get", "update", "copy", "items", "keys", "values", "pop", "setdefault", "to_dict", "todict", "merge_with")
)


def as_text(value: Node | None) -> str | None:
    """A text or path that is known."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        return value.value
    return None


FORMS = {
    "SimpleNamespace": "object", "Namespace": "object", "EasyDict": "config", "Dict": "config", "Box": "config",
    "Munch": "config", "DefaultMunch": "config", "ConfigDict": "config", "edict": "config", "AttrDict": "config",
    "DotMap": "config",
}  # fmt: skip


def nested(it: Interpreter, value: Node, form: str) -> Node:
    """Dicts inside an EasyDict are EasyDicts, too."""
    it.spend()
    if form != "config" or not isinstance(value, Table) or value.form != "dict":
        return value
    table = Table(value.span, [], value.guard, form, value.open_ended, value.reason)
    for entry in value.last.values():
        table.put(entry.key, entry.key_span, nested(it, entry.value, form))
    return table


def merge_into(it: Interpreter, table: Table, value: Node, keep_open: bool = False) -> None:
    """`table.update(value)`."""
    items = elements(value)
    if items is not None:
        for pair in items:
            parts = elements(pair)
            key = parts[0] if parts is not None and len(parts) == 2 else None
            if isinstance(key, Scalar) and parts is not None:
                it.put(table, str(key.value), key.span, parts[1])
            else:
                table.forget("a key is not known")
        return
    entries, complete = expand(value)
    for entry in entries:
        it.put(table, entry.key, entry.key_span, nested(it, entry.value, table.form))
    if not complete and it.strength(table.guard) != "none":
        reason = value.reason if isinstance(value, Unresolved) else getattr(value, "reason", "")
        if keep_open:
            table.open_ended = True
            table.reason = reason or "some of its keys are not visible"
        else:
            table.forget(reason or "a mapping that is not known is merged in")


def dict_method(it: Interpreter, table: Table, name: str, site: Site) -> Node | None:
    if name in ("get", "pop", "setdefault"):
        return _dict_get(it, table, name, site)
    if name in ("update", "merge_with"):
        for value in site.positional:
            merge_into(it, table, value)
        for entry in site.keywords:
            it.put(table, entry.key, entry.key_span, entry.value)
        if site.open_ended:
            table.forget("a mapping that is not known is merged in")
        return Unknown(site.whole, "update() returns nothing")
    if name in ("copy", "to_dict", "todict", "toDict"):
        return table.copy(site.whole, it.guard)
    if name in ("items", "keys", "values"):
        if table.open_ended:
            return Items(site.whole, [], it.guard, unknown=True)
        rows: list[Node] = []
        for entry in table.last.values():
            key = Scalar(entry.key_span, entry.key, entry.key)
            if name == "items":
                rows.append(Items(entry.key_span, [key, entry.value], it.guard))
            else:
                rows.append(key if name == "keys" else entry.value)
        return Items(site.whole, rows, it.guard)
    if name == "clear":
        it.forget(table, "it is cleared")
        return Unknown(site.whole, "clear() returns nothing")
    held = table.get(name)
    return it.call(held, site) if held is not None and not isinstance(held, Scalar) else None


def _dict_get(it: Interpreter, table: Table, name: str, site: Site) -> Node:
    key = site.get("key", 0)
    default = site.get("default", 1)
    if not isinstance(key, Scalar):
        if name != "get":
            it.forget(table, "a key that is not known is changed")
        return Unknown(site.whole, "the key is not known")
    text = str(key.value)
    found = table.get(text)
    if name == "pop" and found is not None:
        if it.strength(table.guard) == "strong":
            table.drop(text)
        elif it.strength(table.guard) == "weak":
            it.put(table, text, site.span, Unknown(site.whole, "it may be taken out"))
    if found is not None:
        return found
    if table.open_ended:
        return Unknown(site.whole, table.reason or f"whether it has {text} is not known", frozenset((text,)))
    value = default if default is not None else Scalar(site.whole, "None", None)
    if name == "setdefault":
        it.put(table, text, site.span, value)
    return value


def list_method(it: Interpreter, items: Items, name: str, site: Site) -> Node | None:
    if name in ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"):
        strength = it.strength(items.guard)
        if strength == "none":
            return Unknown(site.whole, "nothing")
        more: list[Node] | None = None
        if name == "append" and len(site.positional) == 1:
            more = [site.positional[0]]
        elif name == "extend" and site.positional:
            more = elements(site.positional[0])
        if strength == "strong" and not items.unknown and more is not None and len(items.items) + len(more) < 2_000:
            items.items.extend(more)
            return Unknown(site.whole, f"{name}() returns nothing")
        if name not in ("sort", "reverse"):
            items.items, items.unknown = [], True
        return Unknown(site.whole, f"the result of {name}()")
    if name == "copy":
        return Items(site.whole, list(items.items), it.guard, items.unknown)
    return Unknown(site.whole, f"the result of {name}()")


_TEXT_METHODS = frozenset(
    ("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "replace", "removeprefix", "removesuffix",
     "startswith", "endswith", "isdigit", "split", "rsplit", "partition", "rpartition", "count", "find", "splitlines")
)  # fmt: skip


def text_method(receiver: Scalar, name: str, site: Site) -> Node | None:
    text = receiver.value
    if not isinstance(text, str):
        return Unknown(site.whole, f"the result of {name}()")
    operands = site.positional
    if name == "join" and operands:
        parts = [as_text(part) for part in elements(operands[0]) or [Unknown(site.whole, "")]]
        if all(part is not None for part in parts):
            return derived(site.whole, text.join(part for part in parts if part is not None), receiver)
    elif name == "format":
        return _format(text, receiver, site)
    elif name in _TEXT_METHODS and not site.keywords and all(isinstance(part, Scalar) for part in operands):
        arguments = [part.value for part in operands if isinstance(part, Scalar)]
        try:
            result = getattr(text, name)(*arguments)
        except (TypeError, ValueError):
            return Unknown(site.whole, f"{name}() fails")
        if isinstance(result, (list, tuple)):
            return Items(site.whole, [derived(site.whole, part, receiver) for part in result[:500]], None)
        if not isinstance(result, str) or len(result) <= 20_000:
            return derived(site.whole, result, receiver, *operands)
    return Unknown(site.whole, f"the result of {name}()", names_in(receiver, *operands))


def _format(text: str, receiver: Scalar, site: Site) -> Node:
    """str.format with plain fields; nothing that could reach into objects or ask for a huge width."""
    import string

    values = {str(index): value for index, value in enumerate(site.positional)}
    values.update({entry.key: entry.value for entry in site.keywords})
    shown = ""
    used: list[Node] = [receiver]
    automatic = 0
    try:
        for literal, name, spec, conversion in string.Formatter().parse(text):
            shown += literal
            if name is None:
                continue
            if not name:
                name, automatic = str(automatic), automatic + 1
            value = values.get(name)
            if not isinstance(value, Scalar) or conversion or len(spec or "") > 6:
                return Unknown(site.whole, "a part of the text is not known")
            used.append(value)
            shown += format(value.value, spec or "")
            if len(shown) > 20_000:
                return Unknown(site.whole, "too long")
    except (ValueError, TypeError, OverflowError):
        return Unknown(site.whole, "the template cannot be filled")
    return derived(site.whole, shown, *used)
