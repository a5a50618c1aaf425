"""Is a text that does not parse a template, which another program fills in before anything loads it?"""

from __future__ import annotations

import re

from epochlint.patterns import Pattern

REASON = "a template: its placeholders are filled in by another program"

# A directive on a line of its own makes a text a template; so does any placeholder where the parser stumbles.
_DIRECTIVE = re.compile(r"^[ \t]*(?:- +)?(?:\{\{|\{%)", re.MULTILINE)
_PLACEHOLDER = re.compile(
    r"\{\{|\{%|<%|\[%"
    r"|(?<![<\w])<[A-Za-z][A-Za-z0-9_ -]*>"  # <YOUR_VALUE>
    r"|(?:^|[:=,\[])[ \t]*\$[{(A-Za-z_]",  # lr: $LR
    re.MULTILINE,
)
# A constant's name as a value of JSON: scripts put a number in its place.
_CONSTANT = Pattern(r"[:,\[]\s*[A-Z][A-Z0-9]*_[A-Z0-9_]*\s*[,}\]\r\n]")
_QUOTED = re.compile(r"\"(?:[^\"\\\r\n]|\\.)*\"|'[^'\r\n]*'")


def is_template(text: str, at: int, quotes_matter: bool) -> bool:
    """Whether a text whose parser stumbled at an offset is a template.

    `quotes_matter`: a placeholder inside quotation marks parses well, so it explains nothing.
    """
    # The parser often stumbles on the line below the cause.
    begin = text.rfind("\n", 0, max(0, text.rfind("\n", 0, at))) + 1
    end = text.find("\n", at)
    near = text[begin : len(text) if end < 0 else end]
    if quotes_matter:
        near = _QUOTED.sub('""', near)
        if _CONSTANT.search(near) is not None:
            return True
    return _PLACEHOLDER.search(near) is not None or _DIRECTIVE.search(text) is not None
