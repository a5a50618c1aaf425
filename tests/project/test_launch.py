"""What a launch starts: launcher, program, flags, files and processes."""

from __future__ import annotations

import pytest

from epochlint.documents import read as reading
from epochlint.documents.commands import commands as commands_of
from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.project.launch import Start, interpret
from epochlint.source import Source
from tests.documents.shell.helpers import commands, raw, read
from tests.helpers import check_project


def start(text: str) -> Start:
    """The last program that a script starts."""
    found = [one for one in map(interpret, commands(text)) if one is not None]
    assert found, text
    return found[-1]


def nothing(text: str) -> bool:
    return all(interpret(one) is None for one in commands(text))


def flags(mapping: Mapping) -> dict[str, object]:
    return {
        entry.key: [raw(item) for item in entry.value.items] if isinstance(entry.value, Sequence) else raw(entry.value)
        for entry in mapping.entries
    }


def files(found: Start) -> list[tuple[str, str]]:
    return [(named.role, named.scalar.raw) for named in found.config_paths]


# Launchers and programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "launcher", "program"),
    [
        ("python train.py --a 1", "python", ("script", "train.py")),
        ("python3.10 -u -W ignore -X dev ./train.py", "python", ("script", "./train.py")),
        ("/opt/bin/python3 train.py", "python", ("script", "train.py")),
        ("python -m pkg.train --a 1", "python", ("module", "pkg.train")),
        ("python -mpkg.train --a 1", "python", ("module", "pkg.train")),
        ("./train.py --a 1", "python", ("script", "./train.py")),
        ("python -m torch.distributed.run --nproc_per_node 2 train.py", "torchrun", ("script", "train.py")),
        (
            "python -m torch.distributed.launch --use_env --nproc_per_node=2 train.py",
            "torchrun",
            ("script", "train.py"),
        ),
        ("torchrun --standalone --nproc-per-node=2 -m pkg.train", "torchrun", ("module", "pkg.train")),
        ("torchrun --nproc_per_node 2 --no-python python train.py", "torchrun", ("script", "train.py")),
        ("torchrun --nproc_per_node=2 -- train.py", "torchrun", ("script", "train.py")),
        ("accelerate launch train.py", "accelerate", ("script", "train.py")),
        ("accelerate launch --multi_gpu --mixed_precision bf16 train.py", "accelerate", ("script", "train.py")),
        ("accelerate launch --unheard_of_switch train.py --lr 1", "accelerate", ("script", "train.py")),
        ("accelerate launch -m trl.scripts.sft --config a.yaml", "accelerate", ("module", "trl.scripts.sft")),
        ("accelerate launch -m trl sft --config a.yaml", "accelerate", ("cli", "trl", "sft")),
        ("accelerate launch -m axolotl.cli.train a.yml", "accelerate", ("module", "axolotl.cli.train")),
        ("python -m accelerate.commands.launch --num_processes 2 train.py", "accelerate", ("script", "train.py")),
        ("accelerate-launch train.py", "accelerate", ("script", "train.py")),
        ("deepspeed train.py --deepspeed ds.json", "deepspeed", ("script", "train.py")),
        ("deepspeed --num_gpus=8 --module pkg.train --a 1", "deepspeed", ("module", "pkg.train")),
        ("deepspeed --master_port 29500 --include localhost:0,1 train.py", "deepspeed", ("script", "train.py")),
        ("tune run lora_single_device --config a", "tune", ("cli", "tune", "run", "lora_single_device")),
        ("tune run --nproc_per_node 2 full_distributed --config a", "tune", ("cli", "tune", "run", "full_distributed")),
        ("tune run my_recipe.py --config a.yaml", "tune", ("cli", "tune", "run", "my_recipe.py")),
        ("llamafactory-cli train a.yaml", "llamafactory-cli", ("cli", "llamafactory-cli", "train")),
        ("lmf train a.yaml", "lmf", ("cli", "lmf", "train")),
        ("axolotl train a.yml", "axolotl", ("cli", "axolotl", "train")),
        ("swift sft --model a", "swift", ("cli", "swift", "sft")),
        ("swift rlhf --rlhf_type dpo", "swift", ("cli", "swift", "rlhf")),
        ("megatron sft --model a", "megatron", ("cli", "megatron", "sft")),
        ("trl dpo --config a.yaml", "trl", ("cli", "trl", "dpo")),
        ("python -m trl sft --config a.yaml", "trl", ("cli", "trl", "sft")),
        ("litgpt finetune_lora a --config b.yaml", "litgpt", ("cli", "litgpt", "finetune_lora")),
        ("litgpt finetune lora --config b.yaml", "litgpt", ("cli", "litgpt", "finetune", "lora")),
        ("mlx_lm.lora --train", "mlx_lm", ("cli", "mlx_lm.lora")),
        ("python -m mlx_lm lora --train", "mlx_lm", ("cli", "mlx_lm", "lora")),
        ("python -m mlx_lm.lora --train", "python", ("module", "mlx_lm.lora")),
        ("mlx.launch -n 2 mlx_lm.lora --train", "mlx.launch", ("cli", "mlx_lm.lora")),
        ("ilab model train --num-epochs 1", "ilab", ("cli", "ilab", "model", "train")),
        ("oumi train -c a.yaml", "oumi", ("cli", "oumi", "train")),
        ("oumi distributed torchrun -m oumi train -c a.yaml", "torchrun", ("cli", "oumi", "train")),
        ("autotrain llm --train --lr 1", "autotrain", ("cli", "autotrain", "llm")),
        ("autotrain --config a.yml", "autotrain", ("cli", "autotrain")),
        ("unsloth train -c a.yaml", "unsloth", ("cli", "unsloth", "train")),
        ("xtuner train a.py", "xtuner", ("cli", "xtuner", "train")),
        ("composer -n 8 train/train.py a.yaml", "composer", ("script", "train/train.py")),
        ("horovodrun -np 4 python train.py", "horovodrun", ("script", "train.py")),
        ("colossalai run --nproc_per_node 8 train.py", "colossalai", ("script", "train.py")),
        ("my-train --learning_rate 1 --num_train_epochs 2", "", ("cli", "my-train")),
        (
            "ray job submit --no-wait -- python3 -m verl.trainer.main_ppo a.b=1",
            "python",
            ("module", "verl.trainer.main_ppo"),
        ),
        ("gpurun -p big --async python3 train.py", "python", ("script", "train.py")),
        ("$PYTHON train.py --a 1", "?", ("script", "train.py")),
        ("python $SCRIPT --a 1", "python", ("script", "?")),
        ("torchrun --nproc_per_node=2 $SCRIPT", "torchrun", ("script", "?")),
        ("torchrun $DISTRIBUTED_ARGS train.py", "torchrun", ("script", "train.py")),
        ('torchrun "${ARGS[@]}" train.py', "torchrun", ("script", "train.py")),
        ("$MAYBE torchrun train.py", "torchrun", ("script", "train.py")),
        (
            "openai api fine_tuning.jobs.create -m a",
            "openai",
            ("cli", "openai", "api", "fine_tuning.jobs.create"),
        ),
        (
            "aws bedrock create-model-customization-job --x 1",
            "aws",
            ("cli", "aws", "bedrock", "create-model-customization-job"),
        ),
        ("together fine-tuning create --n-epochs 3", "together", ("cli", "together", "fine-tuning", "create")),
        ("firectl create sftj --epochs 2", "firectl", ("cli", "firectl", "create", "sftj")),
        ("az ml job create -f a.yml", "az", ("cli", "az", "ml", "job", "create")),
        ("curl https://x/v1/fine_tuning/jobs -d '{}'", "curl", ("cli", "curl", "https://x/v1/fine_tuning/jobs")),
    ],
)
def test_launchers_and_programs(text: str, launcher: str, program: tuple[str, ...]) -> None:
    found = start(text)
    assert (found.launcher, found.program) == (launcher, program)


