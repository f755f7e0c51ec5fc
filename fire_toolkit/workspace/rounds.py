"""The rounds in which a workspace asks people: one series of numbers, whoever begins a round.

Round 1 is the first pool. A later round is the new pairs of a later model, or pairs that are asked again.
A round is begun by its tasks (`tasks/tasks.json`, `tasks/round-N/tasks.json`) or by a campaign (in its
record); `plan/round-N` is one that has not begun.
"""

import re
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.files import paths_in
from fire_toolkit.workspace.database import STORE, rows_in
from fire_toolkit.workspace.manifests import manifest_of, writer_of

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
    files = {number: tasks_file(root, number) for number in (1, *sorted(_folders(root / "tasks")))}
    return {number: path for number, path in files.items() if path.is_file()}


def begun_rounds(root: Path) -> set[int]:
    """Return the numbers of all rounds that were begun in a workspace, by tasks or by a campaign."""
    return {*handed_out(root), *campaign_rounds(root)}


def campaign_rounds(root: Path) -> dict[int, str]:
    """Return what carries each round that a campaign has begun."""
    query = "select number, carrier, max(rowid) from rounds group by number order by number"
    return {number: carrier for number, carrier, _ in rows_in(root / STORE, query)}


def carrier_of_tasks(root: Path, file: Path) -> str:
    """Return what carries the round that the tasks in a file have begun; empty where they have begun none."""
    carriers = campaign_rounds(root)
    numbers = [number for number, path in handed_out(root).items() if path.resolve() == file.resolve()]
    return next((carriers[number] for number in numbers if number in carriers), "")


def pairs_of_rounds(root: Path, numbers: Collection[int]) -> pd.DataFrame:
    """Return query_id, doc_id and round of the pairs that rounds of a campaign ask to be judged."""
    query = (
        "select query_id, doc_id, min(round) from asked where (round, pair_id) in "
        "(select round, pair_id from given where kind not in ('training', 'control'))"
        f" and round in ({', '.join(map(str, sorted(numbers)))}) group by 1, 2"
    )
    found = rows_in(root / STORE, query) if numbers else []
    return pd.DataFrame(found, columns=["query_id", "doc_id", "round"])


def has_campaign(root: Path) -> bool:
    """Return whether a campaign has begun in the workspace `root`."""
    return bool(rows_in(root / STORE, "select 1 from campaign limit 1"))


def lost_record(root: Path, *, by_hand: bool = True) -> str:
    """Return what to do where judgments or a push rest on a record that is gone; else nothing.

    by_hand: also where files were handed out, which drawing the same queues again makes good.
    """
    made = STORE in manifest_of(root / "judgments" / "judgments.csv").inputs
    sent = bool(manifest_of(root / "campaign"))
    tasks = manifest_of(tasks_file(root, 1))
    is_out = by_hand and any(name.endswith(".csv") for name in tasks.outputs)
    if (root / STORE).exists() or not (made or sent or is_out):
        return ""
    away = " and ".join(["judgments/"] * made + ["campaign/"] * sent)
    todo = f"restore it from a copy, or import another site's; to begin anew, move {away} away"
    if not (made or sent):
        again = shlex.join(["fire-toolkit", *tasks.command.get("words", ["tasks"])])
        todo = f"restore it from a copy; else `{again}` draws the same queues again"
    return f"{STORE}: is gone, with its answers and who was asked; {todo}"


def refuse_lost_record(root: Path, *, by_hand: bool = True) -> None:
    """Raise `UsageError` where a record is gone, see `lost_record`."""
    if words := lost_record(root, by_hand=by_hand):
        raise UsageError(words)


def given_by_round(root: Path) -> dict[int, int]:
    """Return for each round that no files carry how often a task of it was given to somebody, or moved."""
    carriers = campaign_rounds(root)
    query = "select round, count(*) from given group by round order by round"
    return {number: n for number, n in rows_in(root / STORE, query) if carriers.get(number) != "folder"}


def planned_rounds(root: Path) -> set[int]:
    """Return the numbers of the rounds that `next-round` has planned in a workspace."""
    found = _folders(root / "plan").items()
    return {number for number, folder in found if any(each.match("*.csv") for each in paths_in(folder))}


def planned_now(root: Path) -> Path | None:
    """Return the plan of the round planned last; None where there is none, or it is of earlier answers."""
    number = max(planned_rounds(root) - {*handed_out(root)}, default=0)
    place = root / "plan" / f"round-{number}"
    seen = manifest_of(place).inputs
    known = {name: root / name for name in ("judgments/judgments.csv", "labels/labels.csv") if name in seen}
    is_of_now = all(writer_of(path).outputs.get(path.name) == seen[name] for name, path in known.items())
    return place if number and is_of_now else None


def next_round_number(root: Path, *, judged: int = 0) -> int:
    """Return the number that pairs to be asked again get: after all that was begun, pooled or judged.

    Args:
        root: the workspace.
        judged: the latest round of its judgments, 0 where there are none.
    """
    pooled = pool_counts(root).get("round", 1)
    return 1 + max({1, judged, pooled if isinstance(pooled, int) else 1, *begun_rounds(root)})


def pool_counts(root: Path) -> dict[str, Any]:
    """Return what the workspace's pool counted, as its manifest says; nothing where there is none."""
    try:
        return manifest_of(root / "pool").counts
    except FireError:
        return {}


def _folders(folder: Path) -> dict[int, Path]:
    """Return the folders round-N in `folder` by their numbers."""
    found = [(path, _FOLDER.fullmatch(path.name)) for path in paths_in(folder) if path.is_dir()]
    return {int(name[1]): path for path, name in found if name}
