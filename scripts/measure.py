"""`make measure`: the house in numbers, so that a change of plan can be judged before and after.

Files, lines, median and longest file and function, what the folders import of each other, cycles among them, repeated
lines, public names, and modules without a test of their name. `python scripts/measure.py [CHECKOUT] [--json]`.

Lines are also counted by what they are for (`scripts/history.py`): what release 0.1.0 had, in today's form; mends;
features since.

A repeated line stands in a run of six or more lines that occurs again, to the letter but for white space; blank lines,
comments, imports and lone punctuation do not count.
"""

import argparse
import ast
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from history import Growth, growth

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("secure_sapefl", "crypto/sapefl_crypto")
RUN: Final = 6  # lines that must recur to count as repeated
UNTESTED_FROM: Final = 40  # lines: a longer module has a test file of its name
_THIN: Final = re.compile(r"\W*$|#|from |import ")


@dataclass(frozen=True)
class Module:
    path: Path  # inside the checkout
    text: str

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def folder(self) -> str:
        """The room a module stands in: the part after the package, or its own name beside rooms; the crypto is one."""
        inside = self.path.parts[self.path.parts.index(self.package) + 1 :]
        return "crypto" if self.package == "sapefl_crypto" else inside[0] if len(inside) > 1 else self.path.stem

    @property
    def package(self) -> str:
        return "sapefl_crypto" if "sapefl_crypto" in self.path.parts else "secure_sapefl"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    files: int
    lines: int
    test_lines: int
    growth: Growth | None
    median_file: float
    longest_file: tuple[str, int]
    functions: int
    median_function: float
    longest_function: tuple[str, int]
    modules_in_folder: Mapping[str, int]
    imports: Mapping[str, list[str]]
    cycles: list[list[str]]
    repeated_percent: float
    public_names: int
    without_a_test: list[str]


def measure(root: Path) -> Measures:
    modules = [module for package in PACKAGES for module in read(root, root / package)]
    tests = read(root, root / "tests")
    functions = sorted((size, where) for module in modules for where, size in functions_of(module))
    longest, graph = max(modules, key=lambda module: module.lines), import_graph(modules)
    return Measures(
        files=len(modules),
        lines=sum(module.lines for module in modules),
        test_lines=sum(test.lines for test in tests),
        growth=growth(root) if (root / ".git").exists() else None,
        median_file=statistics.median(module.lines for module in modules),
        longest_file=(str(longest.path), longest.lines),
        functions=len(functions),
        median_function=statistics.median(size for size, _ in functions),
        longest_function=(functions[-1][1], functions[-1][0]),
        modules_in_folder=modules_in_folder(modules),
        imports={folder: sorted(targets) for folder, targets in sorted(graph.items())},
        cycles=cycles(graph),
        repeated_percent=round(100 * repeated(modules), 2),
        public_names=sum(len(public_names(module)) for module in modules),
        without_a_test=without_a_test(modules, tests),
    )


def read(root: Path, folder: Path) -> list[Module]:
    return [Module(path.relative_to(root), path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))]


def functions_of(module: Module) -> Iterator[tuple[str, int]]:
    """Every function with its lines, the docstring not counted."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1
            yield f"{module.path}:{node.name}", lines


def modules_in_folder(modules: list[Module]) -> dict[str, int]:
    count: dict[str, int] = defaultdict(int)
    for module in modules:
        if module.path.name != "__init__.py":
            count[str(module.path.parent)] += 1
    return dict(sorted(count.items()))


def import_graph(modules: list[Module]) -> dict[str, set[str]]:
    """Which rooms name which other rooms, however deep inside a function."""
    rooms = {module.folder for module in modules}
    graph: dict[str, set[str]] = {room: set() for room in rooms}
    for module in modules:
        for name in imported(module.tree):
            package, *rest = name.split(".")
            target = "crypto" if package == "sapefl_crypto" else rest[0] if package == "secure_sapefl" and rest else ""
            if target in rooms and target != module.folder:
                graph[module.folder].add(target)
    return graph


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Rooms that reach each other, as groups."""
    reach = {room: _reachable(graph, room) for room in graph}
    groups = {tuple(sorted({room} | {other for other in reach[room] if room in reach[other]})) for room in graph}
    return sorted(list(group) for group in groups if len(group) > 1)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting.extend(graph[room])
    return seen


def repeated(modules: list[Module]) -> float:
    """The share of counted lines that stand in a run which occurs again."""
    lines = {module.path: [" ".join(line.split()) for line in module.text.splitlines()] for module in modules}
    counted = {path: [text for text in texts if not _THIN.match(text)] for path, texts in lines.items()}
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, texts in counted.items():
        for start in range(len(texts) - RUN + 1):
            places[tuple(texts[start : start + RUN])].append((path, start))
    again = [place for found in places.values() if len(found) > 1 for place in found]
    twice = {(path, start + offset) for path, start in again for offset in range(RUN)}
    return len(twice) / max(1, sum(map(len, counted.values())))


def public_names(module: Module) -> list[str]:
    """Top-level functions, classes and constants without an underscore."""
    return [name for node in module.tree.body for name in _names(node) if not name.startswith("_")]


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def without_a_test(modules: list[Module], tests: list[Module]) -> list[str]:
    """Modules of more than a few lines that no test file is called after, in the folder of the same name.

    What a package exports, its ``__init__.py``, is tried in ``test_package.py``.
    """
    named = {(test.path.parts[1:-1], test.path.stem) for test in tests}
    missing = []
    for module in modules:
        inside = module.path.parts[1:-1] if module.package == "secure_sapefl" else ("crypto", *module.path.parts[2:-1])
        name = "package" if module.path.stem == "__init__" else module.path.stem
        if module.lines > UNTESTED_FROM and (inside, f"test_{name}") not in named:
            missing.append(str(module.path))
    return missing


def table(found: Measures) -> str:
    largest = sorted(found.modules_in_folder.items(), key=lambda item: -item[1])
    rows = {
        "files, lines": f"{found.files}, {found.lines:,} (tests {found.test_lines:,})",
        "of them for what 0.1.0 had": _said(found.growth),
        "file, median and longest": f"{found.median_file:g}, {found.longest_file[1]} ({found.longest_file[0]})",
        "functions, median and longest": f"{found.functions:,}, {found.median_function:g}, "
        f"{found.longest_function[1]} ({found.longest_function[0]})",
        "largest folders": ", ".join(f"{folder} {count}" for folder, count in largest[:4]),
        "cycles among folders": "; ".join(" - ".join(group) for group in found.cycles) or "none",
        "repeated lines": f"{found.repeated_percent} %",
        "public names": f"{found.public_names:,}",
        "modules without a test of their name": f"{len(found.without_a_test)}: {', '.join(found.without_a_test)}",
    }
    imports = "\n".join(f"  {room:<14} {' '.join(targets) or '-'}" for room, targets in found.imports.items())
    said = "\n".join(f"{name:<38}{value}" for name, value in rows.items())
    return f"{said}\nimports\n{imports}"


def _said(grown: Growth | None) -> str:
    if grown is None:
        return "unknown: no history since then here"
    return f"{grown.same_features:,}, in {grown.release:,} then; mends {grown.mend:,}; features since {grown.feature:,}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    given = parser.parse_args()
    result = measure(given.checkout)
    print(json.dumps(asdict(result), indent=1) if given.json else table(result))
