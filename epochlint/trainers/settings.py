"""From keys to settings: the part of reading that all trainers share.

`Taker` puts a trainer's keys into the run's vocabulary, with their places, and notes what the trainer's loader makes of
a value that a person meant otherwise: a number that loads as text, `no` that loads as False, a number misread.
"""

from __future__ import annotations

from epochlint.documents.document import Inherited, Node, Scalar
from epochlint.documents.scalars import boolean, misread, number, plain_number
from epochlint.run.known import DEFAULT, UNKNOWN, Known, unknown
from epochlint.run.observation import Edit, Fix, Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from epochlint.documents.document import Entry
    from epochlint.run.run import Run
    from epochlint.source import Span
    from epochlint.trainers.trainer import Reading


class Loader:
    """What becomes of values between the file and the trainer.

    `converts_text`: a number written as text is converted (argparse, pydantic). `reads_plain`: one without quotes is
    (2e-5 in OmegaConf), one in quotes stays text. `visible`: the consumer is known; where it is not, a text number is
    worth a note only. `reads_none`: the word None means nothing to it, as in
    Python. `name` is for the message.
    """

    __slots__ = ("converts_text", "name", "reads_none", "reads_plain", "visible")

    def __init__(
        self,
        name: str,
        converts_text: bool,
        visible: bool = True,
        reads_none: bool = False,
        reads_plain: bool = False,
    ) -> None:
        self.name = name
        self.reads_plain = reads_plain
        self.reads_none = reads_none
        self.converts_text = converts_text
        self.visible = visible


