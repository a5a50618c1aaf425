"""A rule's file: what may stand in it, and how it is compiled.

pydantic and PyYAML stand here at the border: only `tools/compile_rules.py`, a settings file with its own rules and
`epochlint rule` import this module. A mistake in a file is told with its line.
"""

from __future__ import annotations

import os
import re
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from epochlint.rules.grammar import ExpressionError, Scope, condition, requirements, value

Level = Literal["error", "warning", "note"]
Compiled = tuple[Any, ...]

_PLACE = re.compile(r"\{([^{}:]+)(?::([^{}]+))?\}")
_STRENGTH = {"error": 2, "warning": 1, "note": 0}


class RuleFileError(ValueError):
    """A rule file that cannot be used: "path:line: what is wrong"."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tier(_Model):
    level: Level
    when: str | None = None
    message: str | None = None


class Said(_Model):
    """One of several messages: the first whose `when` holds speaks."""

    when: str | None = None
    say: str


class Related(_Model):
    at: list[str]
    say: str


class Edit(_Model):
    """The machine's part of a fix: another value for a setting that is written as a plain word or number."""

    setting: str
    to: str
    title: str
    safe: bool
    when: str | None = None


class CheckPage(_Model):
    """What is looked for, where it is shown, what is said."""

    observation: str | None = None
    when: str | None = None
    level: Level | None = None
    tiers: list[Tier] = Field(default_factory=list)
    at: list[str] = Field(default_factory=list)
    message: str | list[Said] | None = None
    related: list[Related] = Field(default_factory=list)
    edit: Edit | None = None

    @model_validator(mode="after")
    def _whole(self) -> CheckPage:
        if (self.level is None) == (not self.tiers):
            raise ValueError("give either `level` or `tiers`")
        if (
            self.observation is None
            and self.when is None
            and any(tier.when is None for tier in self.tiers or [Tier(level="note")])
        ):
            raise ValueError("give `when` or `observation`: otherwise every run would be reported")
        if [_STRENGTH[tier.level] for tier in self.tiers] != sorted(
            (_STRENGTH[tier.level] for tier in self.tiers), reverse=True
        ):
            raise ValueError("tiers stand strongest first")
        if self.message is None and any(tier.message is None for tier in self.tiers or [Tier(level="note")]):
            raise ValueError("`message` is missing")
        return self


class Example(_Model):
    """A small project: file name -> text, what is assumed, and what the rule must say about it.

    `before` holds the files of an earlier revision that differ, for rules on changes.
    """

    files: dict[str, str]
    before: dict[str, str] = Field(default_factory=dict)
    assume: dict[str, int | float | str] = Field(default_factory=dict)
    level: Level | None = None
    file: str | None = None
    line: int | None = None


class Examples(_Model):
    bad: list[Example] = Field(default_factory=list)
    good: list[Example] = Field(default_factory=list)


class Evidence(_Model):
    says: str
    source: str


class Page(_Model):
    """A rule's file. The keys of a check may stand on top where there is only one."""

    code: str = Field(pattern=r"^[A-Z]{2,8}[0-9]{3}$")
    name: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    family: str = Field(pattern=r"^[A-Z]{2,8}$")
    since: str = "0.1.0"
    summary: str
    default: bool = True
    thresholds: dict[str, float] = Field(default_factory=dict)
    let: dict[str, str] = Field(default_factory=dict)
    supersedes: list[str] = Field(default_factory=list)
    first_only: bool = False
    checks: list[CheckPage]
    fix: str | None = None
    why: str = ""
    notes: str = ""
    evidence: list[Evidence] = Field(default_factory=list)
    examples: Examples = Field(default_factory=Examples)

    @model_validator(mode="before")
    @classmethod
    def _one_check(cls, data: Any) -> Any:
        if isinstance(data, dict) and "checks" not in data:
            data = dict(data)
            data["checks"] = [{key: data.pop(key) for key in CheckPage.model_fields if key in data}]
        return data

    @field_validator("thresholds", mode="before")
    @classmethod
    def _numbers(cls, data: Any) -> Any:
        return data if data is not None else {}


class Families(_Model):
    """`families.yaml`: code -> title, and the strongest level of its findings in a smoke run."""

    title: str
    smoke: Level | None = None


