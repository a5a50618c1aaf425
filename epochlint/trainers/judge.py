"""What the modules that say beforehand what a trainer refuses have in common."""

from __future__ import annotations

from epochlint.documents.scalars import number
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker


class Judge:
    """Looks at what is written, and notes what `consumer` refuses. `package` is where its versions are counted."""

    __slots__ = ("consumer", "package", "reading", "taker")

    def __init__(self, taker: Taker, consumer: str, package: str = "") -> None:
        self.taker = taker
        self.reading = taker.reading
        self.consumer = consumer
        self.package = package

    def refuse(self, path: tuple[str, ...], reason: str, since: str = "") -> None:
        """Notes a refusal; `since`: older versions took it."""
        self.taker.refuse(path, reason, self.consumer, **({"package": self.package, "since": since} if since else {}))

    def number(self, *path: str) -> float | None:
        node = self.reading.node(*path)
        return number(node)

    def written(self, *path: str) -> bool:
        """Whether there is a value, and not null."""
        node = self.reading.node(*path)
        return node is not None and not is_null(node)
