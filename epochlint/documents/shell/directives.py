"""The settings that a batch system reads from a script's comments: `#SBATCH --nodes=2`, `#PBS -l select=2:ngpus=4`.

Keys are the long names with underscores; short options are written out. PBS, LSF and SGE resources get Slurm's names:
`nodes`, `ntasks`, `ntasks_per_node`, `gpus_per_node`, `gpus`.

Sources: the manual pages sbatch(1) (Slurm 24.05), qsub(1B) (PBS Professional 2022), bsub (LSF 10.1), qsub (SGE 8.1).
"""

from __future__ import annotations

import re
from itertools import pairwise

from epochlint.documents.document import Entry, Mapping, Node, Scalar
from epochlint.documents.scalars import plain_count
from epochlint.documents.shell.document import ShellWord
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.source import Source

_LINE = re.compile(r"^#(SBATCH|PBS|BSUB|\$)[ \t]+([^\r\n]*)", re.MULTILINE)
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|((?:[^\s\"'#]|(?<=[^\s])#|\"[^\"]*\"|'[^']*')+)|(#)")
# Slurm reads no directive behind the first command.
_COMMAND = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)
_SCHEDULERS = {"SBATCH": "slurm", "PBS": "pbs", "BSUB": "lsf", "$": "sge"}
_MOST = 500

# Slurm's short options; those without a value are False.
_SHORT: dict[str, str] = {
    "A": "account", "B": "extra_node_info", "C": "constraint", "D": "chdir", "F": "nodefile", "G": "gpus",
    "J": "job_name", "L": "licenses", "M": "clusters", "N": "nodes", "S": "core_spec", "a": "array", "b": "begin",
    "c": "cpus_per_task", "d": "dependency", "e": "error", "i": "input", "m": "distribution", "n": "ntasks",
    "o": "output", "p": "partition", "q": "qos", "t": "time", "w": "nodelist", "x": "exclude",
}  # fmt: skip
_SWITCHES: dict[str, str] = {
    "H": "hold",
    "I": "immediate",
    "O": "overcommit",
    "Q": "quiet",
    "W": "wait",
    "k": "no_kill",
    "s": "oversubscribe",
    "v": "verbose",
}
_ALWAYS_SWITCHES = frozenset(
    {"exclusive", "overcommit", "oversubscribe", "requeue", "no_requeue", "hold", "contiguous", "wait", "parsable",
     "quiet", "verbose", "spread_job", "use_min_nodes", "ignore_pbs", "test_only", "reboot", "no_kill"}
)  # fmt: skip


def read(source: Source, start: int = 0, end: int | None = None) -> tuple[str, Mapping]:
    """The batch system ("" where there is none) and its settings, in the order written."""
    text = source.text
    if "#SBATCH" not in text and "#PBS" not in text and "#BSUB" not in text and "#$ " not in text:
        return "", Mapping(Span(source, 0, 0), [])
    end = len(text) if end is None else end
    first = _COMMAND.search(text, start, end)
    entries: list[Entry] = []
    scheduler = ""
    for found in _LINE.finditer(text, start, first.start() if first else end):
        kind = _SCHEDULERS[found[1]]
        if scheduler and kind != scheduler:
            continue  # a second system's lines, kept for another cluster
        words = _words(source, found.start(2), found.end(2))
        read_line = _slurm if kind == "slurm" else _pbs if kind in ("pbs", "sge") else _lsf
        entries += read_line(words)
        scheduler = kind
        if len(entries) > _MOST:
            break
    span = Span(source, entries[0].key_span.start, entries[-1].value.span.end) if entries else Span(source, 0, 0)
    return scheduler, Mapping(span, entries)


def options(words: list[ShellWord]) -> list[Entry]:
    """The settings among the words of `sbatch`, `srun` or `salloc`, up to the first that is none."""
    return _slurm(words)


def _words(source: Source, start: int, end: int) -> list[ShellWord]:
    words: list[ShellWord] = []
    for found in _WORD.finditer(source.text, start, end):
        if found[4]:
            break
        quoted = found[1] if found[1] is not None else found[2]
        raw = quoted if quoted is not None else re.sub(r"[\"']", "", found[3])
        words.append(ShellWord(Span(source, found.start(), found.end()), raw))
    return words


def _slurm(words: list[ShellWord]) -> list[Entry]:
    entries: list[Entry] = []
    at = 0
    while at < len(words):
        word = words[at]
        raw = word.raw
        at += 1
        following = words[at] if at < len(words) and not words[at].raw.startswith("-") else None
        if raw.startswith("--"):
            name, equals, _ = raw[2:].partition("=")
            key = name.replace("-", "_")
            if equals:
                entries.append(_entry(key, word, len(name) + 2, word.behind(len(name) + 3)))
            elif key in _ALWAYS_SWITCHES or following is None:
                entries.append(Entry(key, word.span, Scalar(word.span, "True", True, True)))
            else:
                at += 1
                entries.append(Entry(key, word.span, following))
        elif raw.startswith("-") and raw[1:2] in _SHORT:
            key = _SHORT[raw[1]]
            if len(raw) > 2:  # -N2, -N=2
                entries.append(_entry(key, word, 2, word.behind(3 if raw[2] == "=" else 2)))
            elif following is not None:
                at += 1
                entries.append(Entry(key, word.span, following))
        elif raw.startswith("-") and raw[1:2] in _SWITCHES:
            entries.append(Entry(_SWITCHES[raw[1]], word.span, Scalar(word.span, "True", True, True)))
    return entries


def _entry(key: str, word: ShellWord, length: int, value: Node) -> Entry:
    span = word.span
    if span.end - span.start == len(word.raw):
        span = Span(span.source, span.start, span.start + length)
    return Entry(key, span, value)


_RESOURCE = re.compile(r"([A-Za-z_]+)(?:=((?<=walltime=)[\d:]+|[^:,+\s]+))?")
_RESOURCES: dict[str, str] = {
    "ngpus": "gpus_per_node", "gpus": "gpus_per_node", "gpu": "gpus_per_node", "mpiprocs": "ntasks_per_node",
    "ppn": "ntasks_per_node", "select": "nodes", "nodes": "nodes", "ncpus": "cpus_per_node", "mem": "mem",
    "walltime": "time", "ngpu": "gpus_per_node",
}  # fmt: skip


def _pbs(words: list[ShellWord]) -> list[Entry]:
    """`-l select=2:ncpus=8:ngpus=4:mpiprocs=4`, `-l nodes=2:ppn=8:gpus=4`, `-N name`."""
    entries: list[Entry] = []
    for flag, value in pairwise(words):
        if flag.raw == "-l":
            chunks = value.raw.count("+")
            for found in _RESOURCE.finditer(value.raw):
                name, text = found[1], found[2]
                if text is None or (chunks and name not in ("walltime", "mem")):
                    continue  # several kinds of nodes: no one count
                entries.append(
                    Entry(_RESOURCES.get(name, name), value.span, _part(value, found.start(2), found.end(2)))
                )
        elif flag.raw in ("-N", "-q", "-A", "-P"):
            entries.append(Entry({"-N": "job_name", "-q": "partition"}.get(flag.raw, "account"), flag.span, value))
    return entries


def _lsf(words: list[ShellWord]) -> list[Entry]:
    """`-n 8`, `-nnodes 2`, `-gpu "num=4:mode=..."` (per host), `-q queue`."""
    names = {"-n": "ntasks", "-nnodes": "nodes", "-q": "partition", "-J": "job_name", "-W": "time"}
    entries: list[Entry] = []
    for flag, value in pairwise(words):
        if flag.raw in names:
            entries.append(Entry(names[flag.raw], flag.span, value))
        elif flag.raw == "-gpu":
            found = re.search(r"num=([0-9]{1,9})\b", value.raw)
            if found:
                entries.append(Entry("gpus_per_node", flag.span, _part(value, found.start(1), found.end(1))))
    return entries


def _part(word: ShellWord, start: int, end: int) -> ShellWord:
    """Some characters of a word as a word of its own."""
    span = word.span
    inside = span.text.find(word.raw)
    if inside >= 0:
        span = Span(span.source, span.start + inside + start, span.start + inside + end)
    return ShellWord(span, word.raw[start:end])


_GRES = re.compile(r"(?:^|,)(?:gres[:/])?gpu(?::[A-Za-z][\w.-]*)?(?::([0-9]{1,9}))?(?:\([^)]*\))?(?=,|$)")
_GPUS = re.compile(r"(?:[A-Za-z][\w.-]*:)?([0-9]{1,9})")


def gpus(settings: Mapping) -> Scalar | None:
    """The GPUs that a job has on each of its nodes, by its directives: a scalar at the directive that says so.

    `gres=gpu:a100:4`, `gpus-per-node=4`, `gpus-per-task` x `ntasks-per-node`, `gpus` on one node.
    """
    node = settings.get("gpus_per_node")
    if isinstance(node, Scalar):
        found = _GPUS.fullmatch(node.raw.strip())
        return Scalar(node.span, found[1], int(found[1]), True) if found else None
    node = settings.get("gres")
    if isinstance(node, Scalar):
        found = _GRES.search(node.raw.strip())
        if found:
            count = found[1] or "1"
            return Scalar(node.span, count, int(count), True)
    node = settings.get("gpus")
    nodes = settings.get("nodes")
    if isinstance(node, Scalar):
        found = _GPUS.fullmatch(node.raw.strip())
        count_nodes = nodes.raw if isinstance(nodes, Scalar) else "1"
        if found and plain_count(count_nodes) and int(count_nodes) > 0 and int(found[1]) % int(count_nodes) == 0:
            count = str(int(found[1]) // int(count_nodes))
            return Scalar(node.span, count, int(count), True)
        return None
    node = settings.get("gpus_per_task")
    tasks = _tasks_per_node(settings)
    if isinstance(node, Scalar) and plain_count(node.raw) and tasks is not None:
        count = str(int(node.raw) * tasks)
        return Scalar(node.span, count, int(count), True)
    return None


def _tasks_per_node(settings: Mapping) -> int | None:
    node = settings.get("ntasks_per_node")
    if node is not None:
        return int(node.raw) if isinstance(node, Scalar) and plain_count(node.raw) else None
    tasks, nodes = settings.get("ntasks"), settings.get("nodes")
    total = tasks.raw if isinstance(tasks, Scalar) else "1"
    count = nodes.raw if isinstance(nodes, Scalar) else "1"
    if plain_count(total) and plain_count(count) and int(count) > 0 and int(total) % int(count) == 0:
        return int(total) // int(count)
    return None


def slurm_variables(settings: Mapping) -> dict[str, Scalar]:
    """What Slurm puts into a job's environment, by the job's directives (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES")."""

    def plain(key: str) -> Scalar | None:
        node = settings.get(key)
        return node if isinstance(node, Scalar) and plain_count(node.raw) else None

    found: dict[str, Scalar] = {"": Scalar(settings.span, "", "")}
    nodes = plain("nodes")
    per_node = plain("ntasks_per_node")
    tasks = plain("ntasks")
    if nodes is None and "nodes" not in settings and (tasks is None or tasks.raw == "1"):
        nodes = Scalar(settings.span, "1", "1", True)
    if tasks is None and per_node is not None and nodes is not None and "ntasks" not in settings:
        tasks = Scalar(per_node.span, str(int(per_node.raw) * int(nodes.raw)), None, True)
    devices = gpus(settings)
    named = {
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_NTASKS": tasks,
        "SLURM_NPROCS": tasks,
        "SLURM_NTASKS_PER_NODE": per_node,
        "SLURM_TASKS_PER_NODE": per_node,
        "SLURM_CPUS_PER_TASK": plain("cpus_per_task"),
        "SLURM_GPUS_ON_NODE": devices,
        "SLURM_GPUS_PER_NODE": devices if "gpus_per_node" in settings else None,
        "SLURM_GPUS_PER_TASK": plain("gpus_per_task"),
        "SLURM_GPUS": plain("gpus"),
    }
    found.update({name: scalar for name, scalar in named.items() if scalar is not None})
    return found
