"""Datasets: where rows come from and what is done to them, for `datasets`, pandas and lists of rows.

Facts (datasets 5.2.0): `select` beyond the end raises (`arrow_dataset.py`); a slice of a split is cut at its end, and a
percentage is round(percent * rows / 100) (`arrow_reader.py`); `train_test_split` without sizes takes a quarter.
"""

from __future__ import annotations

import ast

from epochlint.documents.document import Entry, Mapping, Node, Scalar
from epochlint.documents.python.batched import keeps_rows
from epochlint.documents.python.lengths import by_places, count_of, cut
from epochlint.documents.python.model import DatasetNode, Operation, Unknown
from epochlint.documents.python.values import (
    Contents,
    File,
    Function,
    Items,
    Partial,
    Range,
    derived,
    elements,
    number_of,
    text_of,
    truth,
    with_operations,
)
from epochlint.splits import parts as split_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.documents.python.values import Site
    from epochlint.source import Span

# The builders of `load_dataset` that read the files they are given.
_BUILDERS = frozenset(
    ("json", "csv", "text", "parquet", "arrow", "pandas", "xml", "webdataset", "imagefolder", "audiofolder")
)
# The arguments of `load_dataset` by which the builders read the same rows of the same files.
_SAME_READING = frozenset(
    (
        "path", "name", "data_dir", "data_files", "split", "cache_dir", "features", "download_config", "download_mode",
        "verification_mode", "ignore_verifications", "keep_in_memory", "save_infos", "revision", "token",
        "use_auth_token", "task", "streaming", "num_proc", "storage_options", "trust_remote_code", "columns",
        "path_or_paths",
    )
)  # fmt: skip

# Methods that leave the number of rows as it is.
_SAME_ROWS = frozenset(
    (
        "rename_column", "rename_columns", "remove_columns", "select_columns", "cast", "cast_column", "with_format",
        "with_transform", "add_column", "sort", "flatten", "class_encode_column", "align_labels_with_mapping",
        "flatten_indices", "to_iterable_dataset", "reset_index", "rename", "astype", "fillna", "to_pandas", "to_list",
        "copy", "sort_values", "assign", "formatted_as", "to_dict", "add_faiss_index", "prepare_for_task", "insert",
        "strip", "apply", "replace",
    )
)  # fmt: skip
# Those of them that leave alone what the rows hold, too.
_SAME_CONTENT = frozenset(
    ("sort", "flatten_indices", "to_list", "copy", "reset_index", "sort_values", "add_faiss_index")
)
# Methods that change the object in place and return nothing.
_IN_PLACE = frozenset(
    ("set_format", "set_transform", "reset_format", "save_to_disk", "push_to_hub", "cleanup_cache_files")
)
_GROWING = frozenset(("append", "extend", "insert", "pop", "remove", "clear"))
_FILTERS = frozenset(("filter", "dropna", "drop_duplicates", "query", "drop", "unique", "loc"))


def changed(dataset: DatasetNode, operation: Operation | None = None, **changes: object) -> DatasetNode:
    operations = (*dataset.operations, operation) if operation is not None else dataset.operations
    return with_operations(dataset, operations, **changes)


def rewritten(dataset: DatasetNode) -> DatasetNode:
    """The same rows with other content."""
    return with_operations(dataset, dataset.operations, rewritten=True)


def change(it: Interpreter, dataset: DatasetNode, kind: str, span: Span) -> None:
    """A change in place: `rows.append(...)`, `frame.dropna(inplace=True)`."""
    if it.strength(it.outermost()) != "none":
        dataset.operations = (*dataset.operations, Operation(kind, None, span))


def set_split(it: Interpreter, dataset: DatasetNode, key: Node, value: Node) -> None:
    """`data["train"] = ...`."""
    strength = it.strength(it.outermost())
    name = text_of(key)
    if dataset.form not in ("splits", "halves") or strength == "none":
        return
    if name is None:
        change(it, dataset, "unknown", key.span)
    else:
        dataset.replaced[name] = value if strength == "strong" else Unknown(value.span, "it is set under a condition")


