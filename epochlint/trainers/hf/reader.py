"""Reading one run of Hugging Face arguments, in steps that a trainer on top of them can put together as it needs.

hf = Hf(reading, LABEL, table)
hf.take_common()
...                      # what the trainer has besides
hf.look_around()         # the Python script, if there is one
hf.check()
run = hf.finish()
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar
from epochlint.run.known import DEFAULT, UNKNOWN, Known
from epochlint.run.run import Run
from epochlint.trainers.hf import common, keys, refusals
from epochlint.trainers.hf.counting import after_cap
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.hf.loading import HfTaker, loader_of, opened, prepared, root_of
from epochlint.trainers.omegaconf import is_composed
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Mapping as AnyMapping

    from epochlint.run.counting import Counting
    from epochlint.run.run import Era
    from epochlint.run.versions import VersionRange
    from epochlint.trainers.hf.eras import Segment
    from epochlint.trainers.hf.script import Surroundings
    from epochlint.trainers.settings import Loader
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading


_TAKEN = frozenset(("eval_delay", *(key for names in common.KEYS.values() for key in names)))


class Hf:
    """One reading on its way to a run.

    `consumer`: who takes the keys. `within`: the versions of transformers that know all keys that are written.
    `around`: the script around a Python call or parser, once `look_around` has looked.
    """

    __slots__ = ("_within", "around", "consumer", "reading", "run", "table", "taker")

    def __init__(
        self, reading: Reading, label: str, table: Table, extra: Iterable[str] = (), loader: Loader | None = None
    ) -> None:
        self.consumer = keys.consumer_of(reading, table, extra)
        reading = _with_own_defaults(prepared(reading, self.consumer), table)
        if (not reading.via and _own_schema(reading, self.consumer)) or _in_parts(reading):
            # The program that reads this section picks its keys, and may set others itself.
            reading = opened(reading)
        self.reading = reading
        self.run = Run(label, reading.document.source, reading.span, [], reading.versions)
        self.run.command = reading.command
        self.taker = HfTaker(self.run, reading, loader if loader is not None else loader_of(reading))
        self.table = table
        self._within: VersionRange | None = None
        self.around: Surroundings | None = None
        pinned = reading.versions.of(table.package)
        if pinned.pinned:
            self.run.version = pinned.low

    @property
    def within(self) -> VersionRange:
        if self._within is None:
            self._within = keys.told_by_keys(self.reading, self.table)
        return self._within

    @within.setter
    def within(self, versions: VersionRange) -> None:
        self._within = versions

    # Taking -----------------------------------------------------------------------------------------------------------

    def take_common(
        self,
        defaults: AnyMapping[str, object] | None = None,
        keys: AnyMapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        common.take_common(self.taker, defaults=defaults, keys=keys)

    def entry(self, key: str) -> Entry | None:
        """A key that is written, and not as null."""
        found = self.reading.entry(key)
        if found is None or (isinstance(found[0].value, Scalar) and found[0].value.value is None):
            return None
        return found[0]

    def setting(self, name: str) -> Known:
        return self.run.settings.get(name, UNKNOWN)

    # The script -------------------------------------------------------------------------------------------------------

    def look_around(self) -> Surroundings | None:
        """Reads the script that holds the call or the parser: data, callbacks, adapters, model."""
        if self.reading.python is None:
            return None
        from epochlint.trainers.hf import script

        around = script.surroundings(self.reading)
        self.around = around
        if around is None:
            return None
        folder = _folder_of(self.reading)
        script.take_data(self.run, around, folder)
        script.take_patience(self.run, around)
        script.take_tuning(self.run, around)
        script.take_model(self.run, around)
        script.take_devices(self.run, around)
        script.take_resume(self.run, around)
        script.take_optimizers(self.run, around)
        script.take_search(self.run, around)
        script.take_saving(self.run, around)
        return around

    # Checking ---------------------------------------------------------------------------------------------------------

    def check(self, metrics: Iterable[str] | None = ()) -> None:
        """Everything that transformers' own classes would say. `metrics`: what evaluation produces besides the usual;
        None = not known."""
        keys.check_keys(self.taker, self.consumer, self.reading.versions)
        keys.check_numbers(self.taker, self.consumer, _TAKEN)
        versions = self.reading.versions.of("transformers").narrowed(self.within)
        refusals.check_values(self.taker, self.consumer, versions)
        if self.around is None:
            return
        from epochlint.trainers.hf import script

        refusals.evaluation_data(self.run, judged=not script.evaluates_itself(self.around))
        refusals.early_stopping(self.run)
        if metrics is not None and not script.computes_metrics(self.around):
            refusals.missing_metric(self.run, metrics)

    # Counting ---------------------------------------------------------------------------------------------------------

    def eras(self, adapt: Callable[[Counting, Segment], Counting] | None = None) -> list[Era]:
        found = eras(self.reading.versions, self.run.settings, within=self.within, adapt=adapt)
        return self.split(found)

    def split(self, found: list[Era]) -> list[Era]:
        """The eras with the script's own validation split taken off the rows, and its cap."""
        if self.setting("validation_split").by_hand or self.setting("sample_cap").by_hand:
            for era in found:
                era.counting.records = after_cap
        return found

    def finish(self, found: list[Era] | None = None) -> Run:
        self.run.eras = tuple(found if found is not None else self.eras())
        return self.run


def _with_own_defaults(reading: Reading, table: Table) -> Reading:
    """The reading with the defaults of a class that the script derives from the library's, as its weakest layer."""
    if reading.python is None or reading.via == "call":
        return reading
    fields = getattr(keys.class_of(reading), "fields", None)
    if not fields:
        return reading
    known = [(name, flag) for name, flag in fields.items() if flag.default is not None and table.known(name)]
    if not known:
        return reading
    entries = [Entry(name, flag.span, flag.default) for name, flag in known]
    return reading.over([*reading.layers, Layer(Mapping(known[0][1].span, entries), DEFAULT)])


def _own_schema(reading: Reading, consumer: keys.Consumer) -> bool:
    """Whether a section holds keys of its author's own beside the arguments."""
    mapping = reading.layers[-1].mapping  # the config itself: without a script there are no defaults behind it
    if root_of(reading.document, mapping) is None:
        return False
    return any(not consumer.knows(entry.key) for entry in mapping.entries)


def _in_parts(reading: Reading) -> bool:
    """Whether the file is one of several that Hydra puts together."""
    return any(is_composed(root) for root in reading.document.mappings())


def _folder_of(reading: Reading) -> str:
    """The folder that a script's paths are tried from first."""
    return reading.base