@pytest.mark.parametrize(
    "text",
    [
        "bash train.sh",
        "python -c 'train()'",
        "python - <<EOF\nx\nEOF",
        "python -m pip install train",
        "pip install train",
        "conda install train",
        "docker build -t train .",
        "uv pip install train",
        "accelerate config",
        "accelerate test",
        "swift infer --model a",
        "swift export --model train",
        "llamafactory-cli chat a.yaml",
        "tune download train",
        "trl chat --model train",
        "axolotl inference train.yml",
        "litgpt generate train",
        "mlx_lm.generate --model train",
        "oumi launch up -c train.yaml",
        "aws s3 cp train x",
        "openai api completions.create -m train",
        "curl https://train.example/x",
        "make train",
        "pip install accelerate deepspeed python train.py",
        "apt-get install python3 train.py",
        "bash run.sh python train.py",
        "command -v python train.py",
        "wandb login",
        "some-tool --learning_rate 1",
        "torchrun --nproc_per_node 2",
        "accelerate launch",
        "srun hostname train",
    ],
)
def test_what_starts_no_training(text: str) -> None:
    assert nothing(text)


@pytest.mark.parametrize(
    "wrapper",
    [
        "nohup",
        "time",
        "/usr/bin/time -v -o log",
        "exec",
        "command",
        "sudo -E -u me",
        "sudo A=1",
        "env A=1 B=2",
        "env -u X A=1",
        "nice -n 10",
        "ionice -c 2 -n 7",
        "numactl --cpunodebind=0 -m 0",
        "taskset -c 0-7",
        "taskset 0xff",
        "timeout -k 5 2h",
        "stdbuf -oL -eL",
        "setsid",
        "flock /tmp/lock",
        "srun",
        "srun -N 1 -n 1 --gres=gpu:4 --export=ALL -u",
        "srun --container-image a.sqsh --container-mounts /a:/b --label",
        "srun $SRUN_ARGS",
        "mpirun -np 1 -H a:1 -x PATH -x A=1 --mca btl ^openib -bind-to none --allow-run-as-root",
        "mpiexec -n 1 -hosts a,b",
        "singularity exec --nv -B /a:/b image.sif",
        "apptainer run --nv --env A=1 image.sif",
        "docker run --rm -it --gpus all -v /a:/b -e A=1 --shm-size=8g image:1",
        "docker run --gpus '\"device=0\"' image",
        "docker exec -it box",
        "docker compose run --rm service",
        "podman run image",
        "enroot start --rw -m a:b image",
        "conda run -n env --no-capture-output",
        "uv run",
        "uv run --extra gpu --with x",
        "poetry run",
        "pixi run -e gpu",
        "nsys profile -o out --trace=cuda",
        "xargs -n 1",
        "neuron_parallel_compile",
        "$PREFIX",
        "tool --nodes 1 --",
        "nohup srun -n 1 singularity exec a.sif nice",
    ],
)
def test_wrappers(wrapper: str) -> None:
    found = start(f"{wrapper} torchrun --nproc_per_node=2 train.py --lr 1")
    assert (found.launcher, found.program) == ("torchrun", ("script", "train.py"))
    assert flags(found.arguments) == {"lr": "1"}
    assert flags(found.launcher_arguments) == {"nproc_per_node": "2"}