# --- Sources ----------------------------------------------------------------------------------------------------------


def _load_dataset(it: Interpreter, site: Site, origin: str) -> Node | None:
    root = origin.partition(".")[0]
    if root in ("", "builtins") or origin.startswith("."):
        return None
    it.record(site, "load_dataset", origin)
    path, subset = text_of(site.get("path", 0)), text_of(site.get("name", 1))
    split, streaming = site.get("split", 5), site.get("streaming")
    files = site.get("data_files", 3)
    stream = streaming is not None and truth(streaming) is not False
    field = text_of(site.get("field")) if path == "json" else None
    node = DatasetNode(site.whole, field=field, subset=subset, streaming=stream, form="splits", loaded=True)
    folder = site.get("data_dir", 2)
    place = text_of(folder) if folder is not None and not _is_nothing(folder) else ""
    if path in _BUILDERS and files is not None:
        _take_files(it, node, files, place)
    elif path in _BUILDERS and place:
        node.files = (place,)
    elif path is not None:
        node.hub = path
        if files is not None:
            _take_files(it, node, files, path)
        if place != "":
            node.operations = (Operation("unknown", None, site.span),)
    if site.open_ended or not all(_same_reading(entry, node) for entry in site.keywords):
        node.operations = (Operation("unknown", None, site.span),)
    if split is None or (isinstance(split, Scalar) and split.value is None):
        return node
    return take_split(it, node, split, site.whole)


def _same_reading(entry: Entry, node: DatasetNode) -> bool:
    if entry.key in ("sep", "delimiter"):
        return all(_separated_by(path, text_of(entry.value)) for path in node.files or ())
    if entry.key == "field":
        return node.field is not None or _is_nothing(entry.value)
    return entry.key in _SAME_READING


def _take_files(it: Interpreter, node: DatasetNode, files: Node, folder: str | None) -> None:
    """The data files that are written, which lie in a folder (None: in one that is not known)."""

    def paths(value: Node) -> tuple[str, ...] | None:
        written = _paths(value)
        if written is None or folder is None:
            return None
        return tuple(f"{folder}/{path}" if folder and not path.startswith("/") else path for path in written)

    listed = paths(files)
    if listed is not None:
        node.files = listed
        node.members = {
            "train": DatasetNode(
                files.span, files=listed, field=node.field, split="train", streaming=node.streaming, loaded=True
            )
        }
    elif isinstance(files, Mapping):
        node.members = {}
        for key, entry in files.last.items():
            node.members[key] = DatasetNode(
                entry.value.span,
                files=paths(entry.value),
                field=node.field,
                split=key,
                streaming=node.streaming,
                loaded=True,
            )
        every = [member.files for member in node.members.values()]
        if not files.open_ended and all(part is not None for part in every):
            node.files = tuple(path for part in every for path in part or ())
    else:
        node.members = {}


def _paths(value: Node) -> tuple[str, ...] | None:
    text = text_of(value)
    if text is not None:
        return (text,)
    items = elements(value)
    if items is None:
        return None
    texts = [text_of(item) for item in items]
    return tuple(text for text in texts if text is not None) if all(text is not None for text in texts) else None


