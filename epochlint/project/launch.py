"""What a command starts: the launcher, the program, its flags, the files it names and the processes that train.

In `srun torchrun --nproc_per_node=4 train.py --learning_rate 2e-5` srun is a wrapper, torchrun the launcher with
arguments of its own, train.py the program, and the rest are the program's arguments.

Sources: torch 2.9 `torch/distributed/run.py`, accelerate 1.15 `commands/launch.py`, deepspeed 0.19
`launcher/runner.py`, llamafactory 0.9.5 `launcher.py`, ms-swift 4.6 `cli/main.py`, torchtune 0.6.1 `_cli/run.py`.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.flags import parse
from epochlint.documents.shell.document import ShellUnresolved, filled
from epochlint.project import processes
from epochlint.project.wrappers import LAUNCHERS, Wrapped, base_name, is_program, is_python, unwrap
from epochlint.run.known import LAUNCH, Known, unknown
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Words

    from epochlint.documents.shell.document import Command
    from epochlint.project.processes import Count
    from epochlint.source import Span

# The flags of a launcher that take no value; its command begins at the first word that belongs to no flag.
_TORCHRUN_SWITCHES = frozenset(
    {"standalone", "m", "module", "no_python", "run_path", "use_env", "use-env", "virtual_local_rank", "help", "h"}
)
_ACCELERATE_SWITCHES = frozenset(
    {"quiet", "q", "cpu", "multi_gpu", "tpu", "ipex", "use_deepspeed", "use_fsdp", "use_megatron_lm", "use_xpu",
     "use_parallelism_config", "use_mps_device", "same_network", "m", "module", "no_python", "debug", "tpu_cluster",
     "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16", "enable_cpu_affinity", "dynamo_use_fullgraph", "fp16",
     "use_cpu", "dynamo_use_dynamic", "dynamo_use_regional_compilation", "fp8_use_autocast_during_eval"}
)  # fmt: skip
_DEEPSPEED_SWITCHES = frozenset(
    {"module", "no_python", "no_local_rank", "no_ssh_check", "force_multi", "save_pid", "elastic_training",
     "bind_cores_to_rank", "no_ssh"}
)  # fmt: skip
_COMPOSER_SWITCHES = frozenset({"module", "m", "command_mode", "c", "verbose", "v"})
_MLX_SWITCHES = frozenset({"verbose", "print_python", "no_verify_script"})

# Programs that train by themselves, with their subcommands that do; () where every subcommand may.
_TRAINING: dict[str, frozenset[str]] = {
    "llamafactory-cli": frozenset({"train", "sft", "dpo", "rm"}),
    "lmf": frozenset({"train", "sft", "dpo", "rm"}),
    "axolotl": frozenset({"train"}),
    "swift": frozenset({"sft", "pt", "rlhf"}),
    "megatron": frozenset({"sft", "pt", "rlhf"}),
    "trl": frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "ppo", "online_dpo", "xpo", "gkd"}),
    "tune": frozenset({"run"}),
    "litgpt": frozenset(
        {"finetune", "finetune_lora", "finetune_full", "finetune_adapter", "finetune_adapter_v2", "pretrain"}
    ),
    "ilab": frozenset({"model", "train"}),
    "oumi": frozenset({"train"}),
    "autotrain": frozenset({"llm", "text-generation"}),
    "unsloth": frozenset({"train"}),
    "xtuner": frozenset({"train"}),
    "ludwig": frozenset({"train"}),
    "automodel": frozenset({"finetune", "pretrain", "kd"}),
    "mlx_lm": frozenset({"lora", "dora"}),
}
# Modules that are a program's other name: `python -m trl sft`, `python -m mlx_lm lora`.
_MODULE_PROGRAMS = frozenset({"trl", "mlx_lm", "litgpt", "oumi", "axolotl", "autotrain", "ludwig", "unsloth", "ilab"})
_MODULE_LAUNCHERS: dict[str, str] = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.elastic.run": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "accelerate.commands.accelerate_cli": "accelerate-cli",
    "accelerate": "accelerate-cli",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed": "deepspeed",
    "composer.cli.launcher": "composer",
    "mlx.launch": "mlx.launch",
    "mlx.distributed_run": "mlx.launch",
    "horovod.runner": "horovodrun",
    "llamafactory.cli": "llamafactory-cli",
    "swift.cli.main": "swift",
    "torchtune._cli.tune": "tune",
    "trl.cli": "trl",
    "trl.commands.cli": "trl",
}
_OTHER_MODULES = frozenset({"pip", "venv", "http.server", "pytest", "json.tool", "build", "ipykernel", "compileall"})
# Hosted services, with a word that their fine-tuning commands hold.
_SERVICES: dict[str, tuple[str, ...]] = {
    "openai": ("fine",),
    "aws": ("customization", "training-job"),
    "az": ("job", "fine", "ml"),
    "gcloud": ("tuning-jobs",),
    "together": ("fine",),
    "firectl": ("create", "sft", "fine", "dpo", "rft"),
    "curl": ("fine", "tuningJobs", "FineTuning", "dpoJobs"),
}

_CONFIG_FLAGS = frozenset(
    {"config", "c", "config_file", "config_path", "cfg", "yaml", "yaml_file", "yaml_path", "train_config",
     "params_file", "training_config", "config_yaml", "Y", "recipe", "f", "file", "cli_input_json", "train_cfg",
     "args_file", "args_json", "cfg_path", "params", "hparams", "sft_config", "data_config_path", "cli_input_yaml",
     "config_files"}
)  # fmt: skip
_DEEPSPEED_FLAGS = frozenset({"deepspeed", "deepspeed_config", "ds_config", "deepspeed_config_file", "ds_config_path"})
_FILE_ENDS = (".yaml", ".yml", ".json", ".jsonc", ".toml")


class NamedFile:
    """A file that a launch names. `role`: "config", "module" (a config in Python), "deepspeed", "accelerate" or
    "script", "hosts"; "body" is JSON itself."""

    __slots__ = ("role", "scalar")

    def __init__(self, role: str, scalar: Scalar) -> None:
        self.role = role
        self.scalar = scalar

    def __repr__(self) -> str:
        return f"NamedFile({self.role}, {self.scalar.raw})"


class Start:
    """A command that starts a program.

    `launcher`: "python", "torchrun", "accelerate", "deepspeed", "tune", "swift", ..., "" for a program of its own.
    `program`: ("script", "train.py"), ("module", "trl.scripts.sft"), ("cli", "trl", "sft"); "?" for what is not known.
    `arguments`: the program's flags; `launcher_arguments`: the launcher's.
    `processes`: the training processes that really start, on all nodes together; with `data_parallel` it is one process
    on that many GPUs. `per_node`, `nodes`, `devices` (visible on each node): as far as they are known.
    `disagreements`: (what says so, processes in total by it, where), where the sources differ.
    """

    __slots__ = (
        "arguments",
        "command",
        "config_paths",
        "data_parallel",
        "devices",
        "disagreements",
        "launcher",
        "launcher_arguments",
        "nodes",
        "per_node",
        "processes",
        "program",
        "span",
    )

    def __init__(self, command: Command, launcher: str, program: tuple[str, ...]) -> None:
        self.command = command
        self.span: Span = command.span
        self.launcher = launcher
        self.program = program
        self.arguments = Mapping(command.span, [])
        self.launcher_arguments = Mapping(command.span, [])
        self.config_paths: list[NamedFile] = []
        self.processes: Count = processes.NOT_SAID
        self.per_node: Count = processes.NOT_SAID
        self.nodes: Count = processes.NOT_SAID
        self.devices: Count = processes.NOT_SAID
        self.data_parallel = False
        self.disagreements: list[tuple[str, int, Span]] = []

    def configs(self, role: str) -> list[Scalar]:
        """The files of a role."""
        return [named.scalar for named in self.config_paths if named.role == role]

    def gpus(self) -> Known | None:
        """The devices that the launch starts on; None where it says nothing about them."""
        count = self.processes
        if count.value is not None:
            return Known(count.value, LAUNCH, formula=count.formula or None, key_span=count.key_span, span=count.span)
        if count.span is not None and count.written:
            return unknown(count.key_span or count.span, count.span, LAUNCH)
        return None

    def not_passed(self) -> frozenset[str]:
        """The flags that the command was to pass, and ends before."""
        return frozenset(flag.lstrip("-").replace("-", "_") for cut in self.command.cuts for flag in cut.flags)

    def observations(self) -> Iterator[Observation]:
        """What the launch tells by itself: counts that disagree, DataParallel, flags that are not passed."""
        if self.disagreements:
            counts = ", ".join(f"{label}: {count}" for label, count, _ in self.disagreements)
            related = [(f"{label}: {count}", span) for label, count, span in self.disagreements[1:]]
            yield Observation("gpu_counts_disagree", self.disagreements[0][2], {"counts": counts}, related)
        if self.data_parallel:
            span = self.processes.span or self.span
            yield Observation("data_parallel", span, {"gpus": self.processes.value})
        for cut in self.command.cuts:
            values = {"lost": ", ".join(cut.flags), "kind": cut.kind}
            yield Observation("comment_cuts_command", cut.span, values, [("the command that ends here", cut.command)])

    def __repr__(self) -> str:
        return f"<Start {self.launcher} {' '.join(self.program)}>"


def interpret(command: Command, more: Words[Entry] = ()) -> Start | None:
    """What a command starts; None where it starts no program that could train.

    `more` are arguments that it is given from elsewhere: those of a sweep.
    """
    wrapped = unwrap(command.words)
    found = _Reader(command, wrapped).program(wrapped.words, "")
    if found is None:
        return None
    if more:
        arguments = found.arguments
        found.arguments = Mapping(arguments.span, [*arguments.entries, *more], arguments.open_ended)
    _name_files(found)
    processes.count(found, wrapped)
    return found


class _Reader:
    """Reads launchers and programs, one inside the other (`accelerate launch -m trl sft`)."""

    __slots__ = ("command", "depth", "launcher_arguments", "wrapped")

    def __init__(self, command: Command, wrapped: Wrapped) -> None:
        self.command = command
        self.wrapped = wrapped
        self.launcher_arguments: Mapping | None = None
        self.depth = 0

    def program(self, words: list[Node], launcher: str) -> Start | None:
        """The program that words start; `launcher` is what starts them."""
        self.depth += 1
        if not words or self.depth > 6:
            return None
        name = base_name(words[0])
        if isinstance(words[0], Unresolved):
            return self._unknown_program(words, launcher)
        if is_python(name):
            return self._python(words, launcher or "python")
        if name == "accelerate":
            at = next((i for i, word in enumerate(words) if base_name(word) == "launch"), 0)
            return self._launched(words[at + 1 :], "accelerate", _ACCELERATE_SWITCHES) if at else None
        if name == "accelerate-launch":
            return self._launched(words[1:], "accelerate", _ACCELERATE_SWITCHES)
        if name in ("torchrun", "torchrun.py"):
            return self._launched(words[1:], "torchrun", _TORCHRUN_SWITCHES)
        if name in ("deepspeed", "deepspeed.py", "ds"):
            return self._launched(words[1:], "deepspeed", _DEEPSPEED_SWITCHES)
        if name == "composer":
            return self._launched(words[1:], "composer", _COMPOSER_SWITCHES)
        if name in ("mlx.launch", "horovodrun"):
            return self._launched(words[1:], name, _MLX_SWITCHES)
        if name in ("colossalai", "fabric", "lightning") and len(words) > 2 and base_name(words[1]) == "run":
            rest = words[3:] if base_name(words[2]) == "model" else words[2:]
            return self._launched(rest, name, frozenset())
        if name == "oumi" and len(words) > 2 and base_name(words[1]) == "distributed":
            start = self.program(words[2:], launcher)
            if start is not None:  # it adds the numbers of processes and nodes by what the machine has
                said = start.launcher_arguments
                start.launcher_arguments = Mapping(said.span, said.entries, open_ended=True)
            return start
        return self._cli(words, name, launcher)

    def _start(self, launcher: str, program: tuple[str, ...], rest: list[Node]) -> Start:
        start = Start(self.command, launcher, program)
        start.arguments = parse(rest)
        if not rest:
            start.arguments = Mapping(self.command.words[-1].span, [])
        if self.launcher_arguments is not None:
            start.launcher_arguments = self.launcher_arguments
        return start

    def _unknown_program(self, words: list[Node], launcher: str) -> Start | None:
        """`$PYTHON train.py`, `$LAUNCHER train.py`: a script behind something that is not known."""
        for at in range(1, min(len(words), 12)):
            if base_name(words[at]).endswith(".py"):
                start = self._script(words[at:], launcher)
                if start is not None and not launcher:
                    start.launcher = "?"
                return start
            if is_program(words[at]):
                return self.program(words[at:], launcher)
        return None

    def _python(self, words: list[Node], launcher: str) -> Start | None:
        at = 1
        while at < len(words):
            word = words[at]
            raw = word.raw if isinstance(word, Scalar) else ""
            if isinstance(word, Unresolved):
                break
            if raw == "-m":
                return self._module(words[at + 1 :], launcher)
            if raw.startswith("-m") and len(raw) > 2 and not raw.startswith("--"):
                return self._module([Scalar(word.span, raw[2:], raw[2:], True), *words[at + 1 :]], launcher)
            if raw in ("-c", "-"):
                return None
            if not raw.startswith("-"):
                break
            at += 2 if raw in ("-W", "-X", "--check-hash-based-pycs") else 1
        return self._script(words[at:], launcher) if at < len(words) else None

    def _module(self, words: list[Node], launcher: str) -> Start | None:
        if not words:
            return None
        if isinstance(words[0], Unresolved):
            return self._start(launcher, ("module", "?"), words[1:])
        name = base_name(words[0])
        inner = _MODULE_LAUNCHERS.get(name)
        if inner == "torchrun":
            return self._launched(words[1:], "torchrun", _TORCHRUN_SWITCHES)
        if inner == "accelerate":
            return self._launched(words[1:], "accelerate", _ACCELERATE_SWITCHES)
        if inner is not None:
            program = "accelerate" if inner == "accelerate-cli" else inner
            return self.program([Scalar(words[0].span, program, program, True), *words[1:]], launcher)
        if name in _MODULE_PROGRAMS:
            return self._cli(words, name, "" if launcher == "python" else launcher)
        if name in _OTHER_MODULES:
            return None
        return self._start(launcher, ("module", name), words[1:])

    def _script(self, words: list[Node], launcher: str) -> Start | None:
        first = words[0]
        if isinstance(first, Unresolved):
            ending = first.prefix if isinstance(first, ShellUnresolved) else ""
            start = self._start(launcher, ("script", f"{ending}?"), words[1:])
            return start if launcher else None
        if not isinstance(first, Scalar) or first.raw.startswith("-"):
            return None
        start = self._start(launcher or "python", ("script", first.raw), words[1:])
        start.config_paths.append(NamedFile("script", first))
        return start

    def _launched(self, words: list[Node], launcher: str, switches: frozenset[str]) -> Start | None:
        """A launcher's own flags, and the program behind them."""
        at = 0
        open_ended = False
        module = no_python = False
        while at < len(words):
            word = words[at]
            raw = word.raw if isinstance(word, Scalar) else ""
            if isinstance(word, Unresolved):
                prefix = word.prefix if isinstance(word, ShellUnresolved) else ""
                if prefix.startswith("-"):
                    at += 1
                    continue
                if isinstance(word, ShellUnresolved) and (word.several or word.loose) and _script_behind(words, at + 1):
                    open_ended = True
                    at += 1
                    continue
                break
            if raw == "--":
                at += 1
                break
            if not raw.startswith("-") or len(raw) == 1:
                break
            key = raw.lstrip("-").partition("=")[0].replace("-", "_")
            module = module or key in ("m", "module")
            no_python = no_python or key == "no_python"
            at += 1
            if "=" in raw or key in switches or at >= len(words):
                continue
            following = words[at]
            value = following.raw if isinstance(following, Scalar) else ""
            if isinstance(following, ShellUnresolved) and following.several:
                continue
            if value.startswith("--") or (value.endswith(".py") and not _script_behind(words, at + 1)):
                continue  # a switch of another version
            at += 1
        own = parse(words[:at], switches=switches)
        own.open_ended = own.open_ended or open_ended
        outer = self.launcher_arguments
        self.launcher_arguments = (
            own if outer is None else Mapping(own.span, [*outer.entries, *own.entries], own.open_ended)
        )
        rest = words[at:]
        if not rest:
            return None
        if module:
            return self._module(rest, launcher)
        name = base_name(rest[0])
        if no_python or is_program(rest[0]) or name in _TRAINING or name.startswith("mlx_lm."):
            return self.program(rest, launcher)
        return self._script(rest, launcher)

    def _cli(self, words: list[Node], name: str, launcher: str) -> Start | None:
        """A program of its own: `tune run`, `trl sft`, `mlx_lm.lora`, a provider's."""
        if name in _SERVICES:
            return self._service(words, name)
        if name.startswith(("mlx_lm.", "mlx-lm.")):
            program = name.replace("-", "_")
            if program.rpartition(".")[2] in _TRAINING["mlx_lm"]:
                return self._start(launcher or "mlx_lm", ("cli", program), words[1:])
            return None
        if name in _TRAINING:
            return self._trainer(words, name, launcher)
        if name.endswith(".py"):
            return self._script(words, launcher)
        start = self._start(launcher, ("cli", name), words[1:])
        return start if launcher or _looks_training(start.arguments) else None

    def _trainer(self, words: list[Node], name: str, launcher: str) -> Start | None:
        wanted = _TRAINING[name]
        at = 1
        while (
            at < len(words)
            and base_name(words[at]).startswith("-")
            and name in ("autotrain", "oumi", "axolotl", "ilab")
        ):
            at += 2 if base_name(words[at]) in ("--config", "-c") else 1
        subcommand = base_name(words[at]) if at < len(words) else ""
        if name == "autotrain" and subcommand not in wanted:
            flags = parse(words[1:])
            return self._start("autotrain", ("cli", "autotrain"), words[1:]) if "config" in flags else None
        if subcommand not in wanted:
            return None
        program: tuple[str, ...] = ("cli", name, subcommand)
        rest = words[at + 1 :]
        if name == "ilab" and subcommand == "model":
            if not rest or base_name(rest[0]) != "train":
                return None
            program, rest = (*program, "train"), rest[1:]
        elif rest and base_name(rest[0]) in _KINDS.get(name, ()) and subcommand == "finetune":
            program, rest = (*program, base_name(rest[0])), rest[1:]
        elif name == "tune":
            return self._tune(rest)
        elif name == "axolotl":
            return self._axolotl(program, rest, launcher)
        return self._start(launcher or name, program, rest)

    def _tune(self, words: list[Node]) -> Start | None:
        """`tune run [torchrun's flags] RECIPE --config CONFIG key=value`."""
        at = 0
        while at < len(words):
            raw = words[at].raw if isinstance(words[at], Scalar) else ""  # type: ignore[attr-defined] # a Scalar
            if isinstance(words[at], ShellUnresolved) and not raw:
                prefix = words[at].prefix  # type: ignore[attr-defined] # a ShellUnresolved
                if prefix.startswith("-"):
                    at += 1
                    continue
                break
            if not raw.startswith("-"):
                break
            key = raw.lstrip("-").partition("=")[0].replace("-", "_")
            at += 1 if "=" in raw or key in _TORCHRUN_SWITCHES else 2
        self.launcher_arguments = parse(words[:at], switches=_TORCHRUN_SWITCHES)
        if at >= len(words):
            return None
        recipe = words[at]
        name = recipe.raw if isinstance(recipe, Scalar) else "?"
        start = self._start("tune", ("cli", "tune", "run", name), words[at + 1 :])
        if isinstance(recipe, Scalar) and name.endswith(".py"):
            start.config_paths.append(NamedFile("script", recipe))
        return start

    def _axolotl(self, program: tuple[str, ...], words: list[Node], launcher: str) -> Start:
        """`axolotl train config.yaml --launcher torchrun -- --nproc_per_node=4`: the launcher's flags come last."""
        for at, word in enumerate(words):
            if isinstance(word, Scalar) and word.raw == "--":
                self.launcher_arguments = parse(words[at + 1 :], switches=_TORCHRUN_SWITCHES)
                words = words[:at]
                break
        return self._start(launcher or "axolotl", program, words)

    def _service(self, words: list[Node], name: str) -> Start | None:
        """A hosted service's own program: its words up to the first flag."""
        at = 1
        while at < len(words) and isinstance(words[at], Scalar) and not base_name(words[at]).startswith("-"):
            at += 1
        program = ["cli", name, *(word.raw for word in words[1:at] if isinstance(word, Scalar))]
        said = (
            " ".join(word.raw if isinstance(word, Scalar) else word.span.text for word in words[1:])
            if name == "curl"
            else " ".join(program)
        )
        if not any(mark in said.replace("_", "-") for mark in _SERVICES[name]):
            return None
        return self._start(name, tuple(program), words[at:])


