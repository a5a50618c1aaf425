"""A rule's page, and the list of rules."""

from __future__ import annotations

import json
from textwrap import fill

from epochlint.findings.finding import STRENGTH
from epochlint.report.places import URL
from epochlint.rules import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.rules.page import Page
    from epochlint.rules.rule import Rule

_WIDTH = 100


def listing(output_format: str) -> str:
    """Every rule: code, strongest level, name, summary."""
    rules = catalogue.load()
    if output_format == "json":
        return json.dumps({"version": 1, "rules": [_brief(rule) for rule in rules]}, indent=2, ensure_ascii=False)
    width = max(len(rule.name) for rule in rules)
    return "\n".join(
        f"{rule.code}  {rule.name:<{width}}  {rule.summary}{' (off by default)' if rule.off else ''}" for rule in rules
    )


def page(word: str, output_format: str) -> str | None:
    """One rule by code or name; None where there is none."""
    rule = catalogue.find(word)
    if rule is None:
        return None
    full = catalogue.page(rule.code)
    if output_format == "json":
        document = {"version": 1, **_brief(rule)}
        if full is not None:
            document.update(full.model_dump(mode="json", exclude_none=True))
        return json.dumps(document, indent=2, ensure_ascii=False)
    return _text(rule, full)


class Help:
    """A rule's page in the forms that SARIF asks for. `level` is its strongest."""

    __slots__ = ("level", "markdown", "text", "why")

    def __init__(self, level: str, why: str, text: str, markdown: str) -> None:
        self.level = level
        self.why = why
        self.text = text
        self.markdown = markdown


def markdown(rule: Rule) -> Help:
    """The page of a rule as text and as Markdown."""
    full = catalogue.page(rule.code)
    data = full.model_dump(mode="json", exclude_none=True) if full is not None else {}
    why, fix = str(data.get("why") or "").strip(), str(data.get("fix") or "").strip()
    parts = [f"**{rule.summary}**", why]
    if fix:
        parts.append(f"**What to do.** {fix}")
    evidence = data.get("evidence") or []
    if evidence:
        parts.append("\n".join(f"- {item['says']} ({item['source']})" for item in evidence))
    parts.append(f"Silence it with `# epochlint: ignore[{rule.code}] reason`.")
    return Help(strongest(rule), why, _text(rule, full), "\n\n".join(part for part in parts if part))


def strongest(rule: Rule) -> str:
    """The strongest level that a finding of the rule can have."""
    levels = [tier.level for check in rule.checks for tier in check.tiers]
    return rule.limited(max(levels, key=STRENGTH.__getitem__))


def _brief(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "summary": rule.summary,
        "level": strongest(rule),
        "default": not rule.off,
        "url": f"{URL}{rule.code}",
    }


def _text(rule: Rule, full: Page | None) -> str:
    lines = [f"{rule.code} {rule.name}{' (off by default)' if rule.off else ''}", "", fill(rule.summary, _WIDTH)]
    if full is None:
        return "\n".join(lines)
    data = full.model_dump(mode="json", exclude_none=True)
    for title, key in (("Why", "why"), ("What to do", "fix"), ("Silent where", "silent"), ("Notes", "notes")):
        text = data.get(key)
        if isinstance(text, str) and text.strip():
            lines += [
                "",
                title,
                *(
                    fill(part, _WIDTH, initial_indent="  ", subsequent_indent="  ")
                    for part in text.strip().split("\n\n")
                ),
            ]
    thresholds = data.get("thresholds")
    if thresholds:
        lines += [
            "",
            "Thresholds (settings can change them)",
            *(f"  {name} = {value:g}" for name, value in thresholds.items()),
        ]
    evidence = data.get("evidence") or []
    if evidence:
        lines += ["", "Evidence"]
        for item in evidence:
            lines.append(
                fill(f"- {item['says']} ({item['source']})", _WIDTH, initial_indent="  ", subsequent_indent="    ")
            )
    lines += ["", f"Since {data.get('since', '0.1.0')}. Silence it with `# epochlint: ignore[{rule.code}] reason`."]
    return "\n".join(lines)
