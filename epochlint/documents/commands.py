"""Commands that stand in other files than scripts: Makefiles, Dockerfiles, compose files, workflows, manifests.

Each gives the same `Command`s as a script does, every word with its exact place in the file.

Sources: the Kubernetes API (core/v1 Container), kubeflow training-operator v1.9 (`PyTorchJob`: PET_NNODES,
PET_NPROC_PER_NODE), kubeflow trainer v2.3 (`TrainJob`), the compose specification, GitHub's workflow syntax, GitLab
18's CI/CD YAML reference, SkyPilot 0.10 (`run`, `resources.accelerators`, `num_nodes`), Azure ML's command job
(`command`, `distribution`).
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved, walk
from epochlint.documents.embedded import block
from epochlint.documents.scalars import plain_count
from epochlint.documents.shell.document import Command
from epochlint.source import Excerpt, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.source import Source

MOST = 500  # commands of one file

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash"})
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915")
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_NAMES = {
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "justfile": "justfile",
}


def kind_of(path: str) -> str:
    """ "makefile", "dockerfile" or "justfile" by a file's name, else ""."""
    name = path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2]
    if suffix in ("mk", "dockerfile"):
        return "makefile" if suffix == "mk" else "dockerfile"
    return _NAMES.get(name) or _NAMES.get(name.partition(".")[0], "")


def of_file(source: Source, kind: str) -> list[Command]:
    """The commands of a Makefile, a Dockerfile or a justfile."""
    if kind == "dockerfile":
        from epochlint.documents import dockerfiles

        return dockerfiles.commands(source)
    from epochlint.documents import makefiles

    return makefiles.commands(source, just=kind == "justfile")


def commands(document: Document) -> Iterator[Command]:
    """The commands of a YAML document: manifests, workflows, pipelines, compose files, SkyPilot and Azure ML jobs."""
    left = MOST
    for mapping in document.mappings():
        for command in _of_mapping(mapping):
            left -= 1
            if left < 0:
                return
            yield command


def _of_mapping(mapping: Mapping) -> Iterator[Command]:
    if "kind" in mapping and "apiVersion" in mapping:
        yield from _manifest(mapping)
    elif isinstance(mapping.get("jobs"), Mapping):
        yield from _workflow(mapping)
    elif "gitlab-ci" in mapping.span.source.path:
        yield from _pipeline(mapping)
    elif isinstance(mapping.get("services"), Mapping):
        yield from _compose(mapping)
    elif "run" in mapping and ("resources" in mapping or "setup" in mapping or "num_nodes" in mapping):
        yield from _skypilot(mapping)
    elif "command" in mapping and ("compute" in mapping or "distribution" in mapping or "environment" in mapping):
        yield from _azure(mapping)


# Texts and word lists -----------------------------------------------------------------------------------------------


def excerpt(scalar: Scalar, label: str) -> Excerpt:
    """A value's text as a source of its own, each character with its place in the file.

    Where a style's escapes cannot be followed, every character stands at the value's beginning.
    """
    found = block(scalar, label)
    if found is not None:
        return found
    text = str(scalar.value) if isinstance(scalar.value, str) else scalar.raw
    offsets = _aligned(scalar.span, text)
    if offsets is None:
        offsets = [scalar.span.start] * len(text) + [scalar.span.end]
    return Excerpt(scalar.span.source, text, offsets, label)


def _aligned(span: Span, text: str) -> list[int] | None:
    """Where each character of a folded, quoted or plain scalar stands; None where that cannot be told."""
    written = span.text
    at = 0
    quote = written[:1] if written[:1] in "\"'" else ""
    if quote:
        at = 1
    elif written.startswith(">"):
        at = written.find("\n") + 1
        at += len(written[at:]) - len(written[at:].lstrip(" "))
    offsets: list[int] = []
    for sign in text:
        step = _step(written, at, sign, quote)
        if step is None:
            return None
        start, at = step
        offsets.append(span.start + start)
    offsets.append(min(span.end, span.start + at))
    return offsets


