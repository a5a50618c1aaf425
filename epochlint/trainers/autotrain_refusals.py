"""What AutoTrain refuses of a config for a language model.

Read in autotrain-advanced 0.7.129 to 0.8.36 (`parser.py`, `trainers/common.py`, `trainers/clm/`) and recorded in
tests/conformance with 0.8.36.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import UNKNOWN
from epochlint.trainers import tables
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker

CONSUMER = "AutoTrain"
TASKS = ("llm", "llm-sft", "llm-orpo", "llm-generic", "llm-dpo", "llm-reward")
TRAINERS = ("sft", "orpo", "dpo", "reward", "default")
_PINNED = "4.48.0"  # transformers
_NEEDED = (
    ("base_model",), ("project_name",), ("log",), ("data",), ("data", "path"), ("data", "chat_template"),
    ("data", "column_mapping"), ("data", "train_split"), ("data", "valid_split"),
)  # fmt: skip
# Columns that a trainer renames, whatever they are called.
_COLUMNS = {
    "dpo": ("prompt_text_column", "rejected_text_column"),
    "orpo": ("prompt_text_column", "rejected_text_column"),
    "reward": ("rejected_text_column",),
}


def check(taker: Taker) -> None:
    """Notes everything about a YAML with `data` and `params`; flags are another program's."""
    judge = _Judge(taker, CONSUMER)
    judge.task()
    judge.values()
    judge.words()
    judge.project()
    if not taker.reading.open_ended:
        judge.missing()


class _Judge(Judge):
    __slots__ = ()

    def task(self) -> None:
        task = text_of(self.reading.node("task"))
        if task is not None and task not in TASKS:
            self.refuse(("task",), f"there is no task {task}, but {', '.join(TASKS)}")
        trainer = text_of(self.reading.node("params", "trainer"))
        if trainer is not None and trainer.isalnum() and trainer not in TRAINERS:
            self.refuse(("params", "trainer"), f"there is no trainer {trainer}, but {', '.join(TRAINERS)}")
        if is_null(self.reading.node("backend")):
            self.refuse(("backend",), "backend must be named")

    def values(self) -> None:
        """What `LLMTrainingParams` does not cast: pydantic makes numbers of texts, but no whole ones of fractions."""
        table = tables.load("autotrain-advanced", "llm")
        params = self.reading.mapping("params")
        for entry in params.entries if params is not None else ():
            key, node = entry.key, entry.value
            if not table.known(key) or not isinstance(node, Scalar):
                continue
            kind = table.type(key)
            value = number(node) if not isinstance(node.value, bool) else None
            if node.value is None:
                if kind in ("int", "float", "bool") and not table.optional(key):
                    self.refuse(("params", key), f"{key} cannot be null")
            elif kind == "int" and value is not None and value != int(value):
                self.refuse(("params", key), f"{key} must be a whole number, not {value:g}")
            elif kind == "bool" and isinstance(node.value, str) and node.value.isalpha() and boolean(node) is None:
                if node.value.lower() not in ("y", "n", "t", "f", "on", "off"):
                    self.refuse(("params", key), f"{key} must be true or false, not {node.value}")
            elif kind == "str" and isinstance(node.value, bool):
                self.refuse(("params", key), f"{key} must be a text, not {node.raw}")
        if isinstance(self.reading.node("params", "block_size"), Mapping):
            self.refuse(("params", "block_size"), "block_size must be a number")
        logging = self.taker.run.settings.get("logging_steps", UNKNOWN)
        if logging.by_hand and logging.number == 0:
            self.refuse(("params", "logging_steps"), "logging_steps must be above 0, or -1")
        rank = self.taker.run.settings.get("lora_rank", UNKNOWN)
        adapter = self.taker.run.settings.get("tuning", UNKNOWN).value in ("lora", "qlora")
        if adapter and rank.by_hand and rank.number is not None and rank.number < 1:
            self.refuse(("params", "lora_r"), "the rank of LoRA must be at least 1")

    def words(self) -> None:
        arguments = tables.load("transformers", "TrainingArguments")
        for key, name in (("optimizer", "optim"), ("scheduler", "lr_scheduler_type")):
            word = text_of(self.reading.node("params", key))
            words = arguments.words(name, _PINNED, _PINNED)
            if word is not None and words and word.replace("_", "").isalnum() and word not in words:
                self.refuse(("params", key), f"{word} is no {key} that transformers {_PINNED} knows")

    def project(self) -> None:
        name = text_of(self.reading.node("project_name"))
        if name is None or "$" in name or "{" in name or "<" in name:
            return
        if len(name) > 50:
            self.refuse(("project_name",), f"a project's name has at most 50 letters, not {len(name)}")
        elif name and not name.replace("-", "").isalnum():
            self.refuse(("project_name",), "a project's name holds letters, digits and dashes only")

    def missing(self) -> None:
        """Keys that the parser takes without asking whether they are there."""
        reading = self.reading
        absent = [path for path in _NEEDED if reading.entry(*path) is None]
        wanted = [(path[:-1], ".".join(path)) for path in absent if len(path) == 1 or reading.mapping(path[0])]
        if reading.entry("backend") is None:
            wanted.append(((), "backend"))
        hub = reading.mapping("hub")
        if hub is not None and not hub.open_ended:
            wanted += [(("hub",), f"hub.{key}") for key in ("username", "token", "push_to_hub") if key not in hub]
        for block, told in wanted:
            self._tell(block, f"{told} is missing")
        mapped = reading.mapping("data", "column_mapping")
        params = reading.mapping("params")
        method = str(self.taker.run.settings.get("method", UNKNOWN).value)
        for key in _COLUMNS.get(method, ()) if mapped is not None else ():
            if reading.entry("data", "column_mapping", key) is None and (params is None or key not in params):
                self._tell(("data", "column_mapping"), f"{method} needs {key} in column_mapping")

    def _tell(self, block: tuple[str, ...], reason: str) -> None:
        """At the block that lacks it, or at the config's first key."""
        found = self.reading.entry(*block) if block else None
        place = found[0].key_span if found is not None else next(self.reading.entries())[0].key_span
        self.taker.observe("rejected", place, reason=reason, consumer=CONSUMER)
