#!/usr/bin/env python3
"""Makes the key tables in epochlint/trainers/data from the published packages.

    python tools/key_tables.py PACKAGE... [--out epochlint/trainers/data] [--cache FOLDER]
    python tools/key_tables.py --check-newest PACKAGE...

Each chosen version of a package is fetched with `pip download --no-deps` into a cache folder and its
sources are read with `ast`; nothing of it is imported here. (pip itself runs a source distribution's build
backend to learn its name; that is pip's way, and wheels are preferred where they are complete.)

What one table says: for every key that a config class, function or block accepts, the first and the last
version read that has it, its type and its default. The recipes below name the classes and the versions.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import datetime
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from epochlint.trainers.tables import allowed, version_key  # the one order of versions

# ---------------------------------------------------------------------------------------------- sources


class Release:
    """The files of one version of one package, read from its wheel or sdist."""

    def __init__(self, package: str, version: str, archive: str) -> None:
        self.package, self.version = package, version
        self._texts: dict[str, Callable[[], str]] = {}
        self._modules: dict[str, Module | None] = {}
        if archive.endswith((".whl", ".zip")):
            wheel = zipfile.ZipFile(archive)
            for name in wheel.namelist():
                self._texts[_inner(name, False)] = lambda n=name: wheel.read(n).decode("utf-8", "replace")  # type: ignore[misc]
        else:
            with tarfile.open(archive) as tar:
                for member in tar.getmembers():
                    # Only texts: weights and pictures of a sdist are of no use here.
                    if member.isfile() and member.size < 4_000_000:
                        data = tar.extractfile(member)
                        if data is not None:
                            text = data.read()
                            self._texts[_inner(member.name, True)] = lambda t=text: t.decode("utf-8", "replace")  # type: ignore[misc]

    def paths(self) -> Iterable[str]:
        return self._texts

    def text(self, path: str) -> str | None:
        get = self._texts.get(path)
        return get() if get else None

    def module(self, dotted: str) -> Module | None:
        """The module of that dotted name, or None where the package has none (or it cannot be parsed)."""
        if dotted not in self._modules:
            self._modules[dotted] = None
            base = dotted.replace(".", "/")
            for path in (base + ".py", base + "/__init__.py"):
                text = self.text(path)
                if text is not None:
                    try:
                        tree = ast.parse(text)
                    except SyntaxError:
                        break
                    self._modules[dotted] = Module(self, dotted, path, tree)
                    break
        return self._modules[dotted]

    def requirements(self) -> dict[str, str]:
        """Name of a required package -> its version specifier (extras left out)."""
        found: dict[str, str] = {}
        for path in self.paths():
            if path.endswith(".dist-info/METADATA") or path == "PKG-INFO":
                for line in (self.text(path) or "").split("\n\n", 1)[0].splitlines():
                    if line.startswith("Requires-Dist:") and "extra ==" not in line:
                        _requirement(line[14:], found)
        for path in ("requirements.txt", "requirements/framework.txt"):
            text = self.text(path)
            if text is not None and not found:
                for line in text.splitlines():
                    _requirement(line.split("#")[0], found)
        return found


def _inner(name: str, sdist: bool) -> str:
    """Path inside the import root: a sdist's own folder and `src/` are taken off."""
    if sdist:
        name = name.split("/", 1)[1] if "/" in name else name
        name = name.removeprefix("src/")
    return name


def _requirement(line: str, found: dict[str, str]) -> None:
    match = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)\)?", line)
    if match and match[1]:
        spec = ",".join(sorted(part.strip().replace(" ", "") for part in match[2].split(",") if part.strip()))
        found.setdefault(match[1].lower().replace("_", "-"), spec)