@pytest.mark.parametrize(
    "text",
    [
        "python -m debugpy --listen 5678 --wait-for-client train.py --lr 1",
        "python -m pdb train.py --lr 1",
        "python -m cProfile -o out train.py --lr 1",
        "coverage run train.py --lr 1",
        "viztracer -o x train.py --lr 1",
        "py-spy record -o x -- python train.py --lr 1",
        "strace -o x python train.py --lr 1",
    ],
)
def test_watchers(text: str) -> None:
    found = start(text)
    assert (found.program, flags(found.arguments)) == (("script", "train.py"), {"lr": "1"})


def test_what_xargs_fills_in_is_not_known() -> None:
    found = start("cat x | xargs -I{} python train.py --lr {} --b=x-{} --c 1")
    assert flags(found.arguments) == {"lr": None, "b": None, "c": "1"}


def test_the_launchers_flags_are_its_own() -> None:
    found = start(
        "accelerate launch --num_processes 8 --use_deepspeed --zero_stage 3 train.py --num_processes 2 --bf16"
    )
    assert flags(found.launcher_arguments) == {"num_processes": "8", "use_deepspeed": "True", "zero_stage": "3"}
    assert flags(found.arguments) == {"num_processes": "2", "bf16": "True"}
    assert found.span.text.startswith("accelerate launch")


