"""What a project's requirement and lock files leave possible for the packages whose version changes the arithmetic."""

from __future__ import annotations

import os
import re

from epochlint.documents.scalars import plain_count
from epochlint.patterns import Pattern
from epochlint.project.lookup import above
from epochlint.run.versions import ANY, VersionRange, Versions, canonical, exactly, specified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from epochlint.documents.document import Document
    from epochlint.documents.python.model import Cell
    from epochlint.project.lookup import Lookup

# name, extras, specifier: "trl[vllm]>=0.12,<1 ; python_version < '3.12'", '"transformers==4.57.6",', "- trl=0.24"
_REQUIREMENT = Pattern(
    r"""^[\s"'\-]*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*((?:(?:===|==|~=|!=|<=|>=|<|>|=)\s*[\w.*+!-]+\s*,?\s*)+)"""
)
# a tagged release: "transformers @ git+https://host/owner/transformers.git@v4.45.0", "git+https://host/owner/trl@0.12.0"
_TAGGED = Pattern(r"""\bgit\+\w+://[^\s"'#;]*/([\w.-]+?)(?:\.git)?@v?([0-9]+(?:\.[0-9]+)+)(?=[\s"'#;,]|$)""")
_LOCKED = Pattern(r"""name\s*=\s*["']([\w.-]+)["']\s*\n\s*version\s*=\s*["']([^"']+)["']""")
_POETRY = Pattern(r"""^\s*([A-Za-z0-9][\w.-]*)\s*=\s*(?:\{[^}\n]*version\s*=\s*)?["']([\^~=<>!]?[^"']*)["']""")
_PACKAGES = frozenset({
    "accelerate", "autotrain-advanced", "axolotl", "datasets", "deepspeed", "fms-hf-tuning", "instructlab",
    "instructlab-training", "litgpt", "llamafactory", "llm-foundry", "mlx-lm", "ms-swift", "openrlhf", "oumi", "peft",
    "torchtune", "training-hub", "transformers", "trl", "unsloth", "verl",
})  # fmt: skip
_NAMES = Pattern(
    r"^(?:requirements[\w.-]*\.(?:txt|in|lock)|[\w.-]*requirements\.txt|constraints[\w.-]*\.txt|pyproject\.toml|setup\.(?:py|cfg)"
    r"|uv\.lock|poetry\.lock|pdm\.lock|Pipfile(?:\.lock)?|environment[\w.-]*\.ya?ml|conda[\w.-]*\.ya?ml)$"
)
# What only the project's own developers install: its tests, its documentation, its linters.
_ASIDE = frozenset(
    {"dev", "develop", "development", "test", "tests", "testing", "doc", "docs", "lint", "style", "typing", "ci"}
)
_INSTALL = Pattern(r"(?m)^[ \t]*(?![ \t])([!%]?)[^\n#'\"]*?\bpip3?[ \t]+install\b((?:[^\n\\]|\\\n?)*)")
_WANTED = Pattern(r"""([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?((?:(?:===|==|~=|!=|<=|>=|<|>)[\w.*+!-]+,?)*)(.*)""")
_SHELLS = frozenset({"bash", "sh", "shell", "shellscript"})
_IN_SCRIPT = Pattern(r"(?m)^# /// script$\n((?:^#(?: .*)?$\n)+?)^# ///$")
_SIZE = 4 * 1024 * 1024


def required(lookup: Lookup, folder: str) -> Versions:
    """The versions possible for a config in `folder`: every requirement and lock file from there up to the root, the
    nearest first."""
    found = Versions()
    for place in above(folder, lookup.root(folder)):
        names = [path for path in lookup.files(place) if _of_the_run(os.path.basename(path))]
        extra = os.path.join(place, "requirements")
        names += [path for path in lookup.files(extra) if path.endswith((".txt", ".in")) and not _aside(path)]
        for path in names:
            for package, versions in _read(path, lookup.start_of(path, _SIZE)):
                found.add(package, versions)
    return found


def _of_the_run(name: str) -> bool:
    return _NAMES.match(name) is not None and not _aside(name)


def _aside(path: str) -> bool:
    return not _ASIDE.isdisjoint(re.split(r"[-_.]", os.path.basename(path).lower()))


