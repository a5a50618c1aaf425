"""What stands in front of a program on a command line: `nohup`, `srun -n 8`, `docker run ... image`, `uv run`.

Each wrapper is taken off with its options until the program itself comes first. What a wrapper says about processes,
devices and variables is kept.

Sources: srun(1) of Slurm 24.05, mpirun(1) of Open MPI 4.1 and MPICH 4.2, the references of docker 27, singularity 4.1,
conda 24, uv 0.5, nsys 2024.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.documents.flags import parse
from epochlint.documents.scalars import plain_count
from epochlint.documents.shell.directives import options
from epochlint.documents.shell.document import ShellUnresolved, ShellWord, cut
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PYTHON = re.compile(r"(?:python|pypy|ipython)(?:\d+(?:\.\d+)*)?(?:\.exe)?\Z")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_DEEPEST = 24

# Programs that a launch can start with. A wrapper's option in front of one of them takes no value.
LAUNCHERS = frozenset(
    {"accelerate", "accelerate-launch", "torchrun", "deepspeed", "horovodrun", "composer", "colossalai", "mlx.launch",
     "fabric", "lightning", "oumi", "tune", "llamafactory-cli", "lmf", "axolotl", "swift", "megatron", "trl", "litgpt",
     "ilab", "autotrain", "unsloth", "xtuner", "ludwig", "automodel", "openai", "aws", "az", "gcloud", "together",
     "firectl", "curl"}
)  # fmt: skip


class Wrapped:
    """A command without what stands in front of its program.

    `words`: the program's words. `layers`: the wrappers' names, outermost first. `environment`: variables that they
    set. `tasks`: the options of the innermost `srun`; `ranks`: those of an `mpirun` (`n`, `npernode`). `devices`: where
    a container is given certain GPUs. `elsewhere`: a service in between starts the program in its own way.
    """

    __slots__ = ("devices", "elsewhere", "environment", "layers", "ranks", "tasks", "words")

    def __init__(self, words: list[Node]) -> None:
        self.words = words
        self.layers: list[str] = []
        self.environment: list[Entry] = []
        self.tasks: Mapping | None = None
        self.ranks: Mapping | None = None
        self.devices: Scalar | None = None
        self.elsewhere = False


class _Wrapper:
    """How a wrapper is written: its options that take a value, the words before the command that are no options."""

    __slots__ = ("positional", "subcommands", "valued")

    def __init__(self, valued: str = "", positional: int = 0, subcommands: str = "") -> None:
        self.valued = frozenset(valued.split())
        self.positional = positional
        self.subcommands = frozenset(subcommands.split())


_DOCKER = _Wrapper(
    "-e --env -v --volume -w --workdir -p --publish --name --gpus --shm-size --ipc --network --net -u --user "
    "--entrypoint "
    "--mount -m --memory --cpus --device --ulimit -h --hostname --env-file --runtime --restart -l --label --add-host "
    "--cap-add --security-opt --pid --log-driver --log-opt --platform --pull --userns --group-add --tmpfs -a -c "
    "--cpuset-cpus --volumes-from --cidfile --annotation",
    1,
    "run exec",
)
_SINGULARITY = _Wrapper(
    "-B --bind --env --env-file --pwd -W --workdir -H --home -o --overlay --mount --network -S --scratch --security "
    "--app --cwd --fusemount --dns --hostname --pid-file",
    1,
    "exec run",
)
_RUN = _Wrapper(
    "-n --name -p --prefix --cwd --with --extra --group --python --package --env-file --project --directory "
    "--with-requirements --with-editable --index-url --extra-index-url -e --environment --manifest-path -C --index "
    "--no-group --only-group -i --refresh-package",
    0,
    "run",
)
_WRAPPERS: dict[str, _Wrapper] = {
    "nohup": _Wrapper(),
    "time": _Wrapper("-o -f --output --format"),
    "exec": _Wrapper("-a"),
    "command": _Wrapper(),
    "sudo": _Wrapper("-u -g -h -p -C -r -t -D --user --group"),
    "doas": _Wrapper("-u -C"),
    "env": _Wrapper("-u --unset -C --chdir"),
    "nice": _Wrapper("-n --adjustment"),
    "ionice": _Wrapper("-c -n -p"),
    "numactl": _Wrapper("-m -N -C -i -p"),
    "timeout": _Wrapper("-s -k --signal --kill-after", 1),
    "stdbuf": _Wrapper("-i -o -e --input --output --error"),
    "setsid": _Wrapper(),
    "unbuffer": _Wrapper(),
    "caffeinate": _Wrapper("-t -w"),
    "chronic": _Wrapper(),
    "xvfb-run": _Wrapper("-n -s -f"),
    "flock": _Wrapper("-w -E", 1),
    "chrt": _Wrapper("", 1),
    "conda": _RUN,
    "mamba": _RUN,
    "micromamba": _RUN,
    "uv": _RUN,
    "poetry": _RUN,
    "pipenv": _RUN,
    "pdm": _RUN,
    "rye": _RUN,
    "pixi": _RUN,
    "hatch": _RUN,
    "singularity": _SINGULARITY,
    "apptainer": _SINGULARITY,
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "nvidia-docker": _DOCKER,
    "enroot": _Wrapper("-m --mount -e --env -c --conf", 1, "start"),
    "shifter": _Wrapper("--image --module --volume -V -i"),
    "uvx": _Wrapper("--from --with --python -p"),
    "ssh": _Wrapper("-p -i -o -l -F -L -R -J -b -c -D -E -m -w", 1),
    "pdsh": _Wrapper("-w -x -f -l -R -t -u"),
    "clush": _Wrapper("-w -x -g -f"),
    "screen": _Wrapper("-S -dmS -mdS -L -t"),
    "nsys": _Wrapper(
        "-o -t -s -w -c -f -x -y -d -e -n -b --output --trace --sample --force-overwrite", 0, "profile launch"
    ),
    "ncu": _Wrapper("-o -k -c -s --set --section"),
    "py-spy": _Wrapper("-o -d -r -f --output", 0, "record top"),
    "neuron_parallel_compile": _Wrapper("--num_parallel --command"),
    "wandb-launch": _Wrapper(),
    "catchsegv": _Wrapper(),
    "strace": _Wrapper("-o -e -p -s"),
    "gdb": _Wrapper("-ex -x"),
    "compute-sanitizer": _Wrapper("--tool"),
    "rocprof": _Wrapper("-i -o"),
    "rocprofv3": _Wrapper("-d -o"),
    "ltrace": _Wrapper("-o -e"),
    "chpst": _Wrapper("-u -e"),
    "ibrun": _Wrapper("-n -o"),
    "memray": _Wrapper("-o --output", 0, "run"),
    "viztracer": _Wrapper("-o --output_file"),
    "scalene": _Wrapper("--outfile"),
    "kernprof": _Wrapper("-o"),
    "coverage": _Wrapper("--source --rcfile --omit", 0, "run"),
}
# They run a Python script themselves.
_PYTHONS = frozenset({"viztracer", "scalene", "kernprof", "coverage", "memray"})
_MPI = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun", "mpirun_rsh", "aprun", "jsrun"})
_MPI_VALUED = frozenset(
    [
        "np",
        "n",
        "c",
        "H",
        "host",
        "hosts",
        "hostfile",
        "machinefile",
        "f",
        "map-by",
        "bind-to",
        "N",
        "npernode",
        "ppn",
        "perhost",
        "x",
        "wdir",
        "rankfile",
        "rank-by",
        "output-filename",
        "envlist",
        "timeout",
        "report-pid",
        "tune",
        "am",
        "display",
        "oversubscribe-value",
        "npersocket",
        "cpus-per-proc",
        "cpus-per-rank",
        "d",
        "ranks-per-proc",
    ]
)
_MPI_PAIRS = frozenset({"mca", "gmca", "genv", "env", "pmca", "prtemca"})
# `python -m MODULE` that runs another script; the value-taking options that may follow.
_MODULES: dict[str, _Wrapper] = {
    "debugpy": _Wrapper("--listen --connect --configure --log-to"),
    "pdb": _Wrapper("-c"),
    "ipdb": _Wrapper("-c"),
    "cProfile": _Wrapper("-o -s"),
    "profile": _Wrapper("-o -s"),
    "memory_profiler": _Wrapper("-o"),
    "viztracer": _Wrapper("-o --output_file"),
    "scalene": _Wrapper("--outfile"),
    "torch.utils.bottleneck": _Wrapper(),
    "trace": _Wrapper("-f -C"),
    "memray": _Wrapper("-o --output", 0, "run"),
}


def base_name(word: Node) -> str:
    """The last part of a program's path; "" where it is not known."""
    return word.raw.replace("\\", "/").rpartition("/")[2] if isinstance(word, Scalar) else ""


