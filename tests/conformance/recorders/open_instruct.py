"""Records what open-instruct's own parser refuses, and the steps, warmups and rows of its scripts.

    python tests/conformance/recorders/open_instruct.py --package CHECKOUT --version e6c3044

Real code: `ArgumentParserPlus` with the dataclasses of each script, `main` of `finetune.py` and `dpo_tune_cache.py` to
the end of training (loader, accelerate, schedule, loop), of `grpo_fast.py` the checks, the runtime variables and the
schedule that its learner builds; `load_dataset_configs` on local files. Stood in for: models with one weight,
tokenizers, rows, the loss, DeepSpeed, Ray, vLLM. Above one process only accelerate's view of the number is changed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import io
import json
import os
import sys
import tempfile
import types
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "absl", "antlr4", "backoff", "beaker", "bettermap", "bitsandbytes", "boto3", "botocore", "cached_path",
    "deepspeed", "docker", "fastapi", "flash_attn", "google", "importlib_resources", "fla", "immutabledict",
    "langdetect", "latex2sympy2_extended", "liger_kernel", "litellm", "matplotlib", "math_verify", "mcp", "nltk",
    "nvitop", "openai", "openenv", "peft", "ray", "sympy", "tensorboard", "tiktoken", "uvicorn", "vllm", "wandb",
)  # fmt: skip

_SFT = "--model_name_or_path some/model --push_to_hub false --try_launch_beaker_eval_jobs false"
_DPO = _SFT
_GRPO = "--model_name_or_path some/model --push_to_hub false"


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `kind` of script, its `flags` (or a config's `text`), `n` rows, `world` processes."""
    out: dict[str, dict[str, Any]] = {}

    def add(kind: str, name: str, flags: str, n: int = 100, world: int = 1, **more: Any) -> None:
        out[f"{kind}/{name}"] = {"kind": kind, "flags": flags.strip(), "n": n, "world": world, **more}

    for kind, epochs, usual in (("sft", "num_train_epochs", _SFT), ("dpo", "num_epochs", _DPO)):

        def told(name: str, flags: str, n: int = 100, world: int = 1, kind: str = kind, usual: str = usual) -> None:
            add(kind, name, f"{usual} {flags}", n, world)

        told("defaults", "")
        for n, batch, accumulation, passes, world in (
            (100, 4, 2, 1, 1), (101, 4, 2, 3, 1), (39, 2, 16, 2, 1), (100, 2, 2, 2, 2), (99, 2, 4, 3, 4),
            (7, 8, 4, 2, 1),
        ):  # fmt: skip
            flags = f"--per_device_train_batch_size {batch} --gradient_accumulation_steps {accumulation} "
            told(f"length/n{n} b{batch} a{accumulation} e{passes} w{world}", f"{flags}--{epochs} {passes}", n, world)
        small = "--per_device_train_batch_size 4 --gradient_accumulation_steps 1"
        for limit in (1, 10, 60, 0):
            told(f"limit/{limit}", f"{small} --max_train_steps {limit}")
        told("limit/w2", f"{small} --max_train_steps 30 --warmup_ratio 0.1", 100, 2)
        for ratio in ("0", "0.03", "0.1", "0.5", "1.5"):
            told(f"warmup/{ratio}", f"{small} --{epochs} 2 --warmup_ratio {ratio}")
        told("warmup/w2", f"{small} --{epochs} 2 --warmup_ratio 0.1", 100, 2)
        told("warmup/w4", f"{small} --{epochs} 4 --warmup_ratio 0.1", 100, 4)
        told("warmup/steps", f"{small} --warmup_steps 10")
        told("schedule/cosine", f"{small} --lr_scheduler_type cosine --warmup_ratio 0.1")
        told("schedule/constant", f"{small} --lr_scheduler_type constant --warmup_ratio 0.1")
        told("schedule/unknown", f"{small} --lr_scheduler_type cosin")
        told("epochs/fraction", f"--{epochs} 1.5")
        told("epochs/0", f"--{epochs} 0")
        told("epochs/other name", "--num_epochs 2" if kind == "sft" else "--num_train_epochs 2")
        told("accumulation/0", "--gradient_accumulation_steps 0")
        told("batch/0", "--per_device_train_batch_size 0")
        told("batch/eval", "--per_device_eval_batch_size 2")
        told("rate/word", "--learning_rate high")
        told("rate/negative", "--learning_rate -1e-5")
        told("key/misspelt", "--gradient_acumulation_steps 8")
        told("key/abbreviated", f"{small} --max_train_step 10")
        told("key/max_steps", "--max_steps 10")
        told("key/max_length", "--max_length 512")
        told("key/max_seq_length", f"{small} --max_seq_length 512")
        told("data/name beside the mixture", "--dataset_name some/data")
        told("data/odd list", "--dataset_mixer_list some/data")
        add(kind, "beaker without the hub", "--model_name_or_path some/model --push_to_hub false")
        add(kind, "yaml", f"{usual} config.yaml", file="config.yaml", text="num_train_epochs: 1\n")
        told("checkpointing/word", f"{small} --checkpointing_steps often")
    add("sft", "final ratio", f"{_SFT} --final_lr_ratio 0.1 --warmup_ratio 0.1")
    add("sft", "final ratio/cosine", f"{_SFT} --final_lr_ratio 0.1 --lr_scheduler_type cosine")
    add("sft", "final ratio/above", f"{_SFT} --final_lr_ratio 1.5")
    add("dpo", "loss unknown", f"{_DPO} --loss_type hinge")
    add("dpo", "cap", f"{_DPO} --max_train_samples 40")
    add("sft", "cap", f"{_SFT} --max_train_samples 40")

    def grpo(name: str, flags: str) -> None:
        add("grpo", name, f"{_GRPO} {flags}", 1000)

    grpo("defaults", "")
    for episodes, prompts, answers in ((100000, 16, 4), (1000, 8, 8), (1000, 48, 16), (63, 16, 4), (64, 16, 4)):
        grpo(f"length/{episodes} p{prompts} a{answers}", f"--total_episodes {episodes} --num_unique_prompts_rollout "
             f"{prompts} --num_samples_per_prompt_rollout {answers}")  # fmt: skip
    grpo("updates", "--total_episodes 6400 --num_epochs 2 --num_mini_batches 4 --warmup_ratio 0.1")
    grpo("warmup", "--total_episodes 6400 --warmup_ratio 0.1")
    grpo("limit of its own", "--total_episodes 6400 --num_training_steps 10")
    grpo("learners", "--num_learners_per_node 8 8 --total_episodes 6400")
    grpo("learners/more than answers", "--num_learners_per_node 8 --num_unique_prompts_rollout 2 "
         "--num_samples_per_prompt_rollout 2")  # fmt: skip
    grpo("one answer", "--num_samples_per_prompt_rollout 1")
    grpo("one answer kept", "--num_samples_per_prompt_rollout 1 --filter_zero_std_samples false")
    grpo("no answer", "--num_samples_per_prompt_rollout 0")
    grpo("pack too short", "--response_length 2048 --pack_length 1024")
    grpo("async 0", "--async_steps 0")
    grpo("sampling with one", "--active_sampling --async_steps 1")
    grpo("no reference with beta", "--load_ref_policy false --beta 0.1")
    grpo("no reference", "--load_ref_policy false --beta 0.0")
    grpo("sequence parallel", "--sequence_parallel_size 2 --deepspeed_stage 2")
    grpo("correction with vllm", "--use_vllm_logprobs")
    grpo("checkpoint freq", "--checkpoint_state_dir out --checkpoint_state_freq 0")
    grpo("denominator", "--loss_denominator 0")
    grpo("no reward", "--apply_verifiable_reward false")
    grpo("key/accumulation", "--gradient_accumulation_steps 4")
    grpo("key/misspelt", "--total_episode 100 --num_unique_prompt_rollouts 8")
    grpo("key/max_steps", "--max_steps 10")
    grpo("key/num_generations", "--num_generations 8")
    grpo("epochs on data", "--num_train_epochs 2")

    def mix(name: str, parts: list[Any], splits: list[str] | None = None) -> None:
        add("mix", name, "", 0, parts=parts, splits=splits or ["train"])

    # pairs of a file's rows and what is asked of it
    mix("whole", [[100, "1.0"]])
    mix("half", [[100, "0.5"]])
    mix("fraction rounds down", [[7, "0.5"], [11, "0.3"]])
    mix("count", [[100, "30"], [50, "1.0"]])
    mix("one", [[200, "1"], [50, "1.0"]])
    mix("one of few", [[50, "1"]])
    mix("more than there are", [[100, "250"]])
    mix("three times", [[100, "3.0"], [10, "2.5"]])
    mix("nothing", [[100, "0.0"], [10, "1.0"]])
    mix("word", [[100, "all"]])
    mix("exponent", [[100, "1e1"]])
    mix("two splits for three", [[10, "1.0"], [20, "1.0"], [30, "1.0"]], ["train", "train"])
    mix("another split", [[10, "1.0"]], ["test"])
    return out


