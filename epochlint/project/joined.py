"""What documents come to: runs with what belongs to them, and launches with the place where they stand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.project.companions import Companions
    from epochlint.project.launch import Start
    from epochlint.project.sweeps import Corner
    from epochlint.run.observation import Observation
    from epochlint.run.run import Run


class Skipped:
    """A file that holds no run: why, and its label where it has one ("deepspeed", "template")."""

    __slots__ = ("kind", "path", "reason")

    def __init__(self, path: str, reason: str, kind: str = "") -> None:
        self.path = path
        self.reason = reason
        self.kind = kind


class Joined:
    """What a set of documents comes to."""

    __slots__ = ("companions", "corners", "observations", "parts", "runs", "skipped")

    def __init__(self) -> None:
        self.parts: dict[str, set[str]] = {}  # by shown path: those of the files that were read for what is in it
        self.runs: list[Run] = []
        self.companions: dict[int, Companions] = {}  # by id of the run
        self.corners: dict[int, Corner] = {}  # by id of the run, where a sweep starts it
        self.observations: list[Observation] = []
        self.skipped: list[Skipped] = []

    def note(self, path: str, part: str) -> None:
        """A file is read for what stands in another; both by their shown paths."""
        self.parts.setdefault(path, set()).add(part)

    def files_of(self, run: Run) -> set[str]:
        """The shown paths of the files that a run was read from: config and launch, the scripts and modules between
        them, companions, and those in which its settings stand."""
        left = [path for path in (run.path, run.launch) if path]
        companions = self.companions.get(id(run))
        if companions is not None:
            left += companions.files()
        found: set[str] = set()
        while left:
            path = left.pop()
            if path not in found:
                found.add(path)
                left += self.parts.get(path, ())
        for known in run.settings.values():
            span = known.span or known.key_span
            if span is not None:
                found.add(span.source.path)
        return found


class Launch:
    """A start of something, with the document in which it stands and its folder; of a sweep, with its corner.

    `versions`: those that the place where it runs is asked for.
    """

    __slots__ = ("corner", "document", "folder", "start", "versions")

    def __init__(
        self,
        start: Start,
        document: Document,
        folder: str,
        corner: Corner | None = None,
        versions: dict[str, str] | None = None,
    ) -> None:
        self.start = start
        self.document = document
        self.folder = folder
        self.corner = corner
        self.versions = versions or {}