def test_overrides() -> None:
    found = start("tune run --nnodes 2 full --config a.yaml epochs=1 optimizer.lr=2e-5 ~profiler")
    assert flags(found.arguments) == {"config": "a.yaml", "epochs": "1", "optimizer.lr": "2e-5", "~profiler": "True"}


def test_axolotls_launcher_arguments_come_last() -> None:
    found = start("axolotl train a.yml --learning-rate 1e-5 --launcher torchrun -- --nproc_per_node=4 --nnodes=2")
    assert flags(found.arguments) == {"0": "a.yml", "learning_rate": "1e-5", "launcher": "torchrun"}
    assert flags(found.launcher_arguments) == {"nproc_per_node": "4", "nnodes": "2"}
    assert found.processes.value == 8


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py", [("script", "train.py")]),
        ("python train.py --config a.yaml", [("script", "train.py"), ("config", "a.yaml")]),
        ("python train.py --config=a.json", [("script", "train.py"), ("config", "a.json")]),
        ("python train.py a.yaml --lr 1", [("script", "train.py"), ("config", "a.yaml")]),
        ("python train.py -c a.toml b.yml", [("script", "train.py"), ("config", "a.toml"), ("config", "b.yml")]),
        ("python train.py --data x.jsonl --model a/b", [("script", "train.py")]),
        ("python train.py --deepspeed ds.json", [("script", "train.py"), ("deepspeed", "ds.json")]),
        ("python train.py --deepspeed zero2", [("script", "train.py")]),
        ("deepspeed train.py --deepspeed --deepspeed_config c.json", [("script", "train.py"), ("deepspeed", "c.json")]),
        (
            "accelerate launch --config_file acc.yaml train.py --config a.yaml",
            [("script", "train.py"), ("accelerate", "acc.yaml"), ("config", "a.yaml")],
        ),
        (
            "accelerate launch --use_deepspeed --deepspeed_config_file ds.json train.py",
            [("script", "train.py"), ("deepspeed", "ds.json")],
        ),
        ("trl sft --config a.yaml --accelerate_config fsdp.yaml", [("config", "a.yaml"), ("accelerate", "fsdp.yaml")]),
        ("llamafactory-cli train a.yaml lr=1", [("config", "a.yaml")]),
        ("tune run r --config a.yaml", [("config", "a.yaml")]),
        ("tune run r.py --config llama3/8B", [("script", "r.py")]),
        ("az ml job create --file a.yml", [("config", "a.yml")]),
        ("aws bedrock create-model-customization-job --cli-input-json file://a.json", [("config", "a.json")]),
        (
            "python train.py --config-path conf/ --config-name sft",
            [("script", "train.py"), ("config", "conf/sft.yaml")],
        ),
        ("python train.py --config-name=sft.yaml", [("script", "train.py"), ("config", "sft.yaml")]),
        ("python train.py --config $CONFIG", [("script", "train.py")]),
        ("C=a.yaml\npython train.py --config $C", [("script", "train.py"), ("config", "a.yaml")]),
    ],
)
def test_files(text: str, expected: list[tuple[str, str]]) -> None:
    assert files(start(text)) == expected


def test_files_of_a_role() -> None:
    found = start("accelerate launch --config_file acc.yaml train.py --config a.yaml")
    assert [scalar.raw for scalar in found.configs("accelerate")] == ["acc.yaml"]
    assert [scalar.span.text for scalar in found.configs("config")] == ["a.yaml"]


@pytest.mark.parametrize(
    "text", ["python train.py --config $C --lr 1", "llamafactory-cli train $C", 'python train.py "$@"']
)
def test_settings_that_cannot_be_seen(text: str) -> None:
    assert start(text).arguments.open_ended


def test_settings_that_can_be_seen() -> None:
    assert not start("python train.py --output_dir $OUT --lr 1").arguments.open_ended


