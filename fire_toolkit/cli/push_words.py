"""What `push` says: who would judge how much, what was sent, and what was found on the server."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.progress import judgment_seconds, load_of
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.results import drawn_text
from fire_toolkit.workspace.database import STORE

_MANY = 50_000  # tasks in a project: the server walks through them at each import


def say_loads(root: Path, rounds: Sequence[Round], *, as_json: bool) -> None:
    """Say how many tasks each annotator would get in each round, and how long they take."""
    with Store(root / STORE) as store:
        seconds = judgment_seconds(store)
    rows: list[dict[str, Any]] = [
        {"annotator": name, "round": str(entry.number), **kinds, "all": sum(kinds.values())}
        for entry in rounds
        for name, kinds in load_of(entry).items()
    ]
    for row in rows:
        row["hours"] = row["all"] * seconds / 3600
    if as_json:
        plain = [{**row, "hours": None if math.isnan(seconds) else row["hours"]} for row in rows]
        click.echo(json.dumps(plain))
        return
    kinds = sorted({key for row in rows for key in row} - {"annotator", "round", "all", "hours"})
    header = ["annotator", "round", *kinds, "all", "hours"]
    cells = [[_cell(row.get(key, 0)) for key in header] for row in rows]
    click.echo(drawn_text(cells, header, "table"), nl=False)
    n_tasks = sum(row["all"] for row in rows)
    if math.isnan(seconds):
        say(f"{n_of(n_tasks, 'task')}; no judgment was timed yet, so hours are not known")
    else:
        say(f"{n_of(n_tasks, 'task')}, {n_tasks * seconds / 3600:,.1f} hours at {seconds:.1f} s a judgment")
    say("nothing was sent")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def say_pushed(pushed: Sequence[Plan], connection: Connection, *, as_json: bool) -> None:
    """Say what was added and updated, what each annotator opens, and what on the server should not be."""
    counts: dict[str, Any] = {
        "projects": sum(bool(p.project) for p in pushed),
        "added": sum(p.n_added for p in pushed),
        "there": sum(p.n_there for p in pushed),
        "updated": sum(len(p.changed) for p in pushed),
        "held": sum(p.n_held for p in pushed),
        "duplicates": sum(len(p.duplicates) for p in pushed),
        "foreign": sum(p.n_foreign for p in pushed),
    }
    updated = f" ({counts['updated']:,} of them updated)" if counts["updated"] else ""
    words = (
        f"{n_of(counts['added'], 'task')} added, {counts['there']:,} there before{updated}, "
        f"in {n_of(counts['projects'], 'project')}"
    )
    pages = {entry.queue: connection.labeling_page(entry.project) for entry in pushed if entry.project}
    shown = {str(queue): page for queue, page in pages.items()}
    Given({"as_json": as_json}).summarise({**counts, "pages": shown}, words)
    for queue, page in pages.items():
        say(f"{queue.annotator_id} opens {page}")
    for entry in pushed:
        for note in _notes(entry):
            say(f"note: project {entry.project} ({entry.queue}): {note}")


def _notes(entry: Plan) -> list[str]:
    notes = []
    if entry.n_held:
        notes.append(
            f"{n_of(entry.n_held, 'task')} held back until the training is done: pull, then push again"
        )
    if entry.crossed:
        pairs = ", ".join(entry.crossed[:3])
        notes.append(
            f"{n_of(len(entry.crossed), 'task')} answered in the moment of the update ({pairs}): the answers "
            "may be of the old caption or address; look at them"
        )
    if entry.duplicates:
        pairs = ", ".join(list(entry.duplicates)[:3])
        notes.append(
            f"{n_of(len(entry.duplicates), 'pair')} there more than once ({pairs}); delete the copies "
            "without answers in the Data Manager, or leave them: the latest answer counts"
        )
    if entry.n_foreign:
        notes.append(f"{n_of(entry.n_foreign, 'task')} not of this queue; their answers do not count for it")
    if entry.twins:
        copies = f"projects {', '.join(map(str, entry.twins))} are copies of it"
        notes.append(f"{copies}; `fire-toolkit doctor` says which to delete")
    if entry.n_there + entry.n_added > _MANY:
        notes.append(f"more than {_MANY:,} tasks slow a server down; hand out less at once (--budget)")
    if entry.restored:
        notes.append(f"{', '.join(sorted(entry.restored))} had been changed by hand and were restored")
    return notes
