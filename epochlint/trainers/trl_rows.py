"""What TRL's trainers do with a row: where they stop, and what they may leave out.

Recorded in tests/conformance for trl 0.16.0 to 1.16.0: a text that is null or missing stops every trainer as it
prepares its data; the reward trainer drops what is longer than `max_length`, and since some version after 0.29 so do
DPO, KTO and (where only a part of each row is trained on) SFT.
"""

from __future__ import annotations

from epochlint.trainers.row_checks import Fits, Form, invalid, messages_missing, texts_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.run.versions import VersionRange
    from epochlint.trainers.row_checks import Verdict

    Check = Callable[[object], Verdict | None]

NAME = "TRL"
_PAIRS = ("DPOConfig", "ORPOConfig", "CPOConfig", "RewardConfig")
_LAST_WITHOUT_DROPS = "0.30"  # 0.29 drops nothing, 1.9 does


def check_of(owner: str | None, *, answers_only: bool, text: str) -> Form | None:
    """The check of a trainer's rows. answers_only: `assistant_only_loss`; text: `dataset_text_field`."""
    if owner == "SFTConfig":
        return Form(lambda first: _sft(first, answers_only, text), columns=True)
    if owner == "DPOConfig":
        return Form(_answers, columns=True)
    if owner in _PAIRS:
        return Form(lambda first: _keys(first, ("chosen", "rejected"), ("prompt",)), columns=True)
    return Form(_labelled, columns=True) if owner == "KTOConfig" else None


def _sft(first: dict[object, object], answers_only: bool, text: str) -> Check | None:
    if "messages" in first:

        def check(row: object) -> Verdict | None:
            if isinstance(row, dict) and "prompt" in row:
                return invalid(f"a prompt beside the messages, which asks for a completion: {NAME} stops there")
            return messages_missing(row, "messages", NAME) or (_no_answer(row) if answers_only else None)

        return check
    if "prompt" in first:
        return _keys(first, ("prompt", "completion"), ())
    return (lambda row: texts_missing(row, (text,), NAME)) if text in first else None


def _keys(first: dict[object, object], needed: tuple[str, ...], more: tuple[str, ...]) -> Check | None:
    """Texts or lists of messages; those of `more` only where the first row has them."""
    if any(key not in first for key in needed):
        return None
    keys = (*(key for key in more if key in first), *needed)
    return lambda row: texts_missing(row, keys, NAME, lists=True)


def _answers(first: dict[object, object]) -> Check | None:
    """Pairs; where they have no prompt of their own it is what both conversations begin with (`extract_prompt`)."""
    keys = _keys(first, ("chosen", "rejected"), ("prompt",))
    if keys is None or "prompt" in first:
        return keys

    def check(row: object) -> Verdict | None:
        found = keys(row)
        if found is not None:
            return found
        assert isinstance(row, dict)
        chosen, rejected = row["chosen"], row["rejected"]
        if isinstance(chosen, list) and isinstance(rejected, list) and chosen[:1] != rejected[:1]:
            return invalid(f"chosen and rejected do not begin with the same message: {NAME} stops there")
        return None

    return check


def _labelled(first: dict[object, object]) -> Check | None:
    texts = _keys(first, ("prompt", "completion"), ())
    if texts is None:
        return None

    def check(row: object) -> Verdict | None:
        found = texts(row)
        if found is not None:
            return found
        assert isinstance(row, dict)
        return invalid(f"label is no true or false: {NAME} stops there") if row.get("label") is None else None

    return check


def _no_answer(row: object) -> Verdict | None:
    assert isinstance(row, dict)
    if any(message.get("role") == "assistant" for message in row["messages"]):
        return None
    return invalid(f"no message is the assistant's, and assistant_only_loss trains on nothing else: {NAME} stops there")


def keep_of(owner: str | None, trl: VersionRange, limit: float | None, part_only: bool) -> Fits | None:
    """Which rows the trainer may leave out; None where it certainly takes all. part_only: SFT on answers only."""
    if limit is None or (owner != "RewardConfig" and trl.at_least(_LAST_WITHOUT_DROPS) is False):
        return None
    if owner in ("RewardConfig", "DPOConfig", "KTOConfig") or (owner == "SFTConfig" and part_only):
        return Fits(limit)
    return _Prompted(limit) if owner == "SFTConfig" else None


class _Prompted(Fits):
    """Rows with a prompt of their own, of which only the completion is trained on."""

    __slots__ = ()

    def __call__(self, row: object) -> bool | None:
        return super().__call__(row) if isinstance(row, dict) and "prompt" in row else True
