"""What looks at each record while a file is read once for everything that is asked about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Look:
    """Sees every record of a file in order, or, where `apart` allows it, those of its parts in several processes.

    There, `part` is called on a copy of the look, which sees the part; what it hands over with `state` (plain values;
    it begins anew then) arrives at `join` of the first, in any order. The first records of the file come to the look
    before, and `apart` is asked only then.
    """

    __slots__ = ()

    @property
    def apart(self) -> bool:
        return True

    def part(self) -> None:
        """Only a part of the file will be seen."""

    def see(self, line: int, value: object) -> None:
        """A record with its line; None for a line that is no JSON."""
        raise NotImplementedError

    def state(self) -> object:
        """What was seen since the last time."""
        raise NotImplementedError

    def join(self, state: object) -> None:
        """Adds what another has seen."""
        raise NotImplementedError


class Records(Look):
    """How many records a trainer makes of the rows: of those that it keeps, one or several of each.

    least, most: without and with the rows of which only the trainer itself could tell whether it keeps them. Where the
    rows are of several forms (as a `keep` with a `form` tells them), that is all of them.
    """

    __slots__ = ("_forms", "_keep", "_records_of", "_sure", "most")

    def __init__(
        self, keep: Callable[[object], bool | None] | None, records_of: Callable[[object], int] | None
    ) -> None:
        self._keep = keep
        self._records_of = records_of
        self._sure = self.most = 0
        form = getattr(keep, "form", None)
        self._forms: tuple[Callable[[object], str], set[str]] | None = (form, set()) if form is not None else None

    @property
    def least(self) -> int:
        return 0 if self._forms is not None and len(self._forms[1]) > 1 else self._sure

    def see(self, line: int, value: object) -> None:
        if self._forms is not None and value is not None:
            self._forms[1].add(self._forms[0](value))
        kept = True if self._keep is None else self._keep(value)
        if kept is not False:
            records = 1 if self._records_of is None else self._records_of(value)
            self.most += records
            self._sure += records if kept else 0

    def state(self) -> object:
        seen = self._sure, self.most, list(self._forms[1]) if self._forms is not None else []
        self._sure = self.most = 0
        return seen

    def join(self, state: object) -> None:
        assert isinstance(state, tuple)
        self._sure += state[0]
        self.most += state[1]
        if self._forms is not None:
            self._forms[1].update(state[2])


class Judged(Look):
    """The first few records in which somebody finds fault: line, and the two texts of his verdict."""

    __slots__ = ("_check", "_left", "_most", "found")

    def __init__(self, check: Callable[[object], tuple[str, str] | None], most: int) -> None:
        """check: where its verdict hangs on the records before, its `settled` tells whether it still does."""
        self._check = check
        self._most = self._left = most
        self.found: list[tuple[int, str, str]] = []

    @property
    def apart(self) -> bool:
        return getattr(self._check, "settled", True)

    def see(self, line: int, value: object) -> None:
        if self._left:
            judged = self._check(value)
            if judged is not None:
                self._left -= 1
                self.found.append((line, *judged))

    def part(self) -> None:
        self._left = self._most

    def state(self) -> object:
        found, self.found = self.found, []
        return found

    def join(self, state: object) -> None:
        assert isinstance(state, list)
        self.found = sorted(self.found + state)[: self._most]
