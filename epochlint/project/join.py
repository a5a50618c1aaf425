"""From documents to runs: what belongs together is read together.

A launch with the config that it names is one run, whose flags win. A script that a launch starts is read with the
launch's flags. A config that a script loads is read for that script. Only what nothing names stands alone. So each run
is read once, from its strongest beginning: launches first, then scripts, then configs.
"""

from __future__ import annotations

import os

from epochlint.documents.document import Document, Mapping, Scalar
from epochlint.project.companions import find
from epochlint.project.duplicates import duplicates
from epochlint.project.evaluated import PYTHONS, Evaluated
from epochlint.project.feeds import fed, raw, reads
from epochlint.project.inline import Said
from epochlint.project.joined import Joined, Launch, Skipped
from epochlint.project.kubernetes import embedded, processes
from epochlint.project.lookup import Lookup
from epochlint.project.requirements import of_notebook, of_script, required
from epochlint.project.starts import CONFIG_NAMES, VALUES, Starts, config_elsewhere
from epochlint.project.sweeps import combined
from epochlint.run.known import COMPANION, LAUNCH, WRITTEN
from epochlint.run.versions import Versions, exactly
from epochlint.settings import Nearest, Settings, SettingsError
from epochlint.trainers import registry
from epochlint.trainers.trainer import Layer, Reading
from epochlint.trouble import KIND, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from epochlint.documents.python import PythonDocument
    from epochlint.documents.python.model import Call, Dataclass, Parser
    from epochlint.project.launch import Start
    from epochlint.project.sweeps import Corner
    from epochlint.run.run import Run
    from epochlint.trainers.registry import Entry

    T = TypeVar("T")

_NOTHING_SAID = frozenset(("output_dir", "0"))
_COMMON = frozenset(("hf_args", "trl", "custom"))  # arguments that many programs share, and schemas of one's own


