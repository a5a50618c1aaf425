"""What fms-hf-tuning refuses before transformers sees it, and what it takes for something else without a word.

Read in fms-hf-tuning 3.2.2 (`tuning/sft_trainer.py`, `tuning/config/`, `build/utils.py`) and recorded in
tests/conformance. What depends on the columns of the data (templates, text fields) is not judged here.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.trainers.hf.reader import Hf

CONSUMER = "fms-hf-tuning"
TUNINGS = {"lora": "lora", "alora": "lora", "pt": "prefix", "none": "full"}
_LEVELS = frozenset({"passive", "debug", "info", "warning", "warn", "error", "critical", "fatal", "notset"})
_TRACKERS = frozenset({"aim", "file_logger", "hf_resource_scanner", "mlflow", "clearml"})
# Blocks that are given as the list of their fields: the first field, and the only words that it takes.
_FIRST = {
    "padding_free": ("huggingface",),
    "auto_gptq": ("triton_v2",),
    "bnb_qlora": ("nf4", "fp4"),
}


def method(hf: Hf) -> str | None:
    """How it tunes; None where that cannot be known. Only the command line puts the word in lower case and compares it
    with its choices: in a JSON every other word means that the whole model is trained."""
    entry = hf.entry("peft_method")
    if entry is None:
        return "full"
    word = text_of(entry.value)
    if word is None:
        return None
    if hf.reading.via == "argparse":
        return TUNINGS.get(word.lower())
    return TUNINGS.get(word, "full") if _is_word(word) else None


def check(hf: Hf) -> None:
    """Notes everything; for a JSON, whose values nobody casts."""
    if hf.reading.via == "argparse":
        return
    _method(hf)
    _numbers(hf)
    _words(hf)
    _together(hf)
    if not hf.reading.open_ended and hf.reading.document.syntax == "json":  # another syntax has its own program
        _missing(hf)


def _is_word(word: str) -> bool:
    """Whether it is not a placeholder."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", word) is not None


def _refuse(hf: Hf, key: str, reason: str) -> None:
    hf.taker.refuse((key,), reason, CONSUMER)


def _method(hf: Hf) -> None:
    entry = hf.entry("peft_method")
    word = text_of(entry.value) if entry is not None else None
    if entry is not None and word is not None and _is_word(word) and word not in TUNINGS:
        known = ", ".join(TUNINGS)
        reason = f"{CONSUMER} knows {known} in a JSON; with any other word the whole model is trained"
        hf.taker.observe("impossible_value", entry.key_span, key="peft_method", value=word, reason=reason)


def _numbers(hf: Hf) -> None:
    epochs = hf.reading.entry("num_train_epochs")
    if epochs is not None:
        value = number(epochs[0].value)
        if is_null(epochs[0].value):
            _refuse(hf, "num_train_epochs", "num_train_epochs must be a number, not null")
        elif value is not None and value <= 0 and hf.setting("max_steps").number is not None:
            _refuse(hf, "num_train_epochs", "num_train_epochs must be above 0, beside max_steps too")
    length = hf.setting("sequence_length")
    if length.by_hand and length.number is not None and length.number < 1:
        _refuse(hf, "max_seq_length", "a max_seq_length below 1 leaves nothing of a record")
    rank = hf.setting("lora_rank")
    if method(hf) == "lora" and rank.by_hand and rank.number is not None and rank.number < 1:
        _refuse(hf, "r", "the rank of LoRA must be at least 1")


def _words(hf: Hf) -> None:
    level = _text(hf, "log_level")
    if level is not None and _is_word(level) and level.lower() not in _LEVELS:
        _refuse(hf, "log_level", f"{level} is no level of logging")
    trackers = hf.reading.node("trackers")
    if text_of(trackers) is not None:
        _refuse(hf, "trackers", "trackers must be a list; the letters of a text are taken one by one")
    wrong = [word for word in _texts(trackers) if _is_word(word) and word not in _TRACKERS]
    if wrong:
        _refuse(hf, "trackers", f"{wrong[0]} is none of its trackers: {', '.join(sorted(_TRACKERS))}")
    modules = _text(hf, "target_modules")
    if modules is not None and method(hf) == "lora" and _is_word(modules) and modules != "all-linear":
        reason = f'a text is matched with the whole path of a module, and none is called {modules}; write ["{modules}"]'
        _refuse(hf, "target_modules", reason)
    for key, words in _FIRST.items():
        first = next(iter(_texts(hf.reading.node(key))), None)
        if first is not None and _is_word(first) and first not in words:
            _refuse(hf, key, f"{key} takes {' or '.join(words)}, not {first}")
    if isinstance(hf.reading.node("exp_metadata"), Mapping):
        _refuse(hf, "exp_metadata", "exp_metadata must be a text that holds a JSON")
    resume = hf.reading.node("resume_from_checkpoint")
    if isinstance(resume, Scalar) and isinstance(resume.value, bool):
        _refuse(hf, "resume_from_checkpoint", 'resume_from_checkpoint must be a text: "true", "false" or a folder')


def _together(hf: Hf) -> None:
    """Keys that exclude or need one another."""
    padding, packing = hf.entry("padding_free"), hf.reading.node("packing")
    if padding is not None:
        flash = hf.reading.node("use_flash_attn")
        if isinstance(flash, Scalar) and flash.value is False:
            _refuse(hf, "padding_free", "padding_free needs use_flash_attn")
        elif isinstance(packing, Scalar) and boolean(packing) is True:
            _refuse(hf, "padding_free", "padding_free and packing exclude each other")
    elif hf.entry("multipack") is not None and not hf.reading.open_ended:
        _refuse(hf, "multipack", "multipack needs padding_free")
    if hf.entry("data_config_path") is not None:
        for key in ("training_data_path", "validation_data_path"):
            if hf.entry(key) is not None:
                _refuse(hf, key, f"{key} and data_config_path exclude each other")
                break
    launch = hf.reading.node("accelerate_launch_args")
    if is_null(launch):
        _refuse(hf, "accelerate_launch_args", "accelerate_launch_args must be a mapping; leave the key out")


def _missing(hf: Hf) -> None:
    """What a JSON must hold, which is all that the program is given."""
    needed: list[tuple[tuple[str, ...], str]] = [(("model_name_or_path",), "model_name_or_path")]
    if hf.entry("validation_data_path") is not None or hf.entry("data_config_path") is None:
        needed.append((("training_data_path", "data_config_path"), "training_data_path or data_config_path"))
    for keys, told in needed:
        if not any(hf.reading.entry(key) for key in keys):
            first = next(hf.reading.entries())[0].key_span
            hf.taker.observe("rejected", first, reason=f"{told} is missing", consumer=CONSUMER)


def _text(hf: Hf, key: str) -> str | None:
    return text_of(hf.reading.node(key))


def _texts(node: Node | None) -> list[str]:
    return [text for text in map(text_of, node.items) if text] if isinstance(node, Sequence) else []
