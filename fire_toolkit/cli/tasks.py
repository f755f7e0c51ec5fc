"""`tasks`: a pool as tasks of Label Studio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.records import Campaign, Round, refuse_other_round
from fire_toolkit.campaign.task_files import overlap_file
from fire_toolkit.campaign.task_json import task_lines
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.asking import Asked, by_hand, kept, refuse_texts_unseen, warn_of_unshown, what_to_ask
from fire_toolkit.cli.campaigns import begin, begun_here, campaign_of, handed_to, loads_of
from fire_toolkit.cli.common import (
    Range,
    current_workspace,
    json_option,
    n_of,
    say,
    say_next,
    setting_or_default,
)
from fire_toolkit.cli.designs import check_policy, policy_option, record_design
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.media_links import with_addresses
from fire_toolkit.cli.options import annotator_option, captions_option, reads
from fire_toolkit.cli.server_options import ON_A_SERVER, knows_server
from fire_toolkit.folder.carrier import queue_files
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.matching.own_items import own_items_of, without_own_pairs
from fire_toolkit.tables import Pool, Queries


@click.command()
@click.argument("pool", required=False)
@reads("queries", "items")
@click.option(
    "--guideline", metavar="NAME", help="A guideline's name or folder. [default: caption-relevance-v1]"
)
@click.option("--overlap", type=Range(0, 1), help="Share of pairs that get a second judgment. [default: 0.1]")
@captions_option
@click.option("--seed", type=int, help="Seed of the order and of the doubled pairs. [default: 0]")
@annotator_option(
    "A,B,C=LOAD",
    "Also write a file and a sheet for each person, in the queues that `push` would give (a LOAD of 2: twice "
    "the tasks): a campaign by hand.",
)
@policy_option
@click.option(
    "--out",
    metavar="FILE",
    help="The tasks; those of doubled pairs go to FILE's .overlap.json. [default: tasks/tasks.json, of later "
    "rounds tasks/round-N/tasks.json]",
)
@json_option
@writes_workspace
def tasks(
    given: Given, overlap: float | None, captions: int | None, annotators: tuple[str, ...], policy: str | None
) -> None:
    """Turn a pool (folder or pool.csv) into blind Label Studio tasks.

    Annotators see caption and item only. The order is shuffled with the seed. Pairs drawn for a
    second judgment are repeated in a second file, for another annotator's project.

    Only new pairs are asked: those of the pool's latest round that are not judged and, in a workspace, were
    not handed out before. Files that were handed out are never overwritten: each round has its own folder.
    """
    workspace = current_workspace()
    if policy and (workspace is None or not annotators):
        raise click.UsageError(
            "--policy is for a campaign in a workspace: with --annotator, or `push --policy`"
        )
    if workspace:
        check_policy(workspace.root, policy)
    asked = what_to_ask(given)
    file, rules = asked.file, given.guideline
    queries, items = given.queries, given.items_if_any
    share = float(setting_or_default(overlap, "tasks", "overlap"))
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    pairs = _without_own_items(asked.pairs, queries)
    if not annotators:  # who watches files by hand finds them by their paths
        queries = with_addresses(queries, set(pairs["query_id"]))
        shown = {*pairs["doc_id"], *(own_items_of(queries).values() if rules.shows_reference else ())}
        items = with_addresses(items, shown) if items is not None else None
    size = int(setting_or_default(captions, "tasks", "captions"))
    options: dict[str, Any] = {"overlap": share, "n_captions": size, "seed": seed}
    made = make_tasks(pairs, queries, items=items, guideline=rules, **options)
    if rules.shows_media:
        refuse_texts_unseen(made, items, rules)
    counts = {name: int((made["batch"] == batch).sum()) for batch, name in ((1, "tasks"), (2, "doubled"))}
    if not counts["tasks"] and asked.n_left:
        given.summarise(counts, f"nothing to ask: {_left_out(asked.n_left)}")
        return
    stem = file.name.removesuffix(".json")
    names = {1: file.name, 2: f"{stem}.overlap.json"}
    texts = {names[batch]: lines for batch, lines in task_lines(made, rules).items()}
    entry = by_hand(made, loads_of(annotators), size, seed) if annotators else None
    own = queue_files(entry, rules, stem=stem) if entry else {}
    for files in own.values():
        texts |= files
    parameters = {**rules.record, "overlap": share, "seed": seed} | ({"captions": size} if size > 1 else {})
    texts = kept(file, texts)
    begins = None if given.values["out"] else _campaign_for(entry, rules)
    given.write(file, texts, "tasks", parameters, counts)
    if entry and begins:
        begin(*begins, [entry])
        record_design(begins[0], policy)
    given.summarise(counts, _words(counts, asked))
    if rules.shows_media:
        warn_of_unshown(made)
    if entry:
        _say_files(entry, [file.with_name(next(iter(files))) for files in own.values()], file)
    say(f"labeling config: {rules.name}/label_config.xml (see `fire-toolkit guideline {rules.name}`)")
    _say_next_of_tasks(is_handed_out=entry is not None)


def _words(counts: Mapping[str, int], asked: Asked) -> str:
    words = f"{n_of(counts['tasks'], 'task')} in {asked.file}"
    if counts["doubled"]:
        second = overlap_file(asked.file)
        words += f"; {counts['doubled']:,} of them again in {second}, for a second annotator"
    if asked.n_left:
        words += f"; {_left_out(asked.n_left)}"
    return words


def _without_own_items(pairs: Pool, queries: Queries) -> Pool:
    """Return the pairs without those of a query and its own item, and say how many these were."""
    kept_pairs = without_own_pairs(pairs, own_items_of(queries))
    if n_own := len(pairs) - len(kept_pairs):
        say(f"note: {n_of(n_own, 'pair')} of a query and its own item left out: nobody is asked about it")
    return kept_pairs


def _left_out(n_pairs: int) -> str:
    return f"{n_of(n_pairs, 'pair')} judged or asked before left out"


def _campaign_for(entry: Round | None, rules: Guideline) -> tuple[Path, Campaign] | None:
    """Return workspace and campaign in which a round by hand is about to begin; None where none is.

    Raises:
        UsageError: another round of its number has begun, or a campaign with another page.
    """
    workspace = current_workspace()
    if entry is None or workspace is None:
        return None
    refuse_other_round(workspace.root, entry)
    return workspace.root, campaign_of(workspace.root, rules)


def _say_files(entry: Round, files: Sequence[Path], file: Path) -> None:
    loads = entry.assignments["annotator_id"].value_counts(sort=False)
    named = (f"{path} ({n:,})" for path, n in zip(files, loads, strict=True))
    say(f"for each person: {', '.join(named)}; together they are {file.name} and its .overlap.json")
    say("each beside a .csv to fill in without Label Studio; what comes back goes into exports/, so named")


def _say_next_of_tasks(*, is_handed_out: bool) -> None:
    campaign = begun_here()
    if campaign and campaign.is_by_hand and not is_handed_out:
        say("to hand them out as files too, as the rounds before:")
        say_next(f"tasks --annotator {','.join(handed_to(campaign))}")
    elif not campaign.is_by_hand if campaign else current_workspace() and knows_server():
        say_next("push")
    else:
        if current_workspace() and not campaign:
            say(ON_A_SERVER)
        say_next("import", "EXPORT.json --out judgments.csv")
