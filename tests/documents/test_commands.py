"""Commands in Makefiles, Dockerfiles, compose files, workflows and manifests."""

from __future__ import annotations

import textwrap

import pytest

from epochlint.documents import read as reading
from epochlint.documents import shell
from epochlint.documents.commands import commands, excerpt, kind_of
from epochlint.documents.document import Scalar
from epochlint.documents.shell import Command
from epochlint.source import Source
from tests.documents.shell.helpers import environment, flag, raw, raws


def of_yaml(text: str) -> list[Command]:
    document = reading.read(Source("job.yaml", textwrap.dedent(text)))
    assert document is not None
    return list(commands(document))


def of_file(path: str, text: str) -> list[Command]:
    return shell.read(Source(path, text)).launches


def settings(command: Command) -> dict[str, str | None]:
    return {entry.key: raw(entry.value) for entry in command.directives.entries}


def places(command: Command) -> list[str]:
    """Each word as it stands in the file."""
    return [word.span.in_file().text for word in command.words]


# Values as sources ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "python train.py --a 1",
        '"python train.py --a 1"',
        "'python train.py --a 1'",
        "|\n  python train.py \\\n    --a 1\n",
        "|-\n  python train.py --a 1",
        "|2\n  python train.py --a 1\n\n",
        ">\n  python train.py\n  --a 1\n",
        ">-\n  python train.py\n  --a 1",
        "python train.py\n  --a 1",
        '"python train.py \\\n  --a 1"',
        '"python train.py --a \\"1\\""',
        "'python train.py --a ''1'''",
        "|\r\n  python train.py --a 1\r\n",
    ],
)
def test_every_style_keeps_its_places(written: str) -> None:
    (found,) = of_yaml(f"resources: {{}}\nrun: {written}")
    assert raws(found) == ["python", "train.py", "--a", "1"]
    assert places(found)[:3] == ["python", "train.py", "--a"]
    assert "1" in places(found)[3]


def test_a_text_whose_escapes_cannot_be_followed_stands_at_its_beginning() -> None:
    document = reading.read(Source("a.yaml", 'run: "train \\x41 b"'))
    assert document is not None
    scalar = next(document.mappings()).get("run")
    assert isinstance(scalar, Scalar)
    found = excerpt(scalar, "run")
    assert found.text == "train A b"
    assert found.span(8, 9).in_file().start == scalar.span.start


# Makefiles ------------------------------------------------------------------------------------------------------------

MAKEFILE = """LR ?= 1e-5
EPOCHS := 3 # passes
DATA = $(shell ls)
TWICE = 1
TWICE = 2
export NPROC_PER_NODE = 4
ARGS = --learning_rate $(LR) --epochs ${EPOCHS}

.PHONY: train
train: data
\t@echo train
\tcd x && torchrun --nproc_per_node 2 train.py $(ARGS) \\
\t\t--data $(DATA) --twice $(TWICE) --out $@ \\
\t\t--batch $${BS:-4}
\t-@swift sft --lr $(LR)
# \tpython commented.py
clean:
\trm -rf train
"""


@pytest.mark.parametrize("path", ["Makefile", "sub/makefile", "GNUmakefile", "rules.mk", "Makefile.train"])
def test_recipes_of_a_makefile(path: str) -> None:
    first, second = of_file(path, MAKEFILE)
    assert raws(first)[:8] == [
        "torchrun",
        "--nproc_per_node",
        "2",
        "train.py",
        "--learning_rate",
        "1e-5",
        "--epochs",
        "3",
    ]
    assert (flag(first, "data"), flag(first, "twice"), flag(first, "out"), flag(first, "batch")) == (
        None,
        None,
        None,
        "4",
    )
    assert first.folder == "x"
    assert environment(first) == {"NPROC_PER_NODE": "4"}
    assert raws(second) == ["swift", "sft", "--lr", "1e-5"]


def test_where_a_recipes_words_stand() -> None:
    first = of_file("Makefile", MAKEFILE)[0]
    assert (places(first)[0], first.words[0].span.place.line, first.words[0].span.place.column) == ("torchrun", 12, 10)
    assert (places(first)[-2], first.words[-2].span.place.line) == ("--batch", 14)


def test_a_comment_in_a_recipe_cuts_it() -> None:
    document = shell.read(Source("Makefile", "train:\n\tpython train.py --a 1 \\\n\t# off \\\n\t--b 2\n"))
    assert [raws(launch) for launch in document.launches] == [["python", "train.py", "--a", "1"]]


def test_recipes_of_a_justfile() -> None:
    text = 'lr := "1e-5"\n\ntrain epochs="3" data:\n'
    text += "    torchrun train.py --lr {{lr}} --epochs {{ epochs }} --data {{data}}\n"
    (found,) = of_file("justfile", text)
    assert raws(found) == ["torchrun", "train.py", "--lr", "1e-5", "--epochs", "3", "--data", None]
    assert found.words[0].span.place.line == 4


# Dockerfiles ----------------------------------------------------------------------------------------------------------


