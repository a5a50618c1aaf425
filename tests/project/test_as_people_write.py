# ruff: noqa: E501
"""Scripts, launches and notebooks as people write them: for each, what must be known and what must stay unknown.

A value that is wrong is worse than one that is unknown: `U` says that nothing may be claimed.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from epochlint.lint import Options, check
from tests.helpers import lint_project

U = "unknown"
HEAD = "from transformers import Trainer, TrainingArguments\n"
CASES: list[Any] = []


def case(
    name: str, files: str | dict[str, str], want: dict[str, object] | list[dict[str, object]], runs: int = 1
) -> None:
    CASES.append(pytest.param(files if isinstance(files, dict) else {"train.py": files}, want, runs, id=name))


def sh(name: str, text: str, want: Any, runs: int = 1, **extra: str) -> None:
    case(name, {"run.sh": text, "train.py": P, **extra}, want, runs)


def nb(*cells: str) -> str:
    made = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in cells]
    return json.dumps({"cells": made, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4})


def T(body: str) -> str:
    return HEAD + body + "\nTrainer(args=args).train()\n"


P = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""
FL = "--output_dir o --per_device_train_batch_size 2 --learning_rate 2e-5 --num_train_epochs 3"

# Python --------------------------------------------------------------------------------------------------------------

case(
    "yaml literal",
    T(
        'import yaml\ncfg = yaml.safe_load("""\nlr: 2.0e-4\nepochs: 3\n""")\nargs = TrainingArguments("o", learning_rate=cfg["lr"], num_train_epochs=cfg["epochs"])'
    ),
    {"learning_rate": 2e-4, "epochs": 3},
)
case(
    "yaml literal kwargs",
    T(
        'import yaml\ncfg = yaml.safe_load("""\nlearning_rate: 2.0e-4\nnum_train_epochs: 3\n""")\nargs = TrainingArguments("o", **cfg)'
    ),
    {"learning_rate": 2e-4, "epochs": 3},
)
case(
    "yaml text number",
    T('import yaml\ncfg = yaml.safe_load("lr: 2e-4")\nargs = TrainingArguments("o", learning_rate=float(cfg["lr"]))'),
    {"learning_rate": 2e-4},
)
case(
    "json literal",
    T(
        'import json\ncfg = json.loads(\'{"learning_rate": 2e-4, "num_train_epochs": 3}\')\nargs = TrainingArguments("o", **cfg)'
    ),
    {"learning_rate": 2e-4, "epochs": 3},
)
case(
    "json fstring unknown",
    T(
        'import json, sys\nx = sys.argv[1]\ncfg = json.loads(f\'{{"learning_rate": {x}}}\')\nargs = TrainingArguments("o", **cfg)'
    ),
    {"learning_rate": U},
)
case(
    "yaml dedent",
    T(
        'import yaml, textwrap\ncfg = yaml.safe_load(textwrap.dedent("""\n    learning_rate: 2.0e-4\n    """))\nargs = TrainingArguments("o", **cfg)'
    ),
    {"learning_rate": 2e-4},
)
case(
    "yaml stringio",
    T(
        'import yaml, io\ncfg = yaml.safe_load(io.StringIO("learning_rate: 2.0e-4"))\nargs = TrainingArguments("o", **cfg)'
    ),
    {"learning_rate": 2e-4},
)
case(
    "hp search",
    HEAD
    + 'args = TrainingArguments("o", learning_rate=5e-5, num_train_epochs=3)\nt = Trainer(model_init=f, args=args)\nt.hyperparameter_search(direction="minimize", n_trials=10)\n',
    {"learning_rate": U, "epochs": U},
)
case(
    "hp search space",
    HEAD
    + 'def space(trial):\n    return {"learning_rate": trial.suggest_float("learning_rate", 1e-6, 1e-4, log=True)}\nargs = TrainingArguments("o", learning_rate=5e-5, num_train_epochs=3)\nt = Trainer(model_init=f, args=args)\nbest = t.hyperparameter_search(hp_space=space, n_trials=10)\n',
    {"learning_rate": U, "epochs": 3},
)
case(
    "optuna objective",
    HEAD
    + 'import optuna\ndef objective(trial):\n    args = TrainingArguments("o", learning_rate=trial.suggest_float("lr", 1e-6, 1e-4), num_train_epochs=3)\n    Trainer(args=args).train()\noptuna.create_study().optimize(objective, n_trials=3)\n',
    {"learning_rate": U, "epochs": 3},
)
case(
    "wandb sweep",
    HEAD
    + 'import wandb\ndef main():\n    wandb.init()\n    args = TrainingArguments("o", learning_rate=wandb.config.lr, num_train_epochs=3)\n    Trainer(args=args).train()\nwandb.agent("x", main)\n',
    {"learning_rate": U, "epochs": 3},
)
DC = "from dataclasses import dataclass, field, replace, asdict\n@dataclass\nclass Cfg:\n    lr: float = 2e-4\n    epochs: int = 3\n"
case(
    "dc param default",
    HEAD
    + DC
    + 'def train(cfg: Cfg = Cfg()):\n    args = TrainingArguments("o", learning_rate=cfg.lr, num_train_epochs=cfg.epochs)\n    Trainer(args=args).train()\ntrain()\n',
    {"learning_rate": 2e-4, "epochs": 3},
)
case(
    "dc passed",
    HEAD
    + DC
    + 'def train(cfg: Cfg):\n    args = TrainingArguments("o", learning_rate=cfg.lr, num_train_epochs=cfg.epochs)\n    Trainer(args=args).train()\ntrain(Cfg(lr=1e-5))\n',
    {"learning_rate": 1e-5, "epochs": 3},
)
case(
    "dc param uncalled",
    HEAD
    + DC
    + 'def train(cfg: Cfg):\n    args = TrainingArguments("o", learning_rate=cfg.lr, num_train_epochs=cfg.epochs)\n    Trainer(args=args).train()\n',
    {"learning_rate": U, "epochs": U},
)
case(
    "dc one object, uncalled",
    HEAD
    + DC
    + 'CFG = Cfg(lr=1e-5)\ndef train(cfg: Cfg = CFG):\n    args = TrainingArguments("o", learning_rate=cfg.lr, num_train_epochs=cfg.epochs)\n    Trainer(args=args).train()\n',
    {"learning_rate": 1e-5, "epochs": 3},
)
case(
    "dc replace",
    T(DC + 'c = replace(Cfg(), lr=1e-5)\nargs = TrainingArguments("o", learning_rate=c.lr, num_train_epochs=c.epochs)'),
    {"learning_rate": 1e-5, "epochs": 3},
)
case(
    "replace args",
    HEAD
    + 'from dataclasses import replace\nargs = TrainingArguments("o", learning_rate=5e-5, num_train_epochs=3)\nargs = replace(args, learning_rate=1e-5)\nTrainer(args=args).train()\n',
    [{"learning_rate": 1e-5, "epochs": 3}],
)
case(
    "asdict kwargs",
    T(DC + 'd = asdict(Cfg())\nargs = TrainingArguments("o", learning_rate=d["lr"], num_train_epochs=d["epochs"])'),
    {"learning_rate": 2e-4, "epochs": 3},
)
case(
    "set after",
    HEAD
    + 'args = TrainingArguments("o", learning_rate=5e-5)\nargs.learning_rate = 1e-4\nargs.num_train_epochs = 2\nTrainer(args=args).train()\n',
    {"learning_rate": 1e-4, "epochs": 2},
)
case(
    "setattr loop",
    HEAD
    + 'import sys\nargs = TrainingArguments("o", learning_rate=5e-5)\nfor kv in sys.argv[1:]:\n    k, v = kv.split("=")\n    setattr(args, k, float(v))\nTrainer(args=args).train()\n',
    {"learning_rate": U},
)
case(
    "set if",
    HEAD
    + 'import torch\nargs = TrainingArguments("o", learning_rate=5e-5)\nif torch.cuda.device_count() > 1:\n    args.learning_rate = 1e-4\nTrainer(args=args).train()\n',
    {"learning_rate": U},
)
case(
    "if/else",
    T(
        'import torch\nif torch.cuda.is_available():\n    bs = 8\nelse:\n    bs = 2\nargs = TrainingArguments("o", per_device_train_batch_size=bs, learning_rate=1e-4)'
    ),
    {"per_device_batch": U, "learning_rate": 1e-4},
)
case(
    "called twice",
    HEAD
    + 'def go(lr, ep=2):\n    args = TrainingArguments("o", learning_rate=lr, num_train_epochs=ep)\n    Trainer(args=args).train()\ngo(1e-4)\ngo(2e-4)\n',
    {"learning_rate": U, "epochs": 2},
)
case(
    "loop",
    HEAD
    + 'for lr in [1e-4, 2e-4]:\n    args = TrainingArguments("o", learning_rate=lr, num_train_epochs=2)\n    Trainer(args=args).train()\n',
    {"learning_rate": U, "epochs": 2},
)
case(
    "loop dict",
    HEAD
    + 'for name, hp in {"a": {"lr": 1e-4}, "b": {"lr": 2e-4}}.items():\n    args = TrainingArguments("o", learning_rate=hp["lr"], num_train_epochs=2)\n    Trainer(args=args).train()\n',
    {"learning_rate": U, "epochs": 2},
)
case(
    "itertools",
    HEAD
    + 'import itertools\nfor lr, bs in itertools.product([1e-4], [2, 4]):\n    args = TrainingArguments("o", learning_rate=lr, per_device_train_batch_size=bs)\n    Trainer(args=args).train()\n',
    {"per_device_batch": U},
)
case(
    "subparsers",
    T(
        'import argparse\np = argparse.ArgumentParser()\ns = p.add_subparsers(dest="cmd")\na = s.add_parser("train")\na.add_argument("--lr", type=float, default=1e-4)\nb = s.add_parser("eval")\nb.add_argument("--lr", type=float, default=5.0)\nns = p.parse_args()\nargs = TrainingArguments("o", learning_rate=ns.lr, num_train_epochs=1)'
    ),
    {"learning_rate": U, "epochs": 1},
)
case(
    "subparser one",
    T(
        'import argparse\np = argparse.ArgumentParser()\ns = p.add_subparsers(dest="cmd")\na = s.add_parser("train")\na.add_argument("--lr", type=float, default=1e-4)\nns = p.parse_args()\nargs = TrainingArguments("o", learning_rate=ns.lr, num_train_epochs=1)'
    ),
    {"learning_rate": 1e-4, "epochs": 1},
)
case(
    "click",
    HEAD
    + 'import click\n@click.command()\n@click.option("--lr", default=1e-4, type=float)\n@click.option("--epochs", default=3)\ndef main(lr, epochs):\n    args = TrainingArguments("o", learning_rate=lr, num_train_epochs=epochs)\n    Trainer(args=args).train()\nif __name__ == "__main__":\n    main()\n',
    {"learning_rate": 1e-4, "epochs": 3},
)
case(
    "typer",
    HEAD
    + 'import typer\ndef main(lr: float = 1e-4, epochs: int = typer.Option(3)):\n    args = TrainingArguments("o", learning_rate=lr, num_train_epochs=epochs)\n    Trainer(args=args).train()\nif __name__ == "__main__":\n    typer.run(main)\n',
    {"learning_rate": 1e-4, "epochs": 3},
)
case(
    "fire",
    HEAD
    + 'import fire\ndef main(lr: float = 1e-4, epochs=3):\n    args = TrainingArguments("o", learning_rate=lr, num_train_epochs=epochs)\n    Trainer(args=args).train()\nfire.Fire(main)\n',
    {"learning_rate": 1e-4, "epochs": 3},
)
case(
    "cfg yaml beside",
    {
        "train.py": T(
            'import yaml\nwith open("cfg.yaml") as f:\n    cfg = yaml.safe_load(f)\nargs = TrainingArguments(**cfg)'
        ),
        "cfg.yaml": "output_dir: o\nlearning_rate: 1.0e-4\nnum_train_epochs: 3\nper_device_train_batch_size: 2\n",
    },
    {"learning_rate": 1e-4, "epochs": 3},
)
case(
    "cfg yaml gone",
    T('import yaml\nwith open("gone.yaml") as f:\n    cfg = yaml.safe_load(f)\nargs = TrainingArguments(**cfg)'),
    {},
)
case(
    "cfg yaml update",
    {
        "train.py": T(
            'import yaml\ncfg = yaml.safe_load(open("cfg.yaml"))\ncfg["learning_rate"] = 5e-6\ncfg.update(num_train_epochs=1)\nargs = TrainingArguments(**cfg)'
        ),
        "cfg.yaml": "output_dir: o\nlearning_rate: 1.0e-4\nnum_train_epochs: 3\nper_device_train_batch_size: 2\n",
    },
    {"learning_rate": 5e-6, "epochs": 1},
)
case(
    "merge dicts",
    T(
        'base = dict(learning_rate=1e-4, num_train_epochs=2)\nargs = TrainingArguments("o", **{**base, "num_train_epochs": 5})'
    ),
    {"learning_rate": 1e-4, "epochs": 5},
)
case(
    "or dicts",
    T('base = {"learning_rate": 1e-4} | {"num_train_epochs": 2}\nargs = TrainingArguments("o", **base)'),
    {"learning_rate": 1e-4, "epochs": 2},
)
case(
    "env",
    T(
        'import os\nargs = TrainingArguments("o", learning_rate=float(os.environ["LR"]), num_train_epochs=int(os.getenv("EP", "2")))'
    ),
    {"learning_rate": U, "epochs": 2},
)
case(
    "walrus",
    T('args = TrainingArguments("o", learning_rate=(lr := 1e-4), num_train_epochs=2)'),
    {"learning_rate": 1e-4},
)
case("aug", T('lr = 1e-4\nlr *= 2\nargs = TrainingArguments("o", learning_rate=lr)'), {"learning_rate": 2e-4})
case(
    "tuple",
    T('lr, ep = 1e-4, 2\nargs = TrainingArguments("o", learning_rate=lr, num_train_epochs=ep)'),
    {"learning_rate": 1e-4, "epochs": 2},
)
case(
    "namespace",
    T(
        'from types import SimpleNamespace\nc = SimpleNamespace(lr=1e-4)\nargs = TrainingArguments("o", learning_rate=c.lr)'
    ),
    {"learning_rate": 1e-4},
)
case(
    "class const",
    T('class C:\n    LR = 1e-4\nargs = TrainingArguments("o", learning_rate=C.LR)'),
    {"learning_rate": 1e-4},
)
case(
    "enum",
    T('import enum\nclass S(enum.Enum):\n    LR = 1e-4\nargs = TrainingArguments("o", learning_rate=S.LR.value)'),
    {"learning_rate": 1e-4},
)
case(
    "try int",
    T(
        'import sys\ntry:\n    lr = float(sys.argv[1])\nexcept Exception:\n    lr = 1e-4\nargs = TrainingArguments("o", learning_rate=lr)'
    ),
    {"learning_rate": U},
)
case(
    "global set in fn",
    HEAD
    + 'LR = 1e-4\ndef setup():\n    global LR\n    LR = 5e-5\nsetup()\nargs = TrainingArguments("o", learning_rate=LR)\nTrainer(args=args).train()\n',
    {"learning_rate": 5e-5},
)
case(
    "partial",
    HEAD
    + 'from functools import partial\nmk = partial(TrainingArguments, "o", learning_rate=1e-4)\nargs = mk(num_train_epochs=2)\nTrainer(args=args).train()\n',
    {"learning_rate": 1e-4, "epochs": 2},
)
case(
    "class trainer",
    HEAD
    + 'class App:\n    def __init__(self, lr=1e-4):\n        self.lr = lr\n        self.ep = 2\n    def run(self):\n        args = TrainingArguments("o", learning_rate=self.lr, num_train_epochs=self.ep)\n        Trainer(args=args).train()\nApp(lr=3e-5).run()\n',
    {"learning_rate": 3e-5, "epochs": 2},
)
case(
    "comprehension",
    HEAD + 'runs = [TrainingArguments("o", learning_rate=lr) for lr in (1e-4, 2e-4)]\n',
    {"learning_rate": U},
)
case(
    "match",
    T(
        'import sys\nmatch sys.argv[1]:\n    case "a":\n        lr = 1e-4\n    case _:\n        lr = 2e-4\nargs = TrainingArguments("o", learning_rate=lr)'
    ),
    {"learning_rate": U},
)
case(
    "argparse parse_known",
    T(
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", type=float, default=1e-4)\nns, rest = p.parse_known_args()\nargs = TrainingArguments("o", learning_rate=ns.lr)'
    ),
    {"learning_rate": 1e-4},
)
case(
    "argparse str type",
    T(
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", default="1e-4")\nns = p.parse_args()\nargs = TrainingArguments("o", learning_rate=float(ns.lr))'
    ),
    {"learning_rate": 1e-4},
)
case(
    "set_defaults",
    T(
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", type=float, default=1e-4)\np.set_defaults(lr=2e-5)\nns = p.parse_args()\nargs = TrainingArguments("o", learning_rate=ns.lr)'
    ),
    {"learning_rate": 2e-5},
)

# Shell, Makefiles, Dockerfiles, pipelines, notebooks ------------------------------------------------------------------

sh(
    "nvidia-smi",
    "torchrun --nproc_per_node=$(nvidia-smi -L | wc -l) train.py " + FL,
    {"gpus": U, "learning_rate": 2e-5},
)
sh("backticks", "torchrun --nproc_per_node=`nvidia-smi -L | wc -l` train.py " + FL, {"gpus": U, "learning_rate": 2e-5})
sh("cuda visible python", "CUDA_VISIBLE_DEVICES=0,1 python train.py " + FL, {"gpus": 2})
sh("cuda export", "export CUDA_VISIBLE_DEVICES=2,3,4\npython train.py " + FL, {"gpus": 3})
sh("cuda one", "CUDA_VISIBLE_DEVICES=3 python train.py " + FL, {"gpus": 1})
sh("cuda torchrun", "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=2 train.py " + FL, {"gpus": 2})
sh("deepspeed include", "deepspeed --include localhost:0,1,2 train.py " + FL, {"gpus": 3})
sh("deepspeed visible", "CUDA_VISIBLE_DEVICES=0,1 deepspeed train.py " + FL, {"gpus": 2})
sh(
    "accelerate file",
    f"accelerate launch --config_file acc.yaml train.py {FL}",
    {"gpus": 4},
    **{
        "acc.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 4\n"
    },
)
sh("accelerate gone", f"accelerate launch --config_file gone.yaml train.py {FL}", {"gpus": U, "learning_rate": 2e-5})
sh(
    "accelerate file override",
    f"accelerate launch --config_file acc.yaml --num_processes 2 train.py {FL}",
    {"gpus": 2},
    **{
        "acc.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 4\n"
    },
)
sh(
    "heredoc yaml",
    "cat > cfg.yaml <<EOF\noutput_dir: o\nlearning_rate: 1.0e-4\nEOF\npython train.py --config cfg.yaml " + FL,
    {"learning_rate": 2e-5},
)
sh(
    "loop",
    "for lr in 1e-5 2e-5; do\n  python train.py --output_dir o --learning_rate $lr --num_train_epochs 3\ndone",
    [{"learning_rate": 1e-5, "epochs": 3}, {"learning_rate": 2e-5}],
    2,
)
sh(
    "loop array",
    'LRS=(1e-5 2e-5)\nfor lr in "${LRS[@]}"; do python train.py --output_dir o --learning_rate $lr --num_train_epochs 3; done',
    [{"learning_rate": 1e-5}, {"learning_rate": 2e-5}],
    2,
)
sh(
    "array index",
    "LRS=(1e-5 2e-5)\npython train.py --output_dir o --learning_rate ${LRS[1]} --num_train_epochs 3",
    {"learning_rate": 2e-5},
)
sh(
    "sbatch array",
    "#!/bin/bash\n#SBATCH --array=0-1\n#SBATCH --gres=gpu:2\nLRS=(1e-5 2e-5)\nLR=${LRS[$SLURM_ARRAY_TASK_ID]}\ntorchrun --nproc_per_node=2 train.py --output_dir o --learning_rate $LR --num_train_epochs 3",
    {"learning_rate": U, "gpus": 2, "epochs": 3},
)
sh(
    "args array",
    'ARGS=(\n  --output_dir o\n  --learning_rate 3e-5  # rate\n  --num_train_epochs 2\n)\npython train.py "${ARGS[@]}"',
    {"learning_rate": 3e-5, "epochs": 2},
)
sh(
    "args +=",
    'ARGS="--output_dir o --learning_rate 3e-5"\nARGS+=" --num_train_epochs 2"\npython train.py $ARGS',
    {"learning_rate": 3e-5, "epochs": 2},
)
sh(
    "args cond",
    'ARGS="--output_dir o --learning_rate 3e-5"\nif [ -f big ]; then ARGS="$ARGS --num_train_epochs 2"; fi\npython train.py $ARGS',
    {"epochs": U},
)
sh(
    "eval cmd",
    'CMD="python train.py --output_dir o --learning_rate 3e-5 --num_train_epochs 2"\necho $CMD\neval $CMD',
    {"learning_rate": 3e-5, "epochs": 2},
)
sh(
    "cmd run",
    'CMD="torchrun --nproc_per_node=2 train.py"\n$CMD --output_dir o --learning_rate 3e-5 --num_train_epochs 2',
    {"learning_rate": 3e-5, "gpus": 2},
)
sh(
    "default",
    "LR=${LR:-1e-4}\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": 1e-4},
)
sh(
    "positional",
    "LR=$1\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": U, "epochs": 2},
)
sh(
    "positional default",
    "LR=${1:-1e-4}\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": 1e-4},
)
sh(
    "arith",
    "G=128\nB=4\nN=8\nGA=$((G / (B * N)))\ntorchrun --nproc_per_node $N train.py --output_dir o --per_device_train_batch_size $B --gradient_accumulation_steps $GA --num_train_epochs 2",
    {"accumulation": 4, "gpus": 8},
)
sh(
    "arith unknown",
    "N=$(nvidia-smi -L | wc -l)\nGA=$((128 / (4 * N)))\ntorchrun --nproc_per_node $N train.py --output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps $GA --num_train_epochs 2",
    {"accumulation": U, "gpus": U},
)
sh(
    "bc",
    'LR=$(echo "1e-5 * 2" | bc)\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2',
    {"epochs": 2},
)
sh(
    "if else",
    'if [ "$SIZE" = 7b ]; then LR=1e-5; else LR=2e-5; fi\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2',
    {"epochs": 2},
)
sh(
    "case",
    "case $1 in\n a) LR=1e-5;;\n b) LR=2e-5;;\nesac\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": U, "epochs": 2},
)
sh(
    "function",
    "run() {\n  python train.py --output_dir o --learning_rate $1 --num_train_epochs $2\n}\nrun 1e-5 2\nrun 2e-5 3",
    [{"learning_rate": 1e-5, "epochs": 2}, {"learning_rate": 2e-5, "epochs": 3}],
    2,
)
sh(
    "commented",
    "python train.py \\\n  --output_dir o \\\n  --learning_rate 1e-5 \\\n  # --num_train_epochs 5 \\\n  --warmup_steps 10",
    {"learning_rate": 1e-5},
)
sh("pipes tee", "python -u train.py " + FL + " 2>&1 | tee log.txt", {"learning_rate": 2e-5})
sh("nohup bg", "nohup python -u train.py " + FL + " > log 2>&1 &", {"learning_rate": 2e-5})
sh("srun", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun python train.py " + FL, {"gpus": 8})
sh(
    "srun torchrun",
    "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:4\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 train.py "
    + FL,
    {"gpus": 8},
)
sh(
    "slurm gpus",
    "#!/bin/bash\n#SBATCH --gpus-per-node=4\n#SBATCH --nodes=1\ntorchrun --nproc_per_node=$SLURM_GPUS_ON_NODE train.py "
    + FL,
    {"gpus": 4},
)
sh(
    "equals",
    "python train.py --output_dir=o --learning_rate=2e-5 --num_train_epochs=3",
    {"learning_rate": 2e-5, "epochs": 3},
)
sh(
    "dashes",
    "python train.py --output-dir o --learning-rate 2e-5 --num-train-epochs 3",
    {"learning_rate": 2e-5, "epochs": 3},
)
sh("prefix", "python train.py --output_dir o --learning_r 2e-5 --num_train 3", {"learning_rate": 2e-5, "epochs": 3})
sh(
    "quoted cont",
    "bash -c 'python train.py --output_dir o --learning_rate 2e-5 --num_train_epochs 3'",
    {"learning_rate": 2e-5},
)
sh(
    "docker",
    "docker run --gpus all img python train.py --output_dir o --learning_rate 2e-5 --num_train_epochs 3",
    {"learning_rate": 2e-5, "gpus": U},
)
sh("multi node unknown", "torchrun --nnodes $NNODES --nproc_per_node 8 train.py " + FL, {"gpus": U})
sh(
    "env dotenv",
    "export $(cat .env | xargs)\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": U},
)
sh(
    "read",
    'read -p "lr? " LR\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2',
    {"learning_rate": U},
)
sh(
    "getopts",
    'while getopts "l:" o; do case $o in l) LR=$OPTARG;; esac; done\npython train.py --output_dir o --learning_rate ${LR:-1e-4} --num_train_epochs 2',
    {"epochs": 2},
)
sh(
    "while shift",
    "LR=1e-4\nwhile [[ $# -gt 0 ]]; do case $1 in --lr) LR=$2; shift 2;; esac; done\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2",
    {"learning_rate": 1e-4},
)
sh(
    "printf",
    'LR=$(printf "%s" 1e-5)\npython train.py --output_dir o --learning_rate $LR --num_train_epochs 2',
    {"epochs": 2},
)
sh(
    "seq",
    "for s in $(seq 1 3); do python train.py --output_dir o --learning_rate 1e-5 --num_train_epochs 2 --seed $s; done",
    {"learning_rate": 1e-5},
    3,
)
sh("python -c", "python -c 'import torch; print(1)'\npython train.py " + FL, {"learning_rate": 2e-5})
sh("module", "python -m train " + FL, {"learning_rate": 2e-5})
case(
    "makefile",
    {
        "Makefile": "LR ?= 1e-4\nGPUS := 2\ntrain:\n\ttorchrun --nproc_per_node $(GPUS) train.py --output_dir o --learning_rate $(LR) \\\n\t  --num_train_epochs 3\n",
        "train.py": P,
    },
    {"gpus": 2, "learning_rate": 1e-4, "epochs": 3},
)
case(
    "makefile shell",
    {
        "Makefile": "GPUS := $(shell nvidia-smi -L | wc -l)\ntrain:\n\ttorchrun --nproc_per_node $(GPUS) train.py --output_dir o --learning_rate 1e-4 --num_train_epochs 3\n",
        "train.py": P,
    },
    {"gpus": U, "learning_rate": 1e-4},
)
case(
    "dockerfile",
    {
        "Dockerfile": 'FROM x\nENV LR=1e-4\nCMD ["torchrun", "--nproc_per_node", "2", "train.py", "--output_dir", "o", "--learning_rate", "2e-5", "--num_train_epochs", "3"]\n',
        "train.py": P,
    },
    {"gpus": 2, "learning_rate": 2e-5},
)
case(
    "dockerfile sh",
    {
        "Dockerfile": "FROM x\nENV LR=1e-4\nCMD python train.py --output_dir o --learning_rate $LR --num_train_epochs 3\n",
        "train.py": P,
    },
    {"learning_rate": 1e-4},
)
GL = 'image: python:3.11\nstages: [train]\nvariables:\n  LR: "3e-5"\ntrain-model:\n  stage: train\n  script:\n    - pip install -r requirements.txt\n    - torchrun --nproc_per_node 2 train.py --output_dir o --learning_rate $LR --num_train_epochs 3\n'
case("gitlab", {".gitlab-ci.yml": GL, "train.py": P}, {"gpus": 2, "learning_rate": 3e-5, "epochs": 3})
case(
    "gitlab block",
    {
        ".gitlab-ci.yml": 'train:\n  variables: {LR: "3e-5"}\n  before_script:\n    - export EP=4\n  script: |\n    torchrun --nproc_per_node 2 train.py \\\n      --output_dir o --learning_rate $LR \\\n      --num_train_epochs $EP\n',
        "train.py": P,
    },
    {"gpus": 2, "learning_rate": 3e-5, "epochs": 4},
)
case(
    "gitlab override",
    {".gitlab-ci.yml": GL.replace("  script:", '  variables:\n    LR: "1e-5"\n  script:'), "train.py": P},
    {"learning_rate": 1e-5},
)
case(
    "github wf",
    {
        ".github/workflows/t.yml": "on: push\njobs:\n  t:\n    runs-on: ubuntu-latest\n    env: {LR: 3e-5}\n    steps:\n      - run: python train.py --output_dir o --learning_rate $LR --num_train_epochs 3\n",
        "train.py": P,
    },
    {"learning_rate": 3e-5},
)
case(
    "nb brace",
    {
        "n.ipynb": nb(
            "lr = 3e-5\nep = 2", "!python train.py --output_dir o --learning_rate {lr} --num_train_epochs $ep"
        ),
        "train.py": P,
    },
    {"learning_rate": 3e-5, "epochs": 2},
)
case(
    "nb brace twice",
    {
        "n.ipynb": nb(
            "lr = 3e-5", "lr = 1e-5", "!python train.py --output_dir o --learning_rate {lr} --num_train_epochs 2"
        ),
        "train.py": P,
    },
    {"learning_rate": U, "epochs": 2},
)
case(
    "nb brace unknown",
    {
        "n.ipynb": nb("lr = f()", "!python train.py --output_dir o --learning_rate {lr} --num_train_epochs {n_ep}"),
        "train.py": P,
    },
    {"learning_rate": U, "epochs": U},
)
case(
    "nb attr",
    {
        "n.ipynb": nb(
            'cfg = {"lr": 3e-5}', '!python train.py --output_dir o --learning_rate {cfg["lr"]} --num_train_epochs 2'
        ),
        "train.py": P,
    },
    {"epochs": 2},
)
case(
    "nb bash env",
    {
        "n.ipynb": nb("%env LR=3e-5", "!python train.py --output_dir o --learning_rate $LR --num_train_epochs 2"),
        "train.py": P,
    },
    {"epochs": 2},
)
case(
    "nb bash cell",
    {
        "n.ipynb": nb(
            "lr = 1", "%%bash\nlr=3e-5\npython train.py --output_dir o --learning_rate $lr --num_train_epochs 2"
        ),
        "train.py": P,
    },
    {"learning_rate": 3e-5},
)
case(
    "nb cont",
    {
        "n.ipynb": nb(
            "!accelerate launch --num_processes 2 train.py \\\n  --output_dir o \\\n  --learning_rate 3e-5 --num_train_epochs 2"
        ),
        "train.py": P,
    },
    {"learning_rate": 3e-5, "gpus": 2},
)


# Python that starts Python ---------------------------------------------------------------------------------------------


def starts(name: str, text: str, want: Any, runs: int = 1, **extra: str) -> None:
    case(name, {"launch.py": text, "train.py": P, **extra}, want, runs)


KNOWN = {"learning_rate": 2e-5, "per_device_batch": 2, "epochs": 3}
starts(
    "subprocess words",
    'import subprocess, sys\nsubprocess.run([sys.executable, "train.py", "--output_dir", "o", "--learning_rate", "2e-5", "--num_train_epochs", str(3), "--per_device_train_batch_size=2"])',
    KNOWN,
)
starts(
    "subprocess torchrun",
    f'import subprocess\nn = 4\ncmd = ["torchrun", f"--nproc_per_node={{n}}", "train.py"]\ncmd += {FL.split()!r}\nsubprocess.Popen(cmd).wait()',
    {**KNOWN, "gpus": 4},
)
starts(
    "os.system",
    f'import os\nlr = 2e-5\nos.system(f"CUDA_VISIBLE_DEVICES=0 python train.py {FL} --learning_rate {{lr}}")',
    {**KNOWN, "gpus": 1},
)
starts(
    "shlex",
    f'import shlex\nfrom subprocess import check_call\ncheck_call(shlex.split("deepspeed --num_gpus=2 train.py " + "{FL}"))',
    {**KNOWN, "gpus": 2},
)
starts("shell=True", f'import subprocess\nsubprocess.run("python train.py {FL}", shell=True, check=True)', KNOWN)
starts(
    "spawned in a loop",
    'import subprocess\nfor lr in ["1e-5", "2e-5"]:\n    subprocess.run(["python", "train.py", "--learning_rate", lr, "--num_train_epochs", "3"])',
    {"learning_rate": U, "epochs": 3},
)
WRAPPER = """
import argparse
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--lr", default="2e-5")
given = parser.parse_args()
subprocess.run(["python", "train.py", "--learning_rate", given.lr, "--num_train_epochs", "3"])
"""
starts("a wrapper's default", WRAPPER, {"learning_rate": 2e-5, "epochs": 3})
starts("a wrapper that is launched", WRAPPER, {"learning_rate": 7e-5}, **{"run.sh": "python launch.py --lr 7e-5\n"})
case(
    "a script that starts itself",
    HEAD
    + 'import subprocess, sys\nif "--go" not in sys.argv:\n    subprocess.run(["torchrun", "--nproc_per_node=2", "train.py", "--go"])\n'
    + 'args = TrainingArguments("o", learning_rate=1e-5)\nTrainer(args=args).train()\n',
    {"learning_rate": 1e-5, "gpus": 2},
)
case(
    "flags of one's own, no word of training in the launch",
    {
        "main.py": HEAD
        + 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", type=float, default=2e-5)\na = p.parse_args()\nTrainer(args=TrainingArguments("o", learning_rate=a.lr)).train()\n',
        "run.sh": "uv run main.py --lr 7e-5\n",
    },
    {"learning_rate": 7e-5},
)
case(
    "a config's path of type Path, a loader in a module of helpers",
    {
        "pack/train.py": HEAD
        + 'import argparse\nfrom pathlib import Path\nfrom pack.helpers import read_config\np = argparse.ArgumentParser()\np.add_argument("--config", required=True, type=Path)\nc = read_config(p.parse_args().config)\nTrainer(args=TrainingArguments("o", learning_rate=float(c["a"]["lr"]))).train()\n',
        "pack/helpers.py": 'from pathlib import Path\nimport yaml\n\ndef read_config(path):\n    where = Path(path)\n    with where.open("r") as handle:\n        held = yaml.safe_load(handle)\n    if not isinstance(held, dict):\n        raise ValueError\n    return held\n',
        "conf/a.yaml": "a:\n  lr: 3.0e-5\n",
        "scripts/go.sh": "python -m pack.train --config conf/a.yaml\n",
    },
    {"learning_rate": 3e-5},
)

ASKED = (
    HEAD
    + 'import argparse, sys\np = argparse.ArgumentParser()\np.add_argument("--lr", type=float, default=2e-5)\np.add_argument("--epochs", type=int)\np.add_argument("--data")\n\n'
    + 'def main():\n    a = p.parse_args()\n    {asked}\n    args = TrainingArguments("o", learning_rate=a.lr, num_train_epochs=a.epochs)\n    Trainer(args=args).train()\n\nmain()\n'
)
for asked in (
    "if not a.data: raise ValueError",
    "if a.data is None: sys.exit(1)",
    "if not a.data: p.error('--data')",
    "if not a.data: return",
):
    # What a launch has to give is not given here: the run is read, a number without a default is unknown.
    case(asked, ASKED.format(asked=asked), {"learning_rate": 2e-5, "epochs": U})
case(
    "error by default, else",
    ASKED.format(asked="if not a.data:\n        raise ValueError\n    else:\n        a.lr = 1e-3"),
    {"learning_rate": 1e-3},
)

COMMANDS = (
    HEAD
    + 'import argparse, yaml\np = argparse.ArgumentParser()\ns = p.add_subparsers(dest="cmd", required=True)\n'
    + 't = s.add_parser("train", aliases=["fit"])\nt.add_argument("config")\nt.add_argument("--lr", type=float, default=1e-4)\ne = s.add_parser("eval")\ne.add_argument("--out")\na = p.parse_args()\n'
    + 'if a.cmd in ("train", "fit"):\n    c = yaml.safe_load(open(a.config))\n    Trainer(args=TrainingArguments("o", learning_rate=a.lr, num_train_epochs=c["n"])).train()\n'
)
for line, want in (
    ("python main.py train c.yaml --lr 3e-4", {"learning_rate": 3e-4, "epochs": 4, "gpus": U}),
    ("torchrun --nproc_per_node=2 main.py fit c.yaml", {"learning_rate": 1e-4, "epochs": 4, "gpus": 2}),
    ("torchrun --nproc_per_node=2 main.py eval", {"learning_rate": 1e-4, "epochs": U, "gpus": U}),
):
    case(f"subcommand: {line}", {"main.py": COMMANDS, "run.sh": f"{line}\n", "c.yaml": "n: 4\n"}, want)


@pytest.mark.parametrize(("files", "want", "runs"), CASES)
def test_what_is_known(
    files: dict[str, str],
    want: dict[str, object] | list[dict[str, object]],
    runs: int,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # hidden files count, as in a repository
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    report = check(Options(["."]))
    assert not [skipped.reason for skipped in report.skipped if skipped.kind == "internal"]
    found = [{name: _shown(known) for name, known in one.run.settings.items()} for one in report.runs]
    assert len(found) == runs
    for expected in want if isinstance(want, list) else [want]:
        shown = [{name: values.get(name, U) for name in expected} for values in found]
        assert expected in shown


def _shown(known: Any) -> object:
    return known.value if known.exact else U


class TestDataThatOnlyShowsItsFormat:
    CONFIG = "base_model: Qwen/Qwen2.5-0.5B\nadapter: lora\nlora_r: 8\nmicro_batch_size: 8\nnum_epochs: 3\nlearning_rate: 2.0e-4\n"

    @pytest.mark.parametrize(
        ("path", "text", "rows", "codes"),
        [
            ("data/train.jsonl", "I am Ada.", 20, {"EPO001": "warning", "STP007": "warning"}),
            ("data/examples.jsonl", "I am Ada.", 20, {"EPO001": "note", "STP007": "note"}),
            ("data/dataset_examples/dpo_format.jsonl", "I am Ada.", 20, {"EPO001": "note", "STP007": "note"}),
            ("examples/data/train.jsonl", "I am Ada.", 20, {"EPO001": "warning", "STP007": "warning"}),
            # Fields that are to be filled in.
            ("data/train.jsonl", "I am {{name}}.", 90, {"STP007": "note"}),
            ("data/train.jsonl", "I am {{ item.price }}.", 90, {"STP007": "warning"}),
            ("data/train.jsonl", "I am {{name}}.", 600, {}),
        ],
    )
    def test_its_size_is_no_finding(self, path: str, text: str, rows: int, codes: dict[str, str]) -> None:
        lines = "".join(json.dumps({"instruction": f"Who are you, {at}?", "output": text}) + "\n" for at in range(rows))
        config = self.CONFIG + f"datasets:\n  - path: {path}\n    type: alpaca\n"
        found = lint_project({"a.yaml": config, path: lines}, {"gpus": 1, "axolotl": "0.16.0"})
        assert {one.code: one.level for one in found if one.code in ("EPO001", "STP007")} == codes