def _step(written: str, at: int, sign: str, quote: str) -> tuple[int, int] | None:
    """Where a character stands at or behind `at`, and where the next may begin."""
    if at >= len(written):  # the line break that ends a folded text
        return (len(written), at) if sign == "\n" else None
    if written.startswith("\\", at) and quote == '"':
        following = written[at + 1 : at + 2]
        if following in ("\n", "\r"):  # a line that goes on
            at += 2
            at += len(written[at:]) - len(written[at:].lstrip())
            return _step(written, at, sign, quote)
        meant = {"n": "\n", "t": "\t", "0": "\0"}.get(following, following)
        return (at, at + 2) if meant == sign else None
    if quote == "'" and sign == "'" and written.startswith("''", at):
        return at, at + 2
    if sign in " \n" and written[at : at + 1] in ("\n", "\r", " "):
        if written.startswith(sign, at) and sign == " " and written[at + 1 : at + 2] not in ("\n", "\r"):
            return at, at + 1
        behind = at + len(written[at:]) - len(written[at:].lstrip())
        breaks = written.count("\n", at, behind)
        if sign == "\n" and breaks > 1:  # an empty line in a folded text
            return at, written.index("\n", at) + 1
        return (at, behind) if breaks else ((at, at + 1) if written.startswith(sign, at) else None)
    if written.startswith(sign, at):
        return at, at + 1
    skipped = at + len(written[at:]) - len(written[at:].lstrip())
    return (skipped, skipped + 1) if skipped > at and written.startswith(sign, skipped) else None


def of_text(
    scalar: Scalar, label: str, environment: Mapping | None = None, directives: Mapping | None = None
) -> list[Command]:
    """The commands of a shell text in a value."""
    return of_texts([scalar], label, environment, directives)


def of_texts(
    scalars: list[Scalar], label: str, environment: Mapping | None = None, directives: Mapping | None = None
) -> list[Command]:
    """The commands of shell texts that run one after the other in one shell."""
    from epochlint.documents.shell import reading

    parts = [excerpt(scalar, label) for scalar in scalars]
    source = parts[0]
    if len(parts) > 1:
        text = "\n".join(part.text for part in parts)
        offsets = [offset for part in parts for offset in part.offsets]  # the end of each stands for its line break
        source = Excerpt(source.within, text, offsets, label)
    found = reading.script(source, environment).launches
    for command in found:
        if directives is not None and not command.directives.entries:
            command.directives = directives
    return found


def of_words(
    words: list[Node], label: str, environment: Mapping | None = None, directives: Mapping | None = None
) -> list[Command]:
    """The commands of a list of words: the words themselves, or what `bash -c` among them is given."""
    if not words:
        return []
    for at, word in enumerate(words):
        if not (isinstance(word, Scalar) and word.raw.rpartition("/")[2] in _SHELLS):
            continue
        for option in range(at + 1, len(words)):
            raw = words[option].raw if isinstance(words[option], Scalar) else ""  # type: ignore[attr-defined] # a Scalar
            if not raw.startswith("-"):
                break
            following = words[option + 1] if option + 1 < len(words) else None
            if "c" in raw and not raw.startswith("--") and isinstance(following, Scalar):
                inner = of_text(following, label, environment, directives)
                for command in inner:
                    command.words = [*words[:at], *command.words]
                return inner
    first, last = words[0].span, words[-1].span
    span = Span(first.source, first.start, max(first.end, last.end) if first.source is last.source else first.end)
    return [Command(words, span, environment=environment, directives=directives)]


def _items(node: Node | None) -> list[Node]:
    return node.items if isinstance(node, Sequence) else []


# Kubernetes ---------------------------------------------------------------------------------------------------------


def _manifest(job: Mapping) -> Iterator[Command]:
    kind = _raw(job.get("kind"))
    spec = job.mapping("spec")
    if spec is None:
        return
    if kind == "TrainJob":
        yield from _train_job(spec)
        return
    if kind in ("RayJob", "RayService") and isinstance(spec.get("entrypoint"), Scalar):
        yield from of_text(spec.get("entrypoint"), f"{kind}'s entrypoint")  # type: ignore[arg-type] # a Scalar
        return
    nodes, per_node = _replicas(kind, spec)
    for role, container in _containers(spec):
        if kind == "MPIJob" and role == "Worker":
            continue
        yield from of_container(container, nodes, per_node, operator=kind == "PyTorchJob")


