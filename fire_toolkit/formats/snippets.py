"""Lines to paste into a model's evaluation code, which save its predictions with their ids.

Most retrieval repositories print scores and save nothing. Each snippet in `snippets.toml` goes after a named
line of a repository's evaluation code and uses the names in scope there. The saved file says its orientation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.syntax import hint_at, parse_toml

_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Snippet:
    """Lines of Python for one repository.

    name: as typed; project: the repository; place: the file, and the line after which the lines go; lines:
    the code; saves: the file it makes; note: what to check before `add-run`.
    """

    name: str
    project: str
    place: str
    lines: str
    note: str = "$ids"
    saves: str = "run.npz"

    @property
    def text(self) -> str:
        """Return the snippet with its place and the next command as comments."""
        return (
            f"# {self.project}: {self.place}\n{self.lines}\n"
            f"# {self.note}\n# then: fire-toolkit add-run {self.saves} --expect R@1=VALUE_OF_THE_LOG\n"
        )


def _filled(entry: dict[str, Any], parts: Mapping[str, str]) -> Snippet:
    known = {**parts, **entry.pop("with", {})}
    texts = vars(Snippet(**entry))
    while any("$" in text for text in texts.values()):
        texts = {name: Template(text).substitute(known) for name, text in texts.items()}
    return Snippet(**texts)


_FOUND = parse_toml(_FILE.read_text(encoding="utf-8"), _FILE.name)
SNIPPETS = {entry["name"]: _filled(entry, _FOUND["parts"]) for entry in _FOUND["snippet"]}


def find_snippet(name: str) -> Snippet:
    """Return the snippet of that name, in any case (`Frozen in Time`, `frozen-in-time`).

    Raises:
        UsageError: the name is unknown; the message suggests the nearest.

    Examples:
        >>> find_snippet("X-CLIP").project
        'X-CLIP'
    """
    wanted = "-".join(name.lower().split())
    found = SNIPPETS.get(wanted)
    if found is None:
        raise UsageError(f"no snippet {name!r}; {hint_at(wanted, SNIPPETS)}")
    return found
