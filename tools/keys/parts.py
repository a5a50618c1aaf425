"""The parts of a recipe: each reads the keys of one owner from one release."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from tools.keys.reader import Reader
from tools.keys.shapes import SIMPLE, Field, dotted_name, kind_of
from tools.keys.sources import Module

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


Part = Callable[[Reader], Read | None]


def classes(*names: str, under: str = "") -> Part:
    """The first class of these names that exists (a class that was renamed stays one owner)."""

    def read(reader: Reader) -> Read | None:
        for name in names:
            hit = reader.locate(name, under)
            if hit:
                return class_keys(reader, *hit)
        return None

    return read


def class_keys(reader: Reader, module: Module, node: ast.ClassDef) -> Read:
    keys, outside, files = reader.fields(module, node)
    base = next((o for o in outside if o.rsplit(".", 1)[-1] in BASES), "")
    return Read(dict(keys), "transformers." + base.rsplit(".", 1)[-1] if base else "", files)


BASES = {"TrainingArguments", "Seq2SeqTrainingArguments"}


def returned(folder: str, method: str) -> Part:
    """The union of the classes whose dotted names the methods of that name return, in all modules of a folder."""

    def read(reader: Reader) -> Read | None:
        found = Read({})
        for path in sorted(reader.release.paths()):
            if path.startswith(folder) and path.endswith(".py"):
                text = reader.release.text(path) or ""
                for name in re.findall(rf'def {method}\(.*?return "[\w.]*\.(\w+)"', text, re.DOTALL):
                    hit = reader.locate(name, path.rpartition("/")[0])
                    if hit:
                        one = class_keys(reader, *hit)
                        for key, value in one.keys.items():
                            found.keys.setdefault(key, value)
                        found.files.extend(f for f in one.files if f not in found.files)
        return found if found.keys else None

    return read


def init(name: str, drop: Iterable[str] = ()) -> Part:
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
                        if isinstance(mark, ast.Call) and dotted_name(mark.func).endswith("deprecate_kwarg"):
                            kind, old = reader.value(where[0], mark.args[0]) if mark.args else ("", None)
                            if kind == "known" and isinstance(old, str):
                                found.keys.setdefault(old, Field(type="any?", kind="known"))
                    found.files.append(where[0].path)
                    if line.args.kwarg is None:  # else it hands them on
                        return found
        return found if found.keys else None

    return read


def function(path: str, *names: str, drop: Iterable[str] = ()) -> Part:
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
        hit = reader.find(module, dotted_name(default.func))
        if hit and hit.module and isinstance(hit.node, ast.ClassDef):
            block = dict(reader.fields(hit.module, hit.node)[0])
            for word in default.keywords:
                if word.arg in block:
                    kind, value = reader.value(module, word.value)
                    block[word.arg] = dataclasses.replace(block[word.arg], kind=kind, default=value)
            found[arg.arg] = block
            keys[arg.arg] = dataclasses.replace(key, kind="factory", default=None, below=arg.arg)
    return found


def with_base(base: str, part: Part) -> Part:
    """For programs that hand a class of another package to the same parser."""

    def read(reader: Reader) -> Read | None:
        one = part(reader)
        return dataclasses.replace(one, base=one.base or base) if one else None

    return read


def dictionary(path: str, name: str) -> Part:
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
                found.keys[label.value] = untyped(kind, default)
                if isinstance(default, dict) and default:
                    found.blocks[label.value] = {k: untyped("known", v) for k, v in default.items()}
                    found.keys[label.value].below = label.value
        return found

    return read


def untyped(kind: str, default: Any) -> Field:
    return Field(type=(kind_of(default) or "any") + ("?" if default is None else ""), kind=kind, default=default)


def fixed(*names: str) -> Part:
    """Keys that a program beside the package reads; told here because the package's archive does not hold it."""
    return lambda _: Read({name: Field("any?", "computed") for name in names})


