"""The run: one planned training run, normalized.

Settings have one vocabulary for all trainers; a trainer that has no such thing leaves it out. Counts are plain
numbers, shares are fractions of one, rates are what the optimizer is given.

| setting | meaning |
|---|---|
| per_device_batch | sequences (records, packs, completions) one worker takes at a time |
| accumulation | micro-batches a worker sums up for one step |
| global_batch | sequences of one step over all workers, where the trainer takes that number |
| gpus | devices that the launch starts on |
| parallel | product of tensor, context, sequence and pipeline parallel sizes: workers = gpus / parallel |
| epochs, max_steps | length as written; -1, null and the trainer's other ways to say "off" are left out |
| rows | rows of the training data, before the trainer's split, cap and drops |
| validation_split | share (< 1) or number of rows held out of the training data |
| validation_rows | rows of validation data of its own |
| drop_last, packing, streaming | booleans |
| deduplicated | True where the trainer itself leaves out records that stand there twice |
| eval_packing | True where the validation data is packed, too |
| packing_joins | True where packing only joins rows and never cuts one: there are at most as many packs as rows |
| packing_drops | True where what does not fill a whole sequence is dropped |
| learning_rate, min_rate, weight_decay, max_grad_norm | numbers |
| rate_multiplier | True where `learning_rate` multiplies a rate that the provider chooses |
| shipped_rate | the highest rate of the recipes that the trainer itself ships for this method |
| scheduler | the schedule's name in transformers' words where it has one |
| warmup_steps, warmup_ratio | as written |
| shortest_counts | True where the trainer asks for epochs and steps, and the smaller number ends the run |
| always_warmed | True where a service or an optimizer warms up whatever the schedule is |
| schedule_steps | length of the decay, where it is written by hand |
| eval_strategy, save_strategy, logging_strategy | "no", "steps", "epoch", "best" |
| eval_steps, save_steps, logging_steps | steps, or a share of the run below 1 |
| validation | True where validation data is there, False where certainly none is |
| load_best, metric_for_best, early_stopping_patience, save_total_limit | |
| saved_by_script | True where a script saves the model by a call of its own |
| method, tuning | words of DESIGN: sft, dpo, ...; full, lora, qlora, prefix, ... |
| beta, num_generations, loss_type | preference and reinforcement tuning |
| steps_per_generation, generation_batch_size | micro-batches, or completions over all workers, of a generation |
| half_precision | "fp16", "bf16", "no" |
| lora_rank, optimizer, model, sequence_length | |
| billed_by_token | True where a service charges the tokens of every pass |
| language_model | False where the run is certainly no language model's |
| encoder | True where a model is trained that writes no text: classes, tags, masked words |
| sampled | rows that somebody took out of the data on purpose, by a number that stands with the data's name |
| batch_unknown | True where steps cannot come of rows: token batches, a batch found by trial |
| auto_batch | True where the batch is searched for until it fits into memory |
| stop_epochs | passes after which the run stops while its schedule goes on (ms-swift's max_epochs) |
| sample_cap | at most so many rows (of each source) are used |
| declared_records | a number of records that somebody declared and a count has overruled |
| least_records, most_records | lines that a provider accepts |
| resume_step | of the checkpoint that is resumed |
"""

from __future__ import annotations

from epochlint.run.known import UNKNOWN, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.documents.document import Mapping
    from epochlint.run.counting import Counting
    from epochlint.run.observation import Observation
    from epochlint.run.rows import Mix, Step
    from epochlint.run.versions import VersionRange, Versions
    from epochlint.source import Source, Span


class Era:
    """A stretch of versions over which the trainer counts in one way.

    `label` is what a message says ("<= 4.51"). `versions` are the ranges that this era leaves to each package that
    matters. `defaults` holds settings whose default differs between eras.
    """

    __slots__ = ("counting", "defaults", "label", "versions")

    def __init__(
        self,
        label: str,
        counting: Counting,
        versions: dict[str, VersionRange] | None = None,
        defaults: dict[str, Known] | None = None,
    ) -> None:
        self.label = label
        self.counting = counting
        self.versions = versions if versions is not None else {}
        self.defaults = defaults if defaults is not None else {}

    def __repr__(self) -> str:
        return f"Era({self.label})"


