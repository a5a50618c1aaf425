"""How many processes a launch really starts, and where its sources disagree about it.

torchrun starts `nproc_per_node` on each of `nnodes`. `accelerate --num_processes` is the total over all machines.
`srun` starts its tasks of whatever follows: of Python itself all of them train, of torchrun one a node is an agent.
One Python process on several visible GPUs trains on all of them (DataParallel).
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.documents.scalars import plain_count
from epochlint.documents.shell.directives import gpus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.launch import Start
    from epochlint.project.wrappers import Wrapped
    from epochlint.source import Span

_VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)
_GENERATING = re.compile(r"grpo|rloo|ppo|vllm|sglang|online|rollout|gkd", re.IGNORECASE)
# Trainers whose one Python process hands the work to Ray.
_ON_RAY = ("verl.", "recipe.", "openrlhf.cli.train_ppo_ray")
_DEVICE = re.compile(r"(?:\d+|GPU-[\w-]+|MIG-[\w/-]+)\Z")


class Count:
    """A number of processes, nodes or devices. `value` is None where it is not known, then `reason` says why.

    `written`: somebody wrote it (it may still be unknown); else it is a default. `label` names its source.
    """

    __slots__ = ("formula", "key_span", "label", "reason", "span", "value", "written")

    def __init__(
        self,
        value: int | None = None,
        *,
        reason: str = "",
        span: Span | None = None,
        key_span: Span | None = None,
        formula: str = "",
        written: bool = False,
        label: str = "",
    ) -> None:
        self.value = value
        self.reason = reason
        self.span = span
        self.key_span = key_span
        self.formula = formula
        self.written = written
        self.label = label

    def __repr__(self) -> str:
        return f"Count({self.value if self.value is not None else self.reason!r})"


NOT_SAID = Count(reason="the launch does not say")


def count(start: Start, wrapped: Wrapped) -> None:
    """Fill in what a launch says about its processes."""
    _Counter(start, wrapped).count()


def count_by_hosts(start: Start, text: str) -> None:
    """The processes of a `deepspeed` launch over the hosts of its hostfile: `worker-0 slots=8`, one a line.

    deepspeed 0.19 `launcher/runner.py`: `--include` keeps hosts and slots (`worker-0@worker-1:0,2`), `--exclude` drops
    them; without them `--num_nodes` takes the first hosts.
    """
    arguments = start.launcher_arguments
    hosts = _hosts(text)
    file = arguments.entry("hostfile") or arguments.entry("H")
    if start.processes.value is not None or not hosts or file is None or arguments.open_ended:
        return
    include = arguments.entry("include") or arguments.entry("i")
    chosen = include or arguments.entry("exclude") or arguments.entry("e")
    slots: int | None = None
    if chosen is not None:
        slots = _filtered(hosts, chosen, drop=include is None)
    elif not _has(arguments, "num_gpus", "num_accelerators"):
        nodes = arguments.entry("num_nodes")
        first = _whole(nodes, "--num_nodes").value if nodes is not None else len(hosts)
        slots = sum(list(hosts.values())[:first]) if first is not None else None
    if slots:
        entry = chosen or file
        start.processes = Count(
            slots, span=entry.value.span, key_span=entry.key_span, written=True, label=entry.key_span.text
        )


def _hosts(text: str) -> dict[str, int] | None:
    """The slots of each host; None where a line cannot be read."""
    hosts: dict[str, int] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        slots = words[1].partition("=")[2] if len(words) == 2 and words[1].startswith("slots=") else ""
        if not plain_count(slots) or words[0] in hosts:
            return None
        hosts[words[0]] = int(slots)
    return hosts


def _filtered(hosts: dict[str, int], entry: Entry, drop: bool) -> int | None:
    """The slots that an `--include` or `--exclude` leaves; None where it cannot be read."""
    if not isinstance(entry.value, Scalar):
        return None
    named: dict[str, int] = {}
    for part in entry.value.raw.split("@"):
        host, colon, ids = part.strip().partition(":")
        slots = set(ids.split(",")) if colon else set()
        if host not in hosts or host in named or not all(plain_count(one) and int(one) < hosts[host] for one in slots):
            return None
        named[host] = len(slots) if colon else hosts[host]
    chosen = sum(named.values())
    return sum(hosts.values()) - chosen if drop else chosen


class _Counter:
    __slots__ = ("environment", "job", "start", "wrapped")

    def __init__(self, start: Start, wrapped: Wrapped) -> None:
        self.start = start
        self.wrapped = wrapped
        command = start.command
        self.environment = Mapping(command.span, [*command.environment.entries, *wrapped.environment])
        tasks = wrapped.tasks.entries if wrapped.tasks is not None else []
        self.job = Mapping(command.span, [*command.directives.entries, *_overriding(tasks, command.directives)])

    def count(self) -> None:
        start = self.start
        start.devices = self.devices()
        start.nodes = self.nodes()
        launcher = start.launcher
        arguments = start.launcher_arguments
        by_operator = "PET_NPROC_PER_NODE" in self.environment and bool(arguments.entries)
        if launcher == "torchrun" or (
            launcher == "tune" and (by_operator or _has(arguments, "nproc_per_node", "nnodes"))
        ):
            self.torchrun(arguments)
        elif launcher == "accelerate":
            self.accelerate(arguments)
        elif launcher == "deepspeed":
            self.deepspeed(arguments)
        elif launcher in ("composer", "colossalai", "horovodrun", "mlx.launch", "fabric", "lightning"):
            self.other(launcher, arguments)
        elif launcher in ("python", ""):
            self.python()
        else:
            self.trainer(launcher)
        if self.wrapped.elsewhere and start.processes.value is not None:
            reason = "a service starts the command on several machines"
            start.processes = Count(reason=reason, span=start.processes.span, written=True)
            start.data_parallel = False
            return
        self.compare()

    # What is said -------------------------------------------------------------------------------------------------

    def devices(self) -> Count:
        """The devices that each node shows: by the environment, a container, the batch system."""
        for name in _VISIBLE:
            entry = self.environment.entry(name)
            if entry is not None:
                found = _visible(entry)
                if found is not None:
                    return found
        ids = self.start.launcher_arguments.entry("gpu_ids") if self.start.launcher == "accelerate" else None
        if ids is not None:
            found = _visible(ids)
            if found is not None:
                found.label = "--gpu_ids"
                return found
        if self.wrapped.devices is not None:
            found = _visible(Entry("--gpus", self.wrapped.devices.span, self.wrapped.devices))
            if found is not None:
                return found
        reserved = self.reserved()
        return reserved if reserved is not None else Count(reason="the visible devices are not known")

    def reserved(self) -> Count | None:
        """The GPUs that the batch system or a manifest gives on each node."""
        scalar = gpus(self.job)
        if scalar is None:
            return None
        key = next((key for key in ("gpus_per_node", "gres", "gpus", "gpus_per_task") if key in self.job), "gres")
        entry = self.job.entry(key)
        span = entry.key_span if entry is not None else scalar.span
        label = f"--{key.replace('_', '-')}" if span.text.startswith("-") else span.text or key
        return Count(int(scalar.raw), span=scalar.span, key_span=span, written=True, label=label)

    def nodes(self) -> Count:
        """The nodes of the batch system's job; one where there is none."""
        entry = self.job.entry("nodes")
        if entry is not None:
            return _whole(entry, "--nodes")
        ranks = self.wrapped.ranks
        if ranks is not None and _has(ranks, "H", "host", "hosts", "hostfile", "machinefile", "f"):
            return Count(reason="mpirun is given a list of hosts")
        if self.job.entries and _plain(self.job.get("ntasks")) in (None, 1):
            return Count(1, label="--nodes")
        if self.job.entries:
            return Count(reason="the batch system chooses the nodes")
        return Count(1)

    def tasks(self) -> Count | None:
        """The processes that an `srun` or `mpirun` around the program starts; None without one."""
        ranks = self.wrapped.ranks
        if ranks is not None:
            entry = ranks.entry("n")
            if entry is not None:
                return _whole(entry, entry.key_span.text)
            entry = ranks.entry("npernode")
            per_node = _whole(entry, entry.key_span.text) if entry is not None else None
            if per_node is not None and per_node.value is not None and self.start.nodes.value is not None:
                return _times(per_node, self.start.nodes)
            return self.job_tasks() or Count(reason="mpirun is not given a number", written=False)
        if self.wrapped.tasks is not None or "ibrun" in self.wrapped.layers:
            return self.job_tasks() or Count(reason="srun is not given a number of tasks", written=False)
        return None

    def job_tasks(self) -> Count | None:
        entry = self.job.entry("ntasks")
        if entry is not None:
            return _whole(entry, "--ntasks")
        entry = self.job.entry("ntasks_per_node")
        if entry is not None:
            per_node = _whole(entry, "--ntasks-per-node")
            return _times(per_node, self.start.nodes)
        if self.job.entries and self.start.nodes.value is not None:  # the default of srun
            return Count(self.start.nodes.value, span=self.start.nodes.span, label="one task a node")
        return None

    # Launchers ----------------------------------------------------------------------------------------------------

    def torchrun(self, arguments: Mapping) -> None:
        start = self.start
        per_node = self._per_node(arguments.entry("nproc_per_node"), self.environment.entry("PET_NPROC_PER_NODE"))
        if per_node is None:
            hidden = arguments.open_ended
            per_node = (
                Count(reason="the launcher's flags are not all known")
                if hidden
                else Count(1, label="torchrun's default")
            )
        nodes = self._nnodes(arguments)
        start.per_node = per_node
        start.nodes = nodes
        tasks = self.tasks()
        job_nodes = self.nodes().value
        if tasks is not None and tasks.value is not None and job_nodes is not None and tasks.value > job_nodes:
            reason = f"{tasks.value} tasks start a torchrun each"
            start.processes = Count(reason=reason, span=tasks.span, key_span=tasks.key_span, written=True)
            return
        start.processes = _times(per_node, nodes)

    def _per_node(self, *entries: Entry | None) -> Count | None:
        entry = next((entry for entry in entries if entry is not None), None)
        if entry is None:
            return None
        word = entry.value.raw if isinstance(entry.value, Scalar) else ""
        if word in ("gpu", "auto", "cuda"):
            devices = self.start.devices
            if devices.value is None:
                return Count(reason="it takes all GPUs that it finds", span=entry.value.span, key_span=entry.key_span)
            return Count(
                devices.value, span=entry.value.span, key_span=entry.key_span, written=True, label=entry.key_span.text
            )
        return _whole(entry, entry.key_span.text)

    def _nnodes(self, arguments: Mapping) -> Count:
        if "standalone" in arguments and "nnodes" not in arguments:
            return Count(1, label="--standalone")
        entry = arguments.entry("nnodes") or self.environment.entry("PET_NNODES")
        if entry is None:
            if arguments.open_ended:
                return Count(reason="the launcher's flags are not all known")
            return Count(1, label="torchrun's default")
        if isinstance(entry.value, Scalar) and ":" in entry.value.raw:
            low, _, high = entry.value.raw.partition(":")
            if low != high or not plain_count(low):
                return Count(
                    reason="the number of nodes may change",
                    span=entry.value.span,
                    key_span=entry.key_span,
                    written=True,
                )
            return Count(int(low), span=entry.value.span, key_span=entry.key_span, written=True, label="--nnodes")
        return _whole(entry, "--nnodes")

    def accelerate(self, arguments: Mapping) -> None:
        start = self.start
        machines = arguments.entry("num_machines")
        entry = arguments.entry("num_processes") or arguments.entry("n")
        if entry is not None:
            start.processes = _whole(entry, "--num_processes")
        elif "config_file" in arguments or arguments.open_ended:
            start.processes = Count(reason="the accelerate file says how many")
        elif "cpu" in arguments:
            start.processes = Count(reason="it runs on the CPU")
        else:
            start.processes = self._all_visible("accelerate starts one process for each visible GPU")
        if machines is not None:
            start.nodes = _whole(machines, "--num_machines")
        total, nodes = start.processes.value, start.nodes.value
        if total is not None and nodes and total % nodes == 0:
            start.per_node = Count(total // nodes, span=start.processes.span)

    def deepspeed(self, arguments: Mapping) -> None:
        start = self.start
        include = arguments.entry("include") or arguments.entry("i")
        entry = arguments.entry("num_gpus") or arguments.entry("num_accelerators")
        nodes = arguments.entry("num_nodes")
        hosts = arguments.entry("hostfile") or arguments.entry("H")
        if include is not None:
            start.processes = _included(include)
            start.nodes = Count(1) if start.processes.value is not None else NOT_SAID
            return
        if nodes is not None:
            start.nodes = _whole(nodes, "--num_nodes")
        elif hosts is not None:
            start.nodes = Count(reason="the hostfile lists the nodes", span=hosts.value.span)
        else:
            start.nodes = Count(1)
        if entry is not None:
            start.per_node = _whole(entry, "--num_gpus")
            start.processes = _times(start.per_node, start.nodes)
        elif "exclude" in arguments or "e" in arguments or hosts is not None or arguments.open_ended:
            start.processes = Count(reason="it takes the GPUs of its hosts")
        else:
            start.processes = self._all_visible("deepspeed starts one process for each visible GPU")
            start.per_node = start.processes

    def _all_visible(self, formula: str) -> Count:
        """A launcher that takes every visible GPU of this node."""
        devices = self.start.devices
        if devices.value is None or devices.value == 0:
            return Count(reason=f"{formula}, which are not known")
        if self.start.nodes.value != 1 or self.nodes().value != 1:
            return Count(reason="several nodes")
        return Count(
            devices.value,
            span=devices.span,
            key_span=devices.key_span,
            formula=formula,
            written=True,
            label=devices.label,
        )

    def other(self, launcher: str, arguments: Mapping) -> None:
        """composer, colossalai, horovodrun, mlx.launch, fabric."""
        start = self.start
        names = {
            "composer": ("world_size", "nproc", "n"),
            "colossalai": ("nproc_per_node",),
            "horovodrun": ("np", "num_proc"),
            "mlx.launch": ("n", "repeat_hosts"),
        }.get(launcher, ("devices",))
        entry = next((found for name in names if (found := arguments.entry(name)) is not None), None)
        per_node = self._per_node(entry)
        if per_node is None:
            hosts = arguments.get("hosts")
            if launcher == "mlx.launch" and isinstance(hosts, Scalar):
                start.processes = Count(hosts.raw.count(",") + 1, span=hosts.span, written=True, label="--hosts")
            else:
                start.processes = self._all_visible("it starts one process for each visible GPU")
            return
        nodes = arguments.entry("num_nodes")
        if nodes is not None and launcher in ("colossalai", "fabric", "lightning"):
            start.nodes = _whole(nodes, "--num_nodes")
            start.processes = _times(per_node, start.nodes)
        else:
            start.processes = per_node
        start.per_node = per_node

    def python(self) -> None:
        """Python itself: one process, or as many as `srun` and `mpirun` start."""
        start = self.start
        if start.program[1].startswith(_ON_RAY) or any(
            e.key.endswith("n_gpus_per_node") for e in start.arguments.entries
        ):
            start.processes = Count(reason="Ray starts its workers")
            return
        tasks = self.tasks()
        if tasks is not None and tasks.value != 1:
            start.processes = tasks
            nodes = start.nodes.value
            if tasks.value is not None and nodes and tasks.value % nodes == 0:
                start.per_node = Count(tasks.value // nodes, span=tasks.span)
            return
        devices = start.devices
        world = self.environment.entry("WORLD_SIZE")
        if world is not None and devices.value == 1:  # a process a pod, which an operator tells of each other
            start.processes = _whole(world, "WORLD_SIZE")
            return
        if devices.value is None or world is not None:
            start.processes = Count(reason="one process on all GPUs that it finds")
            return
        count = max(1, devices.value)
        formula = f"one process on {count} visible GPUs" if count > 1 else "one visible GPU"
        start.processes = Count(
            count, span=devices.span, key_span=devices.key_span, formula=formula, written=True, label=devices.label
        )
        start.per_node = start.processes
        start.data_parallel = count > 1

    def trainer(self, launcher: str) -> None:
        """Trainers with a command of their own."""
        start = self.start
        if launcher in ("swift", "megatron", "xtuner"):
            self._by_environment(one_without=launcher != "megatron")
        elif launcher in ("llamafactory-cli", "lmf"):
            if "USE_RAY" in self.environment:
                start.processes = Count(reason="Ray starts its workers")
            else:
                self._by_environment(one_without=False)
        elif launcher == "tune":
            recipe = start.program[3] if len(start.program) > 3 else ""
            if recipe.endswith(("_single_device", "_single_device.py")):
                start.processes = Count(1, formula="a single-device recipe")
            else:
                start.processes = Count(reason="the recipe is not given a number of processes")
        elif launcher in ("trl", "axolotl"):
            self._within(launcher)
        elif launcher == "mlx_lm":
            start.processes = self.tasks() or Count(1, formula="one process on one machine")
        elif launcher == "ilab":
            entry = start.arguments.entry("gpus") or start.arguments.entry("nproc_per_node")
            if entry is not None:
                start.processes = _whole(entry, entry.key_span.text)
        elif launcher == "unsloth" and start.devices.value == 1:
            start.processes = start.devices

    def _by_environment(self, one_without: bool) -> None:
        """NPROC_PER_NODE and NNODES, which make ms-swift and LLaMA-Factory start torchrun."""
        start = self.start
        per_node = self._per_node(self.environment.entry("NPROC_PER_NODE"))
        entry = self.environment.entry("NNODES")
        nodes = _whole(entry, "NNODES") if entry is not None else Count(1)
        if per_node is None and entry is None and one_without:
            start.processes = Count(1, formula="one process without NPROC_PER_NODE")
            return
        if per_node is None:
            devices = start.devices
            if one_without:  # torchrun's own default
                per_node = Count(1)
            elif devices.value is None:
                start.processes = Count(reason="one process for each visible GPU, which are not known")
                return
            else:
                formula = "one process for each visible GPU"
                per_node = Count(
                    devices.value,
                    span=devices.span,
                    key_span=devices.key_span,
                    formula=formula,
                    written=True,
                    label=devices.label,
                )
        start.per_node = per_node
        start.nodes = nodes
        start.processes = _times(per_node, nodes)

    def _within(self, launcher: str) -> None:
        """`trl` and `axolotl` hand flags to accelerate or torchrun."""
        start = self.start
        inner = start.launcher_arguments
        per_node = self._per_node(inner.entry("nproc_per_node"))
        if per_node is not None:
            start.per_node = per_node
            start.nodes = self._nnodes(inner)
            start.processes = _times(per_node, start.nodes)
            return
        entry = start.arguments.entry("num_processes") or inner.entry("num_processes")
        if entry is not None:
            start.processes = _whole(entry, "--num_processes")
        elif "accelerate_config" in start.arguments or "config_file" in start.arguments or inner.open_ended:
            start.processes = Count(reason="the accelerate file says how many")
        else:
            start.processes = self._all_visible("accelerate starts one process for each visible GPU")

    # Disagreements ------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """Where the batch system, the environment and the launcher name different counts."""
        start = self.start
        total = start.processes
        nodes = start.nodes.value
        if total.value is None or total.span is None or nodes is None or start.data_parallel:
            return
        found: list[tuple[str, int, Span]] = []
        entry = self.job.entry("nodes")
        job_nodes = _plain(self.job.get("nodes"))
        per_node = start.per_node.value
        if (
            entry is not None
            and job_nodes not in (None, nodes)
            and start.nodes.span is not None
            and per_node is not None
        ):
            found.append((_label(entry), per_node * (job_nodes or 0), entry.value.span))
        visible = self._visible_count()
        shown = visible.value * nodes if visible is not None and visible.value else None
        differs = shown is not None and shown != total.value
        if start.launcher in ("swift", "megatron") and shown is not None and shown > total.value:
            differs = False  # a process may lay its model over several devices
        if visible is not None and visible.span is not None and visible.span is not total.span and differs:
            found.append((visible.label, shown or 0, visible.span))
        reserved = self.reserved()
        if reserved is not None and reserved.value and reserved.span is not None and reserved.span is not total.span:
            given = reserved.value * nodes
            # The others are left out on purpose: by their numbers, or for a server that generates.
            by_choice = shown == total.value or self._generates() or start.launcher == "python"
            narrowed = given > total.value and by_choice
            if given != total.value and not narrowed:
                found.append((reserved.label, given, reserved.span))
        if found:
            start.disagreements = [*found, (total.label or start.launcher, total.value, total.key_span or total.span)]

    def _generates(self) -> bool:
        """Whether the run may leave GPUs to a server that writes its completions."""
        return _GENERATING.search(self.start.command.text) is not None

    def _visible_count(self) -> Count | None:
        for name in _VISIBLE:
            entry = self.environment.entry(name)
            if entry is not None:
                return _visible(entry)
        return None


def _has(mapping: Mapping, *keys: str) -> bool:
    return any(key in mapping for key in keys)


def _overriding(tasks: list[Entry], directives: Mapping) -> list[Entry]:
    """srun's options replace the job's; a number of tasks replaces the one that it would be worked out from."""
    keys = {entry.key for entry in tasks}
    entries = list(tasks)
    if "ntasks_per_node" in keys and "ntasks" not in keys and "ntasks" in directives:
        entries.append(Entry("ntasks", directives.span, Unresolved(directives.span, "srun counts by node")))
        nodes = _plain(next((e.value for e in tasks if e.key == "nodes"), directives.get("nodes")))
        per_node = next(e.value for e in tasks if e.key == "ntasks_per_node")
        if nodes is not None and isinstance(per_node, Scalar) and plain_count(per_node.raw):
            total = str(nodes * int(per_node.raw))
            entries[-1] = Entry("ntasks", per_node.span, Scalar(per_node.span, total, total, True))
    return entries


def _plain(node: Node | None) -> int | None:
    return int(node.raw) if isinstance(node, Scalar) and plain_count(node.raw) and len(node.raw) < 7 else None


def _whole(entry: Entry, label: str) -> Count:
    """A whole number that is written."""
    span = entry.value.span
    value = _plain(entry.value)
    if value is not None and value > 0:
        return Count(value, span=span, key_span=entry.key_span, written=True, label=label)
    reason = entry.value.reason if isinstance(entry.value, Unresolved) else "it is no number"
    return Count(reason=reason, span=span, key_span=entry.key_span, written=True, label=label)


def _times(per_node: Count, nodes: Count) -> Count:
    """Processes on all nodes."""
    if per_node.value is None or nodes.value is None:
        missing = per_node if per_node.value is None else nodes
        return Count(
            reason=missing.reason,
            span=missing.span or per_node.span,
            key_span=missing.key_span or per_node.key_span,
            written=missing.written or per_node.written,
        )
    formula = per_node.formula
    if nodes.value > 1:
        formula = f"{per_node.value} processes x {nodes.value} nodes = {per_node.value * nodes.value}"
    return Count(
        per_node.value * nodes.value,
        span=per_node.span or nodes.span,
        key_span=per_node.key_span or nodes.key_span,
        formula=formula,
        written=per_node.written or nodes.written,
        label=per_node.label,
    )


def _visible(entry: Entry) -> Count | None:
    """The devices that CUDA_VISIBLE_DEVICES and the like list; None where the variable says nothing (`all`)."""
    node = entry.value
    label = entry.key
    if not isinstance(node, Scalar):
        reason = node.reason if isinstance(node, Unresolved) else "it is not known"
        return Count(reason=reason, span=node.span, key_span=entry.key_span, written=True, label=label)
    raw = node.raw.strip().strip("\"'")
    if raw in ("all", "void", "none"):
        return None
    value = 0
    for part in raw.split(",") if raw else []:
        if not _DEVICE.match(part.strip()):
            if part.strip() == "-1" or not part.strip():
                break
            return Count(
                reason="its devices are not plain", span=node.span, key_span=entry.key_span, written=True, label=label
            )
        value += 1
    return Count(value, span=node.span, key_span=entry.key_span, written=True, label=label)


def _included(entry: Entry) -> Count:
    """`--include localhost:0,1@worker-1:0`: each slot is a process."""
    node = entry.value
    if not isinstance(node, Scalar):
        return _whole(entry, "--include")
    total = 0
    for host in node.raw.strip("\"'").split("@"):
        _, colon, slots = host.partition(":")
        parts = slots.split(",") if colon else []
        if not parts or not all(part.strip().isdigit() for part in parts):
            reason = "it takes all GPUs of a host"
            return Count(reason=reason, span=node.span, key_span=entry.key_span, written=True, label="--include")
        total += len(parts)
    return Count(total, span=node.span, key_span=entry.key_span, written=True, label="--include")


def _label(entry: Entry) -> str:
    text = entry.key_span.text
    return text.partition("=")[0] if text.startswith("-") else text
