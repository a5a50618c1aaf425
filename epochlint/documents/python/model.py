"""What reading a Python training script gives: its calls, parsers and config files, and the values of their arguments.

Values are the nodes of `documents.document`, plus the few here that only a program has: the result of another call
(`Reference`), what a parser returns (`Parsed`), a dataset (`DatasetNode`), a value that is one of several (`Choice`).
"""

from __future__ import annotations

from epochlint.documents.document import Document, Mapping, Node, Scalar, Unresolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Entry, Problem
    from epochlint.source import Excerpt, Source, Span


class Derived(Scalar):
    """A value that the program works out rather than writes.

    `names` are the variables, fields and keys that were read to compute it. `default` says that it rests on a default
    that a launch, the environment or a caller can replace (an argparse default, `os.environ.get("X", "1")`).
    """

    __slots__ = ("default", "names")

    def __init__(
        self,
        span: Span,
        raw: str,
        value: object,
        plain: bool = False,
        *,
        names: frozenset[str] = frozenset(),
        default: bool = False,
    ) -> None:
        super().__init__(span, raw, value, plain)
        self.names = names
        self.default = default


class Unknown(Unresolved):
    """A value that cannot be known without running the program; `names` as in `Derived`."""

    __slots__ = ("names",)

    def __init__(self, span: Span, reason: str, names: frozenset[str] = frozenset()) -> None:
        super().__init__(span, reason)
        self.names = names


class Choice(Unknown):
    """One of several values, depending on a condition that cannot be known.

    With a single option the other possibility is that it is not given at all: `if new: kwargs["eval_steps"] = 10`.
    """

    __slots__ = ("options",)

    def __init__(self, span: Span, reason: str, options: tuple[Node, ...], names: frozenset[str] = frozenset()) -> None:
        super().__init__(span, reason, names)
        self.options = options


class Symbol(Unresolved):
    """A function, class or constant passed by name: `compute_metrics`, `torch.bfloat16`.

    `origin` is dotted through the imports; a name defined in the file stands alone.
    """

    __slots__ = ("origin",)

    def __init__(self, span: Span, origin: str) -> None:
        super().__init__(span, origin)
        self.origin = origin

    def __repr__(self) -> str:
        return f"Symbol({self.origin!r})"