class Store:
    """Fetches archives with pip, once."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self._releases: dict[tuple[str, str], Release] = {}

    def release(self, package: str, version: str, probe: str = "") -> Release:
        """`probe` is a path prefix that a complete archive must have: some wheels were published empty."""
        key = (package, version)
        if key not in self._releases:
            folder = os.path.join(self.cache, package, version)
            release = None
            for only in ("--prefer-binary", f"--no-binary={package}"):
                archive = self._fetched(folder + ("" if only.startswith("--p") else "-sdist"), package, version, only)
                release = Release(package, version, archive)
                if not probe or any(path.startswith(probe) for path in release.paths()):
                    break
            assert release is not None
            self._releases[key] = release
        return self._releases[key]

    def _fetched(self, folder: str, package: str, version: str, only: str) -> str:
        if not os.path.isdir(folder) or not os.listdir(folder):
            os.makedirs(folder, exist_ok=True)
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", only, "-d", folder]
            command.append(f"{package}=={version}")
            # A build backend must not compile anything for us.
            environment = dict(os.environ, DS_BUILD_OPS="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                os.rmdir(folder) if not os.listdir(folder) else None
                raise SystemExit(f"{package} {version}: pip download failed\n{done.stderr[-2000:]}")
        return os.path.join(folder, min(os.listdir(folder)))


# ---------------------------------------------------------------------------------------------- modules


class Module:
    """Names that one parsed module defines or imports."""

    def __init__(self, release: Release, dotted: str, path: str, tree: ast.Module) -> None:
        self.release, self.dotted, self.path, self.tree = release, dotted, path, tree
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.values: dict[str, list[ast.expr]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        self.stars: list[str] = []
        self._read(tree.body)

    def _read(self, body: list[ast.stmt], certain: bool = True) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._set(target.id, node.value, certain)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self._set(node.target.id, node.value, certain)
            elif isinstance(node, ast.ImportFrom):
                source = self._absolute(node)
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(source)
                    else:
                        self.imports.setdefault(alias.asname or alias.name, (source, alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.imports.setdefault(alias.asname or alias.name.split(".")[0], (alias.name, ""))
            elif isinstance(node, ast.If):
                self._read(node.body, False)
                self._read(node.orelse, False)
            elif isinstance(node, ast.Try):
                self._read(node.body, False)
                for handler in node.handlers:
                    self._read(handler.body, False)
                self._read(node.orelse, False)
            elif isinstance(node, ast.With):
                self._read(node.body, certain)

    def _set(self, name: str, value: ast.expr, certain: bool) -> None:
        """A name set again for certain has its last value; one set in a branch may have either."""
        self.values[name] = [value] if certain else [*self.values.get(name, ()), value]

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.dotted.split(".")
        if not self.path.endswith("__init__.py"):
            parts = parts[:-1]
        parts = parts[: len(parts) - (node.level - 1)]
        return ".".join([*parts, *([node.module] if node.module else [])])


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
            name, where = _dotted(base if not isinstance(base, ast.Subscript) else base.value), module
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
                    again = self.find(hit.module or where, _dotted(value)) if _dotted(value) else None
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
                if not any(_same(head, other) for rest in lists for other in rest[1:]):
                    break
            else:
                head = lists[0][0]  # an order that Python itself would refuse
            order.append(head)
            lists = [kept for part in lists if (kept := [x for x in part if not _same(x, head)])]
        return order

    def is_enum(self, module: Module, node: ast.ClassDef) -> bool:
        return any(isinstance(b, str) and b.rsplit(".", 1)[-1] in _ENUMS for b in self.mro(module, node))

    def enum_values(self, module: Module, node: ast.ClassDef) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for where in reversed(self.mro(module, node)):
            if isinstance(where, str):
                continue
            for line in where[1].body:
                if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                    name = line.targets[0].id
                    if isinstance(line.value, ast.Call) and _dotted(line.value.func).endswith("auto"):
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
        return any(isinstance(b, str) and b.rsplit(".", 1)[-1] in _MODELS for b in self.mro(module, node))

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
                elif where.rsplit(".", 1)[-1] not in _PLAIN:
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
        for line in _statements(node.body):
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
        if isinstance(annotation, ast.Subscript) and _dotted(annotation.value).endswith("Annotated"):
            parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
            for part in parts[1:]:
                if isinstance(part, ast.Call) and _dotted(part.func).rsplit(".", 1)[-1] in _FIELD_CALLS:
                    self._field_call(module, part, key, scope)
                    key.kind = key.kind if value is None else "required"
        if isinstance(call, ast.Call) and _dotted(call.func).rsplit(".", 1)[-1] in _FIELD_CALLS:
            self._field_call(module, call, key, scope)
        elif call is not None:
            key.kind, key.default = self.value(module, call, scope)
        key.take(shape)
        if shape.kinds <= {"any"} and key.kind == "known":
            guess = _kind_of(key.default)
            if guess:
                key.type = guess
        return key

    def _field_call(self, module: Module, call: ast.Call, key: Field, scope: dict[str, list[ast.expr]]) -> None:
        name = _dotted(call.func).rsplit(".", 1)[-1]
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
        if _dotted(node) in empty:
            return "known", empty[_dotted(node)]
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
            action = _OPERATIONS.get(type(node.op))
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
        dotted = _dotted(node)
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
        name = _dotted(node.func)
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
            return self._named(module, _dotted(node), depth)
        return Shape({"any"})

    def _generic(self, module: Module, node: ast.Subscript, depth: int) -> Shape:
        name = _dotted(node.value).rsplit(".", 1)[-1]
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            shape = Shape(set())
            for part in parts:
                kind, value = self.value(module, part)
                if kind == "known":
                    shape.kinds.add(_kind_of(value) or "null")
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
        if name in _LISTS or name in _DICTS:
            shape = Shape({"list" if name in _LISTS else "dict"})
            for part in parts:
                inner = self.shape(module, part, depth + 1)
                shape.nested.extend(inner.nested)
                if name in _LISTS:
                    shape.hints.extend(inner.words + inner.hints)  # words of the items, not of the value
            return shape
        return self._named(module, _dotted(node.value), depth)

    def _named(self, module: Module, dotted: str, depth: int) -> Shape:
        name = dotted.rsplit(".", 1)[-1]
        if name in _SIMPLE:
            return Shape({_SIMPLE[name]})
        if name in _LISTS:
            return Shape({"list"})
        if name in _DICTS:
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
                shape = Shape({_kind_of(v) or "any" for v in values.values()} or {"str"})
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


@dataclass
class Shape:
    """A type, simplified: JSON kinds, the words it lists, the models it holds."""

    kinds: set[str]
    words: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    enum: bool = False
    free: bool = False

    def joined(self, other: Shape) -> Shape:
        shape = Shape(self.kinds | other.kinds, enum=self.enum or other.enum)
        shape.words = [*self.words, *(w for w in other.words if w not in self.words)]
        shape.hints = [*self.hints, *other.hints]
        shape.nested = [*self.nested, *other.nested]
        # `Enum | str`: any text passes the type, the words are only a hint (unless the recipe knows better)
        shape.free = (
            self.free
            or other.free
            or any(("str" in part.kinds or "any" in part.kinds) and not part.words for part in (self, other))
        )
        return shape


@dataclass
class Field:
    """One key at one version."""

    type: str = "any"
    kind: str = "required"  # known, required, factory (made by code), computed, either (machine decides)
    default: Any = None
    words: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    aliases: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    hidden: bool = False
    dropped: bool = False
    enum: bool = False
    free: bool = False
    below: str = ""  # the block of the same owner that this key holds

    def take(self, shape: Shape) -> None:
        kinds = set(shape.kinds)
        optional = "null" in kinds or (self.kind == "known" and self.default is None)
        kinds.discard("null")
        if "any" in kinds or not kinds:
            kinds = {"any"}
        if {"int", "float"} <= kinds:
            kinds = kinds - {"int", "float"} | {"number"}
        self.type = "|".join(sorted(kinds)) + ("?" if optional else "")
        self.enum, self.free = shape.enum, shape.free
        self.words = tuple(shape.words) if not shape.free else ()
        self.hints = tuple(dict.fromkeys([*shape.hints, *(shape.words if shape.free else []), *self.choices]))
        self.nested = tuple(dict.fromkeys(shape.nested))


_ENUMS = {"Enum", "IntEnum", "StrEnum", "ExplicitEnum", "BaseEnum"}
_MODELS = {"BaseModel", "BaseSettings", "DeepSpeedConfigModel", "NamedTuple", "AppParams"}
# Outside bases that hold no keys.
_PLAIN = {
    "object", "ABC", "Generic", "BaseModel", "Protocol", "Enum", "str", "ConfigDict", "BaseSettings", "PushToHubMixin",
    "HfArgumentParser", "NamedTuple", "dict", "type",
}  # fmt: skip
_FIELD_CALLS = {"field", "Field", "Option", "Argument"}
_SIMPLE = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "bytes": "str", "None": "null", "NoneType": "null",
    "Any": "any", "object": "any", "Path": "str", "PathLike": "str", "FilePath": "str", "DirectoryPath": "str",
    "PositiveInt": "int", "NonNegativeInt": "int", "PositiveFloat": "float", "NonNegativeFloat": "float",
    "StrictInt": "int", "StrictStr": "str", "StrictBool": "bool", "StrictFloat": "float", "conint": "int",
    "confloat": "float", "constr": "str", "conlist": "list", "complex": "any", "Number": "number",
}  # fmt: skip
_LISTS = {"list", "List", "Sequence", "tuple", "Tuple", "set", "Set", "Iterable", "Collection", "FrozenSet"}
_DICTS = {"dict", "Dict", "Mapping", "MutableMapping", "DictConfig", "OrderedDict", "defaultdict"}
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Pow: lambda a, b: a**b if abs(b) < 64 else None,
    ast.LShift: lambda a, b: a << b if b < 64 else None,
}


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def _same(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[1] is b[1]
    return a == b


def _kind_of(value: object) -> str:
    for kind, word in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (list, "list"), (dict, "dict")):
        if isinstance(value, kind):
            return word
    return ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for line in body:
        yield line
        if isinstance(line, ast.If):
            yield from _statements(line.body)
            yield from _statements(line.orelse)


# ---------------------------------------------------------------------------------------------- recipes

Keys = dict[str, Field]


@dataclass
class Read:
    """What one version says about one owner."""

    keys: Keys
    base: str = ""  # "package.Class" outside that brings more keys
    files: list[str] = field(default_factory=list)
    blocks: dict[str, Keys] = field(default_factory=dict)  # blocks below, by the name after this owner's


@dataclass
class Recipe:
    package: str
    versions: str
    owners: dict[str, Callable[[Reader], Read | None]]
    root: str = ""  # path prefix of the import package
    folders: tuple[str, ...] = ()  # only these are searched for classes
    nested: bool = True
    flatten: tuple[str, ...] = ()  # other packages whose classes count as this one's own
    prefixed: bool = True  # blocks below an owner are called owner.block
    enum_or_text_closed: bool = False
    enum_names: bool = False
    needs: tuple[str, ...] = ("transformers", "trl", "accelerate", "deepspeed")

    def wanted(self, path: str) -> bool:
        return any(path.startswith(f) for f in self.folders) if self.folders else path.startswith(self.root)


def classes(*names: str, under: str = "") -> Callable[[Reader], Read | None]:
    """The first class of these names that exists (a class that was renamed stays one owner)."""

    def read(reader: Reader) -> Read | None:
        for name in names:
            hit = reader.locate(name, under)
            if hit:
                return _class(reader, *hit)
        return None

    return read


def _class(reader: Reader, module: Module, node: ast.ClassDef) -> Read:
    keys, outside, files = reader.fields(module, node)
    base = next((o for o in outside if o.rsplit(".", 1)[-1] in BASES), "")
    return Read(dict(keys), "transformers." + base.rsplit(".", 1)[-1] if base else "", files)


BASES = {"TrainingArguments", "Seq2SeqTrainingArguments"}


def init(name: str, drop: Iterable[str] = ()) -> Callable[[Reader], Read | None]:
    """The keyword arguments of a class's `__init__`; names that a decorator still takes for a newer one count too."""

    def read(reader: Reader) -> Read | None:
        hit = reader.locate(name)
        if hit is None:
            return None
        found = Read({})
        for where in reader.mro(*hit):
            if isinstance(where, str):
                continue
            for line in where[1].body:
                if isinstance(line, ast.FunctionDef) and line.name == "__init__":
                    for key, value in _parameters(reader, where[0], line).items():
                        if key not in set(drop):
                            found.keys.setdefault(key, value)
                    for mark in line.decorator_list:
                        if isinstance(mark, ast.Call) and _dotted(mark.func).endswith("deprecate_kwarg"):
                            kind, old = reader.value(where[0], mark.args[0]) if mark.args else ("", None)
                            if kind == "known" and isinstance(old, str):
                                found.keys.setdefault(old, Field(type="any?", kind="known"))
                    found.files.append(where[0].path)
                    if line.args.kwarg is None:  # else it hands them on
                        return found
        return found if found.keys else None

    return read


