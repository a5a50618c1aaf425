"""What a service accepts stands with its source and date, and makes a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from epochlint.trainers.providers import body

DATA = Path(body.__file__).parent.parent / "data"
TABLES = {
    name: json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")) for name in ("providers", "aws_requests")
}
BOUNDS = ("low", "high", "above", "below", "longest", "shortest", "pattern", "words")
KNOWN = {"type", "folded", "required", "default", "fields", "items", "values", *BOUNDS}
KINDS = {"int", "number", "text", "numeric text", "bool", "any", "word", "object", "map", "list"}


def blocks(value: Any) -> Iterator[dict[str, Any]]:
    """Every block of fields."""
    if isinstance(value, dict):
        inner = [item for item in value.values() if isinstance(item, dict)]
        if (
            inner
            and len(inner) == len(value)
            and all("type" in item for item in inner)
            and not isinstance(value.get("type"), str)
        ):
            yield value
        for item in value.values():
            yield from blocks(item)


@pytest.mark.parametrize("provider", sorted(TABLES["providers"]))
def test_each_service_has_its_source_and_date(provider: str) -> None:
    told = TABLES["providers"][provider]
    assert len(told["source"]) > 10
    assert re.fullmatch(r"20\d\d-\d\d", told["date"])
    records = told.get("records")
    assert records is None or len(records["source"]) > 5


def test_the_generated_table_has_its_source_and_date() -> None:
    told = TABLES["aws_requests"]
    assert told["source"].startswith("botocore ")
    assert re.fullmatch(r"20\d\d-\d\d", told["date"])


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_block_makes_a_model(table: str) -> None:
    found = list(blocks(TABLES[table]))
    assert len(found) >= 20
    for fields in found:
        body._model(fields)
        for name, field in fields.items():
            assert set(field) <= KNOWN, name
            assert set(field["type"].split(" or ")) <= KINDS, name


def test_no_range_stands_in_the_code() -> None:
    """Ranges have one place to be updated: the data files."""
    folder = Path(body.__file__).parent
    for path in folder.glob("*.py"):
        if path.name != "body.py":
            assert not re.search(r'"(?:low|high|above|longest)": ', path.read_text(encoding="utf-8")), path.name
