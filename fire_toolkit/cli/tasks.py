"""`tasks`: a pool as tasks of Label Studio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from click.core import ParameterSource

from fire_toolkit.campaign.asking import in_free_round, never_asked, not_judged, refuse_unseen, round_of_pairs
from fire_toolkit.campaign.beginning import begin, campaign_of, check_policy
from fire_toolkit.campaign.queues import MOST_CAPTIONS
from fire_toolkit.campaign.records import BY_HAND, CORRECTED, Round, refuse_other_round
from fire_toolkit.campaign.rounds import first_round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_files import (
    drawn_with,
    handed_out_here,
    kept_files,
    overlap_file,
    renewed_files,
    task_texts,
)
from fire_toolkit.cli.campaigns import (
    ON_A_SERVER,
    begun_here,
    handed_to,
    knows_server,
    loads_of,
    names_of,
    record_design,
    refuse_retired,
)
from fire_toolkit.cli.common import Range, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import current_workspace, say_next, setting_or_default, workspace_lock
from fire_toolkit.cli.media import shown_tasks
from fire_toolkit.cli.pull import take_earlier_exports
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.folder.carrier import queue_files, refuse_file_names
from fire_toolkit.formats.tables.guideline_files import guideline_name
from fire_toolkit.formats.tables.table_files import judged_pairs, read_pool
from fire_toolkit.matching.own_items import own_items_of, without_own_pairs
from fire_toolkit.media.places import file_at
from fire_toolkit.pooling.pool import pairs_to_ask
from fire_toolkit.tables import Pool, Tasks
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import checked, manifest_of
from fire_toolkit.workspace.rounds import carrier_of_tasks, refuse_lost_record, tasks_file

_File = Annotated[str | None, Option(metavar="FILE")]


def tasks(
    pool: Annotated[str | None, Option(is_argument=True)] = None,
    *,
    queries: _File = None,
    items: _File = None,
    guideline: Annotated[str | None, Option(metavar="NAME")] = None,
    overlap: Annotated[float, Range(0, 1), Option(setting=("tasks", "overlap"))] = 0.1,
    captions: Annotated[int, click.IntRange(1, MOST_CAPTIONS), Option(setting=("tasks", "captions"))] = 1,
    seed: Annotated[int, Option(setting=("tasks", "seed"))] = 0,
    annotators: Annotated[Sequence[str], Option(("--annotator",), metavar="A,B,C=LOAD", parse=names_of)] = (),
    policy: Literal["verify-positives", "until-confirmed"] | None = None,
    out: _File = None,
    as_json: bool,
) -> None:
    """Turn a pool (folder or pool.csv) into blind Label Studio tasks.

    Annotators see caption and item only. The order is shuffled with the seed. Pairs drawn for a
    second judgment are repeated in a second file, for another annotator's project.

    Only new pairs are asked: those of the pool's latest round that are not judged and, in a workspace, were
    not handed out before. Files that were handed out are never overwritten: each round has its own folder.

    Args:
        pool: The pool, or its folder.
        queries: The queries: query_id, text and, of composed ones, reference.
        items: The items: a table with doc_id and media_url.
        guideline: A guideline's name or folder. [default: caption-relevance-v1]
        overlap: Share of pairs that get a second judgment.
        captions: Captions of one item on a page: the doubled pairs and queues are drawn by page (1: by pair).
        seed: Seed of the order and of the doubled pairs.
        annotators: Also write a file and a sheet for each person, in the queues that `push` would give (a
            LOAD of 2: twice the tasks): a campaign by hand.
        policy: Which positives get a second vote (and a third where the two differ), fixed by design so that
            scores can be corrected for errors: all, or those that can still make a run's C@1, C@5 or C@10.
            [default: the campaign's]
        out: The tasks; those of doubled pairs go to FILE's .overlap.json. [default: tasks/tasks.json, of
            later rounds tasks/round-N/tasks.json]
    """
    judged_by = guideline or str(setting_or_default(None, "tasks", "guideline"))  # not by earlier tasks
    named = {"pool": pool, "queries": queries, "items": items, "guideline": judged_by, "out": out}
    if policy and not (annotators and current_workspace()):
        raise click.UsageError(
            "--policy is for a campaign in a workspace: with --annotator, or `push --policy`"
        )
    options: dict[str, Any] = {"overlap": overlap, "n_captions": captions, "seed": seed}
    with workspace_lock():
        _make(Given({**named, "as_json": as_json}), annotators, policy, options)


def _make(given: Given, people: Sequence[str], policy: str | None, options: dict[str, Any]) -> None:
    """Write the tasks, and begin a round by hand where people are named."""
    workspace = current_workspace()
    if workspace:
        refuse_lost_record(workspace.root, by_hand=False)
        check_policy(workspace.root, policy)
    campaign = campaign_of(workspace.root, given.guideline) if workspace and not given.values["out"] else None
    (asked, file, n_left), rules = _what_to_ask(given), given.guideline
    carrier = carrier_of_tasks(workspace.root, file) if workspace else ""
    options |= _as_drawn(file) if carrier in CORRECTED else {}
    left_out = f"{n_of(n_left, 'pair')} judged or asked before left out"
    made = _made(given, asked, is_by_hand=bool(people) or carrier == BY_HAND, options=options)
    counts = {name: int((made["batch"] == batch).sum()) for batch, name in ((1, "tasks"), (2, "doubled"))}
    if not counts["tasks"] and (n_left or workspace):
        given.summarise(counts, f"nothing to ask: {left_out if n_left else 'the pool has no pairs'}")
        return
    texts = task_texts(made, file, rules)
    entry = _drawn(given, made, people, options) if people else None
    own = queue_files(entry, rules, stem=file.name.removesuffix(".json")) if entry else {}
    for files in own.values():
        texts |= files
    parameters = {**rules.record, "overlap": options["overlap"], "seed": options["seed"]}
    parameters |= {"captions": options["n_captions"]} if options["n_captions"] > 1 else {}
    texts, has_changed = kept_files(file, texts, carrier=carrier)
    make = partial(_made, given, is_by_hand=False)
    for at, changed, manifest in (
        renewed_files(workspace.root, file, rules, make) if workspace and campaign else ()
    ):
        given.write(at, changed, "tasks", manifest.parameters, manifest.counts)
        has_changed = True
    if has_changed:
        say("note: captions or addresses have changed; `push` updates tasks that nobody has answered")
    if entry and workspace and campaign:
        refuse_other_round(workspace.root, entry)
        refuse_retired(entry.assignments["annotator_id"], entry.number)
        guideline_name(workspace, rules.name)  # one that other commands will find
    given.write(file, texts, "tasks", parameters, counts)
    if entry and workspace and campaign:
        begin(workspace.root, campaign, [entry])
        record_design(workspace.root, policy)
    again = f"; {counts['doubled']:,} of them again in {overlap_file(file)}, for a second annotator"
    words = "nothing new to ask; handed out before: " if carrier else ""
    words += f"{n_of(counts['tasks'], 'task')} in {file}" + (again if counts["doubled"] else "")
    given.summarise(counts, f"{words}; {left_out}" if n_left else words)
    if rules.shows_media:
        _warn_of_unshown(made)
    if entry:
        loads = zip(own.values(), entry.assignments["annotator_id"].value_counts(sort=False), strict=True)
        named = ", ".join(f"{file.with_name(next(iter(files)))} ({n:,})" for files, n in loads)
        say(f"for each person: {named}; together they are {file.name} and its .overlap.json")
        beside = "each beside a .csv to fill in without Label Studio"
        say(f"{beside}; what comes back goes into exports/, so named")
    say(f"labeling config: {rules.name}/label_config.xml (see `fire-toolkit guideline {rules.name}`)")
    begun = begun_here()
    if begun and begun.latest_carrier == BY_HAND and not entry and not carrier:
        say("to hand them out as files too, as the rounds before:")
        say_next(f"tasks --annotator {','.join(handed_to(begun))}")
        return
    if workspace and not begun and not knows_server():
        say(ON_A_SERVER)
    say_following("import", "EXPORT.json --out judgments.csv")


def _drawn(given: Given, made: Tasks, people: Sequence[str], options: dict[str, Any]) -> Round:
    """Return the round by hand of the people named."""
    begun = begun_here()
    refuse_file_names(loads := loads_of(people), begun.people if begun else ())
    draw = partial(first_round, round_of_pairs(made), made, loads)
    size = {"n_captions": options["n_captions"], "seed": options["seed"]}
    if (workspace := current_workspace()) is None or given.values["out"]:
        return replace(draw(**size), carrier=BY_HAND)
    take_earlier_exports(workspace.root)
    with Store.at(workspace.root / STORE) as store:
        return replace(draw(**size, store=store), carrier=BY_HAND)


def _what_to_ask(given: Given) -> tuple[Pool, Path, int]:
    """Return the pairs to ask, the file for their tasks, and how many pairs of the pool are not asked.

    Of the workspace's own pool these are the pairs that nobody was handed and nobody judged.
    Each round of a workspace has a file of its own. Where nothing is left, the latest round is made again.
    """
    workspace, out = current_workspace(), given.values["out"]
    root = workspace.root if workspace else Path()
    if given.guideline.is_of_queries:
        pooled, is_own = given.queries_alone, workspace is not None and not out
    else:
        file = given.needed("pool")
        pooled = read_pool(given.use(file))
        is_own = workspace is not None and file.resolve() == (root / "pool" / "pool.csv").resolve()
    path = root / "judgments" / "judgments.csv"
    judged = judged_pairs(checked(path))[0] if is_own and path.is_file() else None
    if is_own and not out:
        pairs = never_asked(pooled, judged, handed_out_here(root))
    elif given.guideline.is_of_queries:
        pairs = pooled
    else:
        pairs = pairs_to_ask(pooled)
        pairs = not_judged(pairs, judged) if is_own else pairs
        pairs = in_free_round(pairs, handed_out_here(root)) if workspace and not out else pairs
    place = str(tasks_file(root, round_of_pairs(pairs))) if workspace else None
    return pairs, given.out(place), len(pooled) - len(pairs)


def _as_drawn(file: Path) -> dict[str, Any]:
    """Return the options that a round's tasks were drawn with, but for those that are given."""
    source = click.get_current_context().get_parameter_source
    return {
        name: value
        for name, value in drawn_with(manifest_of(file)).items()
        if source(name.removeprefix("n_")) is not ParameterSource.COMMANDLINE
    }