class Kept:
    """What a schedule was built with, and the rate before each update."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        self.rates: list[float] = []
        self.schedule: Any = None

    def build(self, name: Any, optimizer: Any, num_warmup_steps: int, num_training_steps: Any) -> Any:
        import transformers

        self.told.update(warmup=num_warmup_steps, scheduled=num_training_steps)
        self.schedule = transformers.get_scheduler(
            name, optimizer=optimizer, num_warmup_steps=num_warmup_steps, num_training_steps=num_training_steps
        )
        self.rates = [self.schedule.get_last_lr()[0]]
        return self.schedule

    def bar(self, *inputs: Any, **more: Any) -> Any:
        def update(count: int) -> None:
            if count:
                self.rates.append(self.schedule.get_last_lr()[0])

        return types.SimpleNamespace(update=update)

    def result(self) -> dict[str, Any]:
        made = self.rates[: len(self.rates) - 1]
        peak = {"peak_step": made.index(max(made)) + 1} if made else {}
        return {**self.told, "updates": len(made), **peak}


def _ready(module: Any, case: dict[str, Any], kept: Kept, stack: contextlib.ExitStack, columns: list[str]) -> None:
    """Puts one weight, rows without content and accelerate with another number of processes into a script."""
    import accelerate.state
    import datasets
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(16, 1))
            self.config = mock.MagicMock()

        def get_input_embeddings(self) -> Any:
            return self

        def gradient_checkpointing_enable(self) -> None:
            pass

        def forward(self, **batch: Any) -> Any:
            return types.SimpleNamespace(loss=self.weight.mean())

    real = module.Accelerator

    def accelerator(**more: Any) -> Any:
        for state in (accelerate.state.PartialState, accelerate.state.AcceleratorState, accelerate.state.GradientState):
            state._shared_state.clear()
        more.pop("deepspeed_plugin", None)
        made = real(cpu=True, **more)
        for state in (accelerate.state.PartialState, accelerate.state.AcceleratorState):
            state._shared_state["num_processes"] = case["world"]
        return made

    def collate(features: list[Any]) -> dict[str, Any]:
        return {key: torch.ones(len(features), 2, dtype=torch.long) for key in columns}

    rows = datasets.Dataset.from_dict({key: [[1, 1]] * case["n"] for key in columns})
    model = Model()
    config = types.SimpleNamespace(num_hidden_layers=1, hidden_size=1, intermediate_size=1, vocab_size=16,
                                   num_attention_heads=1, num_key_value_heads=1)  # fmt: skip
    tokenizer = mock.MagicMock(pad_token_id=0)
    tokenizer.__len__.return_value = 8
    for name, value in (
        ("Accelerator", accelerator),
        ("get_scheduler", kept.build),
        ("tqdm", kept.bar),
        ("get_cached_dataset_tulu", lambda **more: rows),
        ("visualize_token", lambda *inputs: None),
        ("snapshot_download", lambda *inputs, **more: None),
        ("DataCollatorForSeq2Seq", lambda **more: collate),
        ("AutoConfig", mock.MagicMock(from_pretrained=lambda *inputs, **more: config)),
        ("AutoModelForCausalLM", mock.MagicMock(from_pretrained=lambda *inputs, **more: model)),
        ("save_with_accelerate", lambda *inputs, **more: None),
        ("get_optimizer_grouped_parameters", lambda model, decay: model.parameters()),
        ("print_gpu_stats", lambda *inputs: None),
        ("maybe_update_beaker_description", lambda **more: None),
        ("pprint", lambda *inputs: None),
        ("ModelDims", mock.MagicMock()),
        ("deepspeed", mock.MagicMock()),
    ):
        if hasattr(module, name):
            stack.enter_context(mock.patch.object(module, name, value))
    stack.enter_context(mock.patch.object(module.TokenizerConfig, "tokenizer", tokenizer))
    stack.enter_context(mock.patch.object(torch.cuda, "mem_get_info", return_value=(1, 1)))
    stack.enter_context(mock.patch.object(torch.cuda, "current_device", return_value=0))
    stack.enter_context(mock.patch.object(module.model_utils, "save_with_accelerate", return_value=None))
    for name in ("detect_hf_attn_implementation", "olmo_core_attn_to_hf"):
        stack.enter_context(mock.patch.object(module.model_utils, name, return_value="sdpa"))


def sft(case: dict[str, Any]) -> dict[str, Any]:
    """`finetune.py`."""
    module = importlib.import_module("open_instruct.finetune")
    parser = module.ArgumentParserPlus((module.FlatArguments, module.TokenizerConfig))
    arguments, tokens = parser.parse_args_into_dataclasses(case["flags"].split())
    kept = Kept()
    with contextlib.ExitStack() as stack:
        _ready(module, case, kept, stack, ["input_ids", "attention_mask", "labels"])
        module.main(arguments, tokens)
    return kept.result()


def dpo(case: dict[str, Any]) -> dict[str, Any]:
    """`dpo_tune_cache.py`."""
    import torch

    module = importlib.import_module("open_instruct.dpo_tune_cache")
    parser = module.ArgumentParserPlus((module.dpo_utils.DPOExperimentConfig, module.TokenizerConfig))
    arguments, tokens = parser.parse_args_into_dataclasses(case["flags"].split())
    kept = Kept()
    columns = ["chosen_input_ids", "chosen_labels", "rejected_input_ids", "rejected_labels"]

    def forward(model: Any, batch: Any, **more: Any) -> Any:
        value = model.weight.mean() * torch.ones(len(batch["chosen_labels"]))
        return value, value, torch.zeros(())

    def loss(arguments: Any, batch: Any, chosen: Any, rejected: Any, cache: Any) -> Any:
        return chosen, chosen.detach(), rejected.detach()

    with contextlib.ExitStack() as stack:
        _ready(module, case, kept, stack, columns)
        utilities = module.dpo_utils

        def collator(**more: Any) -> Any:
            return lambda features: {key: torch.ones(len(features), 2, dtype=torch.long) for key in columns}

        for name, value in (
            ("build_reference_logprobs_cache", lambda **more: None),
            ("compute_reference_cache_hash", lambda *inputs: "hash"),
            ("DataCollatorForSeq2SeqDPO", collator),
            ("compute_loss", loss),
        ):
            stack.enter_context(mock.patch.object(utilities, name, value))
        kind = type(arguments)
        stack.enter_context(mock.patch.object(kind, "forward_fn", property(lambda self: forward), create=True))
        module.main(arguments, tokens)
    return kept.result()


class _Enough(Exception):  # noqa: N818 # no error
    """The schedule is built."""


class _Cpu(str):
    """A rank whose device is the CPU."""

    def __radd__(self, other: int) -> int:
        return other


def grpo(case: dict[str, Any]) -> dict[str, Any]:
    """`grpo_fast.py`: from the parser to the learner's schedule."""
    import torch
    import transformers

    module = importlib.import_module("open_instruct.grpo_fast")
    parser = module.ArgumentParserPlus(
        (
            module.grpo_utils.GRPOExperimentConfig,
            module.TokenizerConfig,
            module.ModelConfig,
            module.data_loader_lib.StreamingDataLoaderConfig,
            module.data_loader_lib.VLLMConfig,
            module.EnvsConfig,
        )
    )
    parser.set_defaults(exp_name="grpo", warmup_ratio=0.0, max_grad_norm=1.0, per_device_train_batch_size=1)
    arguments, _, model, streaming, engines, tools = parser.parse_args_into_dataclasses(case["flags"].split())
    learners = tuple(arguments.num_learners_per_node)
    module.validate_configs(streaming, engines, learners, arguments.sequence_parallel_size)
    arguments = module.setup_runtime_variables(arguments, streaming, tools)
    told: dict[str, Any] = {"steps": arguments.num_training_steps}

    def build(name: Any, optimizer: Any, num_warmup_steps: int, num_training_steps: int) -> Any:
        told.update(warmup=num_warmup_steps, scheduled=num_training_steps)
        raise _Enough

    policy = mock.MagicMock(spec=transformers.PreTrainedModel)
    policy.config = mock.MagicMock()
    policy.parameters.return_value = [torch.nn.Parameter(torch.ones(1))]
    learner = types.SimpleNamespace(local_rank=_Cpu("cpu"))
    with contextlib.ExitStack() as stack:
        for owner, name, value in (
            (module, "get_scheduler", build),
            (module, "deepspeed", mock.MagicMock()),
            (module, "AutoModelForCausalLM", mock.MagicMock(from_pretrained=lambda *inputs, **more: policy)),
            (module, "UlyssesSPAttentionHF", mock.MagicMock()),
            (module, "HfDeepSpeedConfig", mock.MagicMock()),
            (module, "disable_dropout_in_model", lambda model: None),
            (module, "get_optimizer_grouped_parameters", lambda model, decay: model.parameters()),
            (module.model_utils, "olmo_core_attn_to_hf", lambda *inputs: "sdpa"),
            (torch.cuda, "set_device", lambda *inputs: None),
            (torch.cuda, "manual_seed", lambda *inputs: None),
            (torch.distributed, "is_initialized", lambda: True),
        ):
            stack.enter_context(mock.patch.object(owner, name, value))
        with contextlib.suppress(_Enough):
            module.PolicyTrainerRayProcess.from_pretrained(learner, arguments, model, None, "", None)
    return told