def test_a_dockerfile() -> None:
    text = """# syntax=docker/dockerfile:1
FROM base AS first
ENV CUDA_VISIBLE_DEVICES=0,1 NAME="x y"
ARG LR=1e-5
WORKDIR /app
RUN --mount=type=cache,target=/x mkdir train \\
 # a comment cuts nothing here
 && python prepare.py --lr $LR
CMD python never.py
ENTRYPOINT ["accelerate", "launch", "--num_processes", "2", "train.py"]
CMD ["--learning_rate", "1e-4"]
FROM other
CMD torchrun --nproc_per_node=2 train.py \\
  --bf16
"""
    prepare, entry, last = of_file("Dockerfile", text)
    assert raws(prepare) == ["python", "prepare.py", "--lr", "1e-5"]
    assert environment(prepare) == {"CUDA_VISIBLE_DEVICES": "0,1", "NAME": "x y", "LR": "1e-5"}
    assert prepare.folder == "/app"
    assert raws(entry) == ["accelerate", "launch", "--num_processes", "2", "train.py", "--learning_rate", "1e-4"]
    assert entry.words[-1].span.place.line == 11
    assert raws(last) == ["torchrun", "--nproc_per_node=2", "train.py", "--bf16"]
    assert environment(last) == {}
    assert (places(last)[-1], last.words[-1].span.place.line) == ("--bf16", 14)


def test_a_dockerfiles_shell_words() -> None:
    (found,) = of_file("Dockerfile.gpu", 'FROM x\nCMD ["bash", "-c", "cd /x && python train.py --lr 1"]\n')
    assert (raws(found), found.folder) == (["python", "train.py", "--lr", "1"], "/x")
    (here,) = of_file("Containerfile", "FROM x\nRUN <<EOF\npython train.py --lr 1\nEOF\n")
    assert raws(here) == ["python", "train.py", "--lr", "1"]


@pytest.mark.parametrize(
    "text", ["", "FROM", "RUN", 'CMD ["train"', "CMD [train]", "ENV", "RUN train \\", "FROM x\nCMD ["]
)
def test_broken_dockerfiles(text: str) -> None:
    for found in of_file("Dockerfile", text + "\n# train\n"):
        assert found.words


# Workflows and compose files ------------------------------------------------------------------------------------------


def test_a_workflow() -> None:
    text = """
    on: push
    env:
      LR: 1e-5
    jobs:
      test:
        runs-on: gpu
        env: {CUDA_VISIBLE_DEVICES: 0, SECRET: "${{ secrets.X }}"}
        steps:
          - uses: actions/checkout@v4
          - name: train
            working-directory: sub
            env: {EPOCHS: 3}
            run: |
              python train.py --lr $LR \\
                --epochs $EPOCHS --seed ${{ matrix.seed }} --x $SECRET
          - run: train.ps1
            shell: pwsh
          - run: ls
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["python", "train.py", "--lr", "1e-5", "--epochs", "3", "--seed", None, "--x", None]
    assert environment(found)["CUDA_VISIBLE_DEVICES"] == "0"
    assert found.folder == "sub"
    assert found.words[0].span.source.label == "step of test"
    assert (found.words[-1].span.place.line, places(found)[0]) == (16, "python")


def test_a_compose_file() -> None:
    text = """
    services:
      one:
        image: x
        environment:
          CUDA_VISIBLE_DEVICES: "0,1"
          HOST: ${HOST}
        command: >
          python train.py
          --lr 1e-5
        deploy:
          resources:
            reservations:
              devices: [{driver: nvidia, count: 2}]
      two:
        environment: [A=1, B]
        entrypoint: ["bash", "-c"]
        command: ["cd /x && torchrun --nproc_per_node=2 train.py --lr '1'"]
      three:
        entrypoint: [accelerate, launch]
        command: [train.py, --lr, "2"]
      four:
        image: train
    """
    one, two, three = of_yaml(text)
    assert raws(one) == ["python", "train.py", "--lr", "1e-5"]
    assert environment(one) == {"CUDA_VISIBLE_DEVICES": "0,1", "HOST": None}
    assert settings(one) == {"gpus_per_node": "2"}
    assert (raws(two), two.folder) == (["torchrun", "--nproc_per_node=2", "train.py", "--lr", "1"], "/x")
    assert environment(two) == {"A": "1", "B": None}
    assert raws(three) == ["accelerate", "launch", "train.py", "--lr", "2"]


def test_a_skypilot_task() -> None:
    text = """
    resources:
      accelerators: A100:8
    num_nodes: 2
    run: |
      torchrun --nnodes $SKYPILOT_NUM_NODES --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE train.py
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["torchrun", "--nnodes", "2", "--nproc_per_node", "8", "train.py"]
    assert settings(found) == {"nodes": "2", "gpus_per_node": "8"}


def test_an_azure_job() -> None:
    text = """
    command: >-
      python train.py --lr ${{inputs.lr}}
      --epochs 3
    compute: azureml:gpu
    resources: {instance_count: 2}
    distribution: {type: pytorch, process_count_per_instance: 4}
    """
    (found,) = of_yaml(text)
    assert raws(found)[:5] == ["torchrun", "--nproc_per_node", "4", "--nnodes", "2"]
    assert raws(found)[-6:] == ["python", "train.py", "--lr", None, "--epochs", "3"]