# Processes ------------------------------------------------------------------------------------------------------------

SLURM = "#!/bin/bash\n# train\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # torchrun: processes on each node, times nodes
        ("torchrun --nproc_per_node 4 train.py", 4),
        ("torchrun --nnodes=2 --nproc_per_node=8 train.py", 16),
        ("torchrun --nnodes=2:2 --nproc_per_node=8 train.py", 16),
        ("torchrun --nnodes=1:4 --nproc_per_node=8 train.py", None),
        ("torchrun --standalone --nproc_per_node=2 train.py", 2),
        ("torchrun train.py", 1),
        ("torchrun --nproc_per_node=$N train.py", None),
        ("torchrun --nnodes=$N --nproc_per_node=8 train.py", None),
        ("torchrun --nproc_per_node=${N:-8} train.py", 8),
        ("torchrun $ARGS train.py", None),
        ("torchrun --nproc_per_node=gpu train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=gpu train.py", 2),
        ("CUDA_VISIBLE_DEVICES=0,1,2 torchrun --nproc_per_node auto train.py", 3),
        ("torchrun --nproc_per_node=cpu train.py", None),
        ("tune run --nproc_per_node 8 lora_distributed --config a", 8),
        ("tune run --nnodes 2 --nproc_per_node 8 lora_distributed --config a", 16),
        ("tune run lora_finetune_single_device --config a", 1),
        ("tune run lora_finetune_distributed --config a", None),
        # accelerate: the total
        ("accelerate launch --num_processes 8 train.py", 8),
        ("accelerate launch --num_machines 2 --num_processes 16 train.py", 16),
        ("accelerate launch train.py", None),
        ("accelerate launch --config_file a.yaml train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --config_file a.yaml train.py", None),
        ("accelerate launch --config_file a.yaml --num_processes 4 train.py", 4),
        ("CUDA_VISIBLE_DEVICES=3 accelerate launch train.py", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --multi_gpu train.py", 2),
        ("accelerate launch --gpu_ids 0,1 train.py", 2),
        # deepspeed
        ("deepspeed train.py", None),
        ("deepspeed --num_gpus 4 train.py", 4),
        ("deepspeed --num_gpus=4 --num_nodes=2 train.py", 8),
        ("deepspeed --include localhost:0,2,3 train.py", 3),
        ('deepspeed --include="a:0,1@b:0,1" train.py', 4),
        ("deepspeed --include a@b train.py", None),
        ("deepspeed --hostfile h train.py", None),
        ("deepspeed --hostfile h --num_gpus 8 train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed train.py", 2),
        # Python itself
        ("python train.py", None),
        ("CUDA_VISIBLE_DEVICES=0 python train.py", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", 2),
        ("export CUDA_VISIBLE_DEVICES=0,1,2,3\npython train.py", 4),
        ("HIP_VISIBLE_DEVICES=0,1 python train.py", 2),
        ("CUDA_VISIBLE_DEVICES= python train.py", 1),
        ("CUDA_VISIBLE_DEVICES=-1 python train.py", 1),
        ("CUDA_VISIBLE_DEVICES=$D python train.py", None),
        ("CUDA_VISIBLE_DEVICES=all python train.py", None),
        ("CUDA_VISIBLE_DEVICES=GPU-1a,GPU-2b python train.py", 2),
        ("env CUDA_VISIBLE_DEVICES=0,1 python train.py", 2),
        ("docker run --gpus '\"device=0,1\"' image python train.py", 2),
        ("docker run --gpus 4 image python train.py", 4),
        ("docker run --gpus all image python train.py", None),
        ("mpirun -np 16 -H a:8,b:8 python train.py", 16),
        ("mpirun python train.py", None),
        ("horovodrun -np 4 python train.py", 4),
        ("srun python train.py", None),
        ("srun -n 8 python train.py", 8),
        ("srun -N 2 --ntasks-per-node=4 python train.py", 8),
        ("srun -n $N python train.py", None),
        ("srun -n 1 torchrun --nproc_per_node 4 train.py", 4),
        # trainers
        ("NPROC_PER_NODE=4 swift sft --x 1", 4),
        ("NPROC_PER_NODE=4 NNODES=2 swift sft --x 1", 8),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --x 1", 1),
        ("swift sft --x 1", 1),
        ("export NPROC_PER_NODE=$N\nswift sft --x 1", None),
        ("NPROC_PER_NODE=4\nswift sft --x 1", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train a.yaml", 2),
        ("llamafactory-cli train a.yaml", None),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train a.yaml", 16),
        ("USE_RAY=1 CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train a.yaml", None),
        ("axolotl train a.yml --num-processes 2", 2),
        ("CUDA_VISIBLE_DEVICES=0,1 axolotl train a.yml", 2),
        ("axolotl train a.yml", None),
        ("trl sft --num_processes 4", 4),
        ("trl sft --accelerate_config zero2", None),
        ("trl sft --config a.yaml", None),
        ("mlx_lm.lora --train", 1),
        ("mlx.launch -n 2 mlx_lm.lora --train", 2),
        ("mlx.launch --hosts a,b mlx_lm.lora --train", 2),
        ("composer -n 8 train.py a.yaml", 8),
        ("composer train.py a.yaml", None),
        ("litgpt finetune_lora a", None),
        ("ilab model train --gpus 4", 4),
        ("tool --num_nodes 4 -- accelerate launch --num_processes 8 train.py", None),
        ("tool --image x -- accelerate launch --num_processes 8 train.py", 8),
        ("$LAUNCHER train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 gpurun -p big python3 train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 ray job submit --x 1 -- python train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 python -m verl.trainer.main_ppo a=1", None),
        ("CUDA_VISIBLE_DEVICES=0,1 python main.py trainer.n_gpus_per_node=2", None),
        ("openai api fine_tuning.jobs.create -m a", None),
    ],
)
def test_processes(text: str, expected: int | None) -> None:
    assert start(text).processes.value == expected


@pytest.mark.parametrize(
    ("directives", "line", "expected"),
    [
        (
            "--nodes=2 --ntasks-per-node=1 --gres=gpu:4",
            "srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 a.py",
            8,
        ),
        ("--nodes=1 --ntasks=1 --gpus-per-node=8", "srun torchrun --standalone --nproc_per_node=8 a.py", 8),
        ("--nodes=4 --ntasks-per-node=8 --gpus-per-node=8", "srun python a.py", 32),
        ("--nodes=4 --ntasks-per-node=8 --gpus-per-node=8", "mpirun python a.py", 32),
        ("--nodes=4 --ntasks-per-node=8 --gpus-per-node=8", "mpirun -np 16 python a.py", 16),
        ("-N 2 -n 16", "srun python a.py", 16),
        ("-n 16", "srun -n 4 python a.py", 4),
        ("--ntasks=16", "srun --nodes=2 --ntasks-per-node=2 python a.py", 4),
        ("--nodes=2", "srun python a.py", 2),
        ("--nodes=1 --gres=gpu:4", "python a.py", 4),
        ("--nodes=1 --gres=gpu:4", "srun python a.py", 4),
        ("--gres=gpu:1", "python a.py", 1),
        ("--nodes=2 --ntasks-per-node=8", "srun torchrun --nnodes=2 --nproc_per_node=8 a.py", None),
        ("--nodes=2 --ntasks-per-node=8", "srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=8 a.py", 16),
        ("--nodes=2 --gpus-per-node=8", "srun accelerate launch --num_machines 2 --num_processes 16 a.py", 16),
        ("--nodes=1 --gpus-per-node=8", "torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE a.py", 8),
        ("--gres=gpu:8", "llamafactory-cli train a.yaml", 8),
        ("--nodes=2 --gres=gpu:8", "deepspeed a.py", None),
    ],
)
def test_processes_in_a_batch_job(directives: str, line: str, expected: int | None) -> None:
    found = interpret(read(f"#!/bin/bash\n#SBATCH {directives}\n# train\n{line} --lr 1\n").launches[-1])
    assert found is not None
    assert found.processes.value == expected


def test_pbs_jobs() -> None:
    found = interpret(read("#!/bin/bash\n#PBS -l select=2:ngpus=4:mpiprocs=4\nmpirun python train.py\n").launches[0])
    assert found is not None
    assert (found.processes.value, found.nodes.value, found.devices.value) == (8, 2, 4)


@pytest.mark.parametrize(
    ("text", "data_parallel"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", True),
        ("CUDA_VISIBLE_DEVICES=0 python train.py", False),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py", False),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --x 1", False),
        ("python train.py", False),
    ],
)
def test_data_parallel(text: str, data_parallel: bool) -> None:
    assert start(text).data_parallel is data_parallel