def take_split(it: Interpreter, node: DatasetNode, split: Node, span: Span) -> Node:
    """`split="train[:100]"`, `"train+test"`, or `dataset["train"]`."""
    text = text_of(split)
    if text is None:
        items = elements(split)
        if items is not None:
            return Items(span, [take_split(it, node, item, span) for item in items], it.guard)
        return DatasetNode(span, streaming=node.streaming)
    parts = split_parts(text)
    if parts is None:
        return changed(_member(node, text.partition("[")[0], split.span), Operation("unknown", None, split.span))
    chosen = []
    for part in parts:
        member = _member(node, part.name, split.span)
        if not part.whole:
            kind = "select" if part.first in (None, 0) and isinstance(part.last, int) and part.last >= 0 else "slice"
            amount = part.last if kind == "select" else None
            bounds = (None, None) if kind == "select" else (part.first, part.last)
            member = changed(member, Operation(kind, amount, split.span, *bounds))
        chosen.append(member)
    return chosen[0] if len(chosen) == 1 else DatasetNode(span, parts=tuple(chosen))


def _member(node: DatasetNode, name: str, span: Span) -> DatasetNode:
    member = node.members.get(name) if node.members is not None else None
    if member is not None:
        either = member.rewritten or node.rewritten
        return with_operations(member, (*member.operations, *node.operations), rewritten=either)
    # Files given without split names are all "train"; a Hub name, or files that are not known, may hold anything.
    unseen = node.members is not None and node.hub is None
    files = None if node.members is not None else node.files
    return DatasetNode(
        node.span,
        files=files,
        field=node.field,
        hub=node.hub if not unseen else None,
        subset=node.subset,
        split=name,
        streaming=node.streaming,
        operations=node.operations,
        rewritten=node.rewritten,
        loaded=node.loaded,
    )


def _from_disk(it: Interpreter, site: Site, origin: str) -> Node | None:
    it.record(site, "load_from_disk", origin)
    path = text_of(site.get("dataset_path", 0))
    return DatasetNode(site.whole, files=(path,) if path is not None else None, form="splits")


def _from_rows(it: Interpreter, site: Site, origin: str) -> Node | None:
    """Dataset.from_list, Dataset.from_pandas."""
    value = site.positional[0] if site.positional else site.keywords[0].value if site.keywords else None
    rows = as_dataset(it, value, site.whole) if value is not None else None
    return rows or DatasetNode(site.whole)


def as_dataset(it: Interpreter, value: Node, span: Span) -> DatasetNode | None:
    """Rows in whatever form: a list, a table, what a file holds."""
    if isinstance(value, DatasetNode):
        return with_operations(value, value.operations, form="dataset")
    if isinstance(value, Contents):
        path = text_of(value.path)
        operations = (Operation("unknown", None, span),) if value.changed else ()
        return DatasetNode(span, files=(path,) if path is not None else None, operations=operations)
    items = elements(value)
    if items is not None:
        return DatasetNode(span, rows=len(items))
    if isinstance(value, Range):
        return DatasetNode(span, rows=value.count())
    return None


