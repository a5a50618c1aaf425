"""Classes of one release, read from its sources: fields, defaults, types, with all that they inherit."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.keys.shapes import (
    DICTS,
    ENUMS,
    FIELD_CALLS,
    LISTS,
    MODELS,
    OPERATIONS,
    PLAIN,
    SIMPLE,
    Field,
    Shape,
    dotted_name,
    kind_of,
    same_class,
    statements,
)
from tools.keys.sources import Module, Release

if TYPE_CHECKING:
    from tools.keys.parts import Recipe


@dataclass
class Found:
    """What a name stands for: a class, a function or value of `module`, or something outside (`outside`)."""

    module: Module | None = None
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | None = None
    values: list[ast.expr] = field(default_factory=list)
    outside: str = ""


class Reader:
    """Reads classes of one release; follows names into other packages through `outside`."""

    def __init__(self, recipe: Recipe, release: Release, outside: Callable[[str, str], Reader | None]) -> None:
        self.recipe, self.release, self.outside = recipe, release, outside
        self._defined: dict[str, list[str]] | None = None
        self.nested: dict[str, tuple[Module, ast.ClassDef]] = {}

    # names ------------------------------------------------------------------------------------

    def find(self, module: Module, name: str, depth: int = 0) -> Found | None:
        if depth > 12:
            return None
        if name in module.classes:
            return Found(module, module.classes[name])
        if name in module.functions:
            return Found(module, module.functions[name])
        if name in module.values:
            return Found(module, values=module.values[name])
        if name in module.imports:
            source, original = module.imports[name]
            inner = self.release.module(source)
            if inner is not None and original:
                found = self.find(inner, original, depth + 1)
                if found is not None:
                    return found
                if self.release.module(f"{source}.{original}"):
                    return Found(self.release.module(f"{source}.{original}"))
                # A lazy `__init__` lists its names as texts: look for the one class of that name below it.
                found = self._below(source, original)
                if found is not None:
                    return found
            return Found(outside=f"{source}.{original}" if original else source)
        for star in module.stars:
            inner = self.release.module(star)
            if inner is not None and inner is not module:
                found = self.find(inner, name, depth + 1)
                if found is not None:
                    return found
        return None

    def _below(self, source: str, name: str) -> Found | None:
        prefix = source.replace(".", "/") + "/"
        for path in self.defining(name):
            if path.startswith(prefix):
                module = self.release.module(path[:-3].replace("/", "."))
                if module and name in module.classes:
                    return Found(module, module.classes[name])
        return None

    def defining(self, name: str) -> list[str]:
        """Paths whose text defines a class of that name."""
        if self._defined is None:
            self._defined = {}
            for path in sorted(self.release.paths()):
                if path.endswith(".py") and self.recipe.wanted(path):
                    for match in re.finditer(r"^[ ]{0,4}class (\w+)", self.release.text(path) or "", re.MULTILINE):
                        self._defined.setdefault(match[1], []).append(path)
        return self._defined.get(name, [])

    def locate(self, name: str, under: str = "") -> tuple[Module, ast.ClassDef] | None:
        """The class `name`, preferring the shortest path that does not say experimental or deprecated."""
        paths = [p for p in self.defining(name) if under in p]
        paths.sort(key=lambda p: ("experimental" in p or "deprecated" in p or "megatron" in p, len(p), p))
        for path in paths:
            dotted = path[:-3].replace("/", ".")
            module = self.release.module(dotted.removesuffix(".__init__"))
            if module and name in module.classes:
                return module, module.classes[name]
        return None

    # classes ----------------------------------------------------------------------------------

    def bases(self, module: Module, node: ast.ClassDef) -> list[tuple[Module, ast.ClassDef] | str]:
        found: list[tuple[Module, ast.ClassDef] | str] = []
        for base in node.bases:
            name, where = dotted_name(base if not isinstance(base, ast.Subscript) else base.value), module
            head, _, rest = name.partition(".")
            hit = self.find(module, head)
            if hit and rest and hit.module and not hit.node:
                hit = self.find(hit.module, rest)
            elif hit and rest and hit.outside:
                hit = Found(outside=f"{hit.outside}.{rest}")
            if hit and hit.module and isinstance(hit.node, ast.ClassDef):
                found.append((hit.module, hit.node))
            elif hit and hit.values:  # `Base = Other`, perhaps another one where a package is installed
                for value in hit.values:
                    again = self.find(hit.module or where, dotted_name(value)) if dotted_name(value) else None
                    if again and again.module and isinstance(again.node, ast.ClassDef):
                        found.append((again.module, again.node))
                    elif again and again.outside:
                        found.append(again.outside)
            elif hit and hit.outside:
                found.append(hit.outside)
            else:
                found.append(name)
        return found

    def mro(self, module: Module, node: ast.ClassDef, depth: int = 0) -> list[tuple[Module, ast.ClassDef] | str]:
        """C3 order, nearest first; classes outside the package as dotted names."""
        if depth > 20:
            return [(module, node)]
        bases = self.bases(module, node)
        lists: list[list[tuple[Module, ast.ClassDef] | str]] = [
            [base] if isinstance(base, str) else self.mro(base[0], base[1], depth + 1) for base in bases
        ]
        lists.append(list(bases))
        order: list[tuple[Module, ast.ClassDef] | str] = [(module, node)]
        lists = [part for part in lists if part]
        while lists:
            for part in lists:
                head = part[0]
                if not any(same_class(head, other) for rest in lists for other in rest[1:]):
                    break
            else:
                head = lists[0][0]  # an order that Python itself would refuse
            order.append(head)
            lists = [kept for part in lists if (kept := [x for x in part if not same_class(x, head)])]
        return order

    def is_enum(self, module: Module, node: ast.ClassDef) -> bool:
        return any(isinstance(b, str) and b.rsplit(".", 1)[-1] in ENUMS for b in self.mro(module, node))

    def enum_values(self, module: Module, node: ast.ClassDef) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for where in reversed(self.mro(module, node)):
            if isinstance(where, str):
                continue
            for line in where[1].body:
                if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                    name = line.targets[0].id
                    if isinstance(line.value, ast.Call) and dotted_name(line.value.func).endswith("auto"):
                        values[name] = name
                    else:
                        kind, value = self.value(where[0], line.value)
                        if kind == "known" and not name.startswith("_"):
                            values[name] = value[0] if isinstance(value, list) and value else value
        return values

    def is_model(self, module: Module, node: ast.ClassDef) -> bool:
        """Whether its annotations are config keys: a dataclass or pydantic model."""
        if any("dataclass" in ast.unparse(d) or "attr" in ast.unparse(d) for d in node.decorator_list):
            return True
        return any(isinstance(b, str) and b.rsplit(".", 1)[-1] in MODELS for b in self.mro(module, node))

    def fields(self, module: Module, node: ast.ClassDef) -> tuple[dict[str, Field], list[str], list[str]]:
        """Keys of a class with all it inherits; the outside classes it inherits from; the files read."""
        found: dict[str, Field] = {}
        outside: list[str] = []
        files: list[str] = []
        for where in reversed(self.mro(module, node)):
            if isinstance(where, str):
                if where.split(".")[0] in self.recipe.flatten:
                    for end in ("oldest", "newest"):  # of the versions that it may meet
                        other, hit = self._outside_class(where, end)
                        if other and hit and hit.module and isinstance(hit.node, ast.ClassDef):
                            found.update(other.fields(hit.module, hit.node)[0])
                elif where.rsplit(".", 1)[-1] not in PLAIN:
                    outside.insert(0, where)
                continue
            inner, cls = where
            if not self.is_model(inner, cls):
                continue
            own = self._own(inner, cls)
            if own and inner.path not in files:
                files.insert(0, inner.path)
            for name, key in own.items():
                if key.dropped:
                    found.pop(name, None)
                else:
                    found[name] = key
        return found, outside, files

    def _own(self, module: Module, node: ast.ClassDef) -> dict[str, Field]:
        scope: dict[str, list[ast.expr]] = {}
        found: dict[str, Field] = {}
        pydantic = not any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        for line in statements(node.body):
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                scope.setdefault(line.targets[0].id, []).append(line.value)
            if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                continue
            name, text = line.target.id, ast.unparse(line.annotation)
            if "ClassVar" in text or "KW_ONLY" in text or "InitVar" in text or text.startswith("PrivateAttr"):
                continue
            if name == "model_config" and pydantic:
                continue
            if name.startswith("__") or (pydantic and name.startswith("_")):
                continue
            key = self.key(module, line.annotation, line.value, scope)
            if key is None:
                continue
            if key.hidden:
                found[name] = Field(dropped=True)
                continue
            for alias in key.aliases:
                found[alias] = key
            found[name] = key
        return found

    def key(
        self, module: Module, annotation: ast.expr | None, value: ast.expr | None, scope: dict[str, list[ast.expr]]
    ) -> Field | None:
        key = Field()
        shape = self.shape(module, annotation) if annotation is not None else Shape({"any"})
        call: ast.expr | None = value
        if isinstance(annotation, ast.Subscript) and dotted_name(annotation.value).endswith("Annotated"):
            parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
            for part in parts[1:]:
                if isinstance(part, ast.Call) and dotted_name(part.func).rsplit(".", 1)[-1] in FIELD_CALLS:
                    self._field_call(module, part, key, scope)
                    key.kind = key.kind if value is None else "required"
        if isinstance(call, ast.Call) and dotted_name(call.func).rsplit(".", 1)[-1] in FIELD_CALLS:
            self._field_call(module, call, key, scope)
        elif call is not None:
            key.kind, key.default = self.value(module, call, scope)
        key.take(shape)
        if shape.kinds <= {"any"} and key.kind == "known":
            guess = kind_of(key.default)
            if guess:
                key.type = guess
        return key

    def _field_call(self, module: Module, call: ast.Call, key: Field, scope: dict[str, list[ast.expr]]) -> None:
        name = dotted_name(call.func).rsplit(".", 1)[-1]
        keywords = {k.arg: k.value for k in call.keywords if k.arg}
        if "init" in keywords and ast.unparse(keywords["init"]) == "False":
            key.hidden = True
        default = keywords.get("default")
        if default is None and call.args and name != "field":
            default = call.args[0]
        if default is not None:
            key.kind, key.default = self.value(module, default, scope)
        elif "default_factory" in keywords:
            key.kind, key.default = self._factory(module, keywords["default_factory"], scope)
        for part in ast.walk(keywords["metadata"]) if "metadata" in keywords else ():
            # A parser made from the class refuses other words; a config file read past it does not.
            if isinstance(part, ast.Dict):
                for label, choices in zip(part.keys, part.values, strict=True):
                    if isinstance(label, ast.Constant) and label.value == "choices":
                        kind, words = self.value(module, choices)
                        if kind == "known" and isinstance(words, (list, dict)):
                            key.choices = [w for w in words if isinstance(w, str)]
        for word in ("alias", "validation_alias"):
            if word in keywords:
                for part in ast.walk(keywords[word]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        key.aliases.append(part.value)

    def _factory(self, module: Module, node: ast.expr, scope: dict[str, list[ast.expr]]) -> tuple[str, Any]:
        if isinstance(node, ast.Lambda):
            kind, value = self.value(module, node.body, scope)
            return (kind, value) if kind == "known" else ("factory", None)
        empty: dict[str, Any] = {"list": [], "dict": {}, "tuple": [], "set": []}
        if dotted_name(node) in empty:
            return "known", empty[dotted_name(node)]
        return "factory", None

    # values -----------------------------------------------------------------------------------

    def value(
        self, module: Module, node: ast.expr, scope: dict[str, list[ast.expr]] | None = None, depth: int = 0
    ) -> tuple[str, Any]:
        """("known", value) | ("required"|"either"|"computed", ...) of a default's expression."""
        if depth > 12:
            return "computed", None
        if isinstance(node, ast.Constant):
            if node.value is Ellipsis:
                return "required", None
            if isinstance(node.value, (bool, int, float, str)) or node.value is None:
                return "known", node.value
            return "computed", None
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = [self.value(module, part, scope, depth + 1) for part in node.elts]
            return ("known", [v for _, v in parts]) if all(k == "known" for k, _ in parts) else ("computed", None)
        if isinstance(node, ast.Dict):
            keys = [self.value(module, k, scope, depth + 1) if k else ("computed", None) for k in node.keys]
            values = [self.value(module, v, scope, depth + 1) for v in node.values]
            if all(k == "known" for k, _ in keys + values):
                return "known", {str(k): v for (_, k), (_, v) in zip(keys, values, strict=True)}
            return "computed", None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            kind, value = self.value(module, node.operand, scope, depth + 1)
            if kind == "known" and isinstance(value, (int, float)):
                return kind, -value if isinstance(node.op, ast.USub) else value
            return "computed", None
        if isinstance(node, ast.BinOp):
            (lk, left), (rk, right) = (self.value(module, n, scope, depth + 1) for n in (node.left, node.right))
            action = OPERATIONS.get(type(node.op))
            if lk == rk == "known" and action and all(isinstance(n, (int, float)) for n in (left, right)):
                return "known", action(left, right)
            return "computed", None
        if isinstance(node, ast.Name):
            if scope and node.id in scope:
                return self._chosen(module, scope[node.id], scope, depth)
            if node.id == "MISSING":
                return "required", None
            found = self.find(module, node.id)
            if found and found.values and found.module:
                return self._chosen(found.module, found.values, None, depth)
            return "computed", None
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node)
        if isinstance(node, ast.Call):
            return self._call(module, node, scope, depth)
        return "computed", None

    def _chosen(
        self, module: Module, nodes: list[ast.expr], scope: dict[str, list[ast.expr]] | None, depth: int
    ) -> tuple[str, Any]:
        """A name that is set in two branches can be either: which one depends on the machine."""
        values = [self.value(module, n, scope, depth + 1) for n in nodes]
        if any(kind != "known" for kind, _ in values):
            return "computed", None
        distinct: list[Any] = []
        for _, value in values:
            if value not in distinct:
                distinct.append(value)
        return ("known", distinct[0]) if len(distinct) == 1 else ("either", distinct)

    def _attribute(self, module: Module, node: ast.Attribute) -> tuple[str, Any]:
        dotted = dotted_name(node)
        if dotted.rsplit(".", 1)[-1] == "MISSING":
            return "required", None
        dotted = dotted.removesuffix(".value")
        head, _, member = dotted.rpartition(".")
        if not head:
            return "computed", None
        found = self.find(module, head.split(".")[0])
        reader = self
        if found and found.outside:
            other, found = self._outside_class(found.outside)
            reader = other or self
        if found and found.module and isinstance(found.node, ast.ClassDef):
            values = reader.enum_values(found.module, found.node)
            if member in values:
                return "known", values[member]
        if found and found.module and not found.node and not found.values and "." not in head:
            inner = self.find(found.module, member)
            if inner and inner.values and inner.module:
                return self._chosen(inner.module, inner.values, None, 0)
        return "computed", None

    def _call(
        self, module: Module, node: ast.Call, scope: dict[str, list[ast.expr]] | None, depth: int
    ) -> tuple[str, Any]:
        name = dotted_name(node.func)
        if name in {"list", "dict", "tuple", "set"} and not node.args and not node.keywords:
            return "known", {} if name == "dict" else []
        if name == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            return "computed", None  # float("inf") has no JSON
        if name == "pp_int" and node.args:  # DeepSpeed's integer that prints itself as 5e8
            kind, value = self.value(module, node.args[0], scope, depth + 1)
            return (kind, int(value)) if kind == "known" and isinstance(value, (int, float)) else ("computed", None)
        return "computed", None

    # types ------------------------------------------------------------------------------------

    def shape(self, module: Module, node: ast.expr, depth: int = 0) -> Shape:
        if depth > 12:
            return Shape({"any"})
        if isinstance(node, ast.Constant):
            if node.value is None:
                return Shape({"null"})
            if isinstance(node.value, str):
                try:
                    return self.shape(module, ast.parse(node.value, mode="eval").body, depth + 1)
                except SyntaxError:
                    return Shape({"any"})
            return Shape({"any"})
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.shape(module, node.left, depth + 1).joined(self.shape(module, node.right, depth + 1))
        if isinstance(node, ast.Subscript):
            return self._generic(module, node, depth)
        if isinstance(node, ast.Call):  # conint(ge=1), conlist(Item, min_length=1)
            shape = self.shape(module, node.func, depth + 1)
            if shape.kinds == {"list"} and node.args:
                shape.nested.extend(self.shape(module, node.args[0], depth + 1).nested)
            return shape
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(module, dotted_name(node), depth)
        return Shape({"any"})

    def _generic(self, module: Module, node: ast.Subscript, depth: int) -> Shape:
        name = dotted_name(node.value).rsplit(".", 1)[-1]
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            shape = Shape(set())
            for part in parts:
                kind, value = self.value(module, part)
                if kind == "known":
                    shape.kinds.add(kind_of(value) or "null")
                    if isinstance(value, str):
                        shape.words.append(value)
            return shape
        if name == "Optional":
            return self.shape(module, parts[0], depth + 1).joined(Shape({"null"}))
        if name == "Union":
            shape = Shape(set())
            for part in parts:
                shape = shape.joined(self.shape(module, part, depth + 1))
            return shape
        if name in {"Annotated", "Required", "NotRequired", "Final", "ClassVar"}:
            return self.shape(module, parts[0], depth + 1)
        if name in LISTS or name in DICTS:
            shape = Shape({"list" if name in LISTS else "dict"})
            for part in parts:
                inner = self.shape(module, part, depth + 1)
                shape.nested.extend(inner.nested)
                if name in LISTS:
                    shape.hints.extend(inner.words + inner.hints)  # words of the items, not of the value
            return shape
        return self._named(module, dotted_name(node.value), depth)

    def _named(self, module: Module, dotted: str, depth: int) -> Shape:
        name = dotted.rsplit(".", 1)[-1]
        if name in SIMPLE:
            return Shape({SIMPLE[name]})
        if name in LISTS:
            return Shape({"list"})
        if name in DICTS:
            return Shape({"dict"})
        found = self.find(module, dotted.split(".")[0])
        if found and "." in dotted and found.module and not found.node and not found.values:
            found = self.find(found.module, dotted.split(".", 1)[1])
        elif found and "." in dotted and found.outside:
            found = Found(outside=f"{found.outside}.{dotted.split('.', 1)[1]}")
        reader: Reader = self
        if found and found.outside:
            other, found = self._outside_class(found.outside)
            reader = other or self
        if found and found.module and isinstance(found.node, ast.ClassDef):
            if reader.is_enum(found.module, found.node):
                values = reader.enum_values(found.module, found.node)
                shape = Shape({kind_of(v) or "any" for v in values.values()} or {"str"})
                shape.words = [v for v in values.values() if isinstance(v, str)]
                shape.enum = True
                if self.recipe.enum_names:
                    shape.words += [n for n in values if n not in shape.words]
                return shape
            if reader is self and self.is_model(found.module, found.node):
                self.nested[found.node.name] = (found.module, found.node)
                return Shape({"dict"}, nested=[found.node.name])
            return Shape({"dict"} if reader.is_model(found.module, found.node) else {"any"})
        if found and found.values and found.module:
            return self.shape(found.module, found.values[-1], depth + 1)
        return Shape({"any"})

    def _outside_class(self, dotted: str, end: str = "oldest") -> tuple[Reader | None, Found | None]:
        """A class of another package that we also read (`transformers.SchedulerType`).

        In the oldest version that this package allows, which is of its day; the newest may have lost what it names.
        """
        package, _, name = dotted.partition(".")
        other = self.outside(package, end)
        if other is None:
            return None, None
        hit = other.locate(name.rsplit(".", 1)[-1])
        return other, Found(*hit) if hit else None
