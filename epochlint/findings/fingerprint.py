"""Fingerprints of findings: the same while a line only moves, another where the finding is another.

Made of the path, the rule, and the line's text without its white space; equal ones are told apart by their order.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from epochlint.findings.finding import Finding


def fingerprints(findings: Iterable[Finding], below: Callable[[str], str] = str) -> dict[int, str]:
    """By `id` of the finding: 32 hexadecimal digits. `below` makes the shown path one that is the same from every
    working directory."""
    from hashlib import sha256  # needless in a plain hook run

    seen: dict[str, int] = {}
    found: dict[int, str] = {}
    for finding in findings:
        span = finding.span.in_file()
        line = "".join(span.source.line(span.place.line).split())
        base = "\0".join((below(finding.path), finding.code, line, finding.run))
        seen[base] = place = seen.get(base, -1) + 1
        found[id(finding)] = sha256(f"{base}\0{place}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return found
