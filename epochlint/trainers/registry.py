"""Every trainer and companion file that epochlint knows, in the order in which they are asked.

The first that recognises a mapping keeps it, so what has a certain mark stands before what is told by common keys, and
flat Hugging Face arguments stand last. A module is imported only for a text that holds one of its marks.

To add a trainer: write its module beside this file (see `trainer.py`), and enter it here once.
"""

from __future__ import annotations

import re
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from epochlint.documents.document import Document, Mapping


_WORDS = re.compile(r"[\w /:-]+\Z")
_OPEN = re.compile(r"\([^()]*\)|\[[^\]]*\]|[^(][?*]|\\.")
_PLAIN = re.compile(r"[\w ./:-]*")


def _alternatives(marks: str) -> Iterator[str]:
    """What a regular expression has between its outermost bars."""
    if "(" not in marks:
        yield from marks.split("|")
        return
    depth = start = 0
    for at, character in enumerate(marks + "|"):
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            yield marks[start:at]
            start = at + 1


def _variants(mark: str) -> list[str]:
    """A mark with dashes or underscores, each spelling by itself."""
    head, either, tail = mark.partition("[_-]")
    return [f"{head}{one}{rest}" for one in "_-" for rest in _variants(tail)] if either else [mark]


def _core(mark: str) -> str:
    """The longest plain part of a mark: it stands in whatever the mark matches."""
    plain = mark.replace("\\b", "\n").replace("\\.", ".")
    # What stands in brackets, or may be left out, is no part of every match.
    while (outer := _OPEN.sub("\n", plain)) != plain:
        plain = outer
    core: str = max(_PLAIN.findall(plain), key=len)
    return core


class Entry:
    """A module's name and what must stand in a text for it to be asked.

    `marks` is a regular expression over the text of a document or a launch. `packages` are the top-level Python
    packages whose calls can be its configs. `companion`: the file belongs to a run, it is none itself. `endings`: files
    of other names are not its configs, however common its marks are there. `modules`: its configs are Python modules,
    by what their names hold.

    `words` are the marks that are plain text, `cores` what the others hold in any case: looking for words is twenty
    times as quick as an expression that begins with any of them.
    """

    __slots__ = (
        "_pattern", "_rest", "companion", "cores", "endings", "marks", "module", "modules", "packages", "words",
    )  # fmt: skip

    def __init__(
        self,
        module: str,
        marks: str,
        packages: tuple[str, ...] = (),
        companion: bool = False,
        endings: tuple[str, ...] = (),
        modules: bool = False,
    ) -> None:
        self.module = module
        self.marks = marks
        every = [variant for mark in _alternatives(marks) for variant in _variants(mark)]
        self.words = frozenset(mark for mark in every if _WORDS.match(mark))
        self._rest = [mark for mark in every if mark not in self.words]
        self.cores = frozenset(map(_core, self._rest))
        self._pattern: re.Pattern[str] | None = None
        self.packages = packages
        self.companion = companion
        self.endings = endings
        self.modules = modules

    def may_hold(self, text: str) -> bool:
        contains = text.__contains__
        return any(map(contains, self.words)) or (any(map(contains, self.cores)) and self.matches(text))

    def matches(self, text: str) -> bool:
        """Whether a text, which holds a core, holds a mark that is more than a word."""
        if self._pattern is None:
            self._pattern = re.compile("|".join(self._rest))
        return self._pattern.search(text) is not None

    def load(self) -> ModuleType:
        return import_module(f"epochlint.trainers.{self.module}")

    @property
    def label(self) -> str:
        return str(self.load().LABEL)