class Call:
    """One place where the program calls something.

    A place that is passed several times (a helper called twice, a loop) is one call; arguments that differ between
    the passes are unresolved.

    `name`: the last part of the callee's name; for an instance of a class that is defined in the file and derives from
    an imported one, the imported class's (`class Mine(TrainingArguments)` gives "TrainingArguments").
    `callee`: the callee as written ("client.fine_tuning.jobs.create", "Mine").
    `origin`: dotted, through the imports: "trl.SFTConfig"; a method of an imported call's result continues that call's
    origin: "openai.OpenAI.fine_tuning.jobs.create". Empty where it cannot be told.
    `local`: the name is defined in the file itself and hides any import of that name; `origin` is empty then.
    `arguments`: keywords as written, positional ones under "0", "1", ...; `open_ended` where some cannot be seen.
    Attributes set later on the result (`args.learning_rate = 1e-4`) are in it, too.
    `receiver`: the call whose result this is a method of (`trainer.train()`).
    `target`: the variable or attribute that the result is assigned to.
    `guarded`: it stands in a branch or an exception handler that may not run.
    `function`: the name of the enclosing function, empty at the top.
    `methods`: the methods that a local subclass defines, so whose behaviour is not the imported class's.
    """

    __slots__ = (
        "arguments",
        "callee",
        "function",
        "guarded",
        "local",
        "methods",
        "name",
        "origin",
        "receiver",
        "span",
        "target",
    )

    def __init__(
        self,
        name: str,
        origin: str,
        arguments: Mapping,
        span: Span,
        *,
        callee: str = "",
        target: str | None = None,
        guarded: bool = False,
        function: str = "",
        local: bool = False,
        receiver: Call | None = None,
        methods: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.origin = origin
        self.arguments = arguments
        self.span = span
        self.callee = callee or name
        self.target = target
        self.guarded = guarded
        self.function = function
        self.local = local
        self.receiver = receiver
        self.methods = methods

    def argument(self, keyword: str, position: int | None = None) -> Node | None:
        """The value passed under a keyword or, failing that, at a 0-based position."""
        node = self.arguments.get(keyword)
        if node is None and position is not None:
            node = self.arguments.get(str(position))
        return node

    def entry(self, keyword: str, position: int | None = None) -> Entry | None:
        """As `argument`, with the keyword's span."""
        found = self.arguments.entry(keyword)
        if found is None and position is not None:
            found = self.arguments.entry(str(position))
        return found

    def __repr__(self) -> str:
        return f"Call({self.origin or self.callee!r}, {self.arguments!r})"


class Reference(Node):
    """A value that is the result of a recorded call, or with `attribute` ("id", "a.b") something read from it."""

    __slots__ = ("attribute", "call")

    def __init__(self, span: Span, call: Call, attribute: str = "") -> None:
        super().__init__(span)
        self.call = call
        self.attribute = attribute

    def __repr__(self) -> str:
        return f"Reference({self.call.callee}{'.' if self.attribute else ''}{self.attribute})"


class Operation:
    """What a program does to a dataset.

    | kind | amount | |
    | --- | --- | --- |
    | "select" | rows kept (int) | `.select(range(n))`, `.take(n)`, `.head(n)`; at most as many as there are |
    | "slice" | None | `split="train[10%:20%]"`, `.skip(n)`, `rows[5:]`: `start` and `stop`, rows (int) or shares (float, whole percents / 100) |
    | "sample" | rows (int) or share (float) | a random part |
    | "split-train", "split-test" | `test_size` (int or float; None: not known) | the parts of `train_test_split`; `stop` is `train_size` where written |
    | "repeat" | times (int) | |
    | "shard" | number of parts (int) | one of them: `start` says which |
    | "shuffle" | None | |
    | "filter" | None | an unknown number of rows goes |
    | "map" | None | a batched map whose function may change the number of rows (a plain map is left out) |
    | "pack" | None | several rows become one |
    | "places" | None | `.select(range(len(data) // 2))`, `rows[: int(0.9 * len(rows))]`: `of` says how many |
    | "unknown" | None | the number of rows afterwards is not known |
    """  # noqa: E501

    __slots__ = ("amount", "kind", "of", "span", "start", "stop")

    def __init__(
        self,
        kind: str,
        amount: int | float | None,
        span: Span,
        start: int | float | None = None,
        stop: int | float | None = None,
        of: Callable[[int], int | None] | None = None,
    ) -> None:
        self.kind = kind
        self.of = of
        self.amount = amount
        self.span = span
        self.start = start
        self.stop = stop

    def same(self, other: Operation) -> bool:
        return (self.kind, self.amount, self.start, self.stop) == (other.kind, other.amount, other.start, other.stop)

    def __repr__(self) -> str:
        return f"Operation({self.kind!r}, {self.amount!r})"


class DatasetNode(Node):
    """A dataset: where its rows come from, and what is done to them afterwards, in order.

    `files`: paths or patterns of data files as written; `hub`: a name on the Hugging Face Hub (or a folder) with its
    `subset` and `split`; `rows`: the number of rows where the program writes them itself; `parts`: the datasets that
    it is the concatenation of. All None or empty: the source is not known.
    `split` is None where no single split has been taken (a DatasetDict; `members` then holds what is known of it).
    `mixing`: how the parts are put together where not one after the other, as (strategy, shares) of
    `interleave_datasets`. `loaded`: `datasets` reads the files itself; `field`: the key of a JSON file's object under
    which it looks for the rows.
    `rewritten`: the rows stay as many, and hold something else than the files (a plain map, a renamed column).
    """

    __slots__ = (
        "field",
        "files",
        "form",
        "hub",
        "loaded",
        "members",
        "mixing",
        "operations",
        "parts",
        "replaced",
        "rewritten",
        "rows",
        "split",
        "streaming",
        "subset",
    )

    def __init__(
        self,
        span: Span,
        *,
        files: tuple[str, ...] | None = None,
        field: str | None = None,
        hub: str | None = None,
        subset: str | None = None,
        split: str | None = None,
        streaming: bool = False,
        operations: tuple[Operation, ...] = (),
        rows: int | None = None,
        parts: tuple[DatasetNode, ...] = (),
        form: str = "dataset",
        members: dict[str, DatasetNode] | None = None,
        rewritten: bool = False,
        loaded: bool = False,
        mixing: tuple[str, tuple[float, ...] | None] | None = None,
    ) -> None:
        super().__init__(span)
        self.mixing = mixing
        self.loaded = loaded
        self.rewritten = rewritten
        self.files = files
        self.field = field
        self.hub = hub
        self.subset = subset
        self.split = split
        self.streaming = streaming
        self.operations = operations
        self.rows = rows
        self.parts = parts
        # "dataset", "splits" (by name), "halves" (train_test_split not yet indexed), "frame" (pandas), "rows" (a list)
        self.form = form
        self.members = members
        # Splits that the program set itself: `data["train"] = data["train"].select(...)`.
        self.replaced: dict[str, Node] = {}

    def __repr__(self) -> str:
        source = self.files or self.hub or self.rows or self.parts or "?"
        return f"DatasetNode({source!r}, {self.split!r}, {list(self.operations)!r})"


class Flag:
    """An option that a program defines for its command line.

    `names`: as on the command line, with dashes; a positional argument's has none. `default`: None where none is
    written. `type`: "int", "float", "str", "bool", a function's name, or "". `action`: "store", "store_true", ...
    """

    __slots__ = ("action", "choices", "constant", "default", "dest", "names", "nargs", "required", "span", "type")

    def __init__(
        self,
        names: tuple[str, ...],
        dest: str,
        span: Span,
        *,
        default: Node | None = None,
        type: str = "",  # noqa: A002
        action: str = "store",
        required: bool = False,
        nargs: str | None = None,
        choices: Node | None = None,
        constant: Node | None = None,
    ) -> None:
        self.names = names
        self.dest = dest
        self.span = span
        self.default = default
        self.type = type
        self.action = action
        self.required = required
        self.nargs = nargs
        self.choices = choices
        self.constant = constant

    def __repr__(self) -> str:
        return f"Flag({self.names!r}, default={self.default!r})"


class Dataclass:
    """A class that a parser fills: an imported one (`origin` "transformers.TrainingArguments"), or one defined in the
    file, with the fields it defines itself (name -> flag) and the imported classes that it derives from."""

    __slots__ = ("bases", "fields", "name", "origin", "span")

    def __init__(
        self, name: str, origin: str, span: Span, fields: dict[str, Flag] | None = None, bases: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.origin = origin
        self.span = span
        self.fields = fields if fields is not None else {}
        self.bases = bases

    def __repr__(self) -> str:
        return f"Dataclass({self.origin or self.name!r})"


class Feed:
    """How a parser gets its values.

    `kind`: "argv" (the launch's flags), "json", "yaml" (a file: `path`), "dict" (`node`), "config" (argv, where
    `--config FILE` or a positional file stands for flags: TrlParser, H4ArgumentParser, jsonargparse).
    """

    __slots__ = ("allow_extra_keys", "kind", "node", "path", "span")

    def __init__(
        self, kind: str, span: Span, path: Node | None = None, node: Node | None = None, allow_extra_keys: bool = False
    ) -> None:
        self.kind = kind
        self.span = span
        self.path = path
        self.node = node
        self.allow_extra_keys = allow_extra_keys

    def __repr__(self) -> str:
        return f"Feed({self.kind!r}, {self.path!r})"


class Parser:
    """A command line (or config file) parser of the program.

    `kind`: "argparse", "fire", "click", "typer", "hydra", "absl", "tyro", "simple_parsing", "jsonargparse", "tap", or
    the class of a dataclass parser: "HfArgumentParser", "TrlParser", "H4ArgumentParser", ...
    `flags`: option name without dashes -> flag. `dataclasses`: in the order in which the parser returns them.
    `feeds`: every way in which it is fed somewhere in the program. `overrides`: fields that the program sets
    afterwards on what was parsed (`training_args.eval_steps = 10`).
    """

    __slots__ = ("dataclasses", "feeds", "flags", "kind", "overrides", "span")

    def __init__(self, kind: str, span: Span) -> None:
        self.kind = kind
        self.span = span
        self.flags: dict[str, Flag] = {}
        self.dataclasses: list[Dataclass] = []
        self.feeds: list[Feed] = []
        self.overrides = Mapping(span, [])

    def __repr__(self) -> str:
        return f"Parser({self.kind!r}, {list(self.flags)!r}, {self.dataclasses!r})"


class Parsed(Node):
    """What a dataclass parser returns: the values of one of its dataclasses (`parser.dataclasses[index]`)."""

    __slots__ = ("index", "parser")

    def __init__(self, span: Span, parser: Parser, index: int) -> None:
        super().__init__(span)
        self.parser = parser
        self.index = index

    @property
    def dataclass(self) -> Dataclass:
        return self.parser.dataclasses[self.index]

    def __repr__(self) -> str:
        return f"Parsed({self.dataclass!r})"


class Load:
    """A config file that the program opens. `via`: "yaml.safe_load", "json.load", "tomllib.load", "OmegaConf.load",
    "ruamel", "hydra", "parse_yaml_file", ... `document`: what was found under that path, None where nothing was."""

    __slots__ = ("document", "path", "span", "via")

    def __init__(self, path: Node, via: str, span: Span, document: Document | None = None) -> None:
        self.path = path
        self.via = via
        self.span = span
        self.document = document

    def __repr__(self) -> str:
        return f"Load({self.path!r}, {self.via!r})"


class Cell:
    """A notebook's cell: `number` counts all cells from 1; `source` is its text, labelled "cell N".

    `kind` is "code", "markdown" or "raw"; `language` is the cell's or the kernel's, empty where neither is named.
    """

    __slots__ = ("kind", "language", "number", "source")

    def __init__(self, number: int, kind: str, source: Excerpt, language: str = "") -> None:
        self.language = language
        self.number = number
        self.kind = kind
        self.source = source


class Output:
    """A number that a notebook's stored output shows.

    `name`: "records", "epochs", "total_steps", "per_device_batch", "accumulation", "effective_batch", "gpus" or
    "global_step". `cell`: the cell's number. `block` counts the reports of a cell: numbers of one run share it.
    """

    __slots__ = ("block", "cell", "name", "span", "value")

    def __init__(self, name: str, value: int | float, cell: int, block: int, span: Span) -> None:
        self.name = name
        self.value = value
        self.cell = cell
        self.block = block
        self.span = span

    def __repr__(self) -> str:
        return f"Output({self.name!r}, {self.value!r}, cell {self.cell})"


class PythonDocument(Document):
    """A script, or a notebook (then `cells`, `commands` and `outputs` may hold something).

    `imports`: local name -> dotted origin. `stars`: the modules of star imports. `environment`: variables that the
    program sets itself (`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`). `commands`: the shell lines of a notebook.
    `files`: what the program writes to files (`json.dump(args, open("train.json", "w"))`, `%%writefile train.yaml`), by
    path: a text, the dumped value, or an `Unknown`. `texts`: the program's own
    text, and those of the project's modules that it imports. `names`: what the names of a module that is itself a
    config hold at its end (key spans where they are assigned last); None where nobody asked.
    """

    __slots__ = (
        "calls",
        "cells",
        "commands",
        "environment",
        "files",
        "imports",
        "loads",
        "names",
        "outputs",
        "parsers",
        "stars",
        "texts",
    )

    def __init__(self, source: Source, syntax: str = "python", problems: list[Problem] | None = None) -> None:
        super().__init__(source, syntax, problems=problems)
        self.calls: list[Call] = []
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.parsers: list[Parser] = []
        self.loads: list[Load] = []
        self.environment = Mapping(source.span(0, 0), [])
        self.cells: list[Cell] = []
        self.commands: list[Excerpt] = []
        self.files: dict[str, Node | Excerpt] = {}
        self.outputs: list[Output] = []
        self.texts: list[str] = [source.text]
        self.names: Mapping | None = None
