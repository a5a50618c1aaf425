"""open-instruct: flat configs and flags of `finetune.py`, `dpo_tune_cache.py` and `grpo_fast.py`, by its own parser.

Read in allenai/open-instruct of the days in data/open-instruct.json, and recorded in tests/conformance: a pass
has ceil(ceil(N / (b x w)) / a) steps, `max_train_steps` takes their place; the schedule is as long as one process would
need and steps once for each, so that its warmup is int(length x ratio) / w steps. GRPO makes
total_episodes // (prompts x answers) steps, each of `num_epochs` x `num_mini_batches` updates, whatever the data. The
parser (HfArgumentParser) refuses keys that it does not know, in flags and in files.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting, by_loader, share_down
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known
from epochlint.run.rows import each
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import tables
from epochlint.trainers.abbreviated import spelled_out
from epochlint.trainers.copies import declared
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import slips
from epochlint.trainers.typed import misfits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Node
    from epochlint.run.counting import Get, Warmup
    from epochlint.run.rows import Step
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading

LABEL = "open-instruct"
_FAMILY = "trl"  # the label of its runs: files with TRL's fields go by one name, whoever reads them
CALLS: frozenset[str] = frozenset()
LOADER = Loader("HfArgumentParser", converts_text=True)
_FILE = Loader("ArgumentParserPlus.parse_yaml_file", converts_text=False, visible=False)  # it casts nothing

_SCRIPTS = {
    "finetune": "sft", "dpo": "dpo", "dpo_tune": "dpo", "dpo_tune_cache": "dpo", "grpo_fast": "grpo", "grpo": "grpo",
}  # fmt: skip
_OWN = frozenset({
    "dataset_mixer", "dataset_mixer_list", "dataset_mix_dir", "mixer_list", "use_slow_tokenizer", "checkpointing_steps",
    "with_tracking", "hf_metadata_dataset", "try_launch_beaker_eval_jobs", "max_train_steps", "dpo_loss_type",
    "dpo_beta", "dpo_use_paged_optimizer", "clip_grad_norm", "chat_template_name", "oe_eval_max_length",
})  # fmt: skip
_MIXTURES = ("dataset_mixer", "dataset_mixer_list", "dataset_mix_dir", "mixer_list", "train_file")
_SOME = frozenset({"checkpointing_steps", "use_slow_tokenizer", "max_train_steps"})
_PREFERENCE = ("dpo_loss_type", "dpo_beta", "dpo_use_paged_optimizer", "concatenated_forward", "gamma_beta_ratio")


def recognise(document: Document) -> list[Mapping]:
    """A flat mapping with keys of its own; `dataset_splits` is alignment-handbook's."""
    return [
        mapping
        for mapping in document.mappings()
        if ("model_name_or_path" in mapping or "per_device_train_batch_size" in mapping)
        and "dataset_splits" not in mapping
        and (_certain(mapping) or "dataset_mixer_list" in mapping or _likely(mapping))
    ]


def _certain(mapping: Mapping) -> bool:
    """Whether no other script's config looks so."""
    return _mixed(mapping) or _tracked(mapping)


def _likely(mapping: Mapping) -> bool:
    return "max_seq_length" in mapping and not _SOME.isdisjoint(mapping.last)


def _mixed(mapping: Mapping) -> bool:
    return len(_OWN & mapping.last.keys()) >= 3 and any(key in mapping for key in _MIXTURES)


def _tracked(mapping: Mapping) -> bool:
    spelt = any(key in mapping for key in ("use_slow_tokenizer", "add_bos", "tokenizer_name"))
    data = any(key in mapping for key in ("dataset_name", *_MIXTURES))
    return spelt and data and "with_tracking" in mapping and "max_seq_length" in mapping


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`python open_instruct/finetune.py`, `accelerate launch -m open_instruct.finetune`."""
    return _script(program) is not None


def _script(program: tuple[str, ...]) -> str | None:
    """The script of its own folder that is started ("grpo_fast")."""
    if len(program) < 2 or program[0] == "cli":
        return None
    folders = program[1].removesuffix(".py").replace("/", ".").split(".")
    return folders[-1] if len(folders) > 1 and folders[-2] == "open_instruct" else None


def read(reading: Reading) -> Run:
    kind = _kind(reading)
    table = tables.load(LABEL, kind) if kind is not None else None
    if table is not None:
        reading = spelled_out(reading, table.names())
    run = Run(_FAMILY, reading.document.source, reading.span, (), reading.versions)
    run.command = reading.command
    taker = Taker(run, reading, _FILE if any(one.origin == WRITTEN for one in reading.layers) else LOADER)
    counts = kind in ("sft", "dpo")
    run.eras = (Era("", Counting(by_loader(up=True, zero_limits=True), _warmup) if counts else Counting(None)),)
    taker.number("learning_rate", "learning_rate", default=2e-5 if table is not None else UNKNOWN)
    taker.word("model", "model_name_or_path", default=MISSING)
    taker.derive("saved_by_script", Known(True, DERIVED))
    if kind is None or table is None:  # another script of its: reward models, PPO, generation
        for name in ("method", "batch_unknown"):
            taker.derive(name, Known("other" if name == "method" else True, DERIVED))
        return run
    if counts:
        _supervised(taker, kind, table)
    else:
        _reinforced(taker)
    taker.word("scheduler", "lr_scheduler_type", default="linear")
    taker.number("weight_decay", "weight_decay", default=0.0)
    if _script(reading.command) is not None or any(_certain(layer.mapping) for layer in reading.layers):
        _refusals(taker, kind, table)
    return run


def _kind(reading: Reading) -> str | None:
    """sft, dpo or grpo: by the script, else by keys and the file's place."""
    script = _script(reading.command)
    if script is not None:
        return _SCRIPTS.get(script)
    path = reading.document.source.path.lower()
    return "dpo" if any(key in reading for key in _PREFERENCE) or "dpo" in path else "sft"