def _made(given: Given, asked: Pool, *, is_by_hand: bool, options: dict[str, Any]) -> Tasks:
    """Return the tasks of pairs that are no query's own item."""
    own_items = own_items_of(given.queries)
    if own_items and given.guideline.is_of_queries:
        say("warning: composed queries: people judge the text alone, without the reference that it changes")
    pairs = without_own_pairs(asked, own_items)
    if n_own := len(asked) - len(pairs):
        say(f"note: {n_of(n_own, 'pair')} of a query and its own item left out: nobody is asked about it")
    made = shown_tasks(given, pairs, given.guideline, by_hand=is_by_hand, **options)
    refuse_unseen(made, given.queries, given.items_if_any, given.guideline)
    return made


def _warn_of_unshown(made: Tasks) -> None:
    """Say which media_url of the tasks are ids or paths on this machine."""
    urls = made["media_url"].unique()
    bad = [url for url in urls if not url or file_at(url, Path())]
    if bad:
        shown = ", ".join(map(repr, bad[:3])) + (", …" if len(bad) > 3 else "")
        words = f"{len(bad):,} of {n_of(len(urls), 'item')} have no URL as media_url ({shown})"
        paths = "`media serve` gives files addresses, and our own page shows them as they are"
        say(f"warning: {words}: {paths}; for ids give --items a table with doc_id and media_url")