def _from_dict(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    if isinstance(value, Mapping):
        for entry in value.last.values():
            items = elements(entry.value)
            if items is not None:
                return DatasetNode(site.whole, rows=len(items))
            if isinstance(entry.value, DatasetNode):
                return with_operations(entry.value, entry.value.operations, form="dataset")
    return DatasetNode(site.whole)


def _from_file(it: Interpreter, site: Site, origin: str) -> Node | None:
    """Dataset.from_json(path), pandas.read_csv(path)."""
    it.record(site, origin.rpartition(".")[2], origin)
    value = site.positional[0] if site.positional else None
    if value is None and site.keywords:
        value = (
            site.get("path_or_paths") or site.get("filepath_or_buffer") or site.get("path_or_buf") or site.get("path")
        )
    if isinstance(value, (File, Contents)):
        value = value.path
    frame = origin.startswith(("pandas.", "polars."))
    paths = _paths(value) if value is not None else None
    node = DatasetNode(
        site.whole,
        files=paths,
        field=text_of(site.get("field", 5)) if origin.endswith(".from_json") and not frame else None,
        form="frame" if frame else "dataset",
        loaded=not frame,
    )
    if not frame and (site.open_ended or not all(_same_reading(entry, node) for entry in site.keywords)):
        return changed(node, Operation("unknown", None, site.span))
    if frame and not _reads_all(site, paths or ()):
        return changed(node, Operation("unknown", None, site.span))
    if frame and number_of(site.get("nrows")) is not None:
        rows = number_of(site.get("nrows"))
        return changed(node, Operation("select", int(rows or 0), site.span))
    split = site.get("split")
    return changed(node, None, split=text_of(split)) if split is not None and not frame else node


# The arguments of pandas and polars by which the same rows are read of the same file.
_SAME_FRAME = frozenset(
    (
        "filepath_or_buffer", "path_or_buf", "path", "source", "encoding", "encoding_errors", "usecols", "columns",
        "dtype", "index_col", "nrows", "n_rows", "engine", "low_memory", "na_values", "keep_default_na", "na_filter",
        "parse_dates", "converters", "compression", "storage_options", "dtype_backend", "thousands", "decimal",
        "convert_dates", "precise_float", "memory_map", "schema", "schema_overrides", "infer_schema_length",
    )
)  # fmt: skip


def _reads_all(site: Site, paths: tuple[str, ...]) -> bool:
    """Whether a reader of tables is given nothing that changes which lines are its rows."""
    if site.open_ended or len(site.positional) > 1:
        return False
    for entry in site.keywords:
        if entry.key in ("sep", "delimiter"):
            if not all(_separated_by(path, text_of(entry.value)) for path in paths):
                return False
        elif entry.key == "lines":
            if truth(entry.value) is not True:
                return False
        elif entry.key == "orient":
            if text_of(entry.value) != "records":
                return False
        elif entry.key not in _SAME_FRAME:
            return False
    return True


def _separated_by(path: str, separator: str | None) -> bool:
    """Whether the rows of a file are counted with this sign between its fields."""
    return separator == ("\t" if path.endswith(".tsv") else ",")


def _frame(it: Interpreter, site: Site, origin: str) -> Node | None:
    """pandas.DataFrame(rows)."""
    value = site.get("data", 0)
    if isinstance(value, Mapping):
        return _from_dict(it, site, origin)
    rows = as_dataset(it, value, site.whole) if value is not None else None
    return with_operations(rows, rows.operations, form="frame") if rows is not None else DatasetNode(site.whole)


def _dataset_dict(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    members: dict[str, DatasetNode] = {}
    entries = list(value.last.values()) if isinstance(value, Mapping) else []
    for entry in [*entries, *site.keywords]:
        if isinstance(entry.value, DatasetNode):
            members[entry.key] = entry.value
    return DatasetNode(site.whole, form="splits", members=members)


def _concatenate(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.get("dsets", 0)
    if value is None:
        value = site.get("objs", 0) or site.get("datasets", 0)
    items = elements(value) if value is not None else None
    axis = site.get("axis")
    beside = axis is not None and number_of(axis) != 0  # columns are put side by side
    if items is None or beside or site.open_ended:
        return DatasetNode(site.whole)
    return joined(it, items, site.whole)


def _interleave(it: Interpreter, site: Site, origin: str) -> Node | None:
    """interleave_datasets(parts, probabilities=[0.7, 0.3], stopping_strategy="all_exhausted")."""
    value, shares = site.get("datasets", 0), site.get("probabilities", 1)
    items = elements(value) if value is not None else None
    strategy = site.get("stopping_strategy", 5)
    word = text_of(strategy) if strategy is not None else "first_exhausted"
    if items is None or word is None or site.open_ended:
        return DatasetNode(site.whole)
    made = joined(it, items, site.whole)
    listed: tuple[float, ...] | None = None
    if shares is not None and not _is_nothing(shares):
        numbers = [number_of(item) for item in elements(shares) or []]
        listed = tuple(float(number) for number in numbers if number is not None)
        if len(listed) != len(made.parts):  # shares that cannot be read: unknown, not equal
            return changed(made, Operation("unknown", None, site.span))
    return changed(made, None, mixing=(word, listed))


def joined(it: Interpreter, parts: list[Node], span: Span) -> DatasetNode:
    datasets = [part for part in parts if isinstance(part, DatasetNode)]
    if len(datasets) != len(parts):
        return DatasetNode(span)
    streaming = any(part.streaming for part in datasets)
    return DatasetNode(span, parts=tuple(datasets), streaming=streaming)


def _halves(it: Interpreter, site: Site, origin: str) -> Node | None:
    """sklearn's train_test_split(rows, test_size=0.1)."""
    it.record(site, "train_test_split", origin)
    results: list[Node] = []
    for value in site.positional:
        dataset = as_dataset(it, value, site.whole)
        for side in ("train", "test"):
            if dataset is None:
                results.append(Unknown(site.whole, "a part of something that is not known"))
            else:
                results.append(changed(dataset, _split_operation(it, site, side, 0.25, sizes=(None, None))))
    return Items(site.whole, results, it.guard)


def _packed(it: Interpreter, site: Site, origin: str) -> Node | None:
    it.record(site, origin.rpartition(".")[2], origin)
    for value in (*site.positional, *(entry.value for entry in site.keywords)):
        if isinstance(value, DatasetNode):
            return changed(value, Operation("pack", None, site.span))
    return DatasetNode(site.whole)


def _subset(it: Interpreter, site: Site, origin: str) -> Node | None:
    """torch.utils.data.Subset(dataset, range(100))."""
    dataset, indices = site.get("dataset", 0), site.get("indices", 1)
    if not isinstance(dataset, DatasetNode):
        return None
    return changed(dataset, _selected(indices, site.span))


def _same_rows(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    return rewritten(value) if isinstance(value, DatasetNode) else None


# --- Methods ----------------------------------------------------------------------------------------------------------


def method(it: Interpreter, dataset: DatasetNode, name: str, site: Site) -> Node | None:
    if dataset.form in ("rows", "frame") and name in _GROWING:
        change(it, dataset, "unknown", site.span)
        return Unknown(site.whole, f"the result of {name}()")
    inplace = site.get("inplace")
    if inplace is not None and truth(inplace) is not False:
        if name not in _SAME_ROWS:
            change(it, dataset, "filter" if name in _FILTERS else "unknown", site.span)
        return Unknown(site.whole, f"{name}() returns nothing")
    if name in _SAME_ROWS:
        if name == "to_iterable_dataset":
            return changed(dataset, None, streaming=True)
        return dataset if name in _SAME_CONTENT else rewritten(dataset)
    if name in _IN_PLACE:
        if name == "set_transform":
            dataset.rewritten = True
        return Unknown(site.whole, f"{name}() returns nothing")
    handler = _METHODS.get(name)
    if handler is not None:
        return handler(it, dataset, site)
    if name == "drop" and (site.get("columns") is not None or number_of(site.get("axis")) == 1):
        return dataset
    if name in _FILTERS:
        return changed(dataset, Operation("filter", None, site.span))
    if name in ("items", "keys"):
        return Items(site.whole, [], it.guard, unknown=True)
    return Unknown(site.whole, f"the result of {name}()")


def _map(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    batched = site.get("batched")
    if batched is None or truth(batched) is False:
        return changed(dataset, Operation("unknown", None, site.span)) if site.open_ended else rewritten(dataset)
    function = site.get("function", 0)
    while isinstance(function, Partial):
        function = function.callee
    if isinstance(function, Function) and keeps_rows(function.node):
        return rewritten(dataset)
    return changed(dataset, Operation("map", None, site.span))


def _filter(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    return changed(dataset, Operation("filter", None, site.span))


def _select(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    indices = site.get("indices", 0)
    return changed(dataset, by_places(dataset, indices, site.span) or _selected(indices, site.span))


def _selected(indices: Node | None, span: Span) -> Operation:
    if isinstance(indices, Range):
        if indices.start == 0 and indices.step == 1:
            return Operation("select", indices.count(), span, 0, indices.stop)
        return Operation("select", indices.count(), span, indices.start, indices.stop)
    items = elements(indices) if indices is not None else None
    if items is not None:
        return Operation("select", len(items), span)
    return Operation("unknown", None, span)


def _shard(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    count, index = number_of(site.get("num_shards", 0)), number_of(site.get("index", 1))
    if not isinstance(count, int) or not isinstance(index, int) or not 0 <= index < count:
        return changed(dataset, Operation("unknown", None, site.span))
    return changed(dataset, Operation("shard", count, site.span, index))


def _take(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    amount = number_of(site.get("n", 0))
    if amount is None and site.name in ("head", "tail") and not site.positional:
        amount = 5
    if amount is None or amount < 0:
        return changed(dataset, Operation("unknown", None, site.span))
    return changed(dataset, Operation("select", int(amount), site.span))


def _skip(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    amount = number_of(site.get("n", 0))
    operation = Operation("unknown", None, site.span) if amount is None else None
    return changed(dataset, operation or Operation("slice", None, site.span, int(amount or 0), None))


def _sample(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    amount, share = number_of(site.get("n", 0)), number_of(site.get("frac"))
    if share is not None and amount is None:
        return changed(dataset, Operation("sample", float(share), site.span) if share != 1 else None)
    return changed(dataset, Operation("sample", int(amount) if amount is not None else None, site.span))


def _shuffle(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    return changed(dataset, Operation("shuffle", None, site.span))


def _repeat(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    times = number_of(site.get("num_times", 0))
    operation = (
        Operation("repeat", int(times), site.span) if times is not None else Operation("unknown", None, site.span)
    )
    return changed(dataset, operation)


def _split(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    """dataset.train_test_split(...): both halves, taken apart by indexing."""
    members = {
        side: changed(dataset, _split_operation(it, site, side, 0.25, sizes=(0, 1)), split=dataset.split)
        for side in ("train", "test")
    }
    return DatasetNode(site.whole, form="halves", members=members, streaming=dataset.streaming)


def _split_operation(
    it: Interpreter, site: Site, side: str, default: float, sizes: tuple[int | None, int | None]
) -> Operation:
    test, train = site.get("test_size", sizes[0]), site.get("train_size", sizes[1])
    test_size, train_size = number_of(test), number_of(train)
    written = [value for value in (test, train) if value is not None and not _is_nothing(value)]
    if not written and not site.open_ended:
        test_size = default
    return Operation(f"split-{side}", test_size, site.span, None, train_size)


def _is_nothing(value: Node) -> bool:
    return isinstance(value, Scalar) and value.value is None


def _values(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    if dataset.members:
        return Items(site.whole, list(dataset.members.values()), it.guard)
    return Items(site.whole, [], it.guard, unknown=True)


def _unknown(it: Interpreter, dataset: DatasetNode, site: Site) -> Node:
    return changed(dataset, Operation("unknown", None, site.span))


_METHODS: dict[str, Callable[[Interpreter, DatasetNode, Site], Node]] = {
    "map": _map,
    "filter": _filter,
    "select": _select,
    "take": _take,
    "head": _take,
    "limit": _take,
    "skip": _skip,
    "sample": _sample,
    "shuffle": _shuffle,
    "repeat": _repeat,
    "train_test_split": _split,
    "values": _values,
    "shard": _shard,
    "batch": _unknown,
    "tail": _take,
    "explode": _unknown,
    "groupby": _unknown,
    "merge": _unknown,
}


def indexed(it: Interpreter, dataset: DatasetNode, key: Node, span: Span) -> Node:
    """`dataset["train"]`, `rows[0]`, `frame[mask]`."""
    text = text_of(key)
    if dataset.form in ("splits", "halves"):
        if text is None:
            return DatasetNode(span, streaming=dataset.streaming)
        if text in dataset.replaced:
            return dataset.replaced[text]
        if dataset.form == "halves":
            member = dataset.members.get(text) if dataset.members is not None else None
            if member is None:
                return Unknown(span, f"there is no {text!r} in a split")
            either = member.rewritten or dataset.rewritten
            return with_operations(member, (*member.operations, *dataset.operations), rewritten=either)
        return take_split(it, dataset, key, span)
    if dataset.form == "frame":
        # A column, a list of columns, or a condition on the rows.
        items = elements(key)
        if text is not None or (items is not None and all(text_of(item) is not None for item in items)):
            return dataset
        return changed(dataset, Operation("filter", None, span))
    if dataset.form == "rows" and text is not None:
        return changed(DatasetNode(span), Operation("unknown", None, span))
    return Unknown(span, "a row or a column of the data")


def sliced(
    it: Interpreter,
    value: DatasetNode | Contents,
    bounds: list[int | None] | None,
    span: Span,
    written: Sequence[Node | None] = (),
) -> Node:
    """`rows[:100]` of a list or a frame."""
    dataset = as_dataset(it, value, span)
    if dataset is None:
        return Unknown(span, "a part of something that is not known")
    form = value.form if isinstance(value, DatasetNode) else "rows"
    dataset = with_operations(dataset, dataset.operations, form=form)
    by_rows = cut(dataset, written, span) if bounds is None else None
    if by_rows is not None:
        return changed(dataset, by_rows)
    if bounds is None or bounds[2] not in (None, 1):
        return changed(dataset, Operation("unknown", None, span))
    start, stop = bounds[0], bounds[1]
    if start in (None, 0) and isinstance(stop, int) and stop >= 0:
        return changed(dataset, Operation("select", stop, span))
    if start is None and stop is None:
        return dataset
    first = start if isinstance(start, int) else None
    last = stop if isinstance(stop, int) else None
    return changed(dataset, Operation("slice", None, span, first, last))


def unpacked(value: DatasetNode, count: int) -> list[Node] | None:
    return list(value.members.values()) if value.form == "halves" and value.members and count == 2 else None


def length(it: Interpreter, dataset: DatasetNode, span: Span) -> Node:
    if dataset.rows is not None and not dataset.operations:
        return derived(span, dataset.rows)
    return count_of(span, frozenset(("len",)), dataset)


# --- Rows read in a loop ----------------------------------------------------------------------------------------------


def rows_of(it: Interpreter, iterable: Node) -> DatasetNode | None:
    """What a loop over an opened file, its lines or a list of rows goes through."""
    if isinstance(iterable, DatasetNode):
        return with_operations(iterable, iterable.operations, form="rows")
    if isinstance(iterable, (File, Contents)):
        path = text_of(iterable.path)
        operations: tuple[Operation, ...] = ()
        if isinstance(iterable, Contents) and iterable.changed:
            operations = (Operation("unknown", None, iterable.span),)
        files = (path,) if path is not None else None
        return DatasetNode(iterable.span, files=files, form="rows", operations=operations)
    return None


def comprehended(it: Interpreter, rows: DatasetNode, tests: list[ast.expr], span: Span) -> DatasetNode:
    """`[json.loads(line) for line in handle if line.strip()]`."""
    if all(_is_blank_test(test) for test in tests):
        return rows
    return changed(rows, Operation("filter", None, span))


def _is_blank_test(test: ast.expr) -> bool:
    """`line`, `line.strip()`, `not line.strip()`, `len(line.strip()) > 0`: blank lines are no records anyway."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "strip":
        test = test.func.value
    return isinstance(test, ast.Name)


def collect_rows(it: Interpreter, loop: ast.For | ast.AsyncFor, rows: DatasetNode, before: dict[str, Node]) -> None:
    """After a loop over rows: a list that got one item a pass holds as many rows."""
    filtered = False
    found: dict[str, tuple[int, bool]] = {}
    for statement in loop.body:
        if isinstance(statement, ast.If) and not statement.orelse:
            blank = _is_blank_test(statement.test)
            if _only_continues(statement.body):
                filtered = filtered or not blank
                continue
            for inner in statement.body:
                _note_append(inner, found, filtered or not blank)
            if _leaves(statement):
                filtered = True
            continue
        if isinstance(statement, ast.Try):
            for inner in statement.body:
                _note_append(inner, found, True)
            filtered = True
            continue
        _note_append(statement, found, filtered)
        if _leaves(statement):
            # `if len(rows) == 100: break` and nested loops: how many rows there are is not known.
            filtered = True
    for name, (places, some) in found.items():
        held = before.get(name)
        if isinstance(held, Items) and places == 1 and _is_empty_list(held) and not _mentioned_elsewhere(loop, name):
            operation = Operation("filter", None, rows.span) if some or filtered else None
            it.bind(name, changed(rows, operation))


def _is_empty_list(held: Items) -> bool:
    return held.unknown or not held.items


def _note_append(statement: ast.stmt, found: dict[str, tuple[int, bool]], some: bool) -> None:
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and statement.value.func.attr == "append"
        and isinstance(statement.value.func.value, ast.Name)
    ):
        name = statement.value.func.value.id
        places, earlier = found.get(name, (0, False))
        found[name] = (places + 1, earlier or some)


def _only_continues(body: list[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Continue)


def _leaves(statement: ast.stmt) -> bool:
    return any(isinstance(part, (ast.Break, ast.Return, ast.Continue)) for part in ast.walk(statement))


def _mentioned_elsewhere(loop: ast.For | ast.AsyncFor, name: str) -> bool:
    """Whether the loop does anything else with the list than append to it once, and ask for its length."""
    mentions = sum(1 for part in ast.walk(loop) if isinstance(part, ast.Name) and part.id == name)
    return mentions > 1


_FROM_FILE = ("from_json", "from_csv", "from_parquet", "from_text")

HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    "datasets.Dataset.from_list": _from_rows,
    "datasets.Dataset.from_pandas": _from_rows,
    "datasets.Dataset.from_polars": _from_rows,
    "datasets.Dataset.from_dict": _from_dict,
    **{f"datasets.Dataset.{name}": _from_file for name in _FROM_FILE},
    "datasets.Dataset.load_from_disk": _from_disk,
    "datasets.DatasetDict.load_from_disk": _from_disk,
    "datasets.load_from_disk": _from_disk,
    "datasets.DatasetDict": _dataset_dict,
    "datasets.dataset_dict.DatasetDict": _dataset_dict,
    "datasets.concatenate_datasets": _concatenate,
    "datasets.interleave_datasets": _interleave,
    "torch.utils.data.ConcatDataset": _concatenate,
    "torch.utils.data.Subset": _subset,
    "pandas.concat": _concatenate,
    "pandas.DataFrame": _frame,
    **{f"pandas.{name}": _from_file for name in ("read_json", "read_csv", "read_parquet", "read_excel", "read_pickle")},
    "polars.read_csv": _from_file,
    "polars.read_ndjson": _from_file,
    "sklearn.model_selection.train_test_split": _halves,
    "trl.pack_dataset": _packed,
    "trl.data_utils.pack_dataset": _packed,
    "trl.trainer.ConstantLengthDataset": _packed,
    "trl.trainer.utils.ConstantLengthDataset": _packed,
    "trl.extras.dataset_formatting.ConstantLengthDataset": _packed,
}
BY_NAME: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {"load_dataset": _load_dataset}
# These map over the rows one to one (unsloth_zoo 2026.10.9, dataset_utils.py).
HANDLERS.update(
    {f"unsloth.chat_templates.{name}": _same_rows for name in ("standardize_sharegpt", "standardize_data_formats")}
)