TRAINERS: tuple[Entry, ...] = (
    Entry(
        "providers.bedrock",
        r"baseModelIdentifier|create_model_customization|create-model-customization|aws_bedrock_custom_model|pulumi_aws"
        r"|createModelCustomizationJob",
        ("boto3", "aioboto3", "pulumi_aws"),
    ),
    Entry(
        "providers.sagemaker",
        r"training_config|TrainingJobName|TextGenerationJobConfig|results_dir|instance_types"
        r"|create_training_job|create-training-job|create_auto_ml_job|create-auto-ml-job|aws_sagemaker_training_job"
        r"|createTrainingJob|JumpStartEstimator|sagemaker\.(?:huggingface|pytorch|train|modules)",
        ("boto3", "aioboto3", "sagemaker"),
    ),
    Entry(
        "providers.vertex",
        r"TuningSpec|preferenceOptimizationSpec|distillationSpec|_tuning_spec|tuning-jobs",
        ("vertexai", "google"),
    ),
    Entry("providers.fireworks", r"baseModel|warmStartFrom|firectl", ("fireworks",)),
    Entry("providers.mistral_api", r"training_files|fine_tuning", ("mistralai",)),
    Entry("providers.dashscope", r"training_file_ids", ("dashscope",)),
    Entry("providers.nebius", r"training_file"),
    Entry("providers.together", r"training_file|fine_tuning|fine-tuning", ("together",)),
    Entry("providers.azure_openai", r"training_file|fine_tuning", ("openai",)),
    Entry("providers.openai", r"training_file|fine_tuning", ("openai",)),
    Entry("providers.cohere", r"dataset_id", ("cohere",)),
    Entry(
        "providers.azure_ml",
        r"type: finetuning|model_provider|registries/azure|az ml job create|azure\.ai\.ml",
        ("azure",),
    ),
    Entry("providers.snowflake", r"CORTEX\.FINETUNE|cortex\.finetune"),
    Entry("providers.baidu", r"trainConfig|hyperParameterConfig|qianfan", ("qianfan",)),
    Entry("providers.tinker", r"tinker_cookbook", ("tinker_cookbook", "chz")),
    Entry("providers.replicate", r"replicate", ("replicate",)),
    Entry("providers.databricks", r"train_data_path", ("databricks",)),
    Entry("providers.predibase", r"effective_batch_size|train_steps|enable_early_stopping", ("predibase",)),
    Entry("kubernetes_job", r"kubeflow\.org|nvidia\.com/gpu|amd\.com/gpu|habana\.ai|ray\.io", companion=True),
    Entry("trainer_state", r"log_history", companion=True),
    Entry("torchtune", r"_component_|\btune run\b"),
    Entry("llm_foundry", r"max_duration"),
    Entry("nemo_automodel", r"step_scheduler"),
    Entry("nemo_rl", r"\bpolicy:|\bdefaults:"),
    Entry("megatron_bridge", r"train_iters|train_samples|lr_warmup_iters|lr_decay_iters|lr_warmup_fraction"),
    Entry("verl", r"total_epochs|total_training_steps|verl\.trainer"),
    Entry("openrlhf", r"openrlhf\.cli"),
    Entry("xtuner", r"\bxtuner\b|\bread_base\b", ("xtuner",), modules=True),
    Entry("h2o", r"llm_backbone"),
    Entry("ludwig", r"input_features|output_features"),
    Entry("mistral_finetune", r"model_id_or_path"),
    Entry("instructlab", r"effective_batch_size|instructlab|training_hub", ("instructlab", "training_hub")),
    Entry("qlora_pipe", r"pipeline_stages"),
    Entry("litgpt", r"micro_batch_size|lr_warmup_steps|\blitgpt\b"),
    Entry("mlx_lm", r"\biters\b|mlx_lm|mlx-lm"),
    Entry("accelerate", r"distributed_type|compute_environment", companion=True),
    Entry(
        "llamafactory.dataset_info",
        r"\"(?:file_name|(?:hf|ms|om)_hub_url|script_url|cloud_file_name)\"\s*:",
        companion=True,
    ),
    Entry(
        "llamafactory",
        r"finetuning_type|cutoff_len|llamafactory|\blmf (?:train|sft|dpo|rm)\b|kernel_config|dist_config|model_class",
    ),
    Entry(
        "ms_swift",
        r"tuner_type|split_dataset_ratio|rlhf_type|sft_type|swift[./]cli[./]"
        r"|\bswift (?:sft|pt|rlhf)\b|\bmegatron (?:sft|pt|rlhf)\b",
    ),
    Entry("unsloth", r"train_on_completions|training_type|\bunsloth train\b|unsloth-cli"),
    Entry("oumi", r"\btrainer_type\b|\boumi (?:train|distributed)\b"),
    Entry("autotrain", r"(?<![^\n{])[\"']?task[\"']?:|\bautotrain\b"),
    Entry("axolotl", r"\bbase_model\b|\baxolotl\b"),
    Entry("fms_hf_tuning", r"training_data_path|accelerate_launch_args|data_config_path"),
    Entry(
        "open_instruct",
        r"dataset_mix|mixer_list|with_tracking|use_slow_tokenizer|max_train_steps|checkpointing_steps|open_instruct",
    ),
    Entry("deepspeed", r"zero_optimization|train_micro_batch_size_per_gpu|train_batch_size", companion=True),
    Entry(
        "trl",
        r"per[_-]device[_-]train|num[_-]train[_-]epochs|dataset[_-]name|dataset_mix|learning[_-]rate|\btrl\b",
        ("trl", "unsloth"),
    ),
    Entry(
        "hf_args",
        r"TrainingArguments|per[_-]device[_-]train|num[_-]train[_-]epochs|learning[_-]rate|warmup[_-]"
        r"|gradient[_-]accumulation|max[_-]steps",
        ("transformers", "unsloth"),
    ),
    Entry("custom", r"batch_size|grad_acc", endings=(".yaml", ".yml", ".json", ".toml")),
)


