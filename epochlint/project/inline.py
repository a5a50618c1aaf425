"""What a file and the settings assume: `# epochlint: assume gpus=8 records=52002`, `[tool.epochlint.assume]`."""

from __future__ import annotations

import os

from epochlint.project.assumptions import OPERATORS, AssumptionError, Assumptions, parse
from epochlint.run.observation import Observation
from epochlint.trainers import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.settings import Nearest, Settings

_MARK = "epochlint:"


class Said:
    """The weaker assumptions of a check: those of files' comments, then those of the settings."""

    __slots__ = ("_files", "_judged", "_settings", "working")

    def __init__(self, settings: Nearest, working: str) -> None:
        self._settings = settings
        self.working = working
        _judge(settings.own)  # what is wrong there is told whatever files there are
        self._judged = {id(settings.own)}
        self._files: dict[str, tuple[Assumptions, list[Observation]]] = {}

    def anew(self) -> Said:
        """The same settings for other forms of the files."""
        return Said(self._settings, self.working)

    def settings(self, path: str) -> Settings:
        """The settings for an absolute path, their assumptions and trainers judged. Raises SettingsError."""
        found = self._settings.of(path)
        if id(found) not in self._judged:
            _judge(found)
            self._judged.add(id(found))
        return found

    def of(self, document: Document) -> tuple[Assumptions, list[Observation]]:
        """What holds for the runs of a document, and comments that cannot be read (told once)."""
        path = document.source.path
        found = self._files.get(path)
        if found is None:
            whole = os.path.join(self.working, path)
            found = Assumptions(), []
            for key, value in self.settings(whole).assumed(whole).items():
                _add(found[0], key, value)
            _read_comments(document, *found)
            self._files[path] = found
            return found
        return found[0], []

    def about(self, run: Run) -> Assumptions:
        """What holds for a run that has been read."""
        found = self._files.get(run.path)
        return found[0] if found is not None else Assumptions()


def _add(found: Assumptions, key: str, value: str) -> None:
    """`transformers = ">=4.52"`: a table's value may begin with an operator. Raises AssumptionError."""
    version = value.lstrip("=<>~ ")
    operator = value[: len(value) - len(version)].strip()
    if operator and operator not in OPERATORS:
        raise AssumptionError(f"{operator!r} is none of {', '.join(OPERATORS)}")
    found.add(key, version, operator or "=")


def _judge(settings: Settings) -> None:
    """Raises SettingsError for assumptions that cannot be understood, and for trainers that are not known."""
    tables = [(("assume",), settings.assume)]
    tables += [(("overrides", index, "assume"), one.assume) for index, one in enumerate(settings.overrides)]  # type: ignore[misc] # longer tuples
    for where, table in tables:
        for key, value in table.items():
            try:
                _add(Assumptions(), key, value)
            except AssumptionError as problem:
                raise settings.error((*where, key), f"assume: {problem}") from None
    for index, one in enumerate(settings.overrides):
        if one.trainer is not None and registry.labelled(one.trainer) is None:
            from difflib import get_close_matches

            labels = sorted({entry.label for entry in registry.TRAINERS if not entry.companion})
            near = get_close_matches(one.trainer, labels, 1, 0.6)
            hint = f"did you mean {near[0]!r}?" if near else f"possible are {', '.join(labels)}"
            raise settings.error(("overrides", index, "trainer"), f"there is no trainer {one.trainer!r}; {hint}")


def _read_comments(document: Document, found: Assumptions, problems: list[Observation]) -> None:
    if _MARK not in document.source.text:
        return
    from epochlint.documents.comments import comments

    for comment in comments(document):
        text = comment.text.strip()
        if not text.startswith(_MARK):
            continue
        words = text[len(_MARK) :].strip()
        if not words.startswith("assume"):
            if not words.startswith("ignore"):
                problems.append(
                    Observation(
                        "bad_comment", comment.span, {"reason": f"{words.split(' ')[0]!r} is neither assume nor ignore"}
                    )
                )
            continue
        try:
            said = parse([words[len("assume") :].strip()])
        except AssumptionError as problem:
            problems.append(Observation("bad_comment", comment.span, {"reason": str(problem)}))
            continue
        found.values.update(said.values)
        found.packages.update(said.packages)
        found.purpose = said.purpose or found.purpose
        found.reference = said.reference or found.reference
        found.span = comment.span
