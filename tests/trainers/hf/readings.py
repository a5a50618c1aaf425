"""Readings of small texts, as a launch, a script or a file would give them."""

from __future__ import annotations

import textwrap

from epochlint.documents import json_document, python, yaml_document
from epochlint.documents.document import Document, Entry, Mapping, Scalar
from epochlint.documents.python.model import PythonDocument
from epochlint.run.budget import Budget
from epochlint.run.known import COUNTED, LAUNCH, WRITTEN, Known
from epochlint.run.observation import Observation
from epochlint.run.run import Run
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions, specified
from epochlint.source import Source
from epochlint.trainers.trainer import Layer, Reading


def versions(**packages: str) -> Versions:
    """Versions(transformers="==4.57.6", trl=">=0.20")"""
    return Versions({name: specified(text) for name, text in packages.items()})


def yaml(text: str, path: str = "config.yaml") -> Document:
    return yaml_document.read(Source(path, textwrap.dedent(text)))


def json(text: str, path: str = "config.json") -> Document:
    return json_document.read(Source(path, textwrap.dedent(text)))


def script(text: str, path: str = "train.py") -> PythonDocument:
    return python.read(Source(path, textwrap.dedent(text)))


def of_document(document: Document, mapping: Mapping | None = None, via: str = "", **packages: str) -> Reading:
    """A config that stands alone, or that is loaded in the way of `via`."""
    mapping = mapping if mapping is not None else next(document.mappings())
    return Reading(document, [Layer(mapping)], versions(**packages), via=via)


def of_call(document: PythonDocument, name: str, **packages: str) -> Reading:
    """The first call of that name in a script, as the project's joiner reads it."""
    call = next(call for call in document.calls if call.name == name)
    return Reading(
        document,
        [Layer(call.arguments, WRITTEN)],
        versions(**packages),
        span=call.span,
        command=("call", call.origin),
        python=document,
        call=call,
        via="call",
    )


def flags(text: str) -> Mapping:
    """`--learning_rate 2e-5 --bf16` as a launch's arguments."""
    source = Source("run.sh", text)
    words = text.split()
    entries = []
    place = 0
    for index, word in enumerate(words):
        place = text.index(word, place)
        if word.startswith("--"):
            value = words[index + 1] if index + 1 < len(words) and not words[index + 1].startswith("--") else None
            start = text.index(value, place + len(word)) if value is not None else place
            span = (
                source.span(start, start + len(value)) if value is not None else source.span(place, place + len(word))
            )
            node = Scalar(span, value if value is not None else word, value if value is not None else True, plain=True)
            entries.append(Entry(word.lstrip("-"), source.span(place, place + len(word)), node))
        place += len(word)
    return Mapping(source.span(0, len(text)), entries)


def of_flags(text: str, command: tuple[str, ...] = ("python", "train.py"), **packages: str) -> Reading:
    mapping = flags(text)
    document = Document(mapping.span.source, "shell")
    return Reading(document, [Layer(mapping, LAUNCH)], versions(**packages), command=command, via="argparse")


def said(run: Run, name: str) -> list[Observation]:
    return [seen for seen in run.observations if seen.name == name]


def names(run: Run) -> set[str]:
    return {seen.name for seen in run.observations}


def counted(run: Run, rows: int | None = None, gpus: int | None = 1) -> Budget:
    """The budget of the newest era that is possible, with so many rows on so many devices."""
    if rows is not None:
        run.settings["rows"] = Known(rows, COUNTED)
    if gpus is not None:
        run.settings["gpus"] = Known(gpus, WRITTEN)
    scenarios = Scenarios(run)
    return scenarios.budget(len(run.eras) - 1, scenarios.workers[0])


def fact(run: Run, name: str, rows: int | None = None, gpus: int | None = 1) -> Known:
    """A fact over every era that is possible."""
    if rows is not None:
        run.settings["rows"] = Known(rows, COUNTED)
    if gpus is not None:
        run.settings["gpus"] = Known(gpus, WRITTEN)
    return Scenarios(run).fact(name)