def flags(path: str, receiver: str = r".*", unprefixed: str = "", *, spelt: bool = False) -> Part:
    """Arguments of an argparse parser: those that a variable matching `receiver` was given. `unprefixed`: a prefix
    without which the name is taken too. `spelt`: every long option as a command line has it, not where it is put."""

    def read(reader: Reader) -> Read | None:
        module = reader.release.module(path)
        if module is None:
            return None
        found = Read({}, "", [module.path])
        loops = _loops(module.tree) if spelt else {}
        for call in ast.walk(module.tree):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "add_argument"
                and re.fullmatch(receiver, dotted_name(call.func.value))
            ):
                name, key = _flag(reader, module, call)
                for option in _options(call, loops) if spelt else ():
                    found.keys.setdefault(option, key)
                if name and not spelt:
                    found.keys.setdefault(name, key)
                    if unprefixed and name.startswith(unprefixed):
                        found.keys.setdefault(name.removeprefix(unprefixed), key)
        return found if found.keys else None

    return read


def _loops(tree: ast.Module) -> dict[str, list[str]]:
    """`for prefix in ("actor", "critic")`: the texts that a name runs over."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and isinstance(node.iter, (ast.Tuple, ast.List))
        ):
            texts = [one.value for one in node.iter.elts if isinstance(one, ast.Constant)]
            found[node.target.id] = [text for text in texts if isinstance(text, str)]
    return found


def _options(call: ast.Call, loops: dict[str, list[str]]) -> list[str]:
    """The long options of an `add_argument`, in loops those of each round."""
    found: list[str] = []
    for argument in call.args:
        texts = [""]
        for part in argument.values if isinstance(argument, ast.JoinedStr) else [argument]:
            ends: list[str] = []
            if isinstance(part, ast.Constant):
                ends = [str(part.value)]
            elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                ends = loops.get(part.value.id, [])
            texts = [text + end for text in texts for end in ends]
        found += [text[2:] for text in texts if text.startswith("--")]
    return found


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
        key.type = SIMPLE.get(dotted_name(words["type"]).rsplit(".", 1)[-1], "any")
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


def subscripts(path: str, variable: str, unprefixed: str = "") -> Part:
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
            if isinstance(target, ast.Subscript) and dotted_name(target.value) == variable:
                text, start = target.slice, ""
                if isinstance(text, ast.BinOp) and dotted_name(text.left) == "prefix":
                    text, start = text.right, prefix
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    name = start + text.value
                    for one in {name, name.removeprefix(unprefixed) if unprefixed else name}:
                        found.keys.setdefault(one, Field(type="any?", kind="computed"))
        return found if found.keys else None

    return read


def first_of(*parts: Part) -> Part:
    def read(reader: Reader) -> Read | None:
        return next((one for part in parts if (one := part(reader)) is not None), None)

    return read


def union(*parts: Part) -> Part:
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


def written(folder: str, block: str = "") -> Part:
    """The keys that the YAML files below a folder write in a block (`a.b`), whatever their values."""

    def read(reader: Reader) -> Read | None:
        found = Read({})
        for path in sorted(reader.release.paths()):
            if not path.startswith(folder) or not path.endswith((".yaml", ".yml")):
                continue
            content = yaml.safe_load(reader.release.text(path) or "")
            for part in filter(None, block.split(".")):
                content = content.get(part) if isinstance(content, dict) else None
            if isinstance(content, dict):
                found.files.append(path)
                for key in content:
                    found.keys.setdefault(str(key), Field(type="any?", kind="computed"))
        found.files = found.files[:1] and [folder]
        return found if found.keys else None

    return read


def every_class(pattern: str, name: str) -> Part:
    """The union of every model whose path and class name match."""

    def read(reader: Reader) -> Read | None:
        found = Read({})
        for path in sorted(reader.release.paths()):
            if re.fullmatch(pattern, path):
                module = reader.release.module(path[:-3].replace("/", "."))
                for node in module.classes.values() if module else ():
                    if module and re.fullmatch(name, node.name) and reader.is_model(module, node):
                        one = class_keys(reader, module, node)
                        for key, value in one.keys.items():
                            found.keys.setdefault(key, value)
                        found.files.extend(f for f in one.files if f not in found.files)
        return found if found.keys else None

    return read