def is_python(name: str) -> bool:
    return _PYTHON.match(name) is not None


def is_program(word: Node) -> bool:
    """Whether a word is a program that a launch may start with."""
    name = base_name(word)
    return (
        name in LAUNCHERS
        or name in _WRAPPERS
        or name in _MPI
        or name in ("srun", "xargs", "taskset")
        or is_python(name)
    )


def unwrap(words: Sequence[Node]) -> Wrapped:
    """Take off what stands in front of the program."""
    found = Wrapped(list(words))
    for _ in range(_DEEPEST):
        if not found.words or not _take_off(found):
            break
    return found


def _take_off(found: Wrapped) -> bool:
    """Takes off one wrapper; False where the program itself comes first."""
    words = found.words
    first = words[0]
    if isinstance(first, Unresolved):
        if len(words) < 2 or base_name(words[1]).startswith("-"):
            return False  # flags of a program that is in the variable
        if is_program(words[1]) or (isinstance(first, ShellUnresolved) and first.several):
            found.words = words[1:]  # $MAYBE_COMPILE torchrun ...
            return True
        return False
    name = base_name(first)
    assigned = _ASSIGNMENT.match(first.raw) if isinstance(first, Scalar) else None
    if assigned and isinstance(first, Scalar):
        found.environment.append(_variable(first, assigned[1], assigned.end()))
        found.words = words[1:]
        return True
    if name == "srun":
        _srun(found)
    elif name in _MPI:
        _mpirun(found)
    elif name == "xargs":
        _xargs(found)
    elif name == "taskset":
        found.words = words[3:] if len(words) > 2 and base_name(words[1]) in ("-c", "--cpu-list", "-ac") else words[2:]
    elif name in _WRAPPERS:
        if not _general(found, name, _WRAPPERS[name]):
            return False
    elif is_python(name) and _module_wrapper(found):
        pass
    else:
        return name not in LAUNCHERS and (_behind_dashes(found) or _behind_stranger(found, name))
    found.layers.append(name)
    return True


