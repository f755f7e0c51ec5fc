"""Count the house: python docs/count_house.py prints what it weighs, by room and in all.

A line of code is one that is neither blank, nor a comment, nor part of a docstring. A token of code is one
of Python's tokenizer that is neither a comment, nor a docstring, nor the end of a line or an indentation.
Options are those of every command, summed (--help left out), and the different names among them.
Words are those of every .md in git but the guidelines', which are part of the product, and the tests'; a
word holds a letter or a digit, so that the bars of tables are none.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

import click

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "fire_toolkit"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
LAID_OUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
# What is shipped beside Python, and the names' ends by which it is told; a library of others is not counted.
BESIDE = {
    "templates": (".html", ".jinja"),
    "JavaScript": (".js",),
    "CSS": (".css",),
    "SQL": (".sql",),
    "TOML": (".toml",),
}
OF_OTHERS = "vega-bundle.js"
WORD = re.compile(r"\S*\w\S*")


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


def count_lines(path: Path) -> tuple[int, int, int]:
    """Return the lines of a file, those of code, and the tokens of code."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = [token for token in tokens if token.type not in LAID_OUT]
    code = {line for token in held for line in range(token.start[0], token.end[0] + 1)}
    n_tokens = len(held)
    for node in nodes(path):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None:
            code -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
            n_tokens -= 1
    return text.count("\n"), len(code), n_tokens


def commands_below(group: click.Group) -> Iterator[click.Command]:
    """Yield every command of a group that is no group itself."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from commands_below(command)
        else:
            yield command


def options() -> list[list[str]]:
    """Return the options of each command, by their long names."""
    from fire_toolkit.cli import main

    return [
        [max(option.opts, key=len) for option in command.params if isinstance(option, click.Option)]
        for command in commands_below(main)
    ]


def words_of_pages() -> Counter[str]:
    """Return the words of the pages that are in git, by folder; those at the top and in docs/ by page."""
    shown = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    words = Counter[str]()
    for name in shown.stdout.splitlines():
        folder = Path(name).parent
        if folder.parts[:1] not in (("guidelines",), ("tests",)) and (ROOT / name).is_file():
            key = name if str(folder) in (".", "docs") else f"{folder}/"
            words[key] += len(WORD.findall((ROOT / name).read_text(encoding="utf-8")))
    return words


def tests() -> tuple[int, int]:
    """Return the test functions, and the lines of every file of the tests in Python."""
    paths = sorted((ROOT / "tests").rglob("*.py"))
    found = [node for path in paths for node in nodes(path) if isinstance(node, Definition)]
    n_lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
    return sum(node.name.startswith("test_") for node in found), n_lines


def beside() -> dict[str, int]:
    """Return the lines of what the package ships beside Python."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.name != OF_OTHERS]
    return {
        kind: sum(path.read_text(encoding="utf-8").count("\n") for path in files if path.suffix in ends)
        for kind, ends in BESIDE.items()
    }


def print_rooms() -> None:
    """Print files, lines, code and its tokens by room."""
    counts: dict[str, Counter[str]] = {}
    for path in modules().values():
        lines, code, tokens = count_lines(path)
        name = room(path) if path.parent != PACKAGE else "(top)"
        counts.setdefault(name, Counter()).update(files=1, lines=lines, code=code, tokens=tokens)
    rows = sorted(counts.items(), key=lambda row: -row[1]["code"])
    print(f"{'room':14}{'files':>7}{'lines':>9}{'code':>9}{'tokens':>10}")
    for name, of_room in [*rows, ("all", sum(counts.values(), Counter[str]()))]:
        print(f"{name:14}{of_room['files']:7}{of_room['lines']:9,}", end="")
        print(f"{of_room['code']:9,}{of_room['tokens']:10,}")


def print_shape() -> None:
    """Print floors and circles, functions, and how many public names are documented."""
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


def print_around() -> None:
    """Print commands, options, what is shipped beside Python, tests, and the words of the pages."""
    of_commands = options()
    names = {name for of_command in of_commands for name in of_command}
    print(
        f"commands {len(of_commands)}, options {sum(map(len, of_commands))}, different {len(names)}, ", end=""
    )
    print(f"at most {max(map(len, of_commands))} of one command")
    print("lines beside Python: " + ", ".join(f"{kind} {lines:,}" for kind, lines in beside().items()))
    n_tests, n_lines = tests()
    print(f"test functions {n_tests:,}, lines of tests {n_lines:,}")
    words = words_of_pages()
    print(f"words of pages {words.total():,}")
    for page, count in words.most_common():
        print(f"  {page:34}{count:8,}")


if __name__ == "__main__":
    print_rooms()
    print_shape()
    print_around()