def mix(case: dict[str, Any]) -> dict[str, Any]:
    """`load_dataset_configs` on local files: the rows of each set."""
    module = importlib.import_module("open_instruct.dataset_transformation")
    asked: list[str] = []
    for index, (rows, share) in enumerate(case["parts"]):
        name = f"part{index}.jsonl"
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"messages": [], "id": row}) + "\n" for row in range(rows))
        asked += [name, share]
    made = module.load_dataset_configs(asked, case["splits"], [], [])
    return {"rows": [len(one.dataset) for one in made]}


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One launch."""
    here = os.getcwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        os.chdir(folder)
        if "file" in case:
            with open(case["file"], "w", encoding="utf-8") as file:
                file.write(case["text"])
        try:
            return {"sft": sft, "dpo": dpo, "grpo": grpo, "mix": mix}[case["kind"]](case)
        except SystemExit as stopped:
            text = " ".join(said.getvalue().rpartition("error: ")[2].split())
            return {"error": f"exit {stopped.code}", "text": text[: recording.TEXT_LIMIT]}
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "open_instruct.json")
    os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", WANDB_MODE="disabled")
    finder = stubs.install(*STUBBED)
    engines = "open_instruct.vllm_utils"
    sys.modules[engines] = finder.create_module(importlib.machinery.ModuleSpec(engines, finder))
    sys.argv = sys.argv[:1]
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "open-instruct", "transformers", "accelerate", "datasets", "torch")


if __name__ == "__main__":
    main()