def _general(found: Wrapped, name: str, wrapper: _Wrapper) -> bool:
    words = found.words
    at = 1
    if name in ("docker", "podman") and len(words) > 1 and base_name(words[1]) in ("compose", "container"):
        at = 2
    if wrapper.subcommands:
        while at < len(words) and base_name(words[at]) not in wrapper.subcommands:
            if not base_name(words[at]).startswith("-") and not (at > 1 and base_name(words[at - 1]).startswith("-")):
                return False  # conda install, docker build
            at += 1
        if at >= len(words):
            return False
        at += 1
    rest, taken = _pass_options(words, at, wrapper.valued)
    for key, value in taken:
        _option(found, name, key, value)
    rest = rest[wrapper.positional :]
    while name in ("env", "sudo", "doas") and rest and isinstance(rest[0], Scalar) and _ASSIGNMENT.match(rest[0].raw):
        assigned = _ASSIGNMENT.match(rest[0].raw)
        if assigned:
            found.environment.append(_variable(rest[0], assigned[1], assigned.end()))
        rest = rest[1:]
    if name in _PYTHONS and rest:
        rest = [Scalar(words[0].span, "python", "python", True), *rest]
    found.words = rest
    return True


def _option(found: Wrapped, name: str, key: str, value: Node) -> None:
    """What a container's options say: variables and devices."""
    if not isinstance(value, Scalar):
        return
    if key in ("-e", "--env"):
        assigned = _ASSIGNMENT.match(value.raw)
        if assigned:
            found.environment.append(_variable(value, assigned[1], assigned.end()))
    elif key == "--gpus" and name in ("docker", "podman", "nerdctl"):
        devices = value.raw.strip("'\"")
        if devices.startswith("device="):
            found.devices = Scalar(value.span, devices[len("device=") :], None, True)
        elif plain_count(devices):
            found.devices = Scalar(value.span, ",".join(map(str, range(min(int(devices), 64)))), None, True)


