"""What comes next in a workspace: one table of what can be there, read from the top.

`status` names it, and so does each command that asks people or brings in what they answered.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fire_toolkit.campaign.progress import has_unread_page, open_task
from fire_toolkit.campaign.records import BY_HAND
from fire_toolkit.campaign.views import seen_by_all, unanswered_pairs, waiting_pairs
from fire_toolkit.cli.campaigns import Begun, begun_here
from fire_toolkit.cli.common import current_workspace, n_of, say, say_next
from fire_toolkit.cli.designs import open_by_design, record_design
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.server_options import knows_server
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.resolution.plan import plan_round
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.stages import COMPUTED, EDITED, StageState, stage_states

_ASKED, _BROUGHT, _LABELED = ("pool", "tasks", "push"), ("import", "pull"), ("agree", "resolve")
_SERVES = "page serve"


class Step(NamedTuple):
    """The command that comes next, and why; no command: the reason is all that is to be said."""

    command: str
    reason: str = ""


@dataclass(frozen=True)
class Standing:
    """A workspace, the states of its stages, and its campaign, if one has begun."""

    workspace: Workspace
    stages: Sequence[StageState]
    campaign: Begun | None

    def behind(self, names: Sequence[str] | None = None) -> Step | None:
        """Return the first of these stages that is to be run; None: of all."""
        for state in self.stages:
            if state.state in ("stale", "ready") and (names is None or state.stage.name in names):
                return Step(command_of(state, self.workspace))
        return None

    @cached_property
    def open(self) -> tuple[int, str] | None:
        """A round with a task that is not answered, and who has it."""
        if self.campaign is None:
            return None
        with self.campaign.store() as store:
            return open_task(store, self.campaign.retired)


def _unread(standing: Standing) -> Step | None:
    if standing.campaign is not None:
        with standing.campaign.store() as store:
            if has_unread_page(store):
                return Step("pull", "answers from the page are not read yet")
        return None if _is_only_shown(standing) else standing.behind(_BROUGHT)
    return standing.behind(_BROUGHT)


def _is_only_shown(standing: Standing) -> bool:
    """Whether our own page has everything and nobody has answered there, so that there is nothing to pull."""
    assert standing.campaign is not None
    is_read = (standing.workspace.root / "judgments" / "judgments.csv").is_file()
    return not is_read and {*standing.campaign.rounds.carriers.values()} == {"page"}


def _unanswered(standing: Standing) -> Step | None:
    if standing.campaign is None:
        late = next((s for s in standing.stages if s.state == "waiting" and s.stage.name in _BROUGHT), None)
        is_later = late is not None and late.reason.startswith("no answer yet")
        return Step(late.stage.name, late.reason) if late is not None and is_later else None
    if standing.open is None:
        return None
    number, name = standing.open
    carrier = standing.campaign.rounds.carriers[number]
    command = {BY_HAND: "import", "page": _SERVES}.get(carrier, "pull")
    words = f"round {number} is open: {name} has tasks to answer"
    return Step(command, f"{words} (`annotators retire {name}` where nobody answers any more)")


def _to_ask_again(standing: Standing) -> Step | None:
    """Name `next-round` while it would ask something of somebody; nothing waits any more by then."""
    begun, root = standing.campaign, standing.workspace.root
    files = root / "judgments" / "judgments.csv", root / "labels" / "labels.csv"
    if begun is None or not begun.askable or not all(path.is_file() for path in files):
        return None
    given = Given(dict.fromkeys(("judgments", "labels", "guideline")))
    with begun.store() as store:
        left = unanswered_pairs(store, given.judgments, begun.retired)
        spent = seen_by_all(store, begun.askable)
        waiting = waiting_pairs(store, begun.retired)
    spent = spent[pair_rows(spent, left) < 0]
    planned = plan_round(
        given.judgments,
        given.labels,
        given.disputes,
        grades=given.grades,
        ask=("dispute", "escalated"),
        waiting=pd.concat([waiting, spent]),
        by_design=open_by_design(
            record_design(root, None, is_kept=False), given.judgments, begun.guideline.grades
        ),
        unanswered=left,
    )
    counts = planned.pool["stratum"].value_counts(sort=False)
    if not len(counts):
        return None
    words = ", ".join(f"{stratum} {n:,}" for stratum, n in counts.items())
    after = standing.behind()
    return Step("next-round", f"to ask again: {words}{f' (or go on: {after.command})' if after else ''}")


def _done(standing: Standing) -> Step:
    rules = read_guideline(standing.workspace.setting("tasks", "guideline"))
    is_waiting = any(state.state == "waiting" for state in standing.stages)
    if rules.is_of_queries and not is_waiting:
        return Step("", "next: in the workspace of the pairs: fire-toolkit augment")
    if is_waiting:
        return Step("")
    disputes = standing.workspace.root / "labels" / "disputes.csv"
    n_open = len(read_delimited(disputes)) if disputes.is_file() else 0
    left = f"; {n_of(n_open, 'pair')} still in dispute (`next-round` asks again)" if n_open else ""
    return Step("", f"all is done{left}")


# What is there, and what is next; the first that holds.
TABLE: tuple[tuple[str, Callable[[Standing], Step | None]], ...] = (
    ("a pool, tasks or a sending that is behind", lambda standing: standing.behind(_ASKED)),
    ("answers that the judgments do not have", _unread),
    ("tasks that somebody has and has not answered", _unanswered),
    ("judgments whose agreement or labels are behind", lambda standing: standing.behind(_LABELED)),
    ("disputes, or pairs left unanswered, that somebody can be asked", _to_ask_again),
    ("labels whose scores are behind", lambda standing: standing.behind()),
    ("nothing to do", _done),
)


def what_follows(standing: Standing) -> Step:
    """Return what comes next, and why."""
    return next(step for _, find in TABLE if (step := find(standing)) is not None)


def standing_of(workspace: Workspace, stages: Sequence[StageState] | None = None) -> Standing:
    """Return how a workspace stands.

    stages: the states of its stages, where they are known.
    """
    if stages is None:
        rules = read_guideline(workspace.setting("tasks", "guideline"))
        stages = stage_states(workspace, on_server=knows_server(), is_of_queries=rules.is_of_queries)
    return Standing(workspace, stages, begun_here())


def say_following(command: str = "") -> None:
    """Say what comes next in the campaign here; where none has begun, the command given."""
    workspace = current_workspace()
    if workspace is None or begun_here() is None:
        if command:
            say_next(command)
        return
    say_step(what_follows(standing_of(workspace)))


def say_step(step: Step) -> None:
    """Say a step: why, then the command."""
    if step.reason:
        say(step.reason)
    if step.command:
        say_next(step.command)


def command_of(state: StageState, workspace: Workspace) -> str:
    """Return the command of a stage, or `refresh` where it can be given again as it was."""
    at = manifest_path(workspace.root / state.stage.out, is_folder=state.stage.is_folder)
    given = read_manifest(at).command if state.changed and at.is_file() else {}
    if not {"words", "folder"} <= given.keys():
        return state.stage.name
    if state.stage.name in COMPUTED and EDITED not in state.changed.values():
        return "refresh"
    folder = (workspace.root / given["folder"]).resolve()
    words = shlex.join(map(str, given["words"]))
    return words if folder == Path.cwd() or len(given["words"]) == 1 else f"{words}   # in {given['folder']}"