class DataSource:
    """One set of training or validation rows.

    `paths` are files, folders or globs as written, tried from `base`; `hub` is a data set's public name, `subset` its
    configuration ("" where none is written, None where the reader does not look for one). The steps from rows to what
    the trainer is given are `operations` (see rows.py). `keep` says whether a row survives the trainer's own filter:
    True, False, or None where only the trainer itself could tell (no `keep`: all do); `records_of` how many records one
    row becomes (None: one). `check` judges a row as the trainer or provider would: (observation, reason), or None for a
    good one. `strict` names a reader with Python's own json, that parses "lines" (or the package "jsonlines" does) or
    one "document"; `arrow` says that `datasets` reads the files, whose JSON reader refuses what Python's takes.
    `rewritten`: the trainer is given something else than the rows of the files. `sample`: a number of rows that stands
    with the data's name. `field`: the key of a JSON file's object under which the rows stand (`load_dataset`'s).
    """

    __slots__ = (
        "arrow", "base", "check", "field", "format", "hub", "keep", "operations", "paths", "records_of", "rewritten",
        "rows", "sample", "span", "split", "strict", "subset",
    )  # fmt: skip

    def __init__(
        self,
        span: Span,
        *,
        paths: Sequence[str] = (),
        field: str | None = None,
        base: str = "",
        hub: str | None = None,
        split: str | None = None,
        subset: str | None = None,
        operations: Sequence[Step] = (),
        rows: Known = UNKNOWN,
        format: str | None = None,  # noqa: A002 # the field's own word for it
        keep: Callable[[object], bool | None] | None = None,
        records_of: Callable[[object], int] | None = None,
        check: Callable[[object], tuple[str, str] | None] | None = None,
        strict: str | None = None,
        rewritten: bool = False,
        arrow: bool = False,
        sample: int | None = None,
    ) -> None:
        self.span = span
        self.arrow = arrow
        self.sample = sample
        self.paths = tuple(paths)
        self.field = field
        self.base = base
        self.hub = hub
        self.split = split
        self.subset = subset
        self.operations = tuple(operations)
        self.rows = rows
        self.format = format
        self.keep = keep
        self.records_of = records_of
        self.check = check
        self.strict = strict
        self.rewritten = rewritten


class Run:
    """One planned training run.

    `training` and `validation` name the data; the project counts them into `settings["rows"]` and
    `settings["validation_rows"]`. `not_lines` lists why a number of rows cannot give the steps (packing, streaming).
    """

    __slots__ = (
        "after_counting",
        "chain",
        "command",
        "defaults",
        "environment",
        "eras",
        "label",
        "launch",
        "mix",
        "observations",
        "overlong",
        "path",
        "placeholder",
        "settings",
        "smoke",
        "source",
        "span",
        "surmised",
        "trainer",
        "training",
        "validation",
        "validation_mix",
        "version",
        "versions",
        "writes",
    )

    def __init__(self, trainer: str, source: Source, span: Span, eras: Sequence[Era], versions: Versions) -> None:
        self.trainer = trainer
        self.source = source
        self.path = source.path
        self.span = span
        self.eras: tuple[Era, ...] = tuple(eras)
        self.versions = versions
        self.version: str | None = None  # of the trainer's own package, for `explain`
        self.label = ""  # tells several runs of one file apart: "cell 3", "learning_rate=1e-5"
        self.launch = ""  # the file whose command starts it, as shown; empty where none is known
        self.command: tuple[str, ...] = ()  # ("trl", "sft"), ("python", "train.py")
        self.environment: Mapping | None = None  # variables that its config sets, each where the launch does not
        self.settings: dict[str, Known] = {}
        self.defaults: dict[str, object] = {}  # what a setting is where nobody writes it, also where somebody did
        self.training: list[DataSource] = []
        self.mix: Mix | None = None  # how many rows `training` gives together, if not the sum
        self.validation_mix: Mix | None = None  # likewise
        self.validation: list[DataSource] = []
        self.observations: list[Observation] = []
        self.after_counting: list[Callable[[Run], None]] = []  # settings that hang on the number of rows
        self.chain: list[tuple[int, str]] = []  # from the lines of the data to `rows`: each number, and what it is
        self.overlong = ""  # what becomes of records over the length limit: "dropped", "cut"
        self.smoke = False  # declared or named as a smoke or over-fit test
        self.placeholder = False  # its data only stands for private data
        self.surmised = (
            False  # the keys are an unknown program's, read by what they mostly mean: no finding is an error
        )
        self.writes: dict[str, Span] = {}  # further places to point at: "validation", "packing", ...

    def setting(self, name: str, era: Era | None = None) -> Known:
        """A setting as it holds in an era; unknown where the trainer has no such thing or nobody can tell."""
        found = self.settings.get(name)
        if found is None and era is not None:
            found = era.defaults.get(name)
        return found if found is not None else UNKNOWN

    def has(self, name: str) -> bool:
        """Whether somebody wrote the setting, even if it cannot be read."""
        found = self.settings.get(name)
        return found is not None and found.by_hand

    def where(self, *names: str) -> Span:
        """The place to point at: the first of the named settings (or further places) that is written, else the run."""
        for name in names:
            found = self.settings.get(name)
            if found is not None and found.by_hand and found.key_span is not None:
                return found.key_span
            if name in self.writes:
                return self.writes[name]
        return self.span
