"""Keys against the key tables: misspelt, unknown, renamed, removed; and what keys tell of the version.

A key is judged only where its consumer is known and all of its keys are: a class of transformers or TRL that is called,
or a parser whose dataclasses can all be seen.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Unresolved
from epochlint.documents.scalars import boolean_word
from epochlint.run.observation import Edit, Fix
from epochlint.run.versions import ANY, VersionRange, version_key
from epochlint.trainers import tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.documents.document import Entry
    from epochlint.run.versions import Versions
    from epochlint.source import Span
    from epochlint.trainers.hf.loading import HfTaker
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading

# Keys whose words are an enum's members, which a truth value never is (`IntervalStrategy(False)` raises; transformers
# 4.36.2 to 5.24.0, `utils/generic.py`, `ExplicitEnum`).
WORD_KEYS = frozenset(
    {"eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy", "lr_scheduler_type", "hub_strategy"}
)


# Names that no other program gives its own settings: where the consumer cannot be seen, only these tell a version.
_TELLING = frozenset({
    "eval_strategy", "evaluation_strategy", "warmup_ratio", "group_by_length", "train_sampling_strategy",
    "per_gpu_train_batch_size", "per_gpu_eval_batch_size", "overwrite_output_dir", "accelerator_config",
    "average_tokens_across_devices", "include_for_metrics", "eval_on_start", "batch_eval_metrics", "use_liger_kernel",
    "save_only_model", "torch_empty_cache_steps", "liger_kernel_config", "parallelism_config", "save_safetensors",
})  # fmt: skip


class Consumer:
    """Who takes the keys.

    `tables`: of its classes. `extra`: further keys that it takes. `complete`: these are all of its keys. `rejects`: an
    unknown key stops it; None = by version, or not known. `visible`: it can be seen that it is this consumer.
    """

    __slots__ = ("complete", "extra", "name", "rejects", "tables", "visible")

    def __init__(
        self,
        name: str,
        tables: Iterable[Table],
        extra: Iterable[str] = (),
        *,
        complete: bool = False,
        rejects: bool | None = True,
        visible: bool = True,
    ) -> None:
        self.name = name
        self.tables = tuple(tables)
        self.extra = frozenset(extra)
        self.complete = complete
        self.rejects = rejects
        self.visible = visible

    def table(self, key: str) -> Table | None:
        """The table that has a key, in any version."""
        for table in self.tables:
            if table.known(key):
                return table
        return None

    def knows(self, key: str) -> bool:
        return key in self.extra or self.table(key) is not None

    def names(self) -> set[str]:
        """Every key that it takes in some version."""
        found = set(self.extra)
        for table in self.tables:
            found.update(table.names())
        return found

    def nearest(self, key: str) -> str | None:
        """The key that was probably meant."""
        close = tables.nearest(key, self.extra)
        if close is None:
            close = next((near for near in (table.nearest(key) for table in self.tables) if near is not None), None)
        return close


def consumer_of(reading: Reading, table: Table, extra: Iterable[str] = ()) -> Consumer:
    """The consumer of a reading whose arguments are one class's (`table`); `extra` are further keys that it takes."""
    name = table.owner
    call = reading.call
    if reading.via == "call" and call is not None:
        # A class of the script's own that derives from the library's may have fields of its own.
        callee = str(getattr(call, "callee", "")).rpartition(".")[2]
        own = bool(getattr(call, "local", False)) or callee != getattr(call, "name", "")
        # Fields of such a class stand before the call, attributes that are set later behind it.
        span = getattr(getattr(call, "arguments", None), "span", reading.span)
        outside = [entry for entry, _ in reading.entries() if not _within(entry.key_span, span)]
        own = own or any(entry.key_span.start < span.start for entry in outside)
        later = {entry.key for entry in outside if not table.known(entry.key)}
        return Consumer(name, (table,), {*extra, *later}, complete=not own)
    if reading.via in ("parse_yaml_file", "parse_json_file", "parse_dict", "argparse") and reading.python is not None:
        return _of_parser(reading, table, extra)
    rejects = True if reading.via.startswith("parse_") else None
    return Consumer(name, (table,), extra, complete=False, visible=bool(reading.via), rejects=rejects)