def function(path: str, *names: str, drop: Iterable[str] = ()) -> Callable[[Reader], Read | None]:
    """The parameters of the first of these functions that the module has."""

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        for name in names if module else ():
            if module and name in module.functions:
                node = module.functions[name]
                keys = {k: v for k, v in _parameters(reader, module, node).items() if k not in set(drop)}
                return Read(keys, "", [module.path], _blocks(reader, module, node, keys))
        return None

    return read


def _parameters(reader: Reader, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Keys:
    args = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(args) - len(node.args.defaults)) + list(node.args.defaults)
    pairs = [*zip(args, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    keys: Keys = {}
    for arg, default in pairs:
        if arg.arg not in {"self", "cls"}:
            key = reader.key(module, arg.annotation, default, {})
            if key is not None:
                keys[arg.arg] = key
    return keys


def _blocks(
    reader: Reader, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, keys: Keys
) -> dict[str, Keys]:
    """For `train: TrainArgs = TrainArgs(epochs=5)` the block `train`: the class's keys with these defaults."""
    args = [*node.args.posonlyargs, *node.args.args]
    found: dict[str, Keys] = {}
    for arg, default in zip(args[len(args) - len(node.args.defaults) :], node.args.defaults, strict=True):
        key = keys.get(arg.arg)
        if key is None or not key.nested or not isinstance(default, ast.Call):
            continue
        hit = reader.find(module, _dotted(default.func))
        if hit and hit.module and isinstance(hit.node, ast.ClassDef):
            block = dict(reader.fields(hit.module, hit.node)[0])
            for word in default.keywords:
                if word.arg in block:
                    kind, value = reader.value(module, word.value)
                    block[word.arg] = dataclasses.replace(block[word.arg], kind=kind, default=value)
            found[arg.arg] = block
            keys[arg.arg] = dataclasses.replace(key, kind="factory", default=None, below=arg.arg)
    return found


def with_base(base: str, part: Callable[[Reader], Read | None]) -> Callable[[Reader], Read | None]:
    """For programs that hand a class of another package to the same parser."""

    def read(reader: Reader) -> Read | None:
        one = part(reader)
        return dataclasses.replace(one, base=one.base or base) if one else None

    return read


def dictionary(path: str, name: str) -> Callable[[Reader], Read | None]:
    """The keys of a dict written out in a module; mappings in it become blocks."""

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        node: ast.expr | None = module.values[name][0] if module and name in module.values else None
        if module is None or not isinstance(node, ast.Dict):
            return None
        found = Read({}, "", [module.path])
        for label, value in zip(node.keys, node.values, strict=True):
            if isinstance(label, ast.Constant) and isinstance(label.value, str):
                kind, default = reader.value(module, value)
                found.keys[label.value] = _untyped(kind, default)
                if isinstance(default, dict) and default:
                    found.blocks[label.value] = {k: _untyped("known", v) for k, v in default.items()}
                    found.keys[label.value].below = label.value
        return found

    return read


def _untyped(kind: str, default: Any) -> Field:
    return Field(type=(_kind_of(default) or "any") + ("?" if default is None else ""), kind=kind, default=default)


def fixed(*names: str) -> Callable[[Reader], Read | None]:
    """Keys that a program beside the package reads; told here because the package's archive does not hold it."""
    return lambda _: Read({name: Field("any?", "computed") for name in names})


def flags(path: str, receiver: str = r".*", unprefixed: str = "") -> Callable[[Reader], Read | None]:
    """Arguments of an argparse parser: those that a variable matching `receiver` was given. `unprefixed`: a prefix
    without which the name is taken too."""

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        if module is None:
            return None
        found = Read({}, "", [module.path])
        for call in ast.walk(module.tree):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "add_argument"
                and re.fullmatch(receiver, _dotted(call.func.value))
            ):
                name, key = _flag(reader, module, call)
                if name:
                    found.keys.setdefault(name, key)
                    if unprefixed and name.startswith(unprefixed):
                        found.keys.setdefault(name.removeprefix(unprefixed), key)
        return found if found.keys else None

    return read


def _flag(reader: Reader, module: Module, call: ast.Call) -> tuple[str, Field]:
    words = {k.arg: k.value for k in call.keywords if k.arg}
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [n for n in names if n.startswith("--")] or names
    name = long[0].lstrip("-").replace("-", "_") if long else ""
    if "dest" in words and isinstance(words["dest"], ast.Constant):
        name = str(words["dest"].value)
    key = Field(kind="known", type="str?")
    action = ast.unparse(words["action"]).strip("'\"") if "action" in words else ""
    if "type" in words:
        key.type = _SIMPLE.get(_dotted(words["type"]).rsplit(".", 1)[-1], "any")
    if action in {"store_true", "store_false"}:
        key.type, key.default = "bool", action == "store_false"
    if "nargs" in words and ast.unparse(words["nargs"]) not in {"'?'", "None"}:
        key.type = "list"
    if "default" in words:
        key.kind, key.default = reader.value(module, words["default"])
    if key.kind == "known" and key.default is None:
        key.type = key.type.removesuffix("?") + "?"
    if "choices" in words:
        kind, choices = reader.value(module, words["choices"])
        if kind == "known" and isinstance(choices, list):
            key.words = tuple(c for c in choices if isinstance(c, str))
    return name, key


def subscripts(path: str, variable: str, unprefixed: str = "") -> Callable[[Reader], Read | None]:
    """Keys that code sets with `variable["key"] = ...` or `variable[prefix + "key"] = ...`."""

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        if module is None:
            return None
        found = Read({}, "", [module.path])
        prefix = ""
        nodes = [n for n in ast.walk(module.tree) if isinstance(n, ast.Assign)]
        for node in sorted(nodes, key=lambda n: n.lineno):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == "prefix" and isinstance(node.value, ast.Constant):
                prefix = str(node.value.value)
            if isinstance(target, ast.Subscript) and _dotted(target.value) == variable:
                text, start = target.slice, ""
                if isinstance(text, ast.BinOp) and _dotted(text.left) == "prefix":
                    text, start = text.right, prefix
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    name = start + text.value
                    for one in {name, name.removeprefix(unprefixed) if unprefixed else name}:
                        found.keys.setdefault(one, Field(type="any?", kind="computed"))
        return found if found.keys else None

    return read


def reads_of(path: str, class_name: str, *roots: str) -> Callable[[Reader], Read | None]:
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
        field_ = _untyped(*self.reader.value(module, default)) if default is not None else Field("any?", "computed")
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
            name = _dotted(node.func).rsplit(".", 1)[-1]
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
        dotted = _dotted(node.func)
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


def first_of(*parts: Callable[[Reader], Read | None]) -> Callable[[Reader], Read | None]:
    def read(reader: Reader) -> Read | None:
        return next((one for part in parts if (one := part(reader)) is not None), None)

    return read


def union(*parts: Callable[[Reader], Read | None]) -> Callable[[Reader], Read | None]:
    """All keys of several; the earlier one's word counts."""

    def read(reader: Reader) -> Read | None:
        reads = [r for r in (part(reader) for part in parts) if r is not None]
        if not reads:
            return None
        keys: Keys = {}
        files: list[str] = []
        for one in reads:
            for name, key in one.keys.items():
                keys.setdefault(name, key)
            files.extend(f for f in one.files if f not in files)
        blocks = {name: block for one in reversed(reads) for name, block in one.blocks.items()}
        return Read(keys, next((r.base for r in reads if r.base), ""), files, blocks)

    return read


def every_class(pattern: str, name: str) -> Callable[[Reader], Read | None]:
    """The union of every model whose path and class name match."""

    def read(reader: Reader) -> Read | None:
        found = Read({})
        for path in sorted(reader.release.paths()):
            if re.fullmatch(pattern, path):
                module = reader.release.module(path[:-3].replace("/", "."))
                for node in module.classes.values() if module else ():
                    if module and re.fullmatch(name, node.name) and reader.is_model(module, node):
                        one = _class(reader, module, node)
                        for key, value in one.keys.items():
                            found.keys.setdefault(key, value)
                        found.files.extend(f for f in one.files if f not in found.files)
        return found if found.keys else None

    return read


TRL_CONFIGS = """
    SFTConfig DPOConfig ORPOConfig KTOConfig CPOConfig GRPOConfig RLOOConfig RewardConfig OnlineDPOConfig PPOConfig
    BCOConfig XPOConfig NashMDConfig PRMConfig GKDConfig GOLDConfig TPOConfig AlignPropConfig DDPOConfig
    IterativeSFTConfig ModelConfig DatasetMixtureConfig DatasetConfig
"""

TRL_TRAINERS = """
    SFTTrainer DPOTrainer ORPOTrainer KTOTrainer CPOTrainer GRPOTrainer RLOOTrainer RewardTrainer OnlineDPOTrainer
"""
# Up to 0.11 the trainers whose arguments are TrainingArguments were "v2"; the plain names were other programs.
TRL_OLD = {"RLOOConfig": ("RLOOv2Config",), "PPOConfig": ("PPOv2Config",)}

_AXOLOTL_SCHEMA = r"axolotl/utils/(schemas/datasets|config/models/input/v0_4_1/__init__)\.py"

RECIPES: dict[str, Recipe] = {
    "transformers": Recipe(
        "transformers",
        """
            4.36.2 4.37.2 4.38.0 4.38.2 4.39.0 4.39.3 4.40.0 4.40.2 4.41.0 4.41.2 4.42.0 4.42.4 4.43.0 4.43.4 4.44.2
            4.45.0 4.45.2 4.46.0 4.46.1 4.46.2 4.46.3 4.47.0 4.47.1 4.48.0 4.48.3 4.49.0 4.50.0 4.50.3 4.51.0 4.51.3
            4.52.1 4.52.4 4.53.0 4.53.3 4.54.0 4.54.1 4.55.4 4.56.0 4.56.2 4.57.1 4.57.5 4.57.6 5.0.0 5.1.0 5.2.0
            5.3.0 5.4.0 5.5.4 5.6.0 5.6.2 5.7.0 5.8.1 5.9.0 5.10.1 5.10.4 5.11.0 5.12.1 5.13.1 5.14.1 5.15.0 5.15.1
            5.16.1 5.17.0 5.18.0 5.19.0 5.20.2 5.21.1 5.22.2 5.23.0 5.24.0
        """,
        {
            "TrainingArguments": classes("TrainingArguments"),
            "Seq2SeqTrainingArguments": classes("Seq2SeqTrainingArguments"),
            "AcceleratorConfig": classes("AcceleratorConfig"),
            "Trainer": init("Trainer"),
            "Seq2SeqTrainer": init("Seq2SeqTrainer"),
        },
        root="transformers/",
        folders=("transformers/training_args", "transformers/trainer", "transformers/debug_utils"),
        nested=False,
        enum_or_text_closed=True,
        needs=("accelerate",),
    ),
    "trl": Recipe(
        "trl",
        """
            0.9.6 0.10.1 0.11.0 0.11.4 0.12.0 0.12.2 0.13.0 0.14.0 0.15.0 0.15.2 0.16.0 0.16.1 0.17.0 0.18.0 0.18.2
            0.19.0 0.19.1 0.20.0 0.21.0 0.22.0 0.22.2 0.23.0 0.23.1 0.24.0 0.25.0 0.25.1 0.26.0 0.26.2 0.27.0 0.27.2
            0.28.0 0.29.0 0.29.1 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 1.5.1 1.6.0 1.7.0 1.7.1 1.8.0 1.9.0 1.9.2 1.10.0 1.11.0
            1.12.0 1.13.0 1.14.0 1.14.2 1.15.0 1.16.0
        """,
        {
            **{name: classes(*TRL_OLD.get(name, ()), name) for name in TRL_CONFIGS.split()},
            **{name: init(name) for name in TRL_TRAINERS.split()},
            "ScriptArguments": first_of(
                classes("ScriptArguments", under="utils"),
                union(*(classes(f"{name}ScriptArguments") for name in ("SFT", "DPO", "Reward"))),
            ),
        },
        root="trl/",
        nested=False,
    ),
    "axolotl": Recipe(
        "axolotl",
        """
            0.5.2 0.6.0 0.7.0 0.8.0 0.8.1 0.9.0 0.9.1 0.9.2 0.10.0 0.11.0 0.12.0 0.12.1 0.12.2 0.13.1 0.13.2 0.14.0
            0.15.0 0.16.0 0.16.1 0.17.0 0.18.0 0.19.0
        """,
        {
            "config": classes("AxolotlInputConfig"),
            "dataset": every_class(_AXOLOTL_SCHEMA, r"(SFT|DPO|KTO|StepwiseSupervised|Pretraining|Synthetic)Dataset"),
            "plugin": every_class(r"axolotl/integrations/\w+/args\.py", r"\w*Args"),
        },
        root="axolotl/",
    ),
    "llamafactory": Recipe(
        "llamafactory",
        "0.7.1 0.8.0 0.8.1 0.8.2 0.8.3 0.9.0 0.9.1 0.9.2 0.9.3 0.9.4 0.9.5",
        {
            "config": with_base(
                "transformers.Seq2SeqTrainingArguments",
                union(
                    classes("TrainingArguments", under="hparams/"),
                    classes("ModelArguments", under="hparams/"),
                    classes("DataArguments", under="hparams/"),
                    classes("FinetuningArguments", under="hparams/"),
                    classes("GeneratingArguments", under="hparams/"),
                ),
            ),
            "v1": union(
                classes("ModelArguments", under="v1/config/"),
                classes("DataArguments", under="v1/config/"),
                classes("TrainingArguments", under="v1/config/"),
                classes("SampleArguments", under="v1/config/"),
            ),
        },
        nested=False,
    ),
    "ms-swift": Recipe(
        "ms-swift",
        """
            2.6.1 3.0.0 3.0.3 3.1.0 3.1.1.post1 3.2.0 3.2.2 3.3.0 3.3.1 3.4.0 3.4.1.post1 3.5.0 3.5.3 3.6.0 3.6.4
            3.7.0 3.7.3 3.8.0 3.8.3 3.9.0 3.9.3 3.10.0 3.10.3 3.11.0 3.11.3 3.12.0 3.12.6 4.0.0 4.0.4 4.1.0 4.1.3
            4.2.0 4.2.3 4.3.0 4.3.2 4.4.0 4.4.2 4.5.0 4.5.3 4.6.0
        """,
        {
            "sft": classes("SftArguments", "TrainArguments", under="argument"),
            "pt": classes("PretrainArguments", "SftArguments", "TrainArguments", under="argument"),
            "rlhf": classes("RLHFArguments", under="argument"),
        },
        root="swift/",
        nested=False,
    ),
    "accelerate": Recipe(
        "accelerate",
        """
            0.20.3 0.21.0 0.22.0 0.23.0 0.24.0 0.24.1 0.25.0 0.26.0 0.26.1 0.27.2 0.28.0 0.29.0 0.29.3 0.30.0 0.30.1
            0.31.0 0.32.1 0.33.0 0.34.0 0.34.2 1.0.0 1.0.1 1.1.1 1.2.1 1.3.0 1.4.0 1.5.2 1.6.0 1.7.0 1.8.0 1.8.1 1.9.0
            1.10.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0
        """,
        {
            "config": classes("ClusterConfig"),
            "sagemaker": classes("SageMakerConfig"),
            "launch": flags("accelerate.commands.launch"),
            "deepspeed_config": union(
                flags("accelerate.commands.launch", r"deepspeed_args"),
                subscripts("accelerate.commands.config.cluster", "deepspeed_config"),
            ),
            "fsdp_config": union(
                flags("accelerate.commands.launch", r"fsdp_args", "fsdp_"),
                subscripts("accelerate.commands.config.cluster", "fsdp_config", "fsdp_"),
            ),
            "parallelism_config": union(
                flags("accelerate.commands.launch", r"parallelism_config_args", "parallelism_config_"),
                subscripts("accelerate.commands.config.cluster", "parallelism_config", "parallelism_config_"),
            ),
            "dynamo_config": union(
                flags("accelerate.commands.launch", r"resource_args", "dynamo_"),
                subscripts("accelerate.commands.config.cluster", "dynamo_config", "dynamo_"),
            ),
        },
        root="accelerate/",
        nested=False,
        needs=(),
    ),
    "deepspeed": Recipe(
        "deepspeed",
        """
            0.12.6 0.13.5 0.14.0 0.14.5 0.15.0 0.15.4 0.16.0 0.16.9 0.17.0 0.17.6 0.18.0 0.18.4 0.18.9 0.19.0
            0.19.1 0.19.2 0.19.3 0.19.4 0.19.5 0.19.6 0.19.7 0.19.8
        """,
        {
            "config": reads_of("deepspeed.runtime.config", "DeepSpeedConfig", "self._param_dict", "param_dict"),
            **{
                name: init(name, drop=("optimizer", "last_batch_iteration"))
                for name in ("LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
            },
        },
        root="deepspeed/",
        prefixed=False,
        needs=(),
    ),
    "fms-hf-tuning": Recipe(
        "fms-hf-tuning",
        """
            1.0.0 1.1.0 1.2.0 1.2.2 2.0.1 2.1.2 2.2.0 2.2.1 2.3.0 2.3.1 2.4.0 2.5.0 2.6.0 2.7.1 2.8.0 2.8.2 3.0.0
            3.1.0 3.2.0 3.2.2
        """,
        {
            "config": union(
                classes("TrainingArguments", under="tuning/config/configs"),
                classes("ModelArguments", under="tuning/config/configs"),
                classes("DataArguments", under="tuning/config/configs"),
                classes("TrainerControllerArguments", under="tuning/config/configs"),
                classes("LoraConfig", under="tuning/config/peft_config"),
                classes("PromptTuningConfig", under="tuning/config/peft_config"),
                classes("Mxfp4Config", under="tuning/config/peft_config"),
                classes("QuantizedLoraConfig", under="acceleration_configs/"),
                classes("FusedOpsAndKernelsConfig", under="acceleration_configs/"),
                classes("AttentionAndDistributedPackingConfig", under="acceleration_configs/"),
                classes("FastMoeConfig", under="acceleration_configs/"),
                classes("TrackerConfigs", under="tuning/config/tracker_configs"),
                flags("tuning.sft_trainer", "parser"),
                fixed("accelerate_launch_args"),  # fms-hf-tuning's build/accelerate_launch.py
            ),
        },
        root="tuning/",
        flatten=("peft",),
        needs=("transformers", "trl", "accelerate", "peft"),
    ),
    "peft": Recipe(
        "peft",
        """
            0.4.0 0.5.0 0.6.2 0.7.1 0.8.2 0.9.0 0.10.0 0.11.1 0.12.0 0.13.2 0.14.0 0.15.2 0.16.0 0.17.1 0.18.0 0.18.1
            0.19.0 0.19.1 0.20.0 0.21.0 0.21.2
        """,
        {
            name: classes(name, under="peft/tuners/")
            for name in ("LoraConfig", "PromptTuningConfig", "PrefixTuningConfig")
        },
        root="peft/",
        nested=False,
        needs=("transformers", "accelerate"),
    ),
    "unsloth": Recipe(
        "unsloth",
        "2026.5.10 2026.8.22 2026.10.9",
        {"config": classes("Config", under="unsloth_cli/config")},
        root="unsloth_cli/",
    ),
    "litgpt": Recipe(
        "litgpt",
        "0.4.0 0.4.13 0.5.0 0.5.3 0.5.7 0.5.8 0.5.9 0.5.10 0.5.11 0.5.12 0.5.13",
        {
            **{
                f"finetune_{name}": function(f"litgpt.finetune.{name}", "setup")
                for name in ("lora", "full", "adapter", "adapter_v2", "lora_legacy")
            },
            "pretrain": function("litgpt.pretrain", "setup"),
            **{name: classes(name, under="litgpt/args") for name in ("TrainArgs", "EvalArgs", "LogArgs")},
        },
        root="litgpt/",
        nested=False,
    ),
    "mlx-lm": Recipe(
        "mlx-lm",
        """
            0.14.3 0.16.1 0.17.1 0.18.2 0.19.0 0.19.3 0.20.6 0.21.0 0.21.5 0.22.0 0.22.5 0.23.2 0.24.0 0.24.1 0.25.0
            0.25.3 0.26.0 0.26.4 0.27.1 0.28.0 0.28.1 0.28.2 0.28.3 0.28.4 0.29.1 0.30.7 0.31.1 0.31.3 0.32.0 0.32.2
        """,
        {"config": union(dictionary("mlx_lm.lora", "CONFIG_DEFAULTS"), flags("mlx_lm.lora", "parser"))},
        root="mlx_lm/",
        needs=("mlx",),
    ),
    "instructlab-training": Recipe(
        "instructlab-training",
        "0.3.2 0.4.2 0.5.5 0.6.1 0.7.0 0.8.1 0.9.0 0.10.4 0.11.1 0.12.1 0.13.0 0.14.2 0.15.2 0.16.2",
        {
            "TrainingArgs": classes("TrainingArgs", under="instructlab/training/config"),
            "TorchrunArgs": classes("TorchrunArgs", under="instructlab/training/config"),
        },
        root="instructlab/",
    ),
    "training-hub": Recipe(
        "training-hub",
        "0.1.0 0.2.0 0.3.0 0.4.0 0.5.0 0.6.0 0.7.0 0.8.1 0.9.0 0.9.8 0.10.0 0.11.0 0.11.2",
        {
            "sft": function("training_hub.algorithms.sft", "sft"),
            "osft": function("training_hub.algorithms.osft", "osft"),
            "lora_sft": function("training_hub.algorithms.lora", "lora_sft"),
            "lora_grpo": function("training_hub.algorithms.lora_grpo", "lora_grpo"),
            "grpo": function("training_hub.algorithms.lora_grpo", "grpo"),
        },
        root="training_hub/",
        nested=False,
        needs=("instructlab-training", "unsloth", "trl", "transformers"),
    ),
    "oumi": Recipe(
        "oumi",
        "0.1.14 0.2.1 0.3.0 0.4.2 0.5.0 0.6.0 0.7 0.8 0.9",
        {"config": classes("TrainingConfig", under="core/configs/training_config")},
        root="oumi/",
        folders=("oumi/core/",),
        enum_names=True,
    ),
    "autotrain-advanced": Recipe(
        "autotrain-advanced",
        "0.7.129 0.8.0 0.8.12 0.8.24 0.8.36",
        {
            "config": reads_of("autotrain.parser", "AutoTrainConfigParser", "self.config"),
            "llm": classes("LLMTrainingParams", under="clm/params"),
            "seq2seq": classes("Seq2SeqParams", under="seq2seq/params"),
            "sentence_transformers": classes("SentenceTransformersParams", under="sent_transformers/params"),
            "text_classification": classes("TextClassificationParams", under="text_classification/params"),
            "vlm": classes("VLMTrainingParams", under="vlm/params"),
        },
        root="autotrain/",
    ),
    "llm-foundry": Recipe(
        "llm-foundry",
        "0.9.0 0.11.0 0.13.0 0.15.0 0.17.0 0.19.0 0.21.0 0.22.0",
        {"config": classes("TrainConfig", under="utils/config_utils")},
        root="llmfoundry/",
        nested=False,
    ),
}

# ---------------------------------------------------------------------------------------------- output


def collect(recipe: Recipe, store: Store) -> dict[str, Any]:
    versions = recipe.versions.split()
    if versions != sorted(versions, key=version_key):
        raise SystemExit(f"{recipe.package}: versions are not in order")
    found: dict[str, dict[str, Read]] = {}
    requires: dict[str, dict[str, str]] = {}
    for version in versions:
        release = store.release(recipe.package, version, recipe.root)
        needs = release.requirements()
        reader = Reader(recipe, release, _outside(recipe, needs, store))
        for name in recipe.needs:
            if name in needs:
                requires.setdefault(name, {})[version] = needs[name]
        here: dict[str, Read] = {}
        for owner, read in recipe.owners.items():
            one = read(reader)
            if one is None:
                continue
            here[owner] = one
            for name, keys in one.blocks.items():
                here[f"{owner}.{name}" if recipe.prefixed else name] = Read(keys, "", one.files)
        if recipe.nested:
            done: set[str] = set()
            while pending := [name for name in reader.nested if name not in done]:
                for name in pending:
                    done.add(name)
                    if name not in recipe.owners:
                        here[name] = _class(reader, *reader.nested[name])
        for owner, one in here.items():
            found.setdefault(owner, {})[version] = one
        print(f"{recipe.package} {version}: " + ", ".join(f"{o} {len(r.keys)}" for o, r in here.items())[:300])
    for reads in found.values():
        for one in reads.values():
            for name, key in one.keys.items():
                if any(below not in found for below in key.nested):
                    kept = tuple(below for below in key.nested if below in found)
                    one.keys[name] = dataclasses.replace(key, nested=kept)
    return {
        "package": recipe.package,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "versions_read": versions,
        "requires": {name: runs(versions, specs) for name, specs in sorted(requires.items())},
        "owners": {owner: _owner(recipe, owner, versions, reads) for owner, reads in sorted(found.items())},
    }


def _owner(recipe: Recipe, name_of: str, versions: list[str], reads: dict[str, Read]) -> dict[str, Any]:
    def below(block: str) -> str:
        return f"{name_of}.{block}" if recipe.prefixed else block

    names = sorted({name for one in reads.values() for name in one.keys})
    fields: dict[str, Any] = {}
    words: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for name in names:
        here = {v: reads[v].keys[name] for v in versions if v in reads and name in reads[v].keys}
        told = runs(versions, {v: _told(k) for v, k in here.items()})
        fields[name] = [[first, last, *json.loads(text)] for first, last, text in told]
        for target, pick in ((words, True), (hints, False)):
            lists = runs(versions, {v: json.dumps(w) for v, k in here.items() if (w := _words(recipe, k, pick))})
            if lists:
                target[name] = [[first, last, json.loads(text)] for first, last, text in lists]
        holds = sorted({n for k in here.values() for n in ([below(k.below)] if k.below else k.nested)})
        if holds:
            nested[name] = holds
    files: list[str] = []
    for version in reversed(versions):
        for path in reads[version].files if version in reads else ():
            if path not in files:
                files.append(path)
    owner: dict[str, Any] = {"versions": [[f, last] for f, last, _ in runs(versions, dict.fromkeys(reads, ""))]}
    bases = runs(versions, {v: r.base for v, r in reads.items() if r.base})
    if bases:
        owner["base"] = bases
    owner["source"] = files
    owner["fields"] = fields
    more = {"words": words, "hints": hints, "nested": nested}
    return {**owner, **{label: table for label, table in more.items() if table}}


def _told(key: Field) -> str:
    """[type, default] or [type, null, why it has no JSON default]."""
    if key.kind == "known":
        return json.dumps([key.type, key.default])
    return json.dumps([key.type, key.default if key.kind == "either" else None, key.kind])


def _words(recipe: Recipe, key: Field, closed: bool) -> list[str]:
    lists = key.enum and key.free and recipe.enum_or_text_closed and not key.words
    if closed:
        return list(key.hints if lists else key.words)
    return [] if lists else list(key.hints)


def runs(versions: list[str], values: dict[str, str]) -> list[list[str]]:
    """[[first, last, value], ...] over the versions read, in order."""
    found: list[list[str]] = []
    previous: str | None = None
    for version in versions:
        value = values.get(version)
        if value is not None:
            if previous == value:
                found[-1][1] = version
            else:
                found.append([version, version, value])
        previous = value
    return found


def _outside(recipe: Recipe, needs: dict[str, str], store: Store) -> Callable[[str, str], Reader | None]:
    """Other packages, in the oldest or newest version read that this one's requirement allows."""
    readers: dict[tuple[str, str], Reader] = {}

    def reader(package: str, end: str) -> Reader | None:
        if package == recipe.package or package not in {"transformers", *recipe.flatten}:
            return None
        if (package, end) not in readers:
            other, spec = RECIPES[package], needs.get(package, "")
            versions = other.versions.split()
            fits = [v for v in versions if allowed(spec, v)]
            pin = re.search(r"==\s*([\w.]+)", spec)
            if pin and not fits:
                fits = [v for v in versions if version_key(v) <= version_key(pin[1])][-1:]
            version = (fits or versions)[0 if end == "oldest" and fits else -1]
            readers[package, end] = Reader(other, store.release(package, version, other.root), lambda *_: None)
        return readers[package, end]

    return reader


def dumped(table: dict[str, Any]) -> str:
    """JSON with one key a line, so that a changed default is one changed line."""

    def small(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = ["{", *(f"{small(head)}:{small(table[head])}," for head in ("package", "date", "versions_read"))]
    lines.append('"requires":{' + ",\n".join(f"{small(k)}:{small(v)}" for k, v in table["requires"].items()) + "},")
    lines.append('"owners":{')
    owners = []
    for name, owner in table["owners"].items():
        parts = []
        for label, value in owner.items():
            if label in {"fields", "words", "hints", "nested"}:
                rows = ",\n".join(f"{small(k)}:{small(v)}" for k, v in value.items())
                parts.append(f"{small(label)}:{{\n{rows}}}")
            else:
                parts.append(f"{small(label)}:{small(value)}")
        owners.append(f"{small(name)}:{{" + ",\n".join(parts) + "}")
    lines.append(",\n".join(owners) + "}}")
    return "\n".join(lines) + "\n"


def newest(package: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    match = re.search(r"Available versions: ([^,\s]+)", done.stdout)
    return match[1] if match else "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", choices=sorted(RECIPES), metavar="PACKAGE", help=", ".join(RECIPES))
    parser.add_argument("--out", default=os.path.join(os.path.dirname(__file__), "..", "epochlint", "trainers", "data"))
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "key_tables"))
    parser.add_argument("--check-newest", action="store_true", help="only say whether a newer version is published")
    args = parser.parse_args()
    store = Store(args.cache)
    for package in args.packages:
        if args.check_newest:
            print(f"{package}: read to {RECIPES[package].versions.split()[-1]}, published {newest(package)}")
            continue
        table = collect(RECIPES[package], store)
        os.makedirs(args.out, exist_ok=True)
        path = os.path.join(args.out, f"{package}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = json.load(file)
            if {**old, "date": ""} == {**table, "date": ""}:
                table["date"] = old["date"]  # nothing changed: no new date
        with open(path, "w", encoding="utf-8") as file:
            file.write(dumped(table))
        print(f"{path}: {os.path.getsize(path)} bytes, {len(table['owners'])} owners")
    return 0


if __name__ == "__main__":
    sys.exit(main())