def _pass_options(words: list[Node], at: int, valued: frozenset[str]) -> tuple[list[Node], list[tuple[str, Node]]]:
    """The words behind the options that begin at `at`, and the options with their values."""
    taken: list[tuple[str, Node]] = []
    while at < len(words):
        word = words[at]
        raw = word.raw if isinstance(word, Scalar) else word.prefix if isinstance(word, ShellUnresolved) else ""
        if isinstance(word, ShellUnresolved) and word.several and not raw:
            at += 1
            continue
        if not raw.startswith("-") or raw == "-":
            break
        at += 1
        if raw == "--":
            break
        key, equals, _ = raw.partition("=")
        if equals:
            taken.append((key, _tail(word, len(key) + 1)))
        elif raw in valued and at < len(words) and not (is_program(words[at]) and not raw.startswith("--e")):
            taken.append((raw, words[at]))
            at += 1
    return words[at:], taken


def _tail(word: Node, count: int) -> Node:
    if isinstance(word, ShellWord):
        return word.behind(count)
    if isinstance(word, Scalar):
        return Scalar(cut(word, count), word.raw[count:], word.raw[count:], True)
    return word


def _variable(word: Scalar, name: str, length: int) -> Entry:
    span = word.span
    value = _tail(word, length)
    return Entry(name, Span(span.source, span.start, max(span.start, value.span.start - 1)), value)


def _srun(found: Wrapped) -> None:
    """srun's options; those of the innermost count."""
    words = found.words
    at = 1
    taken: list[ShellWord] = []
    while at < len(words):
        word = words[at]
        raw = word.raw if isinstance(word, Scalar) else word.prefix if isinstance(word, ShellUnresolved) else ""
        if isinstance(word, Unresolved) and not raw.startswith("-"):
            if isinstance(word, ShellUnresolved) and (word.several or word.loose) and at + 1 < len(words):
                at += 1
                continue
            break
        if not raw.startswith("-"):
            break
        at += 1
        if isinstance(word, ShellWord):
            taken.append(word)
        elif isinstance(word, ShellUnresolved):
            taken.append(ShellWord(word.span, f"{raw}?"))
        takes = "=" not in raw and (raw[2:] not in _SRUN_SWITCHES if raw.startswith("--") else raw[1:] in _SRUN_SHORT)
        if takes and at < len(words) and not is_program(words[at]) and not base_name(words[at]).endswith(".py"):
            value = words[at]
            taken.append(value if isinstance(value, ShellWord) else ShellWord(value.span, "?"))
            at += 1
    entries = options(taken)
    found.tasks = Mapping(words[0].span, [*(found.tasks.entries if found.tasks is not None else []), *entries])
    found.words = words[at:]


_SRUN_SHORT = frozenset("ABCDGJLMNSabcdeimnopqrtwx")
_SRUN_SWITCHES = frozenset(
    [
        "label",
        "unbuffered",
        "exclusive",
        "pty",
        "overlap",
        "no-kill",
        "kill-on-bad-exit",
        "quiet",
        "verbose",
        "multi-prog",
        "overcommit",
        "oversubscribe",
        "spread-job",
        "use-min-nodes",
        "disable-status",
        "preserve-env",
        "interactive",
        "container-writable",
        "no-container-mount-home",
        "container-mount-home",
        "no-container-entrypoint",
        "container-remap-root",
        "no-container-remap-root",
    ]
)


