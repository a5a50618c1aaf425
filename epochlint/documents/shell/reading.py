"""Reading a shell script."""

from __future__ import annotations

from epochlint.documents.document import Problem
from epochlint.documents.shell.document import ShellDocument
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Mapping
    from epochlint.source import Source

# A launch script has kilobytes; larger ones are archives that unpack themselves.
LARGEST = 200_000

# A script without any of these starts no training: a launcher, a trainer, or a program of somebody's own. Lower case.
_WORDS = (
    "train", "tune", "tuning", "sft", "lora", "epoch", "accelerate", "torchrun", "torch.distributed", "deepspeed",
    "llamafactory", "swift", "axolotl", "dpo", "grpo", "ppo", "rlhf", "mlx", "litgpt", "unsloth", "ilab", "oumi",
    "learning", "batch_size", "batch-size", "customization", "mpirun", "composer", "orpo", "kto",
    "ml job", "auto-ml-job", "python", ".py",
)  # fmt: skip


def read(
    source: Source,
    *,
    environment: dict[str, str] | Mapping | None = None,
    load: Callable[[str, str | None], Source | None] | None = None,
) -> ShellDocument:
    """Read a script: the commands that it runs, as far as they can be known. Nothing is ever run.

    `environment` holds variables that are set around the script (a manifest's `env`). `load` gives the text of another
    script that this one reads (`source env.sh`), by its name and the folder that the script has changed to; without it
    what such a script sets is unknown. Never raises on any text: what is wrong stands in the document's `problems`.
    Makefiles and Dockerfiles are read, too: by their names.
    """
    document = ShellDocument(source)
    text = source.text
    if not may_train(text):
        return document
    if len(text) > LARGEST:
        reason = f"larger than {LARGEST // 1_000} KB, which no launch script is"
        document.problems.append(Problem("too-large", reason, Span(source, 0, 0)))
        return document
    if "\0" in text:
        document.problems.append(Problem("encoding", "not a text file", Span(source, 0, 0)))
        return document

    from epochlint.documents import commands

    kind = commands.kind_of(source.path) if not source.label else ""
    if kind:
        document.launches = commands.of_file(source, kind)
        document.cuts = [cut for command in document.launches for cut in command.cuts]
    else:
        _follow(source, document, environment, load)
    return document


def script(source: Source, environment: Mapping | None = None) -> ShellDocument:
    """Read a text that is known to be shell: a recipe's line, a workflow's step."""
    document = ShellDocument(source)
    if len(source.text) <= LARGEST and "\0" not in source.text and may_train(source.text):
        _follow(source, document, environment)
    return document


def may_train(text: str) -> bool:
    """Whether a text holds a word without which nothing is trained."""
    lowered = text.lower()
    return any(word in lowered for word in _WORDS)


def _follow(
    source: Source,
    document: ShellDocument,
    environment: dict[str, str] | Mapping | None,
    load: Callable[[str, str | None], Source | None] | None = None,
) -> None:
    from epochlint.documents.document import Entry, Mapping, Scalar
    from epochlint.documents.shell import cuts, directives
    from epochlint.documents.shell.follow import Follower
    from epochlint.documents.shell.syntax import Parser, TooDeepError
    from epochlint.documents.shell.text import Text

    document.scheduler, document.directives = directives.read(source)
    if isinstance(environment, dict):
        nowhere = Span(source, 0, 0)
        entries = [Entry(name, nowhere, Scalar(nowhere, value, value, True)) for name, value in environment.items()]
        environment = Mapping(nowhere, entries)
    text = Text.of(source)
    parser = Parser(text.text)
    try:
        parser.parse()
    except TooDeepError:
        document.problems.append(Problem("too-deep", "nested too deeply", Span(source, 0, 0)))
    for at, reason in parser.problems:
        place = text.place(at, at)[0]
        document.problems.append(Problem("syntax", reason, Span(source, place, place)))
    follower = Follower(source, document.directives, document.scheduler, environment, load)
    follower.follow(text, parser.statements)
    document.problems += follower.problems
    document.cuts = cuts.find(source, text, parser.statements, follower.origins)
    document.launches = follower.commands
    document.sourced = follower.sourced
    document.files = follower.files