def test_where_a_count_stands_and_how_it_comes_about() -> None:
    found = start("torchrun --nnodes=2 --nproc_per_node=8 train.py")
    known = found.gpus()
    assert known is not None
    assert (known.value, known.origin, known.text()) == (16, "launch", "8 processes x 2 nodes = 16")
    assert known.key_span is not None
    assert known.span is not None
    assert (known.key_span.text, known.span.text) == ("--nproc_per_node", "8")


def test_a_count_that_is_written_and_not_known() -> None:
    known = start("torchrun --nproc_per_node=$N train.py").gpus()
    assert known is not None
    assert known.unknown
    assert known.key_span is not None
    assert known.key_span.text == "--nproc_per_node"


@pytest.mark.parametrize(
    "text", ["python train.py", "accelerate launch train.py", "deepspeed train.py", "trl sft --a 1"]
)
def test_a_launch_that_says_nothing_about_devices(text: str) -> None:
    assert start(text).gpus() is None


# Disagreements --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "#SBATCH --nodes=1 --gres=gpu:4\nsrun torchrun --nproc_per_node=8 a.py",
            [("--gres", 4), ("--nproc_per_node", 8)],
        ),
        ("#SBATCH --nodes=1 --gres=gpu:8\nsrun torchrun --nproc_per_node=8 a.py", []),
        ("#SBATCH --nodes=2 --gres=gpu:8\nsrun torchrun --nnodes=2 --nproc_per_node=8 a.py", []),
        (
            "#SBATCH --nodes=4 --gres=gpu:8\nsrun torchrun --nnodes=2 --nproc_per_node=8 a.py",
            [("--nodes", 32), ("--nproc_per_node", 16)],
        ),
        (
            "#SBATCH -N 1 --gpus-per-node=8\naccelerate launch --num_processes 4 a.py",
            [("--gpus-per-node", 8), ("--num_processes", 4)],
        ),
        ("#SBATCH -N 2 --gpus-per-node=8\naccelerate launch --num_machines 2 --num_processes 16 a.py", []),
        ("#SBATCH -N 1 --gres=gpu:8\nCUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 a.py", []),
        ("#SBATCH -N 1 --gres=gpu:8\npython a.py", []),
        ("#SBATCH -N 1 --gres=gpu:8\naccelerate launch --num_processes 7 grpo.py", []),
        ("#SBATCH -N 2 --gres=gpu:8\nsrun accelerate launch --config_file a.yaml --num_processes 16 a.py", []),
        ("#SBATCH -N 1 -n 2 --gres=gpu:4\nsrun python a.py", []),
        ("#SBATCH -N 1 -n 8 --gres=gpu:4\nsrun python a.py", [("--gres", 4), ("--ntasks", 8)]),
        (
            "#SBATCH -N 1 --gres=gpu:4\naccelerate launch --num_processes 7 grpo.py",
            [("--gres", 4), ("--num_processes", 7)],
        ),
        ("#SBATCH -N 1 --ntasks=8 --gres=gpu:8\nsrun python a.py", []),
        ("#SBATCH -N 2 -n 16 --gpus-per-task=1\nsrun python a.py", []),
        (
            "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 a.py",
            [("CUDA_VISIBLE_DEVICES", 2), ("--nproc_per_node", 4)],
        ),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 a.py", []),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nnodes=2 --nproc_per_node=2 a.py", []),
        (
            "CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes=8 a.py",
            [("CUDA_VISIBLE_DEVICES", 2), ("--num_processes", 8)],
        ),
        (
            "CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=4 swift sft --x 1",
            [("CUDA_VISIBLE_DEVICES", 2), ("NPROC_PER_NODE", 4)],
        ),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2 swift sft --x 1", []),
        ("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train a.yaml", []),
        ("CUDA_VISIBLE_DEVICES=$D torchrun --nproc_per_node=4 a.py", []),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=$N a.py", []),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --x 1", []),
        ("torchrun --nproc_per_node=4 a.py", []),
    ],
)
def test_disagreements(text: str, expected: list[tuple[str, int]]) -> None:
    found = interpret(read("#!/bin/bash\n" + text + " --train 1\n").launches[-1])
    assert found is not None
    assert [(label, count) for label, count, _ in found.disagreements] == expected


