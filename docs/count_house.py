"""Count the house: python docs/count_house.py prints lines by room, floors and circles, and functions.

A line of code is one that is neither blank, nor a comment, nor part of a docstring.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

PACKAGE = Path(__file__).parent.parent / "fire_toolkit"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def modules() -> dict[str, Path]:
    """Return the path of each module by its dotted name; a package's name ends in `__init__`."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {
        ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in paths
    }


def room(path: Path) -> str:
    """Return the first part of a module's name within the package."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a module's syntax tree."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names that a module imports anywhere, also inside functions."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def rooms_of(names: frozenset[str]) -> set[str]:
    """Return the rooms of this package among imported names."""
    rooms = {name.split(".")[1] for name in names if name.startswith(f"{PACKAGE.name}.")}
    return {name for name in rooms if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()}


def rooms_below() -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    below: dict[str, set[str]] = {}
    for path in modules().values():
        if room(path) not in ("__init__", "__main__"):
            below.setdefault(room(path), set()).update(rooms_of(imports(path)) - {room(path)})
    return below


def modules_below() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    known = modules()
    return {name: {*(imports(path) & known.keys())} - {name} for name, path in known.items()}


def floors_of(below: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the floor of each name, 1 where it stands on nothing; names on a circle have none."""
    floors: dict[str, int] = {}
    while True:
        ready = {name for name in below if name not in floors and below[name] <= floors.keys()}
        if not ready:
            return floors
        floors |= {name: 1 + max((floors[other] for other in below[name]), default=0) for name in ready}


def definitions() -> Iterator[tuple[Path, Definition]]:
    """Yield every function, method and class with the path of its module."""
    for path in modules().values():
        for node in nodes(path):
            if isinstance(node, Definition):
                yield path, node


def length_of(node: Definition) -> int:
    """Return the lines of a definition without its docstring."""
    end = node.end_lineno or node.lineno
    return end - node.lineno + 1 - len((ast.get_docstring(node) or "").splitlines())


def count_lines(path: Path) -> tuple[int, int]:
    """Return the lines of a file, and those of code."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = [token for token in tokens if token.string.strip() and token.type != tokenize.COMMENT]
    code = {line for token in held for line in range(token.start[0], token.end[0] + 1)}
    for node in nodes(path):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None:
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return text.count("\n"), len(code)


def print_house() -> None:
    """Print all counts."""
    files, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for path in modules().values():
        name = room(path) if path.parent != PACKAGE else "(top)"
        files[name] += 1
        of_file = count_lines(path)
        lines[name] += of_file[0]
        code[name] += of_file[1]
    print(f"{'room':14}{'files':>7}{'lines':>9}{'code':>9}")
    for name, _ in code.most_common():
        print(f"{name:14}{files[name]:7}{lines[name]:9,}{code[name]:9,}")
    print(f"{'all':14}{files.total():7}{lines.total():9,}{code.total():9,}")
    below, of_modules = rooms_below(), modules_below()
    floors = floors_of(below)
    found = list(definitions())
    functions = [length_of(node) for _, node in found if not isinstance(node, ast.ClassDef)]
    public = [node for _, node in found if not node.name.startswith("_")]
    documented = sum(ast.get_docstring(node) is not None for node in public) / len(public)
    print(
        f"rooms {len(below)}, floors {max(floors.values())}, rooms in circles {len(below) - len(floors)}, ",
        end="",
    )
    print(f"modules in circles {len(of_modules) - len(floors_of(of_modules))}")
    print(
        f"functions {len(functions):,}, lines in the median {median(functions):g}, at most {max(functions)}"
    )
    print(f"public names with a docstring {documented:.1%} of {len(public):,}")


if __name__ == "__main__":
    print_house()
