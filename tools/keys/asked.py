"""Keys that code asks a mapping for, where no class declares them."""

from __future__ import annotations

import ast
import dataclasses
import re

from tools.keys.parts import Keys, Part, Read, untyped
from tools.keys.reader import Reader
from tools.keys.shapes import Field, dotted_name
from tools.keys.sources import Module


def reads_of(path: str, class_name: str, *roots: str) -> Part:
    """Keys that a class's methods ask a mapping for: each of `roots`, and what is handed on from it to other functions.

    `root["a"]["b"]`, `.get("b")`, `"b" in root["a"]` and `Model(**root["a"])` give the block `a` with the key `b`.
    """

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        cls = module.classes.get(class_name) if module else None
        if module is None or cls is None:
            return None
        walk = _Asked(reader)
        for line in cls.body:
            if isinstance(line, ast.FunctionDef):
                walk.function(module, line, dict.fromkeys(roots, ()), cls)
        blocks = {".".join(place): keys for place, keys in walk.found.items() if place and keys}
        found = Read(walk.found.get((), {}), "", sorted(walk.files), blocks)
        for place in walk.found:
            above = walk.found.get(place[:-1], {})
            if place and walk.found[place] and place[-1] in above:
                above[place[-1]] = dataclasses.replace(above[place[-1]], type="dict?", below=".".join(place))
        return found

    return read