def read_page(path: str, shown: str | None = None) -> tuple[Page, Compiled]:
    """A rule file, checked, and its compiled form without the family's word on smoke runs. Raises RuleFileError."""
    shown = shown if shown is not None else path
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark is not None else 1
        raise RuleFileError(shown, line, str(problem.problem or "not YAML")) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as problem:
        raise RuleFileError(shown, 1, str(problem)) from None
    except OSError as problem:
        raise RuleFileError(shown, 1, problem.strerror or "cannot be read") from None
    if not isinstance(data, dict):
        raise RuleFileError(shown, 1, "a rule file is a mapping of keys")
    try:
        page = Page.model_validate(data)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = [part for part in first["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
        message = str(first["msg"]).removeprefix("Value error, ")
        name = ".".join(str(part) for part in where)
        raise RuleFileError(shown, _line(node, where), f"{name}: {message}" if name else message) from None
    compiler = _Compiler(page)
    try:
        return page, compiler.compile()
    except ExpressionError as problem:
        raise RuleFileError(shown, _line(node, compiler.at), f"{'.'.join(map(str, compiler.at))}: {problem}") from None


def _line(node: Any, where: list[Any]) -> int:
    """The line of a path of keys and indexes in a composed document; of its nearest part that is there."""
    line = node.start_mark.line + 1 if node is not None else 1
    path = list(where)
    if (
        path[:2] == ["checks", 0]
        and isinstance(node, yaml.MappingNode)
        and all(key.value != "checks" for key, _ in node.value)
    ):
        path = path[2:]
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


class _Compiler:
    """Compiles a page. `at` is the path of keys at hand, for the messages of mistakes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.at: list[Any] = []

    def compile(self) -> Compiled:
        page = self.page
        checks = tuple(self._check(index, check) for index, check in enumerate(page.checks))
        return (
            page.code,
            page.name,
            page.family,
            page.summary,
            not page.default,
            None,
            tuple(page.supersedes),
            tuple(page.thresholds.items()),
            page.first_only,
            checks,
        )

    def _scope(self, check: CheckPage, base: list[Any]) -> Scope:
        self.at = [*base, "observation"]
        scope = Scope(self.page.thresholds, check.observation)
        for name, text in self.page.let.items():
            self.at = ["let", name]
            if "observation." in text and check.observation is None:
                continue
            scope.define(name, text)
        return scope

    def _check(self, index: int, check: CheckPage) -> Compiled:
        base: list[Any] = ["checks", index]
        scope = self._scope(check, base)
        when = self._condition(check.when, scope, [*base, "when"])
        tiers = []
        for number, tier in enumerate(check.tiers or [Tier(level=check.level or "note")]):
            at = [*base, "tiers", number]
            holds = self._condition(tier.when, scope, [*at, "when"]) or ("constant", True)
            tiers.append(
                (tier.level, holds, self._parts(tier.message, scope, [*at, "message"]) if tier.message else None)
            )
        self.at = [*base, "at"]
        places = self._places(check.at or (["observation"] if check.observation else []), scope)
        messages: list[tuple[Compiled | None, Compiled]] = []
        if isinstance(check.message, str):
            messages.append((None, self._parts(check.message, scope, [*base, "message"])))
        else:
            for number, said in enumerate(check.message or []):
                at = [*base, "message", number]
                messages.append(
                    (self._condition(said.when, scope, [*at, "when"]), self._parts(said.say, scope, [*at, "say"]))
                )
        related = []
        for number, one in enumerate(check.related):
            at = [*base, "related", number]
            self.at = [*at, "at"]
            related.append((self._places(one.at, scope), self._parts(one.say, scope, [*at, "say"])))
        edit = None
        if check.edit is not None:
            at = [*base, "edit"]
            edit = (
                check.edit.setting,
                self._parts(check.edit.to, scope, [*at, "to"]),
                self._parts(check.edit.title, scope, [*at, "title"]),
                check.edit.safe,
                self._condition(check.edit.when, scope, [*at, "when"]),
            )
        compares = _mentions((when, tuple(tiers)), ("baseline", "same_data"))
        required = requirements(when) if when is not None and check.observation is None else ()
        told = (tuple(messages), tuple(related), edit)
        return (check.observation, when, tuple(tiers), places, *told, compares, required)

    def _places(self, names: list[str], scope: Scope) -> tuple[str, ...]:
        for name in names:
            plain = name.removeprefix("settings.")
            if name == "observation":
                if scope.observed is None:
                    raise ExpressionError("`observation` needs a rule on an observation")
            elif not re.fullmatch(r"[a-z_]+", plain):
                raise ExpressionError(f"`{name}` is no name of a setting")
        return tuple(names)

    def _condition(self, text: str | None, scope: Scope, at: list[Any]) -> Compiled | None:
        if text is None:
            return None
        self.at = at
        return condition(text, scope)

    def _parts(self, text: str, scope: Scope, at: list[Any]) -> Compiled:
        """A template: texts, and (expression, format) pairs for what stands in braces."""
        self.at = at
        text = " ".join(text.split())
        parts: list[Any] = []
        end = 0
        for match in _PLACE.finditer(text):
            if match.start() > end:
                parts.append(text[end : match.start()])
            parts.append((value(match[1].strip(), scope), (match[2] or "").strip()))
            end = match.end()
        if end < len(text):
            parts.append(text[end:])
        return tuple(parts)


def _mentions(compiled: object, words: tuple[str, ...]) -> bool:
    """Whether a node of one of these kinds stands anywhere in it."""
    if not isinstance(compiled, tuple):
        return False
    return (bool(compiled) and compiled[0] in words) or any(_mentions(part, words) for part in compiled)


def read_families(folder: str) -> dict[str, Families]:
    """The table of families beside the rules; empty where there is none. Raises RuleFileError."""
    path = os.path.join(folder, "families.yaml")
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        data = yaml.safe_load(file)
    try:
        return {code: Families.model_validate(entry) for code, entry in data.items()}
    except (ValidationError, AttributeError) as problem:
        raise RuleFileError(path, 1, str(problem)) from None


def rule_files(folder: str) -> list[str]:
    """The rule files under a folder, sorted by code."""
    found = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        found += [
            os.path.join(here, name) for name in names if name.endswith((".yaml", ".yml")) and name != "families.yaml"
        ]
    return sorted(found, key=os.path.basename)


def compile_folder(folder: str) -> list[Compiled]:
    """All rules under a folder, compiled. Raises RuleFileError at the first mistake."""
    families = read_families(folder)
    rules = []
    codes: dict[str, str] = {}
    for path in rule_files(folder):
        page, compiled = read_page(path)
        for word in (page.code, page.name):
            if word in codes:
                raise RuleFileError(path, 1, f"{word} is taken by {codes[word]}")
            codes[word] = path
        family = families.get(page.family)
        rules.append((*compiled[:5], family.smoke if family is not None else None, *compiled[6:]))
    return rules
