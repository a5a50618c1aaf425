"""Training configs of sixty lines, as people write them, and YAMLs that are none: made here, each one different."""

from __future__ import annotations

LINES = 60

AXOLOTL = """\
# {family} {size}B, adapter run {number}
base_model: example-models/{family}-{size}B
tokenizer_type: AutoTokenizer
trust_remote_code: false

load_in_8bit: false
load_in_4bit: true
strict: false

datasets:
  - path: example-data/support-dialogues-{number}
    type: chat_template
    field_messages: messages
    message_property_mappings:
      role: role
      content: content
dataset_prepared_path: prepared/{number}
val_set_size: 0.05
output_dir: ./runs/{family}-{number}

adapter: qlora
lora_r: {rank}
lora_alpha: {alpha}
lora_dropout: 0.05
lora_target_linear: true

sequence_len: {length}
sample_packing: true
eval_sample_packing: false
pad_to_sequence_len: true

wandb_project: support
wandb_entity:
wandb_watch:
wandb_name: run-{number}
wandb_log_model:

gradient_accumulation_steps: {accumulation}
micro_batch_size: {batch}
num_epochs: {epochs}
optimizer: paged_adamw_8bit
lr_scheduler: cosine
learning_rate: {rate}

train_on_inputs: false
group_by_length: false
bf16: auto
tf32: false
gradient_checkpointing: true
early_stopping_patience:
resume_from_checkpoint:
logging_steps: 10
flash_attention: true

warmup_ratio: 0.05
evals_per_epoch: 4
saves_per_epoch: 1
weight_decay: 0.01
special_tokens:
  pad_token: "<|end|>"
"""

LLAMAFACTORY = """\
### model {number}
model_name_or_path: example-models/{family}-{size}B
flash_attn: fa2

### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: {rank}
lora_alpha: {alpha}
lora_dropout: 0.05
lora_target: all
additional_target:

### dataset
dataset: alpaca_en_demo,support_{number}
template: default
cutoff_len: {length}
max_samples: 100000
overwrite_cache: true
preprocessing_num_workers: 16
dataloader_num_workers: 4
packing: false
neat_packing: false
train_on_prompt: false
mask_history: false

### output
output_dir: saves/{family}-{size}b/lora/sft-{number}
logging_steps: 10
logging_strategy: steps
save_strategy: steps
save_steps: {save}
save_total_limit: 3
plot_loss: true
overwrite_output_dir: true
save_only_model: false
report_to: none  # wandb, tensorboard, swanlab
run_name: run-{number}

### train
per_device_train_batch_size: {batch}
gradient_accumulation_steps: {accumulation}
learning_rate: {rate}
num_train_epochs: {epochs}
lr_scheduler_type: cosine
warmup_ratio: 0.1
weight_decay: 0.01
max_grad_norm: 1.0
bf16: true
gradient_checkpointing: true
ddp_timeout: 180000000
resume_from_checkpoint: null
seed: {number}

### eval
val_size: 0.1
per_device_eval_batch_size: 1
eval_strategy: steps
eval_steps: {save}
"""

HF = """\
# arguments of train.py, experiment {number}
model_name_or_path: example-models/{family}-{size}B
torch_dtype: bfloat16
use_fast_tokenizer: true
cache_dir: .cache
trust_remote_code: false

# data
train_file: data/train-{number}.jsonl
validation_file: data/validation-{number}.jsonl
block_size: {length}
preprocessing_num_workers: 8
overwrite_cache: false

# run
output_dir: outputs/{family}-{number}
overwrite_output_dir: true
do_train: true
do_eval: true
run_name: {family}-{number}
seed: {number}

# batch
per_device_train_batch_size: {batch}
per_device_eval_batch_size: {batch}
gradient_accumulation_steps: {accumulation}
gradient_checkpointing: true
dataloader_num_workers: 4
dataloader_drop_last: false
dataloader_pin_memory: true
group_by_length: false
remove_unused_columns: false

# schedule
num_train_epochs: {epochs}
learning_rate: {rate}
lr_scheduler_type: cosine
warmup_steps: {warmup}
weight_decay: 0.1
max_grad_norm: 1.0
optim: adamw_torch
adam_beta1: 0.9
adam_beta2: 0.95
adam_epsilon: 1.0e-8

# evaluation
eval_strategy: steps
eval_steps: {save}
save_strategy: steps
save_steps: {save}
save_total_limit: 2
load_best_model_at_end: true
metric_for_best_model: eval_loss
greater_is_better: false
logging_strategy: steps
logging_steps: 10
logging_first_step: true
bf16: true
report_to:
- tensorboard
"""

TRL = """\
# model of run {number}
model_name_or_path: example-models/{family}-{size}B
model_revision: main
torch_dtype: bfloat16
attn_implementation: flash_attention_2
trust_remote_code: false

# adapter
use_peft: true
load_in_4bit: false
lora_r: {rank}
lora_alpha: {alpha}
lora_dropout: 0.05
lora_target_modules:
- q_proj
- k_proj
- v_proj
- o_proj

# data
dataset_name: example-data/support-dialogues-{number}
dataset_config: default
dataset_train_split: train
dataset_test_split: test
dataset_num_proc: 8
max_length: {length}
packing: false
completion_only_loss: true

# trainer
output_dir: outputs/sft-{number}
overwrite_output_dir: true
num_train_epochs: {epochs}
per_device_train_batch_size: {batch}
per_device_eval_batch_size: 4
gradient_accumulation_steps: {accumulation}
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
learning_rate: {rate}
lr_scheduler_type: cosine
warmup_ratio: 0.1
weight_decay: 0.0
max_grad_norm: 1.0
optim: adamw_torch
bf16: true
eval_strategy: steps
eval_steps: {save}
save_strategy: steps
save_steps: {save}
save_total_limit: 1
logging_strategy: steps
logging_steps: 5
log_level: info
push_to_hub: false
hub_model_id: example/sft-{number}
hub_strategy: every_save
seed: {number}
report_to:
- wandb
"""

OTHER = "".join(f"service_{{number}}_{at}:\n  image: registry/{at}\n  replicas: 3  # enough\n" for at in range(20))

_FAMILIES = ("plover", "heron", "curlew", "dunlin", "avocet")
_SIZES = ("1.5", "3", "7", "8", "14")


def configs(count: int) -> dict[str, str]:
    """As many training configs by file name: a mix of four trainers, no two alike."""
    return {f"train{number:04}.yaml": _varied(_TEMPLATES[number % len(_TEMPLATES)], number) for number in range(count)}


def others(count: int) -> dict[str, str]:
    """As many YAMLs that no trainer reads."""
    return {f"values{number:04}.yaml": OTHER.format(number=number) for number in range(count)}


_TEMPLATES = (AXOLOTL, LLAMAFACTORY, HF, TRL)


def _varied(template: str, number: int) -> str:
    return template.format(
        number=number,
        family=_FAMILIES[number % 5],
        size=_SIZES[number // 5 % 5],
        rank=8 << number % 3,
        alpha=16 << number % 3,
        length=1024 << number // 4 % 3,
        batch=1 << number // 4 % 4,
        accumulation=1 << number // 16 % 4,
        epochs=1 + number // 4 % 3,
        rate=("1.0e-5", "2.0e-5", "1.0e-4", "2.0e-4")[number // 8 % 4],
        warmup=20 + 10 * (number // 4 % 5),
        save=100 + 50 * (number // 4 % 4),
    )
