"""What comes next in the workspace here, see `campaign.following`; `status` says it, and what asks people."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fire_toolkit.campaign.following import Asking, Standing, Step, what_follows
from fire_toolkit.campaign.progress import has_unread_page, open_people
from fire_toolkit.cli.campaigns import Begun, begun_here, knows_server, open_by_design, record_design
from fire_toolkit.cli.common import current_workspace, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import guideline_of
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.stages import COMPUTED, EDITED, NEW, StageState, stage_states


def standing_of(
    workspace: Workspace, told: Callable[[StageState], StageState] = lambda state: state
) -> Standing:
    """Return how a workspace stands.

    told: gives the state of a stage as it is to be told.
    """
    is_of_queries = guideline_of(workspace).is_of_queries
    states = stage_states(workspace, on_server=knows_server(), is_of_queries=is_of_queries)
    stages = [told(state) for state in states]
    disputes = workspace.root / "labels" / "disputes.csv"
    begun, asking = begun_here(), None
    if begun is not None:
        with begun.store() as store:
            asking = Asking(
                carriers=begun.rounds.carriers,
                open=open_people(store, begun.retired),
                has_unread=has_unread_page(store),
                is_read=(workspace.root / "judgments" / "judgments.csv").is_file(),
            )
    return Standing(
        stages,
        partial(command_of, workspace=workspace),
        asking,
        to_ask=lambda: _to_ask(workspace.root, begun),
        n_disputes=lambda: len(read_delimited(disputes)) if disputes.is_file() else 0,
        is_of_queries=is_of_queries,
    )


def _to_ask(root: Path, begun: Begun | None) -> Mapping[str, int]:
    """Return how many pairs `next-round` would ask of somebody, by stratum."""
    files = root / "judgments" / "judgments.csv", root / "labels" / "labels.csv"
    if begun is None or not begun.askable or not all(path.is_file() for path in files):
        return {}
    from fire_toolkit.cli.again import Again  # heavy
    from fire_toolkit.cli.asking_readers import without_excluded

    given = Given(dict.fromkeys(("judgments", "labels", "qrels", "guideline")))
    vars(given)["judgments"] = without_excluded(given, is_said=False)  # `next-round` says who is excluded
    again = Again(given, given.next_number, begun, sorted(begun.askable))
    design = open_by_design(record_design(root, None, is_kept=False), given.judgments, given.grades)
    planned = again.planned(ask=("dispute", "escalated"), by_design=design, is_said=False)
    return {str(name): int(n) for name, n in planned.pool["stratum"].value_counts(sort=False).items()}


def say_following(command: str = "", arguments: str = "") -> None:
    """Say what comes next in the workspace here, as `status` does.

    command, arguments: what does outside of a workspace, and where `status` has nothing to say.
    """
    workspace = current_workspace()
    step = what_follows(standing_of(workspace)) if workspace else None
    if step and (step.command or not command or (step.reason and begun_here())):
        say_step(step)
    elif command:
        say_next(command, arguments)


def say_step(step: Step) -> None:
    """Say a step: why, then the command."""
    if step.reason:
        say(step.reason)
    if step.command:
        say_next(step.command)


def command_of(state: StageState, workspace: Workspace) -> str:
    """Return the command of a stage, or `refresh` where it can be given again as it was."""
    out, is_folder = workspace.root / state.stage.out, state.stage.is_folder
    given = manifest_of(out, is_folder=is_folder).command if state.state == "stale" else {}
    if not {"words", "folder"} <= given.keys():
        return state.stage.name
    if state.stage.name == "push" and {*state.changed.values()} <= {NEW}:
        return "push"  # new rounds go as the one before did; the options began that one
    if state.stage.name in COMPUTED and EDITED not in state.changed.values():
        return "refresh" if state.changed else state.stage.name
    folder = (workspace.root / given["folder"]).resolve()
    words = shlex.join(map(str, given["words"]))
    return words if folder == Path.cwd() or len(given["words"]) == 1 else f"{words}   # in {given['folder']}"
