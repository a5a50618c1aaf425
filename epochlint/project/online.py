"""Asks the Hugging Face hub how many rows a public data set has. Only `--online` leads here.

One GET of https://datasets-server.huggingface.co/size for each data set: no other host, no redirect, ten seconds and a
megabyte at most. What goes out is the data set's name and, where HF_TOKEN is set, the token.
Source of the answer's form: the documentation of the dataset viewer's API, /size (size.splits: config, split, num_rows;
partial: only the beginning of the data was counted).
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER = "https://datasets-server.huggingface.co"
_SCHEMES = frozenset(("https",))
_SECONDS = 10.0
_BIGGEST_ANSWER = 1 << 20
_MOST_QUESTIONS = 50

_answers: dict[str, dict[str, dict[str, int]]] = {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the question, and the token, to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def splits(name: str, environment: Mapping[str, str] = os.environ) -> dict[str, dict[str, int]]:
    """Rows by configuration and split; empty where the hub does not say. Each data set is asked for once."""
    if name not in _answers:
        if len(_answers) >= _MOST_QUESTIONS or environment.get("HF_HUB_OFFLINE", "0").lower() in (
            "1",
            "true",
            "yes",
            "on",
        ):
            return {}
        _answers[name] = _read(_ask(name, environment.get("HF_TOKEN", "").strip()))
    return _answers[name]


def _ask(name: str, token: str) -> object:
    url = f"{SERVER}/size?dataset={quote(name, safe='')}"
    if urlsplit(url).scheme not in _SCHEMES:
        return None
    headers = {"Accept": "application/json", "User-Agent": "epochlint"}
    if token.isascii() and token.isprintable() and token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(urllib.request.Request(url, headers=headers), timeout=_SECONDS) as answer:  # noqa: S310
            data = answer.read(_BIGGEST_ANSWER + 1)
        return json.loads(data) if len(data) <= _BIGGEST_ANSWER else None
    except (OSError, ValueError, RecursionError, HTTPException):
        return None


def _read(answer: object) -> dict[str, dict[str, int]]:
    size = answer.get("size") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or answer.get("partial") is not False or not isinstance(size, dict):
        return {}
    found: dict[str, dict[str, int]] = {}
    parts = size.get("splits")
    for part in parts if isinstance(parts, list) else ():
        config, split, rows = (
            (part.get(key) for key in ("config", "split", "num_rows")) if isinstance(part, dict) else 3 * (None,)
        )
        if not isinstance(config, str) or not isinstance(split, str) or type(rows) is not int or rows < 0:
            return {}
        found.setdefault(config, {})[split] = rows
    return found
