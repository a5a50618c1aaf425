"""What comments state: an effective batch, a number of examples or of GPUs. A comment is evidence, never a setting."""

from __future__ import annotations

import os
import re

from epochlint.patterns import Pattern
from epochlint.run.known import COMPANION, LAUNCH
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run
    from epochlint.source import Span

_NUMBER = r"([0-9][0-9,_]{0,20})(?!\d|[\d.]*[kKmM%eE])"
# "effective batch size 128", "global batch: 4 * 8 * 4 = 128", "-> total batch size = 64"
_BATCH = Pattern(
    r"(?:effective|global|total|real|overall)[ _-]*(?:train(?:ing)?[ _-]*)?batch(?:[ _-]*size)?\b[^\d\n=]{0,20}"
    r"(?:[\d_., ]+[x*×][\d_., x*×()a-zA-Z-]*=\s*|=\s*|:\s*)?" + _NUMBER,
    re.IGNORECASE,
)
_SUM = Pattern(r"(?<![\d ])[\d ]+(?:[x*×]\s*\d+\s*)+=\s*" + _NUMBER + r"[^\n]{0,12}batch", re.IGNORECASE)
_EXAMPLES = Pattern(
    _NUMBER + r"\s*(?:training\s+)?(?:examples|records|samples|rows|conversations|dialogues|pairs)\b", re.IGNORECASE
)
_WORDS = ("batch", "examples", "records", "rows", "samples", "conversations", "dialogues", "pairs")
_LINES = 12  # of a command before its number of GPUs
_SHORT = 80
_LONGEST = 1000  # characters; a longer comment is no statement, and would keep the patterns busy


# A comment that says nothing but a number of GPUs: "# 8 GPUs", "# run on a node with 8 x A100 80GB".
_GPUS = Pattern(
    r"[\W_]*(?:(?:runs?|running|launch|launched|trains?|trained|training|uses?|using|is|this|the|a|an|one|single|script"
    r"|config|recipe|job|node|machine|server|set|up|meant|made|tuned|for|on|with|across|over|by|x|of|total)[\W_]+)*"
    r"(\d{1,4})[ -]?(?:[x×*][ -]?)?(?:nvidia[ -])?"
    r"(?:gpus?|cards?|(?:[abhv]\d{2,3}|l40s?|mi\d{3}x?|rtx ?\d{4})s?)"
    r"(?:[ (-]*\d+ ?gb?\)?)?(?:[ -]gpus?)?[\W_]*\Z",
    re.IGNORECASE,
)
_CARDS = ("gpu", "card", "a100", "h100", "h200", "v100", "b200", "a6000", "l40", "mi300", "rtx")


def stated(run: Run, lookup: Lookup) -> list[Observation]:
    """Comments that state another number of GPUs than the run has; beside its settings, a batch, or a number of
    examples that is the number of messages."""
    return [*_other_gpus(run, lookup), *_beside_settings(run, lookup)]


def _other_gpus(run: Run, lookup: Lookup) -> list[Observation]:
    """Where the launch or a companion says on how many GPUs it starts, and a comment in the config, or right above the
    launch, says another number."""
    gpus = run.setting("gpus")
    if gpus.number is None or gpus.span is None or gpus.origin not in (LAUNCH, COMPANION):
        return []
    # "8 processes x 2 nodes = 16": each of them may be meant.
    factors = [int(number) for number in re.findall(r"\d+", gpus.formula)] if isinstance(gpus.formula, str) else []
    found = []
    for shown in dict.fromkeys((run.path, gpus.span.source.path)):
        document = lookup.read(os.path.join(lookup.working, shown))
        text = document.source.text.lower() if document is not None else ""
        if document is None or not any(card in text for card in _CARDS):
            continue
        from epochlint.documents.comments import comments

        short = [comment for comment in comments(document) if len(comment.text) <= _SHORT]
        said = [(comment, match) for comment in short if (match := _GPUS.match(comment.text))]
        counts = {int(match[1]) for _, match in said}
        if len(counts) != 1 or not counts.isdisjoint((gpus.number, *factors)):
            continue  # several: each is another launch's, or one of several ways to run it
        span = said[0][0].span
        if document.source.path == gpus.span.source.path and not _right_above(span, gpus.span):
            continue
        values = {"counts": f"{counts.pop()} in the comment, {int(gpus.number)} in the launch", "stated": True}
        found.append(Observation("gpu_counts_disagree", span, values, [("what the run starts on", gpus.span)]))
    return found


def _right_above(comment: Span, count: Span) -> bool:
    """Whether a comment's line is the one of a command, or followed by nothing but it."""
    between = count.source.text[comment.end : count.start]
    lines = between.split("\n")[1:-1]
    joined = all(line.rstrip().endswith("\\") for line in lines)
    return comment.start > count.start or (joined and len(lines) < _LINES)


def _beside_settings(run: Run, lookup: Lookup) -> list[Observation]:
    if not _worth_reading(run.source.text):
        return []
    document = lookup.read(os.path.join(lookup.working, run.path))
    if document is None:
        return []
    from epochlint.documents.comments import comments

    found: list[Observation] = []
    messages, rows = run.setting("messages").number, run.setting("rows").number
    for comment in comments(document):
        if len(comment.text) > _LONGEST:
            continue
        batch = _BATCH.search(comment.text)
        if batch is not None and "=" in comment.text[: batch.start()]:
            batch = None  # a part of the sum that gives another number
        elif batch is None:
            batch = _SUM.search(comment.text)
        if batch is not None:
            found.append(
                Observation("batch_stated", comment.span, {"stated": _int(batch[1]), "text": comment.text.strip()})
            )
        for match in _EXAMPLES.finditer(comment.text):
            declared = _int(match[1])
            if messages is not None and rows is not None and declared == messages != rows:
                values = {"what": "the comment", "declared": declared, "records": rows}
                found.append(Observation("data_messages_counted", comment.span, values))
    return found


def _worth_reading(text: str) -> bool:
    """Whether a comment may state something: finding the comments of a text for certain takes its scanner."""
    if "/*" in text:
        return True
    text = text.lower()
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line = text[start:end] if end >= 0 else text[start:]
            for mark in ("#", "//"):
                behind = line.find(mark)
                if behind >= 0 and word in line[behind:] and _may_state(line[behind:]):
                    return True
            at = text.find(word, end) if end >= 0 else -1
    return False


def _may_state(text: str) -> bool:
    return len(text) > _LONGEST or any(pattern.search(text) for pattern in (_BATCH, _SUM, _EXAMPLES))


def _int(text: str) -> int:
    return int(re.sub(r"[,_]", "", text))