def of_notebook(document: Document) -> dict[str, VersionRange]:
    """What a notebook, or one that is kept as a script, installs for itself, by package; `ANY` where it names no
    version, or two that exclude each other.

    These count in place of the project's files: most notebooks run where nothing of the project is installed.
    """
    found: dict[str, VersionRange] = {}
    cells: Iterable[Cell] | None = getattr(document, "cells", None)
    texts = [(cell.source.text, cell.language) for cell in cells or () if cell.kind == "code"]
    for text, language in texts or [(document.source.text, "python")]:
        if "install" not in text:
            continue
        shell = language in _SHELLS or text.lstrip().startswith(("%%bash", "%%sh", "%%script"))
        for line in _INSTALL.finditer(text):
            if line[1] or shell:
                _install(found, line[2])
    return found


def _install(found: dict[str, VersionRange], line: str) -> None:
    words = re.split(r"&&|[;|]|\s#", line.replace("\\\n", " "))[0].replace('"', " ").replace("'", " ").split()
    upgrade = "-U" in words or "--upgrade" in words
    for word in words:
        if "://" in word:
            tagged = _TAGGED.search(word)
            name = tagged[1] if tagged is not None else word.partition("@")[0].rpartition("/")[2].removesuffix(".git")
            versions: VersionRange | None = exactly(tagged[2]) if tagged is not None else ANY
        else:
            match = _WANTED.match(word)
            if match is None:
                continue
            name = match[1]
            # A variable's value stands behind it, or nothing does: then what is there already stays, if it may.
            versions = ANY if match[3] or (upgrade and not match[2]) else specified(match[2]) if match[2] else None
        name = canonical(name)
        if name not in _PACKAGES:
            continue
        before = found.get(name)
        if versions is None or before is None:
            found[name] = before or versions or ANY
        else:
            found[name] = ANY if versions is ANY or before.excludes(versions) else before.narrowed(versions)


def of_script(text: str) -> Iterator[tuple[str, VersionRange]]:
    """What a script asks for in its own head (PEP 723: a TOML block in comments after `# /// script`)."""
    block = _IN_SCRIPT.search(text)
    if block is not None:
        plain = "\n".join(line.removeprefix("#").removeprefix(" ") for line in block[1].splitlines())
        yield from _read("pyproject.toml", plain.encode())


def _read(path: str, data: bytes) -> Iterator[tuple[str, VersionRange]]:
    text = data.decode("utf-8", "replace")
    if path.endswith(".lock") and "version" in text:
        for name, version in (match.groups() for match in _LOCKED.finditer(text)):
            if canonical(name) in _PACKAGES:
                yield name, exactly(version)
        return
    for line in text.splitlines():
        match = _REQUIREMENT.match(line)
        if match is not None and canonical(match[1]) in _PACKAGES:
            specifier = re.sub(r"(?<![=<>!~])=(?!=)", "==", match[2])  # conda writes one "="
            versions = specified(specifier)
            if versions is not ANY:
                yield match[1], versions
        elif (tagged := _TAGGED.search(line)) is not None and canonical(tagged[1]) in _PACKAGES:
            if not line.lstrip().startswith("#"):
                yield tagged[1], exactly(tagged[2])
        elif path.endswith(("pyproject.toml", "Pipfile", "setup.py")) and not line.lstrip().startswith("#"):
            poetry = None if path.endswith(".py") else _POETRY.match(line)
            if poetry is not None and canonical(poetry[1]) in _PACKAGES:
                yield poetry[1], _caret(poetry[2])
                continue
            for quoted in re.findall(r"""["']([^"']+)["']""", line):  # a list on one line
                inner = _REQUIREMENT.match(quoted)
                if inner is not None and canonical(inner[1]) in _PACKAGES:
                    yield inner[1], specified(inner[2])


def _caret(text: str) -> VersionRange:
    """Poetry's "^4.40" is >=4.40,<5; "~4.40" is >=4.40,<4.41; a bare version is that version."""
    if text.startswith("^"):
        version = text[1:]
        head = version.split(".")[0]
        if head == "0" and version.count("."):
            minor = version.split(".")[1]
            return specified(f">={version},<0.{int(minor) + 1}") if plain_count(minor) else ANY
        return specified(f">={version},<{int(head) + 1}") if plain_count(head) else ANY
    if text.startswith("~") and not text.startswith("~="):
        return specified(f"~={text[1:]}.0") if text.count(".") == 1 else specified(f"~={text[1:]}")
    return specified(text) if text[:1] in "=<>!~" else exactly(text) if text[:1].isdigit() else ANY