class Taker:
    """Takes settings from a reading into a run.

    A key that is written as null counts as not written. A key that cannot be read is unknown. A key that is not
    written takes the default, or is unknown where unseen settings may exist.
    """

    __slots__ = ("loader", "reading", "run")

    def __init__(self, run: Run, reading: Reading, loader: Loader) -> None:
        self.run = run
        self.reading = reading
        self.loader = loader

    def entry(self, keys: Iterable[str | tuple[str, ...]]) -> tuple[Entry, str] | None:
        """The first of the keys (or paths of keys) that is written, null or not."""
        for key in keys:
            found = self.reading.top.get(key) if isinstance(key, str) else self.reading.entry(*key)
            if found is not None:
                return found
        return None

    def _written(self, keys: tuple[str | tuple[str, ...], ...]) -> tuple[Entry, str] | None:
        found = self.entry(keys)
        if found is None:
            return None
        node = found[0].value
        if isinstance(node, Scalar) and (node.value is None or (self.loader.reads_none and node.raw == "None")):
            return None
        return found

    def _place(self, entry: Entry) -> Span:
        """Where a person would edit the value: the key, unless the value comes from another file (a flag of the launch,
        a config that a script loads). What is inherited is overridden here, where the other file is named."""
        node = entry.value
        if isinstance(entry, Inherited):
            return entry.key_span
        return entry.key_span if node.span.source.path == entry.key_span.source.path else node.span

    def _usual(self, name: str, default: object) -> None:
        """Notes the default, also where something is written: writing it out says nothing."""
        usual = default.value if isinstance(default, Known) and default.exact else default
        if usual is not None and usual is not MISSING and not isinstance(usual, Known):
            self.run.defaults[name] = usual

    def _absent(self, name: str, default: object) -> Known:
        if name in self.run.settings:
            return self.run.settings[name]
        if self.reading.open_ended:
            known = UNKNOWN
        elif default is MISSING:
            return UNKNOWN
        else:
            known = default if isinstance(default, Known) else Known(default, DEFAULT)
        self.run.settings[name] = known
        return known

    def _left_open(self, name: str, keys: tuple[str | tuple[str, ...], ...], default: object) -> Known | None:
        """A setting that cannot be null, and is so by a default of the program: whoever starts it gives a value."""
        found = self.entry(keys) if isinstance(default, (int, float)) else None
        if found is None or not getattr(found[0].value, "default", False):
            return None
        entry, origin = found
        known = self.run.settings[name] = unknown(self._place(entry), entry.value.span, origin)
        return known

    def number(
        self, name: str, *keys: str | tuple[str, ...], default: object = None, off: tuple[float, ...] = ()
    ) -> Known:
        """A numeric setting. `off` are the values that mean "not set" (-1 for max_steps): they count as the default."""
        if default is not None:
            self._usual(name, default)
        found = self._written(keys)
        if found is None:
            return self._left_open(name, keys, default) or self._absent(name, default)
        entry, origin = found
        node = entry.value
        value: int | float | None = None
        if isinstance(node, Scalar):
            if plain_number(node):
                value = node.value  # type: ignore[assignment] # a number
            else:
                value = number(node)
                self.check_number(name, entry, node, value)
        if value is not None and value in off:
            known = (
                Known(default, origin, key_span=self._place(entry), span=node.span)
                if default is None
                else self._absent(name, default)
            )
        elif value is None:
            known = unknown(self._place(entry), node.span, origin)
        else:
            known = Known(value, origin, key_span=self._place(entry), span=node.span)
        self.run.settings[name] = known
        return known

    def whole(
        self, name: str, *keys: str | tuple[str, ...], default: object = None, off: tuple[float, ...] = ()
    ) -> Known:
        """A count: like `number`, a whole float becomes an int."""
        known = self.number(name, *keys, default=default, off=off)
        value = known.value
        if isinstance(value, float) and value == int(value):
            known.value = int(value)
        return known

    def word(
        self, name: str, *keys: str | tuple[str, ...], default: object = None, words: Mapping[str, str] | None = None
    ) -> Known:
        """A text setting, lower case where `words` maps the trainer's words to the run's."""
        if default is not None:
            self._usual(name, default)
        found = self._written(keys)
        if found is None:
            return self._absent(name, default)
        entry, origin = found
        node = entry.value
        known = unknown(self._place(entry), node.span, origin)
        if isinstance(node, Scalar):
            text = str(node.value) if isinstance(node.value, str) else node.raw
            text = text.rpartition(".")[2] if text.startswith(("IntervalStrategy.", "SchedulerType.")) else text
            if words is not None:
                text = words.get(text.lower(), text.lower())
            known = Known(text, origin, key_span=self._place(entry), span=node.span)
        self.run.settings[name] = known
        return known

    def flag(self, name: str, *keys: str | tuple[str, ...], default: object = False) -> Known:
        """A yes-or-no setting."""
        if default is not None:
            self._usual(name, default)
        found = self._written(keys)
        if found is None:
            return self._absent(name, default)
        entry, origin = found
        node = entry.value
        value = boolean(node) if isinstance(node, Scalar) else None
        if (
            isinstance(node, Scalar)
            and isinstance(node.value, str)
            and self.loader.visible
            and not self._converted(node)
        ):
            value = None  # any text is true to Python, and a library may still refuse it
        if value is None:
            known = unknown(self._place(entry), entry.value.span, origin)
        else:
            known = Known(value, origin, key_span=self._place(entry), span=entry.value.span)
        self.run.settings[name] = known
        return known

    def product(self, name: str, *keys: str | tuple[str, ...]) -> None:
        """The product of the sizes above 1 under several keys, at the last of them; unset where there is none."""
        product, last = 1, None
        for key in keys:
            found = self._written((key,))
            size = number(found[0].value) if found is not None and isinstance(found[0].value, Scalar) else None
            if found is not None and size is not None and size > 1:
                product, last = product * int(size), found
        if last is not None:
            self.run.settings[name] = Known(product, last[1], key_span=self._place(last[0]))

    def derive(self, name: str, known: Known) -> Known:
        self.run.settings[name] = known
        return known

    def observe(self, name: str, span: Span, fix: Fix | None = None, **values: object) -> None:
        self.run.observations.append(Observation(name, span, values, fix=fix))

    def check_number(self, name: str, entry: Entry, node: Scalar, value: float | None) -> None:
        """Notes what this loader makes of a number."""
        wrong = misread(node)
        if wrong is not None:
            self.observe(
                "misread_number",
                self._place(entry),
                key=entry.key,
                raw=node.raw,
                how=wrong,
                loader=self.loader.name,
                setting=name,
            )
        elif value is not None and isinstance(node.value, str) and not self._converted(node):
            fix = None
            if node.plain:
                fix = Fix(f"write {dotted(node.raw)}", [Edit(node.span, dotted(node.raw))], safe=True)
            self.observe(
                "number_as_text",
                self._place(entry),
                fix,
                key=entry.key,
                raw=node.raw,
                loader=self.loader.name,
                visible=self.loader.visible,
                quoted=not node.plain,
            )

    def _converted(self, node: Scalar) -> bool:
        """Whether the loader makes a number of this text."""
        return self.loader.converts_text or (self.loader.reads_plain and node.plain)

    def refuse(self, key: tuple[str, ...], reason: str, consumer: str, **versions: str) -> None:
        """Notes that the trainer refuses what is written there, `since` a version of a `package` where older ones took
        it."""
        found = self.reading.entry(*key)
        if found is not None:
            self.observe("rejected", self._place(found[0]), None, reason=reason, consumer=consumer, **versions)

    def refuse_fractions(self, consumer: str, *keys: str | tuple[str, ...]) -> None:
        """Notes counts that are no whole numbers."""
        for key in keys:
            path = (key,) if isinstance(key, str) else key
            node = self.reading.node(*path)
            value = number(node)
            if value is not None and value != int(value):
                self.refuse(path, f"{path[-1]} must be a whole number, not {value:g}", consumer)


class _Missing:
    __slots__ = ()


MISSING = _Missing()


def dotted(text: str) -> str:
    """The same number so that YAML 1.1 loads a number: 2e-5 -> 2.0e-5, 1E5 -> 1.0e+5."""
    mantissa, mark, exponent = text.lower().partition("e")
    if not mark:
        return text
    if "." not in mantissa:
        mantissa += ".0"
    if exponent[:1] not in "+-":
        exponent = "+" + exponent
    return f"{mantissa}e{exponent}"


def text_of(node: Node | None) -> str | None:
    """A node's text, if it is a known text."""
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None