class Joiner:
    """Joins the documents of one check. `assumed` are the versions said on the command line, `said` knows what comments
    and settings assume."""

    __slots__ = (
        "_barren", "_called", "_evaluated", "_passed_on", "_started", "_starting", "_starts", "_used", "_versions",
        "assumed", "joined", "lookup", "said",
    )  # fmt: skip

    def __init__(self, lookup: Lookup, assumed: Versions, said: Said | None = None) -> None:
        self.lookup = lookup
        self.said = said if said is not None else Said(Nearest(Settings(), fixed=True), lookup.working)
        self.assumed = assumed
        self.joined = Joined()
        self._evaluated = Evaluated(lookup, self.joined)
        self._starts = Starts(lookup, self._evaluated, self.joined)
        self._used: set[str] = set()  # real paths of configs and scripts that a stronger beginning has read
        self._versions: dict[str, Versions] = {}
        self._started: set[Launch] = set()
        self._barren: dict[str, bool | None] = {}  # scripts without a run so far; whether that holds for every launch
        self._starting: set[str] = set()  # paths of scripts whose own launches are being read
        self._passed_on: set[tuple[str, int]] = set()  # places of calls whose settings a script has been read with
        self._called: list[tuple[Run, bool]] = []  # runs of Python calls; whether an imported module holds the call

    def join(self, documents: Iterable[tuple[str, Document]]) -> Joined:
        """`documents` are pairs of absolute path and document."""
        given = list(documents)
        for path, document in given:
            for launch in self._alone(document, self._starts.launches, path, document) or ():
                self._alone(document, self._launched, launch)
        for path, document in given:
            if document.syntax == "python" and _may_spawn(document.source.text) and not self._is_used(path):
                self._alone(document, self._starter, path, document)
        for path, document in given:
            if document.syntax in PYTHONS and not self._is_used(path):
                self._alone(document, self._script, path, document)
        self._drop_alone()
        for path, document in given:
            self._alone(document, self._recipe, document)
            self._alone(document, self._queries, path, document)
        for path, document in given:
            if document.syntax in VALUES and not self._is_used(path):
                self._alone(document, self._config, path, document)
                self._alone(document, self._manifest, path, document)
        return self.joined

    def _alone(self, document: Document, step: Callable[..., T], *arguments: object) -> T | None:
        """Takes a step of which a fault of our own must not hide what other files and other runs hold."""
        try:
            return step(*arguments)
        except SettingsError:
            raise
        except Exception as error:  # whatever it is, it is told
            self.joined.skipped.append(Skipped(document.source.path, told(error), KIND))
            return None

    def _recipe(self, document: Document) -> None:
        """What a training loop of somebody's own does with the settings."""
        if document.syntax in PYTHONS:
            from epochlint.documents.python.model import PythonDocument
            from epochlint.project.prepared import prepared_schedules
            from epochlint.project.scaling import scaled_rates

            if isinstance(document, PythonDocument):
                self.joined.observations.extend(scaled_rates(document))
                self.joined.observations.extend(prepared_schedules(document))

    def _queries(self, path: str, document: Document) -> None:
        """Jobs that a program starts by a query: a text in SQL."""
        text = document.source.text
        if document.syntax != "python" or "FINETUNE" not in text.upper():
            return
        from epochlint.documents import sql_document

        queries = sql_document.read(document.source)
        for entry, mapping in registry.recognise(queries):
            self._read(entry, queries, [Layer(mapping, WRITTEN)], path)

    # Launches -----------------------------------------------------------------------------------------------------

    def _launched(self, launch: Launch) -> None:
        """The runs of a launch, once: a script that is given leads to the launches near it, which may be given, too."""
        if launch in self._started:
            return
        self._started.add(launch)
        before = len(self.joined.runs)
        start = launch.start
        self._count_hosts(launch)
        configs = self._starts.configs_of(launch)
        script = self._starts.script_of(launch)
        if start.data_parallel and self._may_spread(start, script):
            from epochlint.project.processes import Count

            start.data_parallel = False
            start.processes = Count(reason="the script may spread the model over the GPUs")
        modules = [path for path in self._starts.modules_of(launch) if path != script]
        if script is not None and self._scripted(script, launch, configs):
            self._use(script)
        elif named := [path for path in modules if self._scripted(path, launch, [])]:
            for path in named:
                self._use(path)
        else:
            self._direct(launch, configs, script)
        if launch.document.syntax in PYTHONS and len(self.joined.runs) > before:
            self._passed_on.add((start.span.source.path, start.span.start))
        for run in self.joined.runs[before:]:
            run.launch = launch.document.source.path
            begun = start if run.environment is None else _begun(start, run.environment)
            lost = begun.not_passed()
            if lost:
                run.observations = [one for one in run.observations if lost.isdisjoint(one.without)]
            run.observations.extend(begun.observations())
            self._place_on_gpus(run, launch, begun)
            if launch.corner is not None:
                self._corner(run, launch.corner)

    def _count_hosts(self, launch: Launch) -> None:
        """The processes of a launch over the hosts of a file, where that is here."""
        for named in launch.start.configs("hosts"):
            path = self.lookup.resolve(named.raw, launch.folder)
            source = self.lookup.source(path) if path is not None and self.lookup.is_file(path) else None
            if source is not None:
                from epochlint.project.processes import count_by_hosts

                self.joined.note(launch.document.source.path, source.path)

                count_by_hosts(launch.start, source.text)

    def _may_spread(self, start: Start, script: str | None) -> bool:
        """Whether a script speaks of `device_map`, or cannot be seen: a model that lies on several GPUs is not copied
        to each (transformers, trainer.py, `is_model_parallel`)."""
        if script is None:
            return start.program[0] == "script"
        source = self.lookup.source(script)
        return source is not None and "device_map" in source.text

    def _corner(self, run: Run, corner: Corner) -> None:
        run.label = ", ".join(part for part in (run.label, corner.label) if part)
        self.joined.corners[id(run)] = corner

    def _direct(self, launch: Launch, configs: list[tuple[str, Document]], script: str | None) -> None:
        """A launch of a trainer's own program, or of a script that cannot be seen: its flags over its config."""
        start = launch.start
        text = f"{start.span.text} {start.command.text}"  # as written, and with what its variables hold
        entry = registry.of_launch(start.program, start.arguments, text)
        for path, document in configs:
            for owner, mapping in registry.recognise(document):
                if owner.companion:
                    continue
                self._use(path)
                # What flags alone say of somebody's own script is less than what marks the config.
                guessed = start.program[0] == "script" and owner.module not in _COMMON
                reader = owner if entry is None or entry.module == "hf_args" or guessed else entry
                layers = [Layer(start.arguments, LAUNCH), Layer(mapping, WRITTEN)]
                corners = self._swept(launch)
                if not corners:
                    self._read(reader, document, layers, path, command=start.program, launch=launch)
                for corner in corners:
                    above = [layers[0], Layer(Mapping(mapping.span, corner.entries), WRITTEN), layers[1]]
                    for run in self._read(reader, document, above, path, command=start.program, launch=launch):
                        self._corner(run, corner)
                return
        for path, document in configs:  # a file that says nothing by itself, with a launch that says whose it is
            whole = next(document.mappings(), None)
            if entry is not None and whole is not None:
                self._use(path)
                layers = [Layer(start.arguments, LAUNCH), Layer(whole, WRITTEN)]
                self._read(entry, document, layers, path, command=start.program, launch=launch)
                return
        # A script that is there and yields no arguments is a stranger's, unless it is the trainer's own.
        if entry is not None and (script is None or getattr(entry.load(), "OWN_SCRIPTS", False)):
            if script is not None:
                self._use(script)
            path = os.path.join(launch.folder, os.path.basename(launch.document.source.path))
            start.arguments.open_ended |= config_elsewhere(launch)
            layers = [Layer(start.arguments, LAUNCH)]
            self._read(entry, launch.document, layers, path, command=start.program, launch=launch, via="argparse")

    def _swept(self, launch: Launch) -> list[Corner]:
        """The corners of the sweep that a launch names (`axolotl train config.yml --sweep sweeps.yml`)."""
        named = launch.start.arguments.get("sweep") if launch.start.program[:2] == ("cli", "axolotl") else None
        if not isinstance(named, Scalar) or not isinstance(named.value, str):
            return []
        return combined(self.lookup.document(named.value, launch.folder))

    def _place_on_gpus(self, run: Run, launch: Launch, begun: Start) -> None:
        """The devices that the launch (or the job around it) starts on, unless the trainer's reader knew better."""
        known = processes(launch.document) if launch.document.syntax == "yaml" else None
        if known is None:
            known = begun.gpus()
        if known is None:
            return
        # Processes that the config asks for do not replace those of a launch that says how many.
        asked = run.setting("gpus").origin == COMPANION and known.span is not None
        if asked or run.environment is not None or not run.has("gpus"):
            run.settings["gpus"] = known

    def _manifest(self, path: str, document: Document) -> None:
        """A Kubernetes manifest: the configs in its ConfigMaps run on the processes of its job."""
        if document.syntax != "yaml" or "apiVersion" not in document.source.text:
            return
        for inner in embedded(document):
            before = len(self.joined.runs)
            for entry, mapping in registry.recognise(inner):
                if not entry.companion:
                    self._read(entry, inner, [Layer(mapping, WRITTEN)], path)
            known = processes(document)
            for run in self.joined.runs[before:]:
                if known is not None and run.setting("gpus").unknown:
                    run.settings["gpus"] = known

    # Scripts ------------------------------------------------------------------------------------------------------

    def _script(self, path: str, document: Document) -> None:
        """A script or notebook that nothing given starts: with the launches near it that name it, else alone."""
        python = self._evaluated.python(document)
        if python is None:
            return
        before = len(self.joined.runs)
        launches = [
            launch
            for launch in self._near(path)
            if self._starts.script_of(launch) == path or path in self._starts.modules_of(launch)
        ]
        for launch in launches:
            self._launched(launch)
        started = len(self.joined.runs) > before or (not launches and self._started_near(path))
        if not started and not self._is_used(path):  # none, or they start another part of it
            self._scripted(path, None, [])

    def _starter(self, path: str, document: Document) -> bool:
        """A script that may start others: as it is launched, else as it stands. Whether runs came of it."""
        before = len(self.joined.runs)
        launches = [launch for launch in self._near(path) if self._starts.script_of(launch) == path]
        for launch in launches:
            self._launched(launch)
        python = self._evaluated.python(document) if not launches else None
        if python is not None:
            self._start_others(path, python)
        return len(self.joined.runs) > before

    def _started_near(self, path: str) -> bool:
        """The runs of scripts near a file that start it, where there are some."""
        found = False
        for script in self.lookup.naming(path, (".py",)):
            source = self.lookup.source(script)
            if source is not None and _may_spawn(source.text) and script not in self._starting:
                document = self.lookup.read(script)
                found |= document is not None and self._starter(script, document) and self._is_used(path)
        return found

    def _scripted(self, path: str, launch: Launch | None, configs: list[tuple[str, Document]]) -> bool:
        """The runs of a script, with a launch's flags where there is one. False where it holds none."""
        document = self.lookup.read(path)
        if launch is not None and path in self._barren and self._says_nothing(path, document, launch):
            return False
        python = self._evaluated.python(document, launch)
        if python is None or document is None:
            return False
        if launch is not None:
            self.joined.note(launch.document.source.path, document.source.path)
        found = launch is not None and self._start_others(path, python)
        for parser in python.parsers:
            found |= self._parsed(parser, python, path, launch, configs)
        real = [call for call in python.calls if not call.arguments.last.keys() <= _NOTHING_SAID]
        for call in python.calls:
            entry = registry.of_call(call.origin) if call.origin else None
            if entry is None or (call not in real and any(other.origin == call.origin for other in real)):
                continue  # a stranger's, or a first call that only sets up the devices
            if (call.span.source.path, call.span.start) in self._passed_on:
                continue
            before = len(self.joined.runs)
            home = self._evaluated.home_of(call, python)
            if home is not python and not _handed_over(call, python):
                continue  # what a module keeps for itself, or for another program, says nothing about this one
            found = True
            self._read(
                entry,
                home,
                [Layer(call.arguments, WRITTEN)],
                path,
                span=call.span,
                command=("call", call.origin),
                python=python,
                call=call,
                via="call",
                launch=launch,
            )
            self._called.extend((run, home is not python) for run in self.joined.runs[before:])
        found = self._module(python, path, launch) or found
        if found:
            self._use_loaded(python, path)
        elif launch is not None:
            self._barren.setdefault(path, None)
        return found

    def _use_loaded(self, python: PythonDocument, path: str) -> None:
        """The configs that a script loads are read for its runs; those of a script without any stand alone."""
        for load in python.loads:
            resolved = self.lookup.resolve(raw(load.path), os.path.dirname(path)) if load.document is not None else None
            if resolved is not None:
                self._use(resolved)

    def _module(self, python: PythonDocument, path: str, launch: Launch | None) -> bool:
        """The runs of a module that is itself a config, by what its names hold."""
        found = False
        for entry in registry.of_module(python.source.text) if python.names is not None else ():
            for mapping in entry.load().recognise(python):
                found = True
                layers = [Layer(mapping, WRITTEN)]
                command: tuple[str, ...] = ()
                if launch is not None:
                    layers.insert(0, Layer(launch.start.arguments, LAUNCH))
                    command = launch.start.program
                self._read(entry, python, layers, path, command=command, launch=launch)
        return found

    def _says_nothing(self, path: str, document: Document | None, launch: Launch) -> bool:
        """Whether a script of which a launch came to nothing holds nothing for any other: no call that a trainer
        reads, no parser and no program that it starts. One with a hundred launches is read twice. A launch that names
        a config is read all the same: the script may load it."""
        named = [raw for raw in map(raw, (entry.value for entry in launch.start.arguments.entries)) if raw]
        if any(raw.endswith(CONFIG_NAMES) and self.lookup.resolve(raw, launch.folder) for raw in named):
            return False
        known = self._barren[path]
        if known is None:
            python = self._evaluated.python(document)
            known = python is None or not (
                any(_owner(dataclass) for parser in python.parsers for dataclass in parser.dataclasses)
                or any(call.origin and registry.of_call(call.origin) for call in python.calls)
                or _may_spawn(python.source.text)
                or (python.names is not None and any(registry.of_module(python.source.text)))
            )
            self._barren[path] = known
        return known

    def _start_others(self, path: str, python: PythonDocument) -> bool:
        """The runs of what a launched script starts itself, with what it was given."""
        if path in self._starting or not _may_spawn(python.source.text):
            return False
        before = len(self.joined.runs)
        self._starting.add(path)
        for launch in self._starts.spawned(path, python):
            self._launched(launch)
        self._starting.discard(path)
        return len(self.joined.runs) > before

    def _drop_alone(self) -> None:
        """A call in a module that a script imports is read for that script, with what it hands over: not alone."""
        reached = {(run.path, run.span.start) for run, imported in self._called if imported}
        alone = {id(run) for run, imported in self._called if not imported and (run.path, run.span.start) in reached}
        if alone:
            self.joined.runs = [run for run in self.joined.runs if id(run) not in alone]

    def _parsed(
        self,
        parser: Parser,
        python: PythonDocument,
        path: str,
        launch: Launch | None,
        configs: list[tuple[str, Document]],
    ) -> bool:
        """The runs of a parser that fills a trainer's dataclass from flags or files."""
        found = False
        for dataclass in parser.dataclasses:
            entry = _owner(dataclass)
            if entry is None:
                continue
            for feed in parser.feeds:
                for layers, document, where, via in fed(self.lookup, feed, parser, path, launch, configs):
                    found = True
                    if parser.overrides.entries:
                        layers = [Layer(parser.overrides, WRITTEN), *layers]
                    origin = dataclass.origin or next(iter(dataclass.bases), "")
                    self._use(where)
                    self._read(
                        entry, document, layers, where, command=("call", origin), python=python, via=via, launch=launch
                    )  # fmt: skip
                    break
        return found

    # Configs ------------------------------------------------------------------------------------------------------

    def _config(self, path: str, document: Document) -> None:
        """A config that nothing given names: with the launches and scripts near it that name it, else alone."""
        found = self._recognised(path, document)
        if not found:
            return
        for entry, mapping in found:
            if entry.companion:
                self._companion(entry, document, mapping, path)
        trained = [(entry, mapping) for entry, mapping in found if not entry.companion]
        if not trained:
            return
        runs = len(self.joined.runs)
        for launch in self._near(path):
            if any(named == path for named, _ in self._starts.configs_of(launch)):
                self._launched(launch)
        if len(self.joined.runs) == runs:
            for script in self._scripts_near(path):
                self._scripted(script, None, [])
                if len(self.joined.runs) > runs:
                    break
        if not self._is_used(path) or len(self.joined.runs) == runs:
            for entry, mapping in trained:
                self._read(entry, document, [Layer(mapping, WRITTEN)], path)

    def _recognised(self, path: str, document: Document) -> list[tuple[Entry, Mapping]]:
        """Whose configs a document holds: as the settings say for its path, else as the trainers recognise them."""
        label = self.said.settings(path).trainer(path)
        if label is None:
            return registry.recognise(document)
        entry = registry.labelled(label)
        if entry is None:
            return []
        found: list[Mapping] = entry.load().recognise(document)  # a section of the file, where it tells one
        return [(entry, mapping) for mapping in found or document.mappings()]

    def _companion(self, entry: Entry, document: Document, mapping: Mapping, path: str) -> None:
        module = entry.load()
        self.joined.skipped.append(
            Skipped(document.source.path, f"{module.LABEL} file: it belongs to a run", module.LABEL)
        )
        self.joined.observations.extend(duplicates(mapping))
        inspect = getattr(module, "inspect", None)
        if inspect is not None:
            self.joined.observations.extend(inspect(document, mapping))

    def _near(self, path: str) -> Iterator[Launch]:
        """Launches in scripts beside a file that name it."""
        for script in self.lookup.naming(path):
            document = self.lookup.read(script)
            if document is not None:
                yield from self._starts.launches(script, document)

    def _scripts_near(self, path: str) -> Iterator[str]:
        """Python scripts beside a config that name it."""
        for script in self.lookup.naming(path, (".py", ".ipynb")):
            document = self.lookup.read(script)
            python = self._evaluated.python(document)
            if python is not None and reads(python, os.path.basename(path)):
                yield script

    # Reading ------------------------------------------------------------------------------------------------------

    def _read(
        self,
        entry: Entry,
        document: Document,
        layers: list[Layer],
        path: str,
        *,
        span: object = None,
        command: tuple[str, ...] = (),
        python: PythonDocument | None = None,
        call: Call | None = None,
        via: str = "",
        launch: Launch | None = None,
    ) -> list[Run]:
        """Reads one run (or a grid of them) and notes keys written twice."""
        folder = os.path.dirname(path)
        reading = Reading(
            document,
            layers,
            self._versions_for(folder, document, launch),
            span=span if span is not None else _run_span(document, layers, launch),  # type: ignore[arg-type] # a Span or None
            command=command,
            base=folder,
            lookup=self.lookup,
            python=python,
            call=call,
            via=via,
        )
        read = self._alone(document, entry.load().read, reading)
        if read is None:
            return []
        runs: list[Run] = read if isinstance(read, list) else [read]
        for run in runs:
            for layer in layers:
                run.observations.extend(duplicates(layer.mapping, flags=layer.origin == LAUNCH))
            if not run.command:
                run.command = command
            named = (
                {role: launch.start.configs(role) for role in ("accelerate", "deepspeed")} if launch is not None else {}
            )
            base = launch.folder if launch is not None else folder
            self.joined.companions[id(run)] = find(self.lookup, base, [layer.mapping for layer in layers], named)
        self.joined.runs.extend(runs)
        return runs

    def _versions_for(self, folder: str, document: Document, launch: Launch | None) -> Versions:
        """`versions`, and for packages that nothing says anything about, what the launch asks for, and what the file
        or the settings assume."""
        found = self.versions(folder)
        if launch is not None and launch.document.source.path == document.source.path:
            document = launch.document  # a config that it writes itself: what stands around it counts
        if document.syntax in ("notebook", "python"):
            for package, versions in of_notebook(document).items():
                if package not in self.assumed:
                    found.put(package, versions)
        for package, version in launch.versions.items() if launch is not None else ():
            if package not in found:
                found.add(package, exactly(version))
        if document.syntax == "python":
            for package, versions in of_script(document.source.text):
                if package not in self.assumed:
                    found.add(package, versions)
        said, problems = self.said.of(document)
        self.joined.observations.extend(problems)
        for package, versions in said.versions().items():
            if package not in found:
                found.add(package, versions)
        return found

    def versions(self, folder: str) -> Versions:
        """Package versions for a config in a folder: said on the command line first, then the project's files."""
        found = self._versions.get(folder)
        if found is None:
            found = self.assumed.copy()
            for package, versions in required(self.lookup, folder).items():
                if package not in self.assumed:
                    found.add(package, versions)
            self._versions[folder] = found
        return found.copy()

    def _use(self, path: str) -> None:
        self._used.add(self.lookup.real(path))

    def _is_used(self, path: str) -> bool:
        return self.lookup.real(path) in self._used


def _begun(start: Start, environment: Mapping) -> Start:
    """What a launch starts over variables that are set only where it does not set them."""
    from epochlint.project.launch import interpret

    return interpret(start.command.over(environment)) or start


def _run_span(document: Document, layers: list[Layer], launch: Launch | None) -> object:
    """Where a run begins: its config's first key; its launch where it has no config."""
    if launch is not None and document is launch.document:
        return launch.start.span
    for layer in layers:
        for entry in layer.mapping.entries:
            if entry.key_span.source.path == document.source.path:
                return entry.key_span
    return None


def _handed_over(call: Call, python: PythonDocument) -> bool:
    """Whether a trainer of the program is given a call's result."""
    return any(
        getattr(entry.value, "call", None) is call
        for other in python.calls
        if other.name.endswith("Trainer")
        for entry in other.arguments.entries
    )


def _owner(dataclass: Dataclass) -> Entry | None:
    for origin in (dataclass.origin, *dataclass.bases):
        entry = registry.of_call(origin) if origin else None
        if entry is not None:
            return entry
    return None


def _may_spawn(text: str) -> bool:
    from epochlint.documents.python.prefilter import may_spawn  # most checks hold no script

    return may_spawn(text)