# A launch that names a script and a config has none of their keys, but the number of GPUs and what is wrong with it.
_LAUNCH = Entry("", r"\btorchrun\b|\baccelerate launch\b|\bdeepspeed -|CUDA_VISIBLE_DEVICES=")

_COMMON = TRAINERS[-3:]


def any_may_hold(text: str, path: str = "") -> bool:
    """Whether the text of a file can be a config, a launch or a companion of anything known here."""

    def meant(entry: Entry) -> bool:
        return not (entry.endings and path and not path.endswith(entry.endings))

    if any(meant(entry) and entry.may_hold(text) for entry in _COMMON):
        return True
    return any(map(meant, marked(text))) or _LAUNCH.may_hold(text)


_every_word: list[str] = []


def marked(text: str) -> Iterator[Entry]:
    """Those of whom a mark stands in a text, in their order."""
    if not _every_word:
        _every_word.extend({word for entry in TRAINERS for word in (*entry.words, *entry.cores)})
    there = set(filter(text.__contains__, _every_word))
    if there:
        for entry in TRAINERS:
            if not entry.words.isdisjoint(there) or (not entry.cores.isdisjoint(there) and entry.matches(text)):
                yield entry


# Keys that hardly anything but a fine-tuning config has: a file with one of them that cannot be parsed is worth a word.
_CERTAIN = re.compile(
    r"(?m)^[ \t]*[\"']?(?:per_device_train_batch_size|gradient_accumulation_steps|num_train_epochs|micro_batch_size"
    r"|warmup_ratio|lr_scheduler_type|finetuning_type|lora_alpha|train_micro_batch_size_per_gpu"
    r"|model_name_or_path)[\"']?[ \t]*[:=]"
)


def looks_known(text: str) -> bool:
    """Whether a text holds keys of a known trainer, even where it cannot be parsed."""
    return _CERTAIN.search(text) is not None


def recognise(document: Document) -> list[tuple[Entry, Mapping]]:
    """The configs and companion files in a document, each with whose it is. A mapping has one owner: the first."""
    text = document.source.text
    found: list[tuple[Entry, Mapping]] = []
    taken: set[int] = set()
    for entry in marked(text):
        for mapping in entry.load().recognise(document):
            if id(mapping) not in taken:
                taken.add(id(mapping))
                found.append((entry, mapping))
        if found:
            break
    return found


def of_module(text: str) -> list[Entry]:
    """Whose config a Python module with that text can be."""
    return [entry for entry in TRAINERS if entry.modules and entry.may_hold(text)]


def labelled(label: str) -> Entry | None:
    """The trainer with a label ("axolotl", "hf-args")."""
    return next((entry for entry in TRAINERS if not entry.companion and entry.label == label), None)


def of_call(origin: str) -> Entry | None:
    """Whose config a Python call is, by the dotted origin of its name."""
    package = origin.partition(".")[0]
    for entry in TRAINERS:
        if package in entry.packages and origin in entry.load().CALLS:
            return entry
    return None


def of_launch(program: tuple[str, ...], arguments: Mapping, text: str) -> Entry | None:
    """Which trainer a launch starts; `text` is the launch's own text."""
    for entry in asked(text):
        claims = getattr(entry.load(), "claims", None)
        if claims is not None and claims(program, arguments):
            return entry
    return None


def asked(text: str) -> Iterator[Entry]:
    """Whose launch a text can be."""
    return (entry for entry in TRAINERS if not entry.companion and not entry.endings and entry.may_hold(text))
