"""Scripts that hand over to a module of the project: `from llava.train.train import train`, then `train()`.

Forks of LLaVA and FastChat start such a script of three lines, which sets an attention kernel and calls the training
function; the arguments are parsed where that function stands.
"""

from __future__ import annotations

import os

from epochlint.project.lookup import above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.project.lookup import Lookup

_LONGEST = 20_000  # characters; what only hands over is short


def delegates(text: str, folder: str, lookup: Lookup) -> Iterator[str]:
    """The project's modules whose functions a script calls: paths. `folder`: where the script stands."""
    if "import" not in text or len(text) > _LONGEST:
        return
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.module or node.level:
            continue
        if called.isdisjoint(alias.asname or alias.name for alias in node.names):
            continue
        file = node.module.replace(".", "/") + ".py"
        for place in above(folder, lookup.root(folder)):
            path = os.path.normpath(os.path.join(place, file))
            if lookup.is_file(path) and lookup.is_inside(path, lookup.root(folder)):
                yield path
                break