class _Asked:
    """Follows mappings by the path of keys that leads to them (see reads_of)."""

    GETTERS = frozenset({"get_scalar_param", "get_list_param", "get_dict_param"})

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.found: dict[tuple[str, ...], Keys] = {}
        self.files: set[str] = set()
        self._done: set[tuple[int, str]] = set()
        self._loops: dict[str, list[ast.expr]] = {}

    def function(
        self,
        module: Module,
        node: ast.FunctionDef,
        known: dict[str, tuple[str, ...]],
        cls: ast.ClassDef | None,
        texts: str = "",
    ) -> None:
        mark = (id(node), repr(sorted(known.items())) + texts)
        if mark in self._done or len(self._done) > 3000:
            return
        self._done.add(mark)
        self.files.add(module.path)
        known = dict(known)
        for line in node.body:
            self._statement(module, line, known, cls)

    def _statement(
        self, module: Module, node: ast.AST, known: dict[str, tuple[str, ...]], cls: ast.ClassDef | None
    ) -> None:
        loops = node.generators if isinstance(node, (ast.DictComp, ast.ListComp, ast.GeneratorExp)) else ()
        for loop in [node] if isinstance(node, ast.For) else loops:
            if isinstance(loop.target, ast.Name) and isinstance(loop.iter, (ast.List, ast.Tuple)):
                self._loops[loop.target.id] = loop.iter.elts  # `for key in ("a", "b"): ... mapping[key]`
        if isinstance(node, ast.Assign):
            place = self._place(module, node.value, known)
            if place is not None:
                for target in node.targets:
                    known.setdefault(ast.unparse(target), place)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            where = node.comparators[0]
            if isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute) and where.func.attr == "keys":
                where = where.func.value
            place = self._place(module, where, known)
            if place is not None:
                self._asked(module, place, node.left, None)
        if isinstance(node, (ast.Subscript, ast.Call)):
            self._place(module, node, known)
        if isinstance(node, ast.Call):
            self._call(module, node, known, cls)
        for child in ast.iter_child_nodes(node):
            self._statement(module, child, known, cls)

    def _asked(
        self, module: Module, place: tuple[str, ...], key: ast.expr, default: ast.expr | None
    ) -> tuple[str, ...] | None:
        if isinstance(key, ast.Name) and key.id in self._loops:
            asked = [self._asked(module, place, one, default) for one in self._loops[key.id]]
            return asked[0] if asked else None
        kind, name = self.reader.value(module, key)
        if kind != "known" or not isinstance(name, str) or not re.match(r"\w", name):
            return None
        keys = self.found.setdefault(place, {})
        field_ = untyped(*self.reader.value(module, default)) if default is not None else Field("any?", "computed")
        if name not in keys or (keys[name].kind == "computed" and field_.kind == "known"):
            keys[name] = field_
        return (*place, name)

    def _place(self, module: Module, node: ast.expr, known: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
        """The path of a mapping (or of any value in one) that an expression stands for."""
        text = ast.unparse(node)
        if text in known:
            return known[text]
        if isinstance(node, ast.Subscript):
            place = self._place(module, node.value, known)
            return self._asked(module, place, node.slice, None) if place is not None else None
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted_name(node.func)
            if isinstance(node.func, ast.Attribute) and name in {"get", "pop", "setdefault"} and node.args:
                place = self._place(module, node.func.value, known)
                default = node.args[1] if len(node.args) > 1 else ast.Constant(None)
                return self._asked(module, place, node.args[0], default) if place is not None else None
            if name in self.GETTERS and len(node.args) > 1:
                place = self._place(module, node.args[0], known)
                fallback = node.args[2] if len(node.args) > 2 else None
                return self._asked(module, place, node.args[1], fallback) if place is not None else None
            if name in {"copy", "deepcopy", "dict"} and node.args:
                return self._place(module, node.args[0], known)
        if isinstance(node, ast.BoolOp):
            return self._place(module, node.values[0], known)
        if isinstance(node, ast.IfExp):
            return self._place(module, node.body, known)
        return None

    def _call(
        self, module: Module, node: ast.Call, known: dict[str, tuple[str, ...]], cls: ast.ClassDef | None
    ) -> None:
        places = [self._place(module, arg, known) for arg in node.args]
        words = {word.arg: self._place(module, word.value, known) for word in node.keywords}
        if all(place is None for place in [*places, *words.values()]):
            return
        dotted = dotted_name(node.func)
        if dotted.rsplit(".", 1)[-1] in self.GETTERS:
            return
        if dotted.startswith("self.") and cls is not None:
            for line in cls.body:
                if isinstance(line, ast.FunctionDef) and line.name == dotted[5:]:
                    self._enter(module, line, places, words, cls, module, node)
            return
        hit = self.reader.find(module, dotted) if dotted and "." not in dotted else None
        if hit is None or hit.module is None or hit.node is None:
            return
        if isinstance(hit.node, ast.FunctionDef):
            self._enter(hit.module, hit.node, places, words, None, module, node)
        elif isinstance(hit.node, ast.ClassDef):
            if words.get(None) is not None and self.reader.is_model(hit.module, hit.node):
                place = words[None]
                assert place is not None
                keys = self.found.setdefault(place, {})
                for name, key in self.reader.fields(hit.module, hit.node)[0].items():
                    keys[name] = key
                self.files.add(hit.module.path)
            for line in hit.node.body:
                if isinstance(line, ast.FunctionDef) and line.name == "__init__":
                    self._enter(hit.module, line, places, words, hit.node, module, node)

    def _enter(
        self,
        module: Module,
        node: ast.FunctionDef,
        places: list[tuple[str, ...] | None],
        words: dict[str | None, tuple[str, ...] | None],
        cls: ast.ClassDef | None,
        caller: Module,
        call: ast.Call,
    ) -> None:
        names = [arg.arg for arg in node.args.args]
        if cls is not None and names and names[0] == "self":
            names = names[1:]
        known = {name: place for name, place in zip(names, places, strict=False) if place is not None}
        known.update({word: place for word, place in words.items() if word is not None and place is not None})
        texts = {}  # parameters that are texts, by their default or as they were given
        for arg, default in zip(reversed(node.args.args), reversed(node.args.defaults), strict=False):
            texts[arg.arg] = self.reader.value(module, default)[1]
        for name, value in [*zip(names, call.args, strict=False), *((w.arg, w.value) for w in call.keywords)]:
            if name is not None and name not in known:
                texts[name] = self.reader.value(caller, value)[1]
        self._loops.update({name: [ast.Constant(text)] for name, text in texts.items() if isinstance(text, str)})
        if known:
            self.function(module, node, known, cls, repr(sorted(texts.items())))


def attributes_of(*paths: str, root: str = r"(?:self\._?)?cfg") -> Part:
    """Keys that modules ask a config object for, as attributes or by `get`, whose variable matches `root`: of the files
    whose paths begin so. Where every use is an attribute, the key must be there ("required")."""

    def read(reader: Reader) -> Read | None:
        found = Read({}, "")
        for path in sorted(reader.release.paths()):
            if not path.startswith(paths) or not path.endswith(".py"):
                continue
            module = reader.release.module(path.removesuffix(".py").replace("/", "."))
            if module is None:
                continue
            for node in ast.walk(module.tree):
                name, field_ = _of_object(reader, module, node, root)
                if name is not None and field_ is not None:
                    before = found.keys.get(name)
                    if before is None or before.kind == "required":
                        found.keys[name] = field_
                    if path not in found.files:
                        found.files.append(path)
        return found if found.keys else None

    return read


_METHODS = frozenset({"get", "pop", "keys", "items", "values", "update", "copy"})


def _of_object(reader: Reader, module: Module, node: ast.AST, root: str) -> tuple[str | None, Field | None]:
    """The key that an expression asks the object for: `cfg.a`, `cfg["a"]`, `cfg.get("a", 1)`, `"a" in cfg`."""

    def is_root(value: ast.expr) -> bool:
        return re.fullmatch(root, dotted_name(value) or "") is not None

    if isinstance(node, ast.Attribute) and is_root(node.value) and node.attr not in _METHODS:
        return node.attr, Field("any?", "required")
    asked: ast.expr | None = None
    default: ast.expr = ast.Constant(None)
    if isinstance(node, ast.Subscript) and is_root(node.value):
        asked = node.slice
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1 and is_root(node.comparators[0]):
        asked = node.left
    elif isinstance(node, ast.Call) and node.args:
        called = dotted_name(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and called.endswith(".get") and is_root(owner):
            asked, default = node.args[0], node.args[1] if len(node.args) > 1 else default
        elif called in ("hasattr", "getattr") and len(node.args) > 1 and is_root(node.args[0]):
            asked = node.args[1]
    if asked is None:
        return None, None
    kind, name = reader.value(module, asked)
    return (
        (name, untyped(*reader.value(module, default))) if kind == "known" and isinstance(name, str) else (None, None)
    )