def _usual(table: Table, *keys: str) -> object:
    """The default, where it was the same all the time."""
    found = {value for key in keys if table.known(key) for value in table.defaults(key, None, None)}
    return found.pop() if len(found) == 1 else UNKNOWN


def _supervised(taker: Taker, kind: str, table: Table) -> None:
    reading = taker.reading
    taker.derive("method", Known(_preference(reading) if kind == "dpo" else "sft", DERIVED))
    taker.whole("per_device_batch", "per_device_train_batch_size", default=8)
    taker.whole("accumulation", "gradient_accumulation_steps", default=1)
    passes = ("num_train_epochs",) if kind == "sft" else ("num_epochs", "num_train_epochs")
    taker.number("epochs", *passes, default=_usual(table, *passes))
    taker.whole("max_steps", "max_train_steps", default=None)
    taker.number("warmup_ratio", "warmup_ratio", default=_usual(table, "warmup_ratio"))
    taker.whole("sequence_length", "max_seq_length", default=MISSING)
    taker.product("parallel", "sequence_parallel_size", "tensor_parallel_degree", "context_parallel_degree")
    taker.flag("packing", "packing", default=MISSING)
    lora = any(boolean(reading.node(key)) is True for key in ("use_lora", "use_qlora"))
    taker.derive(
        "tuning", Known(("qlora" if boolean(reading.node("use_qlora")) else "lora") if lora else "full", DEFAULT)
    )
    if lora:
        taker.whole("lora_rank", "lora_rank", default=64)
    saves = text_of(reading.node("checkpointing_steps"))
    if saves == "epoch":
        taker.derive("save_strategy", Known("epoch", DERIVED))
    taker.derive("eval_strategy", Known("no", DERIVED))
    _data(taker, kind)


def _preference(reading: Reading) -> str:
    loss = text_of(reading.node("loss_type")) or text_of(reading.node("dpo_loss_type")) or ""
    return "simpo" if loss == "simpo" else "dpo"


def _warmup(get: Get) -> Warmup | None:
    """With several processes the schedule's length hangs on how the rows are shared out."""
    ratio, gpus = get("warmup_ratio"), get("gpus")
    if ratio.number is None or gpus.number != 1:
        return None
    return share_down(float(ratio.number))


