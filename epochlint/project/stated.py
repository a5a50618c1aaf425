"""What comments state: an effective batch, a number of examples. A comment is evidence, never a setting."""

from __future__ import annotations

import os
import re

from epochlint.patterns import Pattern
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

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
_LONGEST = 1000  # characters; a longer comment is no statement, and would keep the patterns busy


def stated(run: Run, lookup: Lookup) -> list[Observation]:
    """Comments beside the run's settings that state a batch, or a number of examples that is the number of messages."""
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
        batch = _BATCH.search(comment.text) or _SUM.search(comment.text)
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