_KINDS = {"litgpt": ("lora", "full", "adapter", "adapter_v2"), "automodel": ("llm", "vlm")}
_TRAINING_FLAGS = frozenset(
    {"learning_rate", "per_device_train_batch_size", "num_train_epochs", "gradient_accumulation_steps", "warmup_ratio",
     "warmup_steps", "max_steps", "lr_scheduler_type", "train_batch_size", "max_epochs", "num_epochs"}
)  # fmt: skip


def _looks_training(arguments: Mapping) -> bool:
    return sum(key in arguments for key in _TRAINING_FLAGS) >= 2


def _script_behind(words: list[Node], at: int) -> bool:
    """Whether a script or a program follows."""
    return any(
        base_name(word).endswith(".py")
        or base_name(word) in LAUNCHERS
        or (isinstance(word, Scalar) and word.raw == "-m")
        for word in words[at:]
    )


# The files that a launch names --------------------------------------------------------------------------------------


def _name_files(start: Start) -> None:
    if start.program[:2] == ("cli", "curl"):
        _name_body(start)
        return
    for entry in start.launcher_arguments.entries:
        if start.launcher == "accelerate" and entry.key == "config_file":
            _name(start, "accelerate", entry.value)
        elif entry.key in ("deepspeed_config_file", "deepspeed_config"):
            _name(start, "deepspeed", entry.value)
        elif start.launcher == "deepspeed" and entry.key in ("hostfile", "H") and isinstance(entry.value, Scalar):
            start.config_paths.append(NamedFile("hosts", entry.value))
    folder = start.arguments.get("config_path")
    for entry in start.arguments.entries:
        if entry.key.isdigit() or entry.key in _CONFIG_FLAGS:
            _name(start, "config", entry.value)
            if isinstance(entry.value, Unresolved):
                start.arguments.open_ended = True  # a file full of settings that cannot be seen
        elif entry.key in ("config_name", "cn") and isinstance(entry.value, Scalar):
            _hydra(start, entry, folder)
        elif entry.key in _DEEPSPEED_FLAGS:
            _name(start, "deepspeed", entry.value)
        elif entry.key == "accelerate_config" or (entry.key == "config_file" and start.launcher == "trl"):
            _name(start, "accelerate", entry.value)


