"""Whether the function of a batched `map` gives as many rows as it gets.

Only shapes that certainly do are recognised: the batch handed back, a tokenizer's answer for a whole column, columns
built by going through the batch once. Everything else may change the number of rows.
"""

from __future__ import annotations

import ast

# A tokenizer with these makes several rows of a long one.
_SPLITTING = frozenset(("return_overflowing_tokens", "stride"))


def keeps_rows(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """True only where the number of rows certainly stays."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if not parameters:
        return False
    names = [parameter.arg for parameter in parameters if parameter.arg not in ("self", "cls")]
    if not names:
        return False
    if isinstance(function, ast.Lambda):
        return _Shape(names[0]).aligned(function.body)
    shape = _Shape(names[0])
    shape.read(function.body)
    return bool(shape.returned) and all(shape.returned)


class _Shape:
    """Which names hold one item for each row of the batch ("columns"), and which a mapping of such columns."""

    def __init__(self, batch: str) -> None:
        self.batch = batch
        self.columns: set[str] = set()
        self.mappings: set[str] = {batch}
        self.lists: set[str] = set()
        self.returned: list[bool] = []

    def read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Return):
                self.returned.append(statement.value is not None and self.aligned(statement.value))
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self._assign(statement)
            elif isinstance(statement, ast.For):
                self._loop(statement)
            elif isinstance(statement, ast.If):
                self.read(statement.body)
                self.read(statement.orelse)
            elif isinstance(statement, ast.With):
                self.read(statement.body)
            elif not isinstance(statement, (ast.Expr, ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assert)):
                self._lose(statement)

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        value = statement.value
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                if target.value.id in self.mappings and (value is None or not self.column(value)):
                    self.mappings.discard(target.value.id)
            elif isinstance(target, ast.Name) and value is not None:
                self._name(target.id, value)
            elif isinstance(target, (ast.Tuple, ast.List)):
                parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                for index, part in enumerate(target.elts):
                    if isinstance(part, ast.Name):
                        self._forget(part.id)
                        if len(parts) == len(target.elts):
                            self._name(part.id, parts[index])

    def _name(self, name: str, value: ast.expr) -> None:
        is_list = isinstance(value, ast.List) and not value.elts
        is_column, is_mapping = self.column(value), self.aligned(value)
        self._forget(name)
        if is_list:
            self.lists.add(name)
        if is_column:
            self.columns.add(name)
        if is_mapping:
            self.mappings.add(name)

    def _forget(self, name: str) -> None:
        for names in (self.columns, self.mappings, self.lists):
            names.discard(name)

    def _lose(self, statement: ast.stmt) -> None:
        for part in ast.walk(statement):
            if isinstance(part, ast.Name):
                self._forget(part.id)

    def _loop(self, loop: ast.For) -> None:
        """A list that gets one item a pass through the batch becomes a column."""
        appended: dict[str, int] = {}
        for statement in loop.body:
            name = _appended(statement)
            if name is not None:
                appended[name] = appended.get(name, 0) + 1
            elif isinstance(statement, ast.If):
                # One item in either branch is one item.
                both = [[_appended(inner) for inner in branch] for branch in (statement.body, statement.orelse)]
                for inner in {name for branch in both for name in branch if name is not None}:
                    once = all(branch.count(inner) == 1 for branch in both)
                    appended[inner] = appended.get(inner, 0) + (1 if once else 2)
        leaves = any(isinstance(part, (ast.Break, ast.Continue, ast.Return)) for part in ast.walk(loop))
        for name, times in appended.items():
            mentions = sum(1 for part in ast.walk(loop) if isinstance(part, ast.Name) and part.id == name)
            alone = mentions == times or (times == 1 and mentions == 2 and _in_branches(loop, name))
            if name in self.lists and times == 1 and alone and not leaves and self.each_row(loop.iter):
                self._forget(name)
                self.columns.add(name)
            else:
                self._forget(name)

    def each_row(self, node: ast.expr) -> bool:
        """Whether a loop over it goes through the batch once."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "enumerate" and node.args:
                return self.each_row(node.args[0])
            if node.func.id in ("zip", "tqdm", "list"):
                return bool(node.args) and any(self.column(part) for part in node.args)
            if node.func.id == "range" and len(node.args) == 1:
                inner = node.args[0]
                return (
                    isinstance(inner, ast.Call)
                    and isinstance(inner.func, ast.Name)
                    and inner.func.id == "len"
                    and bool(inner.args)
                    and self.column(inner.args[0])
                )
        return self.column(node)

    def column(self, node: ast.expr) -> bool:
        """Whether a value holds one item for each row."""
        if isinstance(node, ast.Name):
            return node.id in self.columns
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Name) and node.value.id in self.mappings and _is_key(node.slice)
        if isinstance(node, ast.ListComp):
            return len(node.generators) == 1 and not node.generators[0].ifs and self.each_row(node.generators[0].iter)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                if node.func.attr == "copy":
                    return self.column(node.func.value)
                if node.func.attr == "get" and isinstance(node.func.value, ast.Name):
                    return node.func.value.id in self.mappings
                # A tokenizer's decoding or templating of a whole column.
                if node.func.attr in ("batch_decode", "apply_chat_template") and node.args:
                    return self.column(node.args[0])
            if isinstance(node.func, ast.Name) and node.func.id == "list" and node.args:
                return self.column(node.args[0])
        return False

    def aligned(self, node: ast.expr) -> bool:
        """Whether a value is a mapping all of whose columns have one item for each row."""
        if isinstance(node, ast.Name):
            return node.id in self.mappings
        if isinstance(node, ast.Dict):
            return bool(node.values) and all(
                (self.column(value) if key is not None else self.aligned(value))
                for key, value in zip(node.keys, node.values, strict=True)
            )
        if isinstance(node, ast.Call):
            return self._tokenized(node)
        return False

    def _tokenized(self, node: ast.Call) -> bool:
        """`tokenizer(batch["text"], truncation=True)`: one row a text."""
        if any(keyword.arg is None or keyword.arg in _SPLITTING for keyword in node.keywords):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr not in (
            "batch_encode_plus",
            "__call__",
            "tokenizer",
        ):
            return False
        first = (
            node.args[0]
            if node.args
            else next((k.value for k in node.keywords if k.arg in ("text", "text_target")), None)
        )
        if first is None or not self.column(first):
            return False
        name = node.func.id if isinstance(node.func, ast.Name) else "tokenizer"
        return name == "dict" or "tok" in name.lower() or "processor" in name.lower()


def _is_key(node: ast.expr) -> bool:
    return not isinstance(node, ast.Slice)


def _appended(statement: ast.stmt) -> str | None:
    """The list of `name.append(...)`."""
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and statement.value.func.attr == "append"
        and isinstance(statement.value.func.value, ast.Name)
    ):
        return statement.value.func.value.id
    return None


def _in_branches(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(statement, ast.If)
        and all(any(_appended(inner) == name for inner in branch) for branch in (statement.body, statement.orelse))
        for statement in loop.body
    )