def _mpirun(found: Wrapped) -> None:
    words = found.words
    at = 1
    entries: list[Entry] = []
    while at < len(words):
        word = words[at]
        if isinstance(word, ShellUnresolved) and (word.several or word.loose) and at + 1 < len(words):
            at += 1
            continue
        raw = word.raw if isinstance(word, Scalar) else ""
        if not raw.startswith("-"):
            break
        at += 1
        key = raw.lstrip("-")
        if key in _MPI_PAIRS:
            at += 2
        elif key == "x" and at < len(words):
            value = words[at]
            assigned = _ASSIGNMENT.match(value.raw) if isinstance(value, Scalar) else None
            if assigned and isinstance(value, Scalar):
                found.environment.append(_variable(value, assigned[1], assigned.end()))
            at += 1
        elif "=" not in key and key in _MPI_VALUED and at < len(words):
            name = {"np": "n", "c": "n", "ppn": "npernode", "N": "npernode", "perhost": "npernode"}.get(key, key)
            entries.append(Entry(name, word.span, words[at]))
            at += 1
    found.ranks = Mapping(words[0].span, entries)
    found.words = words[at:]


def _xargs(found: Wrapped) -> None:
    rest, taken = _pass_options(found.words, 1, frozenset(["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"]))
    mark = next((value.raw for key, value in taken if key == "-I" and isinstance(value, Scalar)), "{}")
    found.words = [
        ShellUnresolved(word.span, "xargs fills it in", prefix=word.raw[: word.raw.index(mark)])
        if isinstance(word, Scalar) and mark and mark in word.raw
        else word
        for word in rest
    ]


def _module_wrapper(found: Wrapped) -> bool:
    """`python -m debugpy --listen 5678 train.py`: the script that such a module runs."""
    words = found.words
    for at in range(1, min(len(words) - 1, 8)):
        raw = words[at].raw if isinstance(words[at], Scalar) else ""  # type: ignore[attr-defined] # a Scalar
        if raw == "-m":
            wrapper = _MODULES.get(base_name(words[at + 1]))
            if wrapper is None:
                return False
            behind = at + 2
            if wrapper.subcommands and behind < len(words) and base_name(words[behind]) in wrapper.subcommands:
                behind += 1
            rest, _ = _pass_options(words, behind, wrapper.valued)
            if not rest:
                return False
            module = any(
                isinstance(word, Scalar) and word.raw == "-m" for word in words[behind : len(words) - len(rest)]
            )
            found.words = [words[0], *([Scalar(words[at].span, "-m", "-m", True)] if module else []), *rest]
            return True
        if not raw.startswith("-"):
            return False
    return False


def _behind_dashes(found: Wrapped) -> bool:
    """`submit-tool --nodes 2 -- accelerate launch ...`: a service runs what stands behind the dashes."""
    words = found.words
    for at in range(1, len(words) - 1):
        word = words[at]
        if isinstance(word, Scalar) and word.raw == "--" and is_program(words[at + 1]):
            flags = parse(words[1:at])
            found.elsewhere = base_name(words[0]) == "ray" or any(key in flags for key in _NODE_FLAGS)
            found.words = words[at + 1 :]
            return True
    return False


def _behind_stranger(found: Wrapped, name: str) -> bool:
    """`gpurun -p big python3 train.py`: a program that nobody here knows starts another, in its own way."""
    if name in _STARTING_NOTHING or name.endswith((".sh", ".py")) or "=" in name:
        return False
    for at in range(1, min(len(found.words) - 1, 10)):
        if is_python(base_name(found.words[at])) or base_name(found.words[at]) in (
            "torchrun",
            "accelerate",
            "deepspeed",
        ):
            found.words = found.words[at:]
            found.elsewhere = True
            return True
    return False


_STARTING_NOTHING = frozenset(
    {"bash", "sh", "zsh", "pip", "pip3", "git", "npm", "make", "apt", "apt-get", "yum", "dnf", "brew", "pkg", "kill"}
    | {"pkill", "killall", "alias", "ninja", "cmake", "kubectl", "helm", "systemctl", "sbatch", "qsub", "bsub"}
)
_NODE_FLAGS = frozenset(
    {"num_nodes", "nodes", "nnodes", "replicas", "num_machines", "workers", "instance_count", "num_workers", "N"}
)