def _within(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end


def class_of(reading: Reading) -> object | None:
    """The class that a parser of the script fills for this reading."""
    origin = reading.command[1] if reading.command[:1] == ("call",) and len(reading.command) > 1 else ""
    for parser in getattr(reading.python, "parsers", ()):
        for one in parser.dataclasses:
            if origin and (one.origin == origin or origin in one.bases):
                found: object = one
                return found
    return None


def _of_parser(reading: Reading, table: Table, extra: Iterable[str]) -> Consumer:
    """The consumer behind a parser of dataclasses: all of its keys are known where all of its classes are."""
    origin = reading.command[1] if len(reading.command) > 1 else ""
    for parser in getattr(reading.python, "parsers", ()):
        classes = parser.dataclasses
        if not any(one.origin == origin or origin in one.bases for one in classes):
            continue
        known = {*extra, *parser.flags}
        found = [table]
        complete = True
        for one in classes:
            known.update(one.fields)
            for name in (one.origin, *one.bases):
                if not name:
                    continue
                other = table_of(name)
                if other is None:
                    complete = False
                elif other not in found:
                    found.append(other)
        lenient = any(feed.allow_extra_keys for feed in parser.feeds)
        return Consumer(parser.kind, found, known, complete=complete, rejects=not lenient)
    return Consumer(table.owner, (table,), extra, complete=False, rejects=None)


def table_of(origin: str) -> Table | None:
    """The table of an imported class: "trl.SFTConfig", "transformers.training_args.TrainingArguments"."""
    package, _, name = origin.partition(".")
    if package not in ("transformers", "trl"):
        return None
    try:
        return tables.load(package, name.rpartition(".")[2])
    except KeyError:
        return None


# What keys tell of the version --------------------------------------------------------------------------------------


def told_by_keys(reading: Reading, table: Table, own: frozenset[str] = frozenset()) -> VersionRange:
    """The versions of transformers that know every key of TrainingArguments that is written, as far as they agree.
    `own`: keys that are another's, whose name they share."""
    found = ANY
    silent = table.lasting(reading.top.keys())
    for entry, _ in reading.entries():
        key, value = entry.key, entry.value
        if key in silent and key != "warmup_steps":
            continue
        if key == "warmup_steps" and isinstance(value, Scalar) and table.known(key) and key not in own:
            steps = value.value
            if isinstance(steps, float) and 0 < steps < 1:  # a share of the run, since 5.0
                found = found.narrowed(VersionRange("5.0"))
        if not table.comes_or_goes(key) or key in own or _null(entry) or not (reading.via or key in _TELLING):
            continue
        home = table.home(key)
        if home.package == "transformers":
            first, gone = home.first(key), home.gone_in(key)
            low = first if version_key(first) > version_key(home.versions[0]) else None
            found = found.narrowed(VersionRange(low, None, gone))
    return found


# Findings -----------------------------------------------------------------------------------------------------------


def check_keys(taker: HfTaker, consumer: Consumer, versions: Versions) -> None:
    """Notes keys that the consumer does not know, or not any more, and words that load as truth values."""
    lasting = consumer.tables[0].lasting(taker.reading.top.keys()) if consumer.tables else ()
    for entry, _ in taker.reading.entries():
        key = entry.key
        if key not in lasting:
            _check_key(taker, consumer, entry, versions)
        if key in WORD_KEYS:
            check_word(taker, entry, consumer)


def _check_key(taker: HfTaker, consumer: Consumer, entry: Entry, versions: Versions) -> None:
    table = consumer.table(entry.key)
    if table is not None:
        if table.comes_or_goes(entry.key) and not _null(entry) and not _may_be_left_out(taker, entry):
            _check_known(taker, consumer, table, entry, versions)
    elif consumer.complete and entry.key not in consumer.extra and not entry.key.isdigit() and not _null(entry):
        _check_unknown(taker, consumer, entry)


def _may_be_left_out(taker: HfTaker, entry: Entry) -> bool:
    """Whether a call may not be given a key at all: one of an unpacked dict whose value hangs on a condition, which may
    ask for the version."""
    call = taker.reading.span
    inside = entry.key_span.source is call.source and call.start <= entry.key_span.start < call.end
    return taker.reading.via == "call" and isinstance(entry.value, Unresolved) and not inside


def _null(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is None


def _check_unknown(taker: HfTaker, consumer: Consumer, entry: Entry) -> None:
    near = consumer.nearest(entry.key)
    if near is None:
        rejected = bool(consumer.rejects)
        owner = _owner_of(taker.reading, consumer, entry.key) if rejected else None
        if owner is not None:
            reason = f"`{entry.key}` is a setting of {owner}, and no version of {consumer.name} has it"
            taker.observe("rejected", entry.key_span, reason=reason, consumer=consumer.name)
            return
        taker.observe("unknown_key", entry.key_span, key=entry.key, consumer=consumer.name, rejected=rejected)
        return
    fix = None if near in taker.reading else rename(entry, near, f"write {near}", safe=True)
    taker.observe(
        "misspelt_key",
        entry.key_span,
        fix,
        key=entry.key,
        suggestion=near,
        consumer=consumer.name,
        rejected=bool(consumer.rejects),
    )


_OFTEN = ("DPOConfig", "GRPOConfig", "ModelConfig", "SFTConfig", "ScriptArguments")  # named rather than their kin


def _owner_of(reading: Reading, consumer: Consumer, key: str) -> str | None:
    """Another class of TRL that has the keyword of a call: one who writes it here took the classes for each other.

    The first PPOConfig was another class (until trl 0.11), and Unsloth puts classes of its own in their place.
    """
    if reading.via != "call" or consumer.name == "PPOConfig" or not consumer.tables:
        return None
    if any(origin.partition(".")[0] == "unsloth" for origin in getattr(reading.python, "imports", {}).values()):
        return None
    owners = sorted(tables.owners("trl"), key=lambda one: one not in _OFTEN)
    return next((one for one in owners if tables.load("trl", one).own(key)), None)


def _check_known(taker: HfTaker, consumer: Consumer, table: Table, entry: Entry, versions: Versions) -> None:
    """A key that some version has: whether every version that is possible still has it."""
    key = entry.key
    if key in consumer.extra:
        return
    home = table.home(key)
    range_ = versions.of(home.package)
    first = home.first(key)
    strict = consumer.rejects if consumer.visible else key in _TELLING
    if range_.at_least(first) is False and version_key(first) > version_key(home.versions[0]) and strict:
        # A version that was not read counts as its neighbours: only what is older than the one before is too old.
        older = [one for one in home.versions if version_key(one) < version_key(first)]
        if older and range_.high is not None and version_key(range_.high) <= version_key(older[-1]):
            reason = f"{key} is only known from {home.package} {first} on"
            taker.observe("rejected", entry.key_span, reason=reason, consumer=consumer.name)
        return
    gone = home.gone_in(key)
    if gone is None or (key not in _TELLING and _unseen(taker.reading, consumer)):
        return
    change = renamed(home, key)
    fix = None
    new = change.new if change is not None else None
    same = change is not None and change.same_meaning
    new_there = change is not None and change.since is not None and range_.at_least(change.since)
    if range_.at_least(gone) is False and not (new_there and same):
        return  # a note is of use only where the new name is there already and means the same
    if change is not None and new is not None and new not in taker.reading:
        fix = _moved(entry, change)
    taker.observe(
        "renamed",
        entry.key_span,
        fix,
        package=home.package,
        old=key,
        new=new,
        gone_in=gone,
        same_meaning=same,
        consumer=consumer.name,
        visible=consumer.visible,
        rejected=consumer.rejects is not False,
    )


def _unseen(reading: Reading, consumer: Consumer) -> bool:
    """Whether flags go to a script that cannot be seen and may have flags of its own by these names."""
    return reading.via == "argparse" and reading.python is None and not consumer.complete


def renamed(table: Table, key: str) -> tables.Rename | None:
    try:
        return tables.renames(table.package, table.owner).get(key)
    except (KeyError, OSError):
        return None


def _moved(entry: Entry, change: tables.Rename) -> Fix | None:
    """The edit that moves a value under its new name; safe only where it then means the same."""
    assert change.new is not None
    fix = rename(entry, change.new, f"rename to {change.new}", safe=change.same_meaning)
    if change.value_map is not None:
        new = _mapped(entry, change.value_map)
        if new is None:
            return None
        fix.edits.append(Edit(entry.value.span, new))
    return fix


def _mapped(entry: Entry, values: dict[str, object]) -> str | None:
    import json

    node = entry.value
    if not isinstance(node, Scalar) or not isinstance(node.value, (str, int, float, bool)):
        return None
    new = values.get(json.dumps(node.value))
    if new is None:
        return None
    quoted = node.span.text[:1] in "\"'"
    return json.dumps(new) if quoted or not isinstance(new, str) or _is_call(node) else str(new)


def _is_call(node: Scalar) -> bool:
    """A bare word is no text in Python and JSON."""
    return not node.plain


def rename(entry: Entry, new: str, title: str, safe: bool) -> Fix:
    """Another name for a key, with the quotes or dashes that it stands in."""
    text = entry.key_span.text
    written = new
    for mark in ('"', "'", "--"):
        if text.startswith(mark):
            written = mark + new + (mark if mark != "--" else "")
            break
    return Fix(title, [Edit(entry.key_span, written)], safe=safe)


def check_word(taker: HfTaker, entry: Entry, consumer: Consumer) -> None:
    """`eval_strategy: no` without quotes loads as False under YAML 1.1."""
    node = entry.value
    word = boolean_word(node)
    if word is None or not isinstance(node, Scalar):
        return
    fix = Fix(f'write "{word}"', [Edit(node.span, f'"{word.lower()}"')], safe=True) if word.lower() == "no" else None
    taker.observe(
        "boolean_trap",
        entry.key_span if node.span.source.path == entry.key_span.source.path else node.span,
        fix,
        key=entry.key,
        raw=word,
        loaded=node.value,
        consumer=consumer.name,
        visible=consumer.visible,
    )


def check_numbers(taker: HfTaker, consumer: Consumer, taken: Iterable[str]) -> None:
    """Notes what the loader makes of numbers under keys that the run itself has no use for (`adam_epsilon: 1e-8`)."""
    from epochlint.documents.scalars import number, plain_number

    done = set(taken)
    for entry, _ in taker.reading.entries():
        node = entry.value
        if entry.key in done or entry.key == "local_rank":  # which the launcher's own number replaces
            continue
        if entry.key == "lr_scheduler_kwargs" and isinstance(node, Mapping):
            for inner in node.entries:
                if isinstance(inner.value, Scalar) and isinstance(inner.value.value, str):
                    taker.check_number(inner.key, inner, inner.value, number(inner.value))
            continue
        if not isinstance(node, Scalar) or isinstance(node.value, bool) or plain_number(node):
            continue
        table = consumer.table(entry.key)
        if table is not None and table.numeric(entry.key):
            taker.check_number(entry.key, entry, node, number(node))
