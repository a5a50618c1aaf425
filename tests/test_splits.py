"""Split expressions, against what datasets 5.2.0 gave."""

from __future__ import annotations

import pytest

from epochlint.splits import parts


@pytest.mark.parametrize(
    ("split", "rows", "taken"),
    [
        ("train", 403, 403),
        ("train[:10%]", 403, 40),
        ("train[10%:33%]", 403, 93),
        ("train[-7%:]", 403, 28),
        ("train[:1%]+train[-1%:]", 403, 8),
        ("train[:100]+train[350:]", 403, 153),
        ("train[100:50]", 403, 0),
        ("train[-100:-20]", 403, 80),
        ("train[:1000]", 403, 403),
        ("train[:7%]", 150, 10),  # 10.5 rows, to the even number
        ("train[:29%]", 50, 14),
        ("train[-2000:]", 403, 403),
    ],
)
def test_rows(split: str, rows: int, taken: int) -> None:
    found = parts(split)
    assert found is not None
    assert sum(part.rows(rows) for part in found) == taken


@pytest.mark.parametrize("split", ["train[5]", "train[a:b]", "train[:10%](pct1_dropremainder)", "", "en:train", "a b"])
def test_what_is_not_understood(split: str) -> None:
    assert parts(split) is None