def _train_job(spec: Mapping) -> Iterator[Command]:
    trainer = spec.mapping("trainer")
    if trainer is None:
        return
    nodes = trainer.entry("numNodes")
    per_node = trainer.entry("numProcPerNode")
    runtime = spec.find("runtimeRef", "name")
    front: list[Node] = []
    if runtime is not None and "torchtune" in _raw(runtime.value) and "command" not in trainer:
        # The runtime's own command; `args` are its overrides.
        span = runtime.value.span
        front = [Scalar(span, word, word, True) for word in ("tune", "run")]
        front.append(Unresolved(span, "the runtime chooses the recipe"))
    yield from of_container(trainer, nodes, per_node, operator=True, front=front)


def of_container(
    container: Mapping,
    nodes: Entry | None = None,
    per_node: Entry | None = None,
    *,
    operator: bool = False,
    front: list[Node] | None = None,
) -> list[Command]:
    """The commands of a container: its `command` and `args`, with its `env` and its GPUs.

    `nodes` and `per_node` are the job's entries for pods and processes in each; an operator hands them to torchrun.
    """
    limits = container.mapping("resources", "limits") or container.mapping("resourcesPerNode", "limits")
    requests = container.mapping("resources", "requests") or container.mapping("resourcesPerNode", "requests")
    gpus = next(
        (found for part in (limits, requests) if part is not None for key in _GPUS if (found := part.entry(key))), None
    )
    settings: list[Entry] = []
    if nodes is not None:
        settings.append(Entry("nodes", nodes.key_span, nodes.value))
    if gpus is not None:
        settings.append(Entry("gpus_per_node", gpus.key_span, gpus.value))
    environment: list[Entry] = []
    if operator:
        processes = per_node if per_node is not None and plain_count(_raw(per_node.value)) else gpus
        if processes is not None:
            environment.append(Entry("PET_NPROC_PER_NODE", processes.key_span, processes.value))
        if nodes is not None:
            environment.append(Entry("PET_NNODES", nodes.key_span, nodes.value))
            environment.append(Entry("WORLD_SIZE", nodes.key_span, nodes.value))
    elif per_node is not None:
        settings.append(Entry("ntasks_per_node", per_node.key_span, per_node.value))
    environment += _variables(container.get("env"))
    variables = Mapping(container.span, environment)
    words = [*(front or []), *_items(container.get("command")), *_items(container.get("args"))]
    if "command" not in container and not front:
        first = words[0] if words else None
        if not isinstance(first, Scalar) or first.raw.startswith("-"):
            return []  # flags of the image's own entry point
    words = [_referred(word, variables) for word in words]
    return of_words(words, "command", variables, Mapping(container.span, settings))


def _replicas(kind: str, spec: Mapping) -> tuple[Entry | None, Entry | None]:
    """The entries of a job for its pods and for the processes in each."""
    per_node = spec.entry("nprocPerNode") or spec.entry("slotsPerWorker")
    for name in ("pytorchReplicaSpecs", "mpiReplicaSpecs", "replicaSpecs", "tfReplicaSpecs"):
        replicas = spec.mapping(name)
        if replicas is None:
            continue
        total = 0
        place: Entry | None = None
        for entry in replicas.entries:
            if kind == "MPIJob" and entry.key == "Launcher":
                continue
            count = entry.value.entry("replicas") if isinstance(entry.value, Mapping) else None
            raw = _raw(count.value) if count is not None else "1"
            if not plain_count(raw):
                return (count, per_node) if count is not None else (None, per_node)
            total += int(raw)
            place = count if count is not None and (place is None or int(raw) > 1) else place
        if place is None:
            return None, per_node
        return Entry("replicas", place.key_span, Scalar(place.value.span, str(total), total, True)), per_node
    several = _several(spec)
    if several is not None:
        unknown = Unresolved(several.value.span, "the manifest does not tell how its pods start together")
        return Entry("nodes", several.key_span, unknown), per_node
    return None, per_node


def _several(spec: Mapping) -> Entry | None:
    """Where a job of another kind has several pods."""
    for _, entry in walk(spec, 2_000):
        if entry.key in ("replicas", "parallelism", "completions") and _raw(entry.value) not in ("", "0", "1"):
            return entry
    return None