def test_observations() -> None:
    document = read(
        """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
torchrun --nproc_per_node=8 train.py \\
    --a 1 \\
    # --b 2
    --c 3
"""
    )
    found = interpret(document.launches[0])
    assert found is not None
    differ, cut = list(found.observations())
    assert (differ.name, differ.values["counts"]) == ("gpu_counts_disagree", "--gres: 4, --nproc_per_node: 8")
    assert differ.span.text == "gpu:4"
    assert [(text, span.text) for text, span in differ.related] == [("--nproc_per_node: 8", "--nproc_per_node")]
    assert (cut.name, cut.values["lost"], cut.span.place.line) == ("comment_cuts_command", "--c", 6)


def test_the_observation_of_data_parallel() -> None:
    (seen,) = start("CUDA_VISIBLE_DEVICES=0,1,2 python train.py").observations()
    assert (seen.name, seen.values, seen.span.text) == ("data_parallel", {"gpus": 3}, "0,1,2")


# Manifests ------------------------------------------------------------------------------------------------------------


def test_a_manifest_tells_torchrun_how_many() -> None:
    text = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{command: [torchrun, train.py, --lr, "1"]}]}}}
    Worker: {replicas: 3}
"""
    document = reading.read(Source("job.yaml", text))
    assert document is not None
    found = interpret(next(iter(commands_of(document))))
    assert found is not None
    assert (found.processes.value, found.per_node.value, found.nodes.value) == (8, 2, 4)
    assert found.disagreements == []
    assert isinstance(found.arguments.get("lr"), Scalar)


def test_python_in_the_pods_of_an_operator() -> None:
    text = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{command: [python, train.py], resources: {limits: {nvidia.com/gpu: %d}}}]}}
    Worker: {replicas: 3}
"""
    for gpus, expected in ((1, 4), (2, None)):
        document = reading.read(Source("job.yaml", text % gpus))
        assert document is not None
        found = interpret(next(iter(commands_of(document))))
        assert found is not None
        assert (found.processes.value, found.data_parallel) == (expected, False)


@pytest.mark.parametrize(
    "text",
    [
        "oumi distributed torchrun -m oumi train -c a.yaml",
        "oumi distributed torchrun --max-restarts 0 -m oumi train -c a.yaml",
        "oumi distributed accelerate launch -m oumi train -c a.yaml",
    ],
)
def test_a_launcher_behind_another_is_told_its_numbers(text: str) -> None:
    assert start(text).processes.value is None


CUT = """\
python train.py --output_dir out --per_device_train_batch_size 4 \\
    # a comment
    --num_train_epochs 2 %s
"""
TRAINS = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
rows, held = load_dataset("json", data_files="a.jsonl", split="train"), load_dataset("json", data_files="b.jsonl")
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model, args, train_dataset=rows, eval_dataset=held["train"]).train()
"""


@pytest.mark.parametrize(
    ("flags", "codes"), [("--evaluation_strategy epoch", {"CFG007"}), ("--seed 1", {"CFG007", "EVL002"})]
)
def test_what_a_command_ends_before_is_told_once(flags: str, codes: set[str]) -> None:
    findings = check_project({"train.sh": CUT % flags, "train.py": TRAINS}).findings
    assert {finding.code for finding in findings if finding.level == "warning"} == codes
