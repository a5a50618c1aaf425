"""Published packages as texts: fetched with pip, opened, parsed; never imported."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable


class Release:
    """The files of one version of one package, read from its wheel or sdist."""

    def __init__(self, package: str, version: str, archive: str) -> None:
        self.package, self.version = package, version
        self._texts: dict[str, Callable[[], bytes]] = {}
        self._modules: dict[str, Module | None] = {}
        if archive.endswith((".whl", ".zip")):
            wheel = zipfile.ZipFile(archive)
            for name in wheel.namelist():
                self._texts[_inner(name, False)] = functools.partial(wheel.read, name)
        else:
            with tarfile.open(archive) as tar:
                for member in tar.getmembers():
                    # Only texts: weights and pictures of a sdist are of no use here.
                    data = tar.extractfile(member) if member.isfile() and member.size < 4_000_000 else None
                    if data is not None:
                        self._texts[_inner(member.name, True)] = functools.partial(bytes, data.read())

    def paths(self) -> Iterable[str]:
        return self._texts

    def text(self, path: str) -> str | None:
        get = self._texts.get(path)
        return get().decode("utf-8", "replace") if get else None

    def module(self, dotted: str) -> Module | None:
        """The module of that dotted name, or None where the package has none (or it cannot be parsed)."""
        if dotted not in self._modules:
            self._modules[dotted] = None
            base = dotted.replace(".", "/")
            for path in (base + ".py", base + "/__init__.py"):
                text = self.text(path)
                if text is not None:
                    try:
                        tree = ast.parse(text)
                    except SyntaxError:
                        break
                    self._modules[dotted] = Module(self, dotted, path, tree)
                    break
        return self._modules[dotted]

    def requirements(self) -> dict[str, str]:
        """Name of a required package -> its version specifier (extras left out)."""
        found: dict[str, str] = {}
        for path in self.paths():
            if path.endswith(".dist-info/METADATA") or path == "PKG-INFO":
                for line in (self.text(path) or "").split("\n\n", 1)[0].splitlines():
                    if line.startswith("Requires-Dist:") and "extra ==" not in line:
                        _requirement(line[14:], found)
        for path in ("requirements.txt", "requirements/framework.txt"):
            text = self.text(path)
            if text is not None and not found:
                for line in text.splitlines():
                    _requirement(line.split("#")[0], found)
        return found


def _inner(name: str, sdist: bool) -> str:
    """Path inside the import root: a sdist's own folder and `src/` are taken off, a wheel's folder of data likewise."""
    if sdist:
        name = name.split("/", 1)[1] if "/" in name else name
        name = name.removeprefix("src/")
    return re.sub(r"^[^/]+\.data/(?:purelib|platlib)/", "", name)


def _requirement(line: str, found: dict[str, str]) -> None:
    match = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*\(?([^;)]*)\)?", line)
    if match and match[1]:
        spec = ",".join(sorted(part.strip().replace(" ", "") for part in match[2].split(",") if part.strip()))
        found.setdefault(match[1].lower().replace("_", "-"), spec)


class Store:
    """Fetches archives with pip, once."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self._releases: dict[tuple[str, str], Release] = {}

    def release(self, package: str, version: str, probe: str = "") -> Release:
        """`probe` is a path prefix that a complete archive must have: some wheels were published empty."""
        key = (package, version)
        if key not in self._releases:
            folder = os.path.join(self.cache, package, version)
            release = None
            for only in ("--prefer-binary", f"--no-binary={package}"):
                archive = self._fetched(folder + ("" if only.startswith("--p") else "-sdist"), package, version, only)
                release = Release(package, version, archive)
                if not probe or any(path.startswith(probe) for path in release.paths()):
                    break
            assert release is not None
            self._releases[key] = release
        return self._releases[key]

    def _fetched(self, folder: str, package: str, version: str, only: str) -> str:
        if not os.path.isdir(folder) or not os.listdir(folder):
            os.makedirs(folder, exist_ok=True)
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", only, "-d", folder]
            command.append(f"{package}=={version}")
            # A build backend must not compile anything for us.
            environment = dict(os.environ, DS_BUILD_OPS="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                os.rmdir(folder) if not os.listdir(folder) else None
                raise SystemExit(f"{package} {version}: pip download failed\n{done.stderr[-2000:]}")
        return os.path.join(folder, min(os.listdir(folder)))


# ---------------------------------------------------------------------------------------------- modules


class Module:
    """Names that one parsed module defines or imports."""

    def __init__(self, release: Release, dotted: str, path: str, tree: ast.Module) -> None:
        self.release, self.dotted, self.path, self.tree = release, dotted, path, tree
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.values: dict[str, list[ast.expr]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        self.stars: list[str] = []
        self._read(tree.body)

    def _read(self, body: list[ast.stmt], certain: bool = True) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._set(target.id, node.value, certain)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self._set(node.target.id, node.value, certain)
            elif isinstance(node, ast.ImportFrom):
                source = self._absolute(node)
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(source)
                    else:
                        self.imports.setdefault(alias.asname or alias.name, (source, alias.name))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.imports.setdefault(alias.asname or alias.name.split(".")[0], (alias.name, ""))
            elif isinstance(node, ast.If):
                self._read(node.body, False)
                self._read(node.orelse, False)
            elif isinstance(node, ast.Try):
                self._read(node.body, False)
                for handler in node.handlers:
                    self._read(handler.body, False)
                self._read(node.orelse, False)
            elif isinstance(node, ast.With):
                self._read(node.body, certain)

    def _set(self, name: str, value: ast.expr, certain: bool) -> None:
        """A name set again for certain has its last value; one set in a branch may have either."""
        self.values[name] = [value] if certain else [*self.values.get(name, ()), value]

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.dotted.split(".")
        if not self.path.endswith("__init__.py"):
            parts = parts[:-1]
        parts = parts[: len(parts) - (node.level - 1)]
        return ".".join([*parts, *([node.module] if node.module else [])])
