from __future__ import annotations

import pytest

from epochlint.run.known import UNKNOWN, WRITTEN, Known
from epochlint.run.versions import VersionRange, Versions, exactly, specified
from epochlint.trainers.hf.eras import SEGMENTS, eras


def settings(**values: object) -> dict[str, Known]:
    usual: dict[str, object] = {
        "accumulation": 1, "max_steps": None, "eval_strategy": "no", "save_strategy": "no", "warmup_steps": 0,
        "warmup_ratio": None,
    }  # fmt: skip
    return {
        name: value if isinstance(value, Known) else Known(value, WRITTEN)
        for name, value in {**usual, **values}.items()
    }


def labels(versions: Versions | None = None, within: VersionRange | None = None, **values: object) -> list[str]:
    more = {"within": within} if within is not None else {}
    return [era.label for era in eras(versions or Versions(), settings(**values), **more)]


def test_a_run_that_no_version_counts_differently_has_one_era_without_a_label() -> None:
    assert labels() == [""]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"accumulation": 4}, ["<= 4.51", ">= 4.52"]),
        ({"max_steps": 0}, ["<= 4.48", ">= 4.49"]),
        ({"eval_strategy": "steps"}, ["<= 5.3", ">= 5.4"]),
        ({"save_strategy": "steps"}, ["<= 4.41", ">= 4.42"]),
        ({"warmup_steps": 10}, [""]),
        ({"warmup_steps": 10, "warmup_ratio": 0.1}, ["<= 4.57", "5.0-5.14", ">= 5.15"]),
        ({"warmup_ratio": 0.1}, ["<= 5.14", ">= 5.15"]),
        ({"warmup_ratio": 1.0}, ["<= 4.57", "5.0-5.14", ">= 5.15"]),
    ],
)
def test_only_borders_that_matter_to_the_run_are_left(values: dict[str, object], expected: list[str]) -> None:
    assert labels(**values) == expected


def test_the_projects_versions_bound_the_eras() -> None:
    versions = Versions({"transformers": specified(">=4.46,<5")})
    assert labels(versions, accumulation=4) == ["<= 4.51", ">= 4.52"]
    assert labels(Versions({"transformers": specified(">=4.52")}), accumulation=4) == [""]


def test_a_pinned_version_is_its_eras_label() -> None:
    assert labels(Versions({"transformers": exactly("4.46.3")}), accumulation=4) == ["4.46.3"]


def test_keys_of_some_versions_narrow_unless_the_project_says_otherwise() -> None:
    old = VersionRange(None, None, "4.51")
    assert labels(within=old, accumulation=4) == [""]
    pinned = Versions({"transformers": exactly("5.0.0")})
    assert labels(pinned, within=old, accumulation=4) == ["5.0.0"]


def test_versions_older_than_all_that_were_read_count_as_the_oldest() -> None:
    found = eras(Versions({"transformers": exactly("4.30.0")}), settings(accumulation=4))
    assert len(found) == 1


def test_what_nobody_knows_keeps_every_era() -> None:
    unknown = dict.fromkeys(("accumulation", "max_steps", "eval_strategy", "save_strategy", "warmup_steps"), UNKNOWN)
    assert len(eras(Versions(), unknown)) == len(SEGMENTS)


def test_the_ranges_of_the_eras_meet_without_a_gap() -> None:
    found = eras(Versions(), settings(accumulation=4, save_strategy="steps", eval_strategy="steps"))
    ends = [(era.versions["transformers"].low, era.versions["transformers"].below) for era in found]
    assert ends[0][0] is None
    assert ends[-1][1] is None
    assert [below for _, below in ends[:-1]] == [low for low, _ in ends[1:]]


def test_adapt_sees_the_segment_and_changes_its_counting() -> None:
    seen = []

    def adapt(counting, segment):  # type: ignore[no-untyped-def]
        seen.append(segment.last)
        counting.steps = None
        return counting

    found = eras(Versions(), settings(accumulation=4), adapt=adapt)
    assert seen == ["4.51", ""]
    assert all(era.counting.steps is None for era in found)
