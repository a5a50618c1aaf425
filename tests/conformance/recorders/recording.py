"""What every recorder shares: the shape of a recording, one line per entry, and how an error is written down.

A recording is one JSON file under ``tests/conformance/data``. Its shape is described in
``tests/conformance/README.md``.
Recorders are scripts of their own: they run in an environment that holds the trainer, never in epochlint's own.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

TEXT_LIMIT = 200  # characters of an error's first line that are kept: enough to tell errors apart


def error(exception: BaseException) -> dict[str, str]:
    """The run's entry for an exception: its class and its first line (of a pydantic error: places and reasons)."""
    errors = getattr(exception, "errors", None)
    if callable(errors):
        text = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors())
    else:
        try:
            text = (str(exception).strip().splitlines() or [""])[0]
        except Exception:  # an exception that cannot even tell what it is
            text = ""
    text = re.sub(r"(?<![:/\w])(?:/[\w.+-]+)+/", "", text)  # of a path only the file name: folders differ by machine
    return {"error": type(exception).__name__, "text": " ".join(text.split())[:TEXT_LIMIT]}


def attempt(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The numbers of a run, or the entry for the error that ended it (SystemExit counts: argparse uses it)."""
    try:
        return run()
    except (Exception, SystemExit) as exception:
        return error(exception)


def packages(*names: str) -> dict[str, str]:
    """Installed versions by distribution name; a package that is absent is left out."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def arguments(description: str, default_out: str, shares: bool = False) -> argparse.Namespace:
    """The options that every recorder has: where to write, and which cases.

    Also takes this folder off the import path: recorders are named after the packages they record, and must not hide
    them.
    """
    parser = argparse.ArgumentParser(description=description)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    parser.add_argument(
        "--out", default=os.path.join(here, os.pardir, "data", default_out), help="recording to write or add to"
    )
    parser.add_argument("--only", default="", metavar="PREFIX", help="only cases whose id starts so")
    parser.add_argument(
        "--missing", action="store_true", help="only cases that the recording does not hold as they are"
    )
    parser.add_argument("--print", dest="show", action="store_true", help="print the runs instead of writing them")
    parser.add_argument(
        "--package",
        metavar="FOLDER",
        help="unpacked wheel or sdist to import the trainer from, where it is not installed",
    )
    parser.add_argument("--version", help="version to record under, where the package is not installed")
    if shares:
        told = "also keep the rate of every step, where the rate is the point"
        parser.add_argument("--shares", action="store_true", help=told)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    if options.package:
        sys.path.insert(0, os.path.abspath(options.package))
    return options


def slim(value: Any) -> Any:
    """Floats to six significant digits, so that recordings stay short and do not differ by machine."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: slim(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [slim(item) for item in value]
    return value


def save(
    path: str,
    recorder: str,
    cases: dict[str, dict[str, Any]],
    version: str,
    runs: dict[str, dict[str, Any]],
    installed: dict[str, str],
) -> None:
    """Add one version's runs to a recording (a version that is there already is updated), one entry a line. Runs of
    cases that have changed since are dropped."""
    data: dict[str, Any] = {"cases": {}, "results": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    changed = {name for name, case in cases.items() if data["cases"].get(name, case) != json.loads(json.dumps(case))}
    for result in data["results"].values():  # what another version made of the case as it was
        result["runs"] = {name: run for name, run in result["runs"].items() if name not in changed}
    data["cases"].update(cases)
    kept = data["results"].get(version, {}).get("runs", {})
    data["results"][version] = {
        "recorded": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "python": platform.python_version(),
        **installed,
        "runs": {**kept, **runs},
    }
    data["recorder"] = recorder
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(dumps(data))


def note(path: str, key: str, value: Any) -> None:
    """Keeps something beside the cases."""
    with open(path, encoding="utf-8") as stream:
        data = json.load(stream)
    data[key] = value
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(dumps(data))


def dumps(data: dict[str, Any]) -> str:
    """A recording as text: one line for each case and each run, sorted, so that a diff shows what changed."""
    head = {key: value for key, value in data.items() if key not in ("cases", "results")}
    lines = ["{"]
    lines += [f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}," for key, value in sorted(head.items())]
    lines += ['"cases": {', *_entries(data["cases"]), "},", '"results": {']
    versions = sorted(data["results"], key=_version_key)
    for version in versions:
        slot = dict(data["results"][version])
        runs = slot.pop("runs")
        lines.append(f"{json.dumps(version)}: {{")
        lines += [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in slot.items()]
        lines += [' "runs": {', *_entries(runs), " }", "}" if version == versions[-1] else "},"]
    return "\n".join([*lines, "}", "}", ""])


def _entries(mapping: dict[str, Any]) -> Iterable[str]:
    last = max(mapping, default="")
    for key in sorted(mapping):
        text = json.dumps(slim(mapping[key]), sort_keys=True, separators=(", ", ": "), ensure_ascii=False)
        yield f"  {json.dumps(key, ensure_ascii=False)}: {text}{'' if key == last else ','}"


def _version_key(version: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in version.replace("-", ".").split(".")]


def all_cases(
    options: argparse.Namespace,
    cases: dict[str, dict[str, Any]],
    run: Callable[[dict[str, Any]], dict[str, Any]],
    package: str,
    *others: str,
    **more: str,
) -> None:
    """Run every case and add it to the recording. package: the trainer's; others: packages whose versions are kept;
    more: what else is kept. A case whose run is a LookupError is not there in this version."""
    version = options.version or packages(package)[package]
    if options.missing:
        cases = {name: case for name, case in cases.items() if not _holds(options.out, version, name, case)}
    runs = {}
    for name, case in cases.items():
        found = attempt(lambda asked=case: run(asked))  # type: ignore[misc] # the case of now
        if found.get("error") == "LookupError":
            continue
        runs[name] = found
        if options.show:
            print(name, found, flush=True)
    report(version, runs)
    if not options.show:
        script = os.path.basename(sys.argv[0])
        installed = {package: version, **packages(*others), **more}
        save(options.out, f"recorders/{script}", cases, version, runs, installed)


@functools.cache
def _recorded(path: str) -> dict[str, Any]:
    if not os.path.exists(path):
        return {"cases": {}, "results": {}}
    with open(path, encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
    return found


def _holds(path: str, version: str, name: str, case: dict[str, Any]) -> bool:
    """Whether a recording has a run of this version for a case that is still the same."""
    found = _recorded(path)
    runs = found["results"].get(version, {}).get("runs", {})
    return name in runs and found["cases"].get(name) == json.loads(json.dumps(case))


def report(version: str, runs: dict[str, dict[str, Any]]) -> None:
    """One closing line: how many cases ran and how many ended in an error."""
    print(version, len(runs), "cases,", sum("error" in run for run in runs.values()), "errors")