def _reinforced(taker: Taker) -> None:
    """Rollouts make the batches: each step generates its own answers."""
    taker.derive("method", Known("grpo", DERIVED))
    taker.derive("batch_unknown", Known(True, DERIVED))
    taker.derive("gpus", UNKNOWN)  # some learn, others generate
    parts = {
        name: _whole(taker.reading, name, usual)
        for name, usual in (
            ("total_episodes", 100_000), ("num_unique_prompts_rollout", 16), ("num_samples_per_prompt_rollout", 4),
            ("num_epochs", 1), ("num_mini_batches", 1),
        )
    }  # fmt: skip
    total, prompts, answers, passes, pieces = parts.values()
    if total is None or not prompts or not answers or passes is None or pieces is None:
        taker.derive("max_steps", UNKNOWN)
        return
    entry = taker.reading.entry("total_episodes")
    place = entry[0].key_span if entry is not None else None
    taker.derive("max_steps", Known(total // (prompts * answers) * passes * pieces, DERIVED, key_span=place))


def _whole(reading: Reading, key: str, usual: int) -> int | None:
    node = reading.node(key)
    if node is None:
        return usual if not reading.open_ended else None
    value = number(node)
    return int(value) if value is not None and value == int(value) else None


# Data -------------------------------------------------------------------------------------------------------------


def _data(taker: Taker, kind: str) -> None:
    """The mixture: names with shares or numbers. What is asked above what there is, is taken more than once. (Rows in
    which nothing is left to be learnt are filtered afterwards; which ones, only its tokenizer could tell.)"""
    reading, run = taker.reading, taker.run
    cap = taker.whole("sample_cap", "max_train_samples") if kind == "dpo" else UNKNOWN
    if cap.unknown and "max_train_samples" in reading:  # some versions of finetune.py do not look at it
        return
    for name, asked, place in _parts(reading):
        step = _asked(asked)
        operations = [step] if step is not None else []
        if step is None:
            run.training.append(DataSource(place.span))
        elif name.endswith((".jsonl", ".parquet")):
            run.training.append(
                DataSource(place.span, paths=(name,), base=reading.base, operations=operations, arrow=True)
            )
        else:
            run.training.append(DataSource(place.span, hub=name, operations=operations))


def _parts(reading: Reading) -> list[tuple[str, Node | None, Node]]:
    """(name, what is asked of it, place)"""
    node = next(
        (found for key in ("dataset_mixer_list", "mixer_list") if (found := reading.node(key)) is not None), None
    )
    if isinstance(node, Sequence):
        pairs = list(zip(node.items[::2], node.items[1::2], strict=False))
        return [(text_of(name) or "", asked, name) for name, asked in pairs]
    mixer = reading.mapping("dataset_mixer")
    if mixer is not None:
        return [(entry.key, entry.value, entry.value) for entry in mixer.entries]
    return []


def _asked(node: Node | None) -> Step | None:
    """A share where a dot is written, else a number of rows."""
    if not isinstance(node, Scalar) or not isinstance(node.raw, str):
        return None
    value = number(node)
    if value is None or value < 0:
        return None
    if "." in node.raw:
        return each(lambda rows: int(value * rows))
    wanted = int(value)
    return lambda rows: (wanted, wanted)


# What it refuses --------------------------------------------------------------------------------------------------


def _refusals(taker: Taker, kind: str, table: Table) -> None:
    reading = taker.reading
    entries = [entry for entry, _ in reading.entries() if not entry.key.isdigit()]
    odd = {entry.key for entry in entries if not table.known(entry.key)}
    odd -= {key for key in odd if any(name.startswith(key) for name in table.names())}  # ambiguous beginnings
    own = declared(reading, odd, ("open_instruct",)) if odd else frozenset()
    judged = [entry for entry in entries if entry.key in odd - own]
    if kind == "sft" and _script(reading.command) is None:  # a file's script can only be guessed
        known: list[Table] = [table, tables.load(LABEL, "dpo")]
    else:
        known = [table]
    whole = Mapping(reading.span, judged)
    taker.run.observations.extend(slips(whole, known, LABEL, rejected=True, own_parser=True))
    for entry, reason in misfits(Mapping(reading.span, entries), table):
        if table.type(entry.key) in ("int", "float") or table.words(entry.key):
            taker.observe("rejected", entry.key_span, reason=reason, consumer=LABEL)
    _combinations(taker, kind)


def _combinations(taker: Taker, kind: str) -> None:
    """The ends of the dataclasses' `__post_init__`, as far as all versions have them."""
    reading = taker.reading

    def refuse(key: str, reason: str) -> None:
        taker.refuse((key,), reason, LABEL)

    if kind == "grpo":
        pack, prompt, answer = (
            _whole(reading, key, usual)
            for key, usual in (("pack_length", 512), ("max_prompt_token_length", 256), ("response_length", 256))
        )
        if pack is not None and prompt is not None and answer is not None and pack < prompt + answer:
            place = "response_length" if "response_length" in reading else "pack_length"
            refuse(place, f"a prompt of {prompt:,} and an answer of {answer:,} do not fit into packs of {pack:,}")
        if _whole(reading, "num_samples_per_prompt_rollout", 4) == 0:
            refuse("num_samples_per_prompt_rollout", "each prompt needs an answer")
        every = _whole(reading, "checkpoint_state_freq", 1)
        if "checkpoint_state_dir" in reading and every is not None and every <= 0:
            refuse("checkpoint_state_freq", "checkpoint_state_freq must be above 0")
        return
    if "dataset_name" in reading and any(key in reading for key in ("dataset_mixer", "dataset_mixer_list")):
        refuse("dataset_name", "dataset_name and a mixture are two ways to choose the data")
    launches = boolean(reading.node("try_launch_beaker_eval_jobs"))
    if boolean(reading.node("push_to_hub")) is False and launches is not False and not reading.open_ended:
        refuse("push_to_hub", "its evaluation jobs (try_launch_beaker_eval_jobs, on by default) need push_to_hub")
    ratio = reading.node("final_lr_ratio")
    value = number(ratio)
    if value is not None and not 0 <= value <= 1:
        refuse("final_lr_ratio", f"final_lr_ratio must lie between 0 and 1, not {value:g}")
    elif value is not None and (text_of(reading.node("lr_scheduler_type")) or "linear") != "linear":
        refuse("final_lr_ratio", "final_lr_ratio is for linear schedules only")