def _containers(spec: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Every container below, with the last key above it that names a role (Master, Worker, Launcher)."""
    for path, entry in walk(spec, 20_000):
        if entry.key == "containers":
            role = next((key for key in reversed(path) if key[:1].isupper()), "")
            yield from ((role, item) for item in _items(entry.value) if isinstance(item, Mapping))


def _variables(node: Node | None) -> list[Entry]:
    """`env: [{name: A, value: "1"}]`; what comes from elsewhere is not known."""
    found: list[Entry] = []
    for item in _items(node):
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and isinstance(name, Scalar):
            value = item.get("value")
            known = isinstance(value, Scalar)
            elsewhere = Unresolved(item.span, "it comes from elsewhere in the cluster")
            found.append(Entry(name.raw, name.span, value if known and value is not None else elsewhere))
    return found


def _referred(word: Node, variables: Mapping) -> Node:
    """`$(NAME)` in a container's words is the variable of that name."""
    if not isinstance(word, Scalar) or "$(" not in word.raw:
        return word
    whole = _REFERENCE.fullmatch(word.raw)
    value = variables.get(whole[1]) if whole else None
    if isinstance(value, Scalar):
        return Scalar(word.span, value.raw, value.raw, True)
    from epochlint.documents.shell.document import ShellUnresolved

    found = _REFERENCE.search(word.raw)
    if found is None:
        return word
    return ShellUnresolved(word.span, f"{found[1]} is set elsewhere", prefix=word.raw[: found.start()], name=found[1])


def _raw(node: Node | None) -> str:
    return node.raw.strip() if isinstance(node, Scalar) else ""


# Workflows, compose files, jobs of other services -------------------------------------------------------------------


def _workflow(workflow: Mapping) -> Iterator[Command]:
    jobs = workflow.mapping("jobs")
    for entry in jobs.entries if jobs is not None else ():
        job = entry.value
        if not isinstance(job, Mapping):
            continue
        for step in _items(job.get("steps")):
            run = step.get("run") if isinstance(step, Mapping) else None
            if not isinstance(step, Mapping) or not isinstance(run, Scalar):
                continue
            shell = _raw(step.get("shell"))
            if shell and shell.split()[0] not in _SHELLS:
                continue
            variables = [*_plain(workflow.get("env")), *_plain(job.get("env")), *_plain(step.get("env"))]
            found = of_text(run, f"step of {entry.key}", Mapping(step.span, variables))
            folder = step.get("working-directory")
            for command in found:
                if isinstance(folder, Scalar) and not command.folder:
                    command.folder = folder.raw
            yield from found


_DEEPEST_EXTENSION = 10  # GitLab allows eleven levels


def _pipeline(pipeline: Mapping) -> Iterator[Command]:
    """GitLab CI: each job's `before_script` and `script` run in one shell."""
    for entry in pipeline.entries:
        job = entry.value
        if not isinstance(job, Mapping) or entry.key.startswith(".") or entry.key in ("default", "variables"):
            continue
        levels = [job]
        while len(levels) < _DEEPEST_EXTENSION:
            above = pipeline.get(_raw(levels[-1].get("extends")))
            if not isinstance(above, Mapping):
                break
            levels.append(above)
        script = _first(levels, "script")
        lines = _lines(script)
        if not lines:
            continue
        before = _first([*levels, pipeline.mapping("default") or pipeline, pipeline], "before_script")
        variables = [_plain(level.get("variables")) for level in (pipeline, *reversed(levels))]
        together = Mapping(job.span, [variable for part in variables for variable in part])
        yield from of_texts([*_lines(before), *lines], f"job {entry.key}", together)


def _first(levels: list[Mapping], key: str) -> Node | None:
    return next((level.get(key) for level in levels if key in level), None)


def _lines(node: Node | None) -> list[Scalar]:
    """The lines of a script: one text, or a list of texts (and of lists, by a YAML anchor)."""
    items = [line for item in _items(node) for line in ([item] if isinstance(item, Scalar) else _items(item))]
    if isinstance(node, Scalar):
        items = [node]
    return [line for line in items[:MOST] if isinstance(line, Scalar) and isinstance(line.value, str)]


def _plain(node: Node | None) -> list[Entry]:
    """`env: {A: 1}` or `environment: [A=1]`."""
    found: list[Entry] = []
    if isinstance(node, Mapping):
        for entry in node.entries:
            value = entry.value
            if isinstance(value, Scalar) and ("${" in value.raw or value.raw == ""):
                value = Unresolved(value.span, "it is set when the job runs")
            found.append(Entry(entry.key, entry.key_span, value))
    for item in _items(node):
        name, equals, value_text = _raw(item).partition("=")
        if name and isinstance(item, Scalar):
            known = Scalar(item.span, value_text, value_text, True)
            unknown = Unresolved(item.span, "it is set when the container starts")
            found.append(Entry(name, item.span, known if equals and "${" not in value_text else unknown))
    return found


def _compose(compose: Mapping) -> Iterator[Command]:
    services = compose.mapping("services")
    for entry in services.entries if services is not None else ():
        service = entry.value
        if not isinstance(service, Mapping):
            continue
        variables = Mapping(service.span, _plain(service.get("environment")))
        settings: list[Entry] = []
        devices = service.mapping("deploy", "resources", "reservations")
        for device in _items(devices.get("devices") if devices is not None else None):
            count = device.entry("count") if isinstance(device, Mapping) else None
            ids = device.entry("device_ids") if isinstance(device, Mapping) else None
            if count is not None and plain_count(_raw(count.value)):
                settings.append(Entry("gpus_per_node", count.key_span, count.value))
            elif ids is not None and _items(ids.value):
                number = len(_items(ids.value))
                settings.append(Entry("gpus_per_node", ids.key_span, Scalar(ids.value.span, str(number), number, True)))
        entry_point, command = service.get("entrypoint"), service.get("command")
        directives = Mapping(service.span, settings)
        words = [*_items(entry_point), *_items(command)]
        if isinstance(entry_point, Scalar) or (isinstance(command, Scalar) and not words):
            text = command if isinstance(command, Scalar) else entry_point
            if isinstance(text, Scalar) and isinstance(text.value, str):
                yield from of_text(text, f"service {entry.key}", variables, directives)
        elif isinstance(command, Scalar) and isinstance(command.value, str):
            inner = of_text(command, f"service {entry.key}", variables, directives)
            yield from inner if len(words) > 1 and _raw(words[-1]).startswith("-") else ()
        else:
            yield from of_words(words, f"service {entry.key}", variables, directives)


def _skypilot(task: Mapping) -> Iterator[Command]:
    """`run: |` on `num_nodes` machines with `resources.accelerators: A100:8` each."""
    run = task.get("run")
    if not isinstance(run, Scalar) or not isinstance(run.value, str):
        return
    settings: list[Entry] = []
    variables = _plain(task.get("envs"))
    nodes = task.entry("num_nodes")
    if nodes is not None:
        settings.append(Entry("nodes", nodes.key_span, nodes.value))
        variables.append(Entry("SKYPILOT_NUM_NODES", nodes.key_span, nodes.value))
    accelerators = task.find("resources", "accelerators")
    if accelerators is not None:
        raw = _raw(accelerators.value)
        if isinstance(accelerators.value, Mapping) and len(accelerators.value.entries) == 1:
            raw = ":" + _raw(accelerators.value.entries[0].value)
        number = raw.rpartition(":")[2] if ":" in raw else "1"
        if plain_count(number):
            count = Scalar(accelerators.value.span, number, int(number), True)
            settings.append(Entry("gpus_per_node", accelerators.key_span, count))
            variables.append(Entry("SKYPILOT_NUM_GPUS_PER_NODE", accelerators.key_span, count))
    yield from of_text(run, "run", Mapping(task.span, variables), Mapping(task.span, settings))


def _azure(job: Mapping) -> Iterator[Command]:
    """Azure ML: `command: python train.py`, started on `resources.instance_count` x `process_count_per_instance`."""
    command = job.get("command")
    if not isinstance(command, Scalar) or not isinstance(command.value, str):
        return
    settings: list[Entry] = []
    nodes = job.find("resources", "instance_count")
    per_node = job.find("distribution", "process_count_per_instance")
    if nodes is not None:
        settings.append(Entry("nodes", nodes.key_span, nodes.value))
    variables = _plain(job.get("environment_variables"))
    found = of_text(command, "command", Mapping(job.span, variables), Mapping(job.span, settings))
    if per_node is not None:
        span = per_node.key_span
        front: list[Node] = [Scalar(span, word, word, True) for word in ("torchrun", "--nproc_per_node")]
        front.append(per_node.value)
        if nodes is not None:
            front += [Scalar(nodes.key_span, "--nnodes", "--nnodes", True), nodes.value]
        front.append(Scalar(span, "--no-python", "--no-python", True))
        for one in found:
            one.words = [*front, *one.words]
    yield from found