# Manifests ------------------------------------------------------------------------------------------------------------


def test_a_pytorch_job() -> None:
    text = """
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    spec:
      nprocPerNode: "2"
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template:
            spec:
              containers:
                - name: pytorch
                  command: [torchrun, train.py]
                  args: ["--lr=$(LR)", --epochs, 3, --x=$(OTHER), $(LR)]
                  env:
                    - {name: LR, value: "1e-5"}
                    - {name: S, valueFrom: {secretKeyRef: {name: a, key: b}}}
                  resources: {limits: {nvidia.com/gpu: 2}}
        Worker:
          replicas: 3
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["torchrun", "train.py", None, "--epochs", "3", None, "1e-5"]
    assert environment(found) == {
        "PET_NPROC_PER_NODE": "2",
        "PET_NNODES": "4",
        "WORLD_SIZE": "4",
        "LR": "1e-5",
        "S": None,
    }
    assert settings(found) == {"nodes": "4", "gpus_per_node": "2"}
    assert places(found)[:2] == ["torchrun", "train.py"]


def test_a_train_job() -> None:
    text = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    spec:
      runtimeRef: {name: torch-distributed}
      trainer:
        numNodes: 2
        command: ["torchrun", "train.py"]
        args: [--lr=1]
        resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["torchrun", "train.py", "--lr=1"]
    assert environment(found) == {"PET_NPROC_PER_NODE": "4", "PET_NNODES": "2", "WORLD_SIZE": "2"}


def test_a_torchtune_runtimes_overrides() -> None:
    text = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    spec:
      runtimeRef: {name: torchtune-llama3.2-1b}
      trainer:
        args: [epochs=3, batch_size=4]
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["tune", "run", None, "epochs=3", "batch_size=4"]


def test_a_shell_in_a_container() -> None:
    text = """
    apiVersion: batch/v1
    kind: Job
    spec:
      template:
        spec:
          containers:
            - command: ["/bin/bash", "-c"]
              args:
                - |
                  pip install x
                  torchrun --nproc_per_node=$GPUS train.py \\
                    --lr 1e-5
              env: [{name: GPUS, value: "8"}]
              resources: {limits: {nvidia.com/gpu: 8}}
    """
    found = of_yaml(text)[-1]
    assert raws(found) == ["torchrun", "--nproc_per_node=8", "train.py", "--lr", "1e-5"]
    assert settings(found) == {"gpus_per_node": "8"}
    assert (found.words[-1].span.place.line, places(found)[-1]) == (13, "1e-5")


def test_an_mpi_job_is_started_by_its_launcher() -> None:
    text = """
    apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    spec:
      slotsPerWorker: 4
      mpiReplicaSpecs:
        Launcher:
          replicas: 1
          template: {spec: {containers: [{command: [mpirun, python, train.py]}]}}
        Worker:
          replicas: 2
          template: {spec: {containers: [{command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 4}}}]}}
    """
    (found,) = of_yaml(text)
    assert raws(found) == ["mpirun", "python", "train.py"]
    assert settings(found) == {"nodes": "2", "ntasks_per_node": "4"}


def test_pods_that_start_in_ways_that_are_not_told() -> None:
    text = """
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    spec:
      replicatedJobs:
        - replicas: 4
          template: {spec: {template: {spec: {containers: [{command: [torchrun, train.py]}]}}}}
    """
    (found,) = of_yaml(text)
    assert settings(found) == {"nodes": None}


@pytest.mark.parametrize(
    "container",
    [
        "{}",
        "{args: [--lr, '1']}",
        "{command: python}",
        "{command: [], args: []}",
        "{command: [1, 2], args: x}",
        "[]",
        "{command: [{a: 1}]}",
    ],
)
def test_odd_containers(container: str) -> None:
    text = f"apiVersion: v1\nkind: Pod\nspec: {{containers: [{container}]}}\n"
    for found in of_yaml(text):
        assert found.words


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "jobs: []",
        "jobs: {a: 1, b: {steps: 3}}",
        "services: {a: 1}",
        "kind: Pod\napiVersion: v1",
        "run: 1\nresources: 2",
        "- a\n- b",
    ],
)
def test_other_documents_have_no_commands(text: str) -> None:
    assert of_yaml(text) == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Makefile", "makefile"),
        ("a/b/makefile", "makefile"),
        ("x.mk", "makefile"),
        ("Makefile.gpu", "makefile"),
        ("Dockerfile", "dockerfile"),
        ("train.dockerfile", "dockerfile"),
        ("Dockerfile.train", "dockerfile"),
        ("Containerfile", "dockerfile"),
        ("justfile", "justfile"),
        ("train.sh", ""),
        ("makefile_helper.sh", ""),
    ],
)
def test_kinds_of_files(path: str, kind: str) -> None:
    assert kind_of(path) == kind
