"""`push`: tasks to annotators' queues on a server."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import click

from fire_toolkit.campaign.asking import still_to_give
from fire_toolkit.campaign.beginning import begin, campaign_of, check_policy, rounds_on_server, what_begins
from fire_toolkit.campaign.carrier import Carried, Delivered
from fire_toolkit.campaign.page_json import first_three
from fire_toolkit.campaign.progress import judgment_seconds, load_of
from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_PAGE,
    BY_SERVER,
    CORRECTED,
    FOLDER,
    Round,
    Rounds,
    with_moves,
)
from fire_toolkit.campaign.rounds import first_round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_files import handed_out_here, overlap_file, read_task_files, renewed_rounds
from fire_toolkit.cli.campaigns import (
    active_annotators,
    begun_here,
    guideline_here,
    handed_to,
    loads_of,
    names_of,
    record_design,
    refuse_retired,
    used_connection,
)
from fire_toolkit.cli.common import draw_rows, metered, n_of, say, say_notes
from fire_toolkit.cli.given import Given, name_in_manifest
from fire_toolkit.cli.here import (
    made_file,
    named_files,
    needed_workspace,
    relative_path,
    setting_or_default,
    workspace_lock,
)
from fire_toolkit.cli.media import media_root, own_media, shown_tasks
from fire_toolkit.cli.pull import carrier_of, not_read_yet, take_earlier_exports
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import judged_pairs
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.carrier import LabelStudio
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.doctor import UNSEEN, reach_items, refuse_hidden, refuse_unshowable
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.resolution.design import POLICIES
from fire_toolkit.tables import check_pool, check_qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import given_by_round, handed_out, tasks_file

_ANNOTATORS = Option(("--annotator",), metavar="A,B,C=LOAD", parse=names_of)
_SAMPLE = Option(("--check-media",), metavar="N", least=0)


@workspace_lock()
def push(
    tasks: Annotated[Path | None, Option(is_argument=True, metavar="[TASKS.json]")] = None,
    *,
    annotators: Annotated[tuple[str, ...], _ANNOTATORS] = (),
    training: Annotated[Path | None, Option(metavar="TASKS.json")] = None,
    controls: Annotated[Path | None, Option(metavar="QRELS")] = None,
    carrier: Annotated[str | None, Option(metavar="NAME")] = None,
    policy: Annotated[str | None, click.Choice(POLICIES)] = None,
    sample: Annotated[int | None, _SAMPLE] = None,
    replace: bool = False,
    dry_run: bool = False,
    as_json: bool,
) -> None:
    """Send tasks to Label Studio: one project for each annotator, blind, in an order of its own.

    Who judges what is drawn once and kept in campaign/. Pushing again adds only what is missing, and updates
    tasks whose captions or addresses changed, as long as nobody has answered them. Before anything is sent,
    every media_url must answer as a browser needs it. Tasks come from `tasks`; those of a model that came
    later are a further round.

    Args:
        annotators: The annotators; a LOAD of 2 gets twice the tasks. [default: those of the rounds before
            who are not retired, else all that `annotators add` has made here and that are active]
        training: Tasks that everybody judges first; the rest is held back until they are done.
        controls: Pairs whose answer is known, positive or not, mixed in for everybody.
        carrier: How tasks of a new round reach annotators: by the server (labelstudio), our own page (page),
            or the carrier of a plug-in. [default: that of the round before, else labelstudio]
        policy: Which positives get a second vote (and a third where the two differ), fixed by design so that
            scores can be corrected for errors: all, or those that can still make a run's C@1, C@5 or C@10.
            [default: the campaign's]
        sample: Ask only N of the addresses, drawn at random, whether they answer; 0: none, where this
            machine cannot reach what annotators can. [default: all of what is sent]
        replace: Make another project for what has no answer yet where one that this workspace made is gone.
        dry_run: Show who would judge how much, and send nothing.
    """
    root = needed_workspace().root
    begun = Rounds(root)
    latest = begun[-1].carrier if begun and begun[-1].carrier != BY_HAND else BY_SERVER
    named, carrier = carrier, carrier or latest
    if carrier == BY_HAND:
        raise UsageError("files are handed out by `fire-toolkit tasks --annotator A,B`")
    if carrier != BY_SERVER:
        carrier_of(carrier, root)  # there is one of that name
    rules = guideline_here(tasks=tasks)
    check_policy(root, policy)
    campaign = campaign_of(root, rules)
    if not dry_run:
        take_earlier_exports(root)
    rules = dataclasses.replace(rules, label_config=campaign.label_config)
    inputs = Given({"annotators": annotators, "training": training, "controls": controls})
    entries, renewed = _rounds_to_push(inputs, tasks, rules, begun, carrier, named=named)
    changed = [*renewed, *(with_moves(root, entry) for entry in entries)]
    rounds = sorted({entry.number: entry for entry in (*begun, *changed)}.values(), key=lambda e: e.number)
    if dry_run:
        _say_loads(root, rounds, as_json=as_json)
        return
    whole = Carried(campaign, rounds, rules, root / STORE)
    others = sorted({entry.carrier for entry in rounds} - {BY_HAND, BY_SERVER})
    unread = partial(not_read_yet, root, named_files("import", "exports"))
    on_server = rounds_on_server(whole, begun, {entry.number for entry in entries}, unread)
    if sample != 0:
        _refuse_gone([entry for entry in changed if entry.carrier == BY_PAGE], rules)
    begins = partial(begin, root, campaign, changed)
    plans, connection = list[Plan](), used_connection() if on_server or not others else None
    if connection:
        refuse_unshowable((entry for entry in changed if entry.carrier == BY_SERVER), rules)
        server = dataclasses.replace(whole, rounds=on_server)
        plans = _by_server(server, connection, begins, sample=sample, replaces=replace)
    else:
        begins()
    gone = there.retired if (there := begun_here()) else set()
    if connection:
        _say_pushed(plans, connection, gone, as_json=as_json)
    by_others = [each for name in others for each in _deliver(name, root, whole, gone)]
    _note_pushed(root, inputs, [*plans, *by_others])
    if plans and connection and sample != 0:
        refuse_hidden(plans, connection, rules)
    record_design(root, policy)
    say("while they judge: fire-toolkit progress")
    say_following()


def _rounds_to_push(
    inputs: Given,
    tasks: Path | None,
    rules: Guideline,
    begun: Sequence[Round],
    carrier: str,
    *,
    named: str | None,
) -> tuple[list[Round], list[Round]]:
    """Return the rounds that begin, and those whose tasks were made again with other captions or addresses.

    tasks: a file that is named; named: the carrier, if it is.
    """
    root, values = needed_workspace().root, inputs.values
    files = {number: relative_path(path) for number, path in handed_out(root).items()}
    pushed = manifest_of(root / FOLDER)
    new: list[Path] | Round = [tasks] if tasks else []
    if not tasks:
        new = what_begins(
            begun,
            files,
            relative_path(tasks_file(root, 1)),
            carrier=named,
            people=loads_of(values["annotators"]),
            adds=bool(values["training"] or values["controls"]),
            sent=pushed.parameters.get("given", {}),
        )
    if isinstance(new, Round):
        say(f"note: round {new.number} goes by {carrier} in the place of {new.carrier}")
        n_captions = new.n_captions if carrier in (BY_PAGE, BY_SERVER) else 1
        entries = [dataclasses.replace(new, carrier=carrier, n_captions=n_captions)]
    else:
        entries = [_drawn(file, inputs, rules, begun, carrier) for file in new]
    hashes = {n: pushed.inputs.get(name_in_manifest(path)) for n, path in files.items()}
    corrected = [entry for entry in begun if entry.carrier in CORRECTED]
    made = {n: path for n, path in files.items() if hashes[n] != sha256_of(path)}
    renewed, used, notes = renewed_rounds(corrected, made, rules)
    say_notes(notes)
    for file in used:
        inputs.use(file)
    return entries, renewed


def _drawn(tasks: Path, inputs: Given, rules: Guideline, begun: Sequence[Round], carrier: str) -> Round:
    """Return the round of a file of tasks, as annotators, training and controls that were given make it."""
    file = inputs.use(tasks)
    asked = read_task_files(file, rules)
    if (overlap := overlap_file(file)).is_file():
        inputs.use(overlap)
    number = int(asked["round"].max()) if len(asked) else 1
    root, judged = needed_workspace().root, made_file("judgments/judgments.csv")
    handed, is_new = handed_out_here(root), all(each.number != number for each in begun)
    if is_new:
        since = judged_pairs(judged, since=number)[0] if judged is not None else None
        n_asked, asked = len(asked), still_to_give(asked, number, since, handed, file)
        if n := n_asked - len(asked):
            words = "their pairs were judged since the tasks were made, or a later round asks them"
            say(f"note: {n_of(n, 'task')} left out: {words}")
    taught = known = answers = None
    if inputs.values["training"]:
        taught = read_task_files(inputs.use(inputs.values["training"]), rules, with_overlap=False)
    if inputs.values["controls"]:
        qrels = read_qrels(inputs.use(inputs.values["controls"]))  # −1: no answer is known
        answers = check_qrels(qrels[qrels["relevance"] >= 0])
        known = shown_tasks(inputs, check_pool(answers[PAIR]), rules, by_hand=False, overlap=0)
    campaign = begun_here()
    before = handed_to(campaign) if campaign and campaign.latest_carrier == carrier else []
    loads = loads_of(inputs.values["annotators"] or before) or active_annotators(campaign)
    refuse_retired(loads, number)
    if carrier == BY_PAGE:
        refuse_file_names(loads, campaign.people if campaign else ())  # `page write` makes a folder for each
    n_captions: Any = 1  # of an item on a page, as `tasks` drew them; a plug-in's carrier has one
    if carrier in (BY_PAGE, BY_SERVER) and not rules.is_of_queries:
        n_captions = manifest_of(tasks).parameters.get("captions")
    with Store.at(root / STORE) as store:
        drawn = first_round(
            number,
            asked,
            loads,
            training=taught,
            controls=known,
            answers=answers,
            store=store,
            n_captions=int(n_captions or setting_or_default(None, "tasks", "captions")),
            seed=int(setting_or_default(None, "tasks", "seed")),
        )
    return dataclasses.replace(drawn, carrier=carrier)


def _refuse_gone(shown: Sequence[Round], rules: Guideline) -> None:
    """Refuse rounds of our own page that show an item which is not there."""
    if not shown:
        return
    from fire_toolkit.cli.page import media_files
    from fire_toolkit.pages.office import missing_media

    if missing := missing_media(shown, rules, media_files(), own_media().base_here):
        n_tasks = sum(int(entry.tasks["media_url"].isin(missing).sum()) for entry in shown)
        words = f"{n_of(len(missing), 'item')} of {n_of(n_tasks, 'task')} not there ({first_three(missing)})"
        raise FireError(f"{words}; {UNSEEN}; put the files where media_url says, from {media_root()}")


def _by_server(
    carried: Carried,
    connection: Connection,
    begins: Callable[[], None],
    *,
    sample: int | None,
    replaces: bool,
) -> list[Plan]:
    """Push to the server; nothing is written here or there before media answer."""

    def ready(plans: Sequence[Plan]) -> None:
        with metered("media asked", None) as meter:
            notes = reach_items(plans, connection, carried.guideline, sample=sample, report=meter)
        say_notes(notes)
        begins()

    server = LabelStudio(connection, carried.store.parent, replaces=replaces, ready=ready)
    with metered("tasks", sum(len(entry.assignments) for entry in carried.rounds)) as meter:
        return server.deliver(carried, report=meter)


def _deliver(name: str, root: Path, whole: Carried, gone: set[str]) -> Sequence[Delivered]:
    """Give out the rounds of a carrier that is no server, and say where each queue is.

    gone: who will answer no more, and is told no place to answer at.
    """
    own = dataclasses.replace(whole, rounds=[entry for entry in whole.rounds if entry.carrier == name])
    carrier = carrier_of(name, root)
    given, places = carrier.deliver(own), carrier.where(own)
    for entry in given:
        if entry.queue.annotator_id in gone and not entry.n_added:
            continue
        added = f"{n_of(entry.n_added, 'task')} added, {entry.n_there:,} there before"
        added = added if entry.n_added else f"{n_of(entry.n_there, 'task')} there"
        say(f"for {entry.queue.annotator_id}, by {name}: {places.get(entry.queue, 'nowhere')}, {added}")
    return given


def _note_pushed(root: Path, inputs: Given, pushed: Sequence[Delivered]) -> None:
    """Write down which rounds are on the server and what they were drawn from, for `status`."""
    inputs.hashes = {**manifest_of(root / FOLDER).inputs, **inputs.hashes}
    counts = {
        "tasks": sum(entry.n_there + entry.n_added for entry in pushed),
        "projects": sum(bool(entry.project) if isinstance(entry, Plan) else 1 for entry in pushed),
        "held": sum(entry.n_held for entry in pushed),
    }
    given = {str(number): n for number, n in given_by_round(root).items()}
    inputs.write(relative_path(root / FOLDER), {}, "push", {"given": given}, counts)


def _say_loads(root: Path, rounds: Sequence[Round], *, as_json: bool) -> None:
    """Say how many tasks each annotator would get in each round, and how long they take."""
    with Store.at(root / STORE) as store:
        seconds = judgment_seconds(store)
    is_timed, rows = not math.isnan(seconds), list[dict[str, Any]]()
    for entry in rounds:
        for name, kinds in load_of(entry).items():
            n = sum(kinds.values())
            row = {"annotator": name, "round": str(entry.number), **kinds, "all": n}
            rows.append({**row, "hours": n * seconds / 3600 if is_timed else None})
    if as_json:
        click.echo(json.dumps(rows))
        return
    header = ["annotator", "round", *sorted({*chain(*rows)} - {"annotator", "round", "all", "hours"}), "all"]
    cells = [[f"{row.get(key, 0):,}" if key in header[2:] else row[key] for key in header] for row in rows]
    hours = [f"{row['hours']:.1f}" if is_timed else "" for row in rows]
    shown = [[*own, each] for own, each in zip(cells, hours, strict=True)]
    draw_rows(shown, [*header, "hours"])
    n_tasks = sum(row["all"] for row in rows)
    timed = "; no judgment was timed yet, so hours are not known"
    if is_timed:
        timed = f", {n_tasks * seconds / 3600:,.1f} hours at {seconds:.1f} s a judgment"
    say(n_of(n_tasks, "task") + timed)
    say("nothing was sent")


def _say_pushed(
    pushed: Sequence[Plan], connection: Connection, retired: Collection[str], *, as_json: bool
) -> None:
    """Say what was added and updated, what each annotator opens, and what on the server should not be."""
    counts: dict[str, Any] = {
        "projects": sum(bool(plan.project) for plan in pushed),
        "added": sum(plan.n_added for plan in pushed),
        "there": sum(plan.n_there for plan in pushed),
        "updated": sum(len(plan.changed) for plan in pushed),
        "held": sum(plan.n_held for plan in pushed),
        "duplicates": sum(len(plan.duplicates) for plan in pushed),
        "foreign": sum(plan.n_foreign for plan in pushed),
    }
    updated = f" ({counts['updated']:,} of them updated)" if counts["updated"] else ""
    words = (
        f"{n_of(counts['added'], 'task')} added, {counts['there']:,} there before{updated}, "
        f"in {n_of(counts['projects'], 'project')}"
    )
    open_to = [entry for entry in pushed if entry.project and entry.queue.annotator_id not in retired]
    pages = {str(entry.queue): connection.labeling_page(entry.project) for entry in open_to}
    Given({"as_json": as_json}).summarise({**counts, "pages": pages}, words)
    for entry in open_to:
        say(f"{entry.queue.annotator_id} opens {pages[str(entry.queue)]}")
    for entry in pushed:
        for note in entry.notes:
            say(f"note: project {entry.project} ({entry.queue}): {note}")
