"""`status`: where a workspace stands, and what comes next in it, which what asks people says too."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import click

from fire_toolkit.campaign.beginning import page_changed
from fire_toolkit.campaign.due import with_unanswered_tasks, without_what_is_judged
from fire_toolkit.campaign.following import Standing, Step, what_follows
from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.campaign.progress import measure_progress, open_people, progress_in_words
from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, Rounds
from fire_toolkit.campaign.task_files import keys_among
from fire_toolkit.cli.campaigns import (
    ON_A_SERVER,
    begun_here,
    carried_at,
    knows_server,
    record_design,
    used_connection,
)
from fire_toolkit.cli.common import draw_rows, n_of, say
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.here import (
    current_workspace,
    needed_workspace,
    relative_path,
    say_next,
    setting_or_default,
)
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import stem_of
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import guideline_of
from fire_toolkit.formats.tables.table_files import judged_pairs
from fire_toolkit.labelstudio.places import full_pull_due, missed_words, read_places, to_push_again
from fire_toolkit.pages.office import PLACE, read_links
from fire_toolkit.resolution.design import open_by_design
from fire_toolkit.workspace.config import SETTINGS, Workspace
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.locks import is_locked
from fire_toolkit.workspace.manifests import manifest_of, writer_of
from fire_toolkit.workspace.rounds import (
    campaign_rounds,
    handed_out,
    has_campaign,
    lost_record,
    planned_now,
)
from fire_toolkit.workspace.stages import CHANGED, COMPUTED, EDITED, GONE, NEW, StageState, stage_states


def status(*, as_json: bool) -> None:
    """Show what is done in this workspace, what is stale and why, and the next command.

    Where files have changed, `refresh` gives the commands again that read them.
    """
    workspace = needed_workspace("; make a workspace with `fire-toolkit init`")
    standing = standing_of(workspace, lambda state: _told(state, workspace))
    states = standing.stages
    if as_json:
        rows = [{"stage": s.stage.name, "state": s.state, "reason": s.reason} for s in states]
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        table = [[s.stage.name, s.state, s.reason] for s in states]
        draw_rows(table, ["stage", "state", "why"], align="left")
        if has_campaign(workspace.root):
            _say_progress()
    following = what_follows(standing)
    state = next((state for state in states if state.state != "done"), None)
    if state and state.state == "waiting" and not standing.open:
        brings = "; `add-collection` and `add-run` bring them in" if state is states[0] else ""
        say(f"waiting: {state.stage.name} {state.reason}{brings}")
        if state.stage.name == "import" and not standing.carriers and handed_out(workspace.root):
            say(ON_A_SERVER)
        if following.reason == state.reason:
            following = following._replace(reason="")
    say_step(following)


def _say_progress() -> None:
    """Say how far each annotator is, and where the files with their tasks are."""
    campaign = begun_here()
    if campaign is None:
        return
    places = Folder(campaign.root).where(carried_at(campaign.root, BY_HAND))
    queues = measure_progress(campaign.store, guideline=campaign.guideline)
    for line in progress_in_words(queues, places, campaign.retired):
        say(line)
    if Rounds(campaign.root, BY_SERVER):
        from fire_toolkit.labelstudio.doctor import glance  # heavy

        for line in glance(used_connection, campaign.root, campaign.campaign):
            say(line)
    for place in read_places(campaign.store):
        if place.is_missed:
            say(f"warning: at the last pull {'; '.join(missed_words(campaign.campaign, place))}")
    if not queues["n_left"].any() and (due := full_pull_due(campaign.store)):
        say(due)


def _told(state: StageState, workspace: Workspace) -> StageState:
    """Return the state of a stage as it is to be told.

    With tasks that wait for `push` how many of their pairs were judged meanwhile; with a pool whose runs have
    changed what they bring that nobody was asked.
    """
    changed = state.changed if state.stage.name == "pool" else {}
    files, patterns = workspace.paths("runs", "files") if changed else (), workspace.settings["runs"]["files"]
    now = {path.relative_to(workspace.root).as_posix() for path in files}
    runs = {
        name: what
        for name, what in changed.items()
        if name in now or (what == GONE and any(PurePath(name).match(pattern) for pattern in patterns))
    }
    if runs:
        try:
            news = _news_of_runs(workspace, runs, are_all=len(runs) == state.n_reasons)
        except FireError as error:
            news = str(error)
        return replace(state, reason=f"{news} ({state.reason})") if news else state
    path = workspace.root / "judgments" / "judgments.csv"
    if state.stage.name != "tasks" or state.state != "done" or not path.is_file():
        return state
    unsent = max(handed_out(workspace.root).keys() - campaign_rounds(workspace.root).keys(), default=0)
    if not unsent or not (knows_server() or has_campaign(workspace.root)):
        return state
    judged = judged_pairs(path, since=unsent)[0]
    keys = {*pair_ids(judged["query_id"], judged["doc_id"])}
    n_judged = len(keys_among(handed_out(workspace.root)[unsent], keys))
    words = f"{state.reason}; {n_of(n_judged, 'pair')} judged since then, which push leaves out"
    return replace(state, reason=words) if n_judged else state


def _news_of_runs(workspace: Workspace, changed: Mapping[str, str], *, are_all: bool) -> str | None:
    """Return which models of the workspace are new, changed or withdrawn since its pool, and what that asks.

    None where nobody was asked yet.

    changed: runs by their names in the pool's manifest, with what has become of each. are_all: whether
    nothing else differs from then; pairs of the other runs are then in the pool.
    """
    from fire_toolkit.cli.pool_readers import options_of_pool  # these take half a second
    from fire_toolkit.commands.pool import pool
    from fire_toolkit.pooling.words import takes_all, time_in_words

    given = Given({"runs": ()})
    earlier = given.earlier
    if earlier.pool is None:
        return None
    settings = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    settings |= options_of_pool()
    is_rest_asked = are_all and earlier.is_whole and takes_all(settings)  # else it moves the others' pairs
    files = [str(relative_path(workspace.root / name)) for name, what in changed.items() if what != GONE]
    to_ask, hours = 0, ""
    if files or not is_rest_asked:
        given.values["runs"] = tuple(files) if is_rest_asked else ()
        tables = with_tables(pool, given, settings)
        to_ask = pool(**tables).counts.get("to_ask", 0)
        hours = time_in_words(to_ask, tables["asked_before"].seconds)
    asked = f"{n_of(to_ask, 'pair')} to ask{hours}" if to_ask else "nothing new to ask"
    told = []
    for kind, words in {NEW: "new {}", CHANGED: "{} changed", GONE: "{} withdrawn"}.items():
        if models := [stem_of(name) for name, what in changed.items() if what == kind]:
            told.append(words.format(f"model{'s' * (len(models) > 1)} {', '.join(models)}"))
    return f"{', '.join(told)}: {asked}"


def standing_of(
    workspace: Workspace, told: Callable[[StageState], StageState] = lambda state: state
) -> Standing:
    """Return how a workspace stands; told: gives the state of a stage as it is to be told."""
    is_of_queries = guideline_of(workspace).is_of_queries
    states = stage_states(workspace, on_server=knows_server(), is_of_queries=is_of_queries)
    states = without_what_is_judged(states, workspace)
    with suppress(FormatError):  # of tasks or judgments that were changed: their stages say so
        states = with_unanswered_tasks(states, workspace)
    stages = list(map(told, states))
    root = workspace.root
    disputes, judged = root / "labels" / "disputes.csv", root / "judgments" / "judgments.csv"
    named = {key: root / str(text) for key, text in workspace.settings["collection"].items()}
    usual = {key: root / str(text) for key, text in SETTINGS["collection"].items()}
    absent = [(key, path) for key, path in named.items() if not path.exists()]
    lost = [path for key, path in absent if path != usual[key] or path.name in writer_of(path).outputs]
    gone = ", ".join(str(relative_path(path)) for path in lost)
    why = f"gone: {gone}; bring in the benchmark's files, or name yours in fire.toml"
    begun, words, planned = begun_here(), lost_record(root), planned_now(root)
    asking: dict[str, Any] = {}
    if begun is not None:
        waiting = open_people(begun.store, begun.retired)
        asking = {"carriers": begun.rounds.carriers, "open": waiting}
        if is_locked(root / PLACE / "serve.lock"):
            asking["linkless"] = [*begun.askable.difference(read_links(root))]
        rules = guideline_of(workspace, begun.campaign.guideline)
        asking["page_changed"] = page_changed(begun.campaign, rules)
        asking |= {
            "has_unread": bool(begun.store.select("select * from unread_page")),
            "push": to_push_again(begun.store, waiting),
        }

    def to_ask() -> Mapping[str, int]:
        """Return how many pairs `next-round` would ask of somebody, by stratum."""
        files = (judged, root / "labels" / "labels.csv")
        if begun is None or not begun.askable or not all(path.is_file() for path in files):
            return {}
        from fire_toolkit.cli.again import Again  # heavy
        from fire_toolkit.cli.asking_readers import without_excluded

        given = Given(dict.fromkeys(("judgments", "labels", "qrels", "guideline")))
        vars(given)["judgments"] = without_excluded(given, is_said=False)  # `next-round` says who is excluded
        again = Again(given, sorted(begun.askable - {*given.excluded}), given.next_number, begun)
        known = record_design(workspace.root, None, is_kept=False)
        design = open_by_design(known, given.judgments, given.grades)
        planned = again.planned(ask=("dispute", "escalated"), by_design=design, is_said=False)
        return {str(name): int(n) for name, n in planned.pool["stratum"].value_counts(sort=False).items()}

    return Standing(
        stages,
        lambda state: command_of(state, workspace),
        to_ask=to_ask,
        n_disputes=lambda: len(read_delimited(disputes)) if disputes.is_file() else 0,
        is_of_queries=is_of_queries,
        lost=Step("", words) if words else Step("add-collection FILE...", why) if gone else None,
        planned=f"tasks {relative_path(planned)} --overlap 0" if planned and begun is None else "",
        is_read=judged.is_file(),
        **asking,
    )


def command_of(state: StageState, workspace: Workspace) -> str:
    """Return the command of a stage, or `refresh` where it can be given again as it was."""
    given = manifest_of(workspace.root / state.stage.out).command if state.state == "stale" else {}
    if not {"words", "folder"} <= given.keys():
        return state.stage.name
    if state.stage.name == "push" and {*state.changed.values()} <= {NEW}:
        return "push"  # new rounds go as the one before did; the options began that one
    if state.stage.name in ("import", "pull"):  # files of earlier imports are named where these would not be
        read = {(workspace.root / given["folder"] / str(word)).resolve() for word in given["words"]}
        read |= {*workspace.paths("import", "exports")} if state.stage.name == "import" else set()
        changed = [name for name, what in state.changed.items() if what == CHANGED and name != STORE]
        if files := {(workspace.root / name).resolve() for name in changed} - {*map(Path.resolve, read)}:
            return shlex.join(["import", *(str(relative_path(path)) for path in sorted(files))])
    if state.stage.name in COMPUTED and EDITED not in state.changed.values():
        return "refresh" if state.changed else state.stage.name
    is_here = (workspace.root / given["folder"]).resolve() == Path.cwd() or len(given["words"]) == 1
    return shlex.join(map(str, given["words"])) + ("" if is_here else f"   # in {given['folder']}")


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