def _name_body(start: Start) -> None:
    """What curl sends: JSON, or a file behind `@`. Its flags are no settings of a run."""
    for entry in start.arguments.entries:
        if entry.key in ("d", "data", "data_raw", "data_binary", "json"):
            value = entry.value.items[0] if isinstance(entry.value, Sequence) and entry.value.items else entry.value
            piped = isinstance(value, Scalar) and value.raw in ("@-", "@/dev/stdin")
            word = filled(start.command.given if piped else value)
            if word is None:
                continue
            raw = word.raw.strip()
            if raw.startswith("@"):
                _name(start, "config", Scalar(word.span, raw[1:], raw[1:], True))
            elif raw.startswith("{"):
                start.config_paths.append(NamedFile("body", word))
    start.arguments = Mapping(start.arguments.span, [])


def _name(start: Start, role: str, node: Node) -> None:
    items = node.items if isinstance(node, Sequence) else [node]
    for item in items:
        if not isinstance(item, Scalar) or not isinstance(item.value, str):
            continue
        raw = item.raw
        if raw.startswith("file://"):
            raw = raw[len("file://") :]
            item = Scalar(item.span, raw, raw, True)
        if raw.lower().endswith(_FILE_ENDS):
            start.config_paths.append(NamedFile(role, item))
        elif role == "config" and raw.endswith(".py"):
            start.config_paths.append(NamedFile("module", item))


def _hydra(start: Start, entry: Entry, folder: Node | None) -> None:
    """`--config-path conf --config-name sft` means conf/sft.yaml."""
    if not isinstance(entry.value, Scalar):
        return
    raw = entry.value.raw
    name = raw if raw.endswith((".yaml", ".yml")) else f"{raw}.yaml"
    if isinstance(folder, Scalar):
        name = f"{folder.raw.rstrip('/')}/{name}"
    start.config_paths.append(NamedFile("config", Scalar(entry.value.span, name, name, True)))
