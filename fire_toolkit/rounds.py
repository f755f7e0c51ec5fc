"""The rounds in which a workspace asks people: one series of numbers, whoever begins a round.

Round 1 is the first pool. A later round is the new pairs of a later model, or pairs that are asked again.
A round is begun by its tasks (`tasks/tasks.json`, `tasks/round-N/tasks.json`), by a campaign
(`campaign/round-N`), or by a plan of what to ask again (`plan/round-N`).
"""

from __future__ import annotations

import re
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.storage import manifest_path, read_manifest

_FOLDER = re.compile(r"round-([1-9][0-9]*)")


def tasks_file(root: Path, number: int) -> Path:
    """Return where the tasks of a round lie in the workspace `root`.

    Examples:
        >>> tasks_file(Path("work"), 2).as_posix()
        'work/tasks/round-2/tasks.json'
    """
    folder = root / "tasks"
    return folder / "tasks.json" if number == 1 else folder / f"round-{number}" / "tasks.json"


def handed_out(root: Path) -> dict[int, Path]:
    """Return the files of tasks that were made in their places in a workspace, by round."""
    numbers = [1, *_numbers(root / "tasks", "tasks.json")]
    files = {number: tasks_file(root, number) for number in sorted(numbers)}
    return {number: path for number, path in files.items() if path.is_file()}


def begun_rounds(root: Path) -> set[int]:
    """Return the numbers of all rounds that were begun or planned in a workspace."""
    places = (root / "campaign", root / "plan")
    return {*handed_out(root), *(number for place in places for number in _numbers(place, "*.csv"))}


def next_round_number(root: Path, *, judged: int = 0) -> int:
    """Return the number that pairs to be asked again get: after all that was begun, pooled or judged.

    Args:
        root: the workspace.
        judged: the latest round of its judgments, 0 where there are none.
    """
    return 1 + max({1, judged, _pooled_round(root), *begun_rounds(root)})


def _pooled_round(root: Path) -> int:
    """Return the latest round of the workspace's pool, as its manifest says; 1 where it says none."""
    at = manifest_path(root / "pool", is_folder=True)
    try:
        number = read_manifest(at).counts.get("round", 1) if at.is_file() else 1
    except FireError:
        return 1
    return number if isinstance(number, int) else 1


def _numbers(folder: Path, pattern: str) -> list[int]:
    """Return the numbers of the folders round-N in `folder` that hold a file of that pattern."""
    found = [(path, _FOLDER.fullmatch(path.name)) for path in folder.glob("round-*") if path.is_dir()]
    return [int(name[1]) for path, name in found if name and any(path.glob(pattern))]
