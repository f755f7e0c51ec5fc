"""`tasks` and `import`: a pool to Label Studio tasks, its exports to judgments."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fire_toolkit.agreement.votes import unit_codes
from fire_toolkit.campaign.records import Campaign, Round, refuse_other_round
from fire_toolkit.campaign.task_files import overlap_file
from fire_toolkit.campaign.task_json import task_lines
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.campaign.votes import judgments_from_export, parse_export
from fire_toolkit.cli.asking import Asked, by_hand, kept, warn_of_unshown, what_to_ask
from fire_toolkit.cli.campaigns import begin, begun_here, campaign_of, loads_of
from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    chosen_path,
    here,
    json_option,
    n_of,
    say,
    say_next,
    shown,
    summarise,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.fetching import derive_judgments, read_files
from fire_toolkit.cli.judged_files import latest_round
from fire_toolkit.errors import UsageError
from fire_toolkit.files import read_text
from fire_toolkit.folder.carrier import queue_files
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.formats.tables.table_files import read_items, read_queries
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.matching.own_items import own_items_of, without_own_pairs
from fire_toolkit.tables import Pool, Queries


@click.command()
@click.argument("pool", required=False)
@click.option("--queries", metavar="FILE", help="Queries: CSV or TSV with query_id and text.")
@click.option("--items", metavar="FILE", help="Items: CSV or TSV with doc_id and media_url.")
@click.option(
    "--guideline", metavar="NAME", help="A guideline's name or folder. [default: caption-relevance-v1]"
)
@click.option(
    "--overlap", type=click.FloatRange(0, 1), help="Share of pairs that get a second judgment. [default: 0.1]"
)
@click.option("--seed", type=int, help="Seed of the order and of the doubled pairs. [default: 0]")
@click.option(
    "--annotators",
    metavar="A,B,C",
    help="Also a file and a sheet for each person, in the queues that `push` would give (NAME=2: twice the "
    "tasks): a campaign by hand.",
)
@click.option(
    "--out",
    metavar="FILE",
    help="The tasks; those of doubled pairs go to FILE's .overlap.json. [default: tasks/tasks.json, of later "
    "rounds tasks/round-N/tasks.json]",
)
@json_option
def tasks(
    pool: str | None,
    queries: str | None,
    items: str | None,
    guideline: str | None,
    overlap: float | None,
    seed: int | None,
    annotators: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Turn a pool (folder or pool.csv) into Label Studio tasks that tell nothing of their origin.

    An annotator sees caption and item only. The order is shuffled with the seed. Pairs drawn for a
    second judgment stand once more in a file of their own, for another annotator's project.

    Only what is new is asked: pairs of the pool's latest round that are not judged; in a workspace, those
    that were not handed out either. What was handed out is never written over: each round has its own place.
    """
    inputs = Inputs()
    asked = what_to_ask(pool, out, inputs)
    file = asked.file
    captions = read_queries(inputs.use(chosen_path(queries, _from_workspace("queries"), "--queries")))
    items_file = items or _from_workspace("items")
    rules = read_guideline(chosen(guideline, "tasks", "guideline"))
    share, seed = float(chosen(overlap, "tasks", "overlap")), int(chosen(seed, "tasks", "seed"))
    made = make_tasks(
        _without_own_items(asked.pairs, captions),
        captions,
        items=read_items(inputs.use(items_file)) if items_file else None,
        guideline=rules,
        overlap=share,
        seed=seed,
    )
    counts = {name: int((made["batch"] == batch).sum()) for batch, name in ((1, "tasks"), (2, "doubled"))}
    if not counts["tasks"] and asked.n_left:
        summarise(counts, f"nothing to ask: {_left_out(asked.n_left)}", as_json=as_json)
        return
    stem = file.name.removesuffix(".json")
    names = {1: file.name, 2: f"{stem}.overlap.json"}
    texts = {names[batch]: lines for batch, lines in task_lines(made, rules).items()}
    entry = by_hand(made, loads_of(annotators.split(",")), seed) if annotators else None
    own = queue_files(entry, rules, stem=stem) if entry else {}
    for files in own.values():
        texts |= files
    parameters = {"guideline": rules.name, "guideline_sha256": rules.sha256, "overlap": share, "seed": seed}
    texts = texts if out else kept(file, texts)
    begins = None if out else _campaign_for(entry, rules)
    write_outputs(file, texts, stage="tasks", parameters=parameters, inputs=inputs, counts=counts)
    if entry and begins:
        begin(*begins, [entry])
    summarise(counts, _words(counts, asked), as_json=as_json)
    warn_of_unshown(made)
    if entry:
        _say_files(entry, [file.with_name(next(iter(files))) for files in own.values()], file)
    say(f"labeling config: {rules.name}/label_config.xml (see `fire-toolkit guideline {rules.name}`)")
    _say_next_of_tasks()


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
    workspace = here()
    if entry is None or workspace is None:
        return None
    refuse_other_round(workspace.root, entry)
    return workspace.root, campaign_of(workspace.root, rules)


def _say_files(entry: Round, files: Sequence[Path], file: Path) -> None:
    loads = entry.assignments["annotator_id"].value_counts(sort=False)
    named = (f"{path} ({n:,})" for path, n in zip(files, loads, strict=True))
    say(f"for each person: {', '.join(named)}; together they are {file.name} and its .overlap.json")
    say("each beside a .csv to fill in without Label Studio; what comes back goes into exports/, so named")


def _say_next_of_tasks() -> None:
    campaign = begun_here()
    if campaign and not campaign.is_by_hand:
        say_next("push")
    else:
        say_next("import", "EXPORT.json --out judgments.csv")


def _from_workspace(key: str) -> Path | None:
    workspace = here()
    path = workspace.path("collection", key) if workspace else None
    return shown(path) if path else None


@click.command()
@click.argument("name", required=False)
@click.option(
    "--part",
    type=click.Choice(["text", "config", "labels"]),
    default="text",
    help="What to print: the text for annotators, the labeling config, or the labels.",
)
def guideline(name: str | None, part: str) -> None:
    """Print a guideline: the text for annotators or the labeling config to paste into Label Studio."""
    if name is None:
        click.echo("\n".join(list_guidelines()))
        return
    rules = read_guideline(name)
    if part == "labels":
        lines = [f"{label.name}\t{label.relevance}\t{label.description}" for label in rules.labels]
        click.echo("\n".join(["label\trelevance\tdescription", *lines]))
        return
    click.echo(rules.text if part == "text" else rules.label_config, nl=False)


@click.command(name="import")
@click.argument("exports", nargs=-1, metavar="EXPORT...")
@click.option("--guideline", metavar="NAME", help="The guideline judged by. [default: caption-relevance-v1]")
@click.option("--out", metavar="FILE", help="The judgments (CSV); dropped.csv is written beside it.")
@json_option
def import_(exports: tuple[str, ...], guideline: str | None, out: str | None, as_json: bool) -> None:
    """Turn Label Studio's JSON exports into judgments, one for each annotator and pair.

    In a campaign (begun by `tasks --annotators` or `push`) answers go into its ledger, and judgments are
    made from that: a file read twice doubles nothing, and sheets (CSV) that were filled in by hand are read
    too. Whose answers a file holds, its name says (tasks.A01.json), or the queue that they are from.

    What is no judgment (skips, drafts, answers that a later one replaced) goes to dropped.csv with
    its reason. Export as JSON: JSON_MIN and CSV leave out skips and who answered what.
    """
    file = chosen_path(out, workspace_path("judgments/judgments.csv"), "--out")
    inputs = Inputs()
    paths = list(map(Path, exports)) or workspace_exports()
    if not paths:
        raise click.UsageError("Missing argument 'EXPORT.json...': no export given.")
    campaign = None if out else begun_here()
    if campaign:
        if guideline:
            campaign_of(campaign.root, read_guideline(guideline))  # refuses another page than the campaign's
        files = Inputs()
        paths = [files.use(_came_back(path, campaign.root)) for path in dict.fromkeys(paths)]
        with _without_collection():
            added = read_files(campaign.root, paths)
            derive_judgments(campaign.root, added, stage="import", exports=files, as_json=as_json)
        say_next("agree")
        return
    rules = read_guideline(chosen(guideline, "tasks", "guideline"))
    parsed = ((str(path), parse_export(read_text(inputs.use(path)), where=str(path))) for path in paths)
    with _without_collection():
        result = judgments_from_export(parsed, guideline=rules)
    texts = {file.name: delimited_bytes(result.judgments), "dropped.csv": delimited_bytes(result.dropped)}
    reasons = result.dropped["reason"].value_counts().sort_index()
    dropped = {str(reason): int(n) for reason, n in reasons.items()}
    counts: dict[str, Any] = {
        "judgments": len(result.judgments),
        "pairs": int(unit_codes(result.judgments).max(initial=-1)) + 1,
        "annotators": int(result.judgments["annotator_id"].nunique()),
        "dropped": dropped,
    }
    counts |= latest_round(result.judgments)
    parameters = {"guideline": rules.name, "guideline_sha256": rules.sha256}
    write_outputs(file, texts, stage="import", parameters=parameters, inputs=inputs, counts=counts)
    words = (
        f"{counts['judgments']:,} judgments of {counts['pairs']:,} pairs by {counts['annotators']} annotators"
    )
    if dropped:
        words += (
            "; dropped: " + ", ".join(f"{n:,} {reason}" for reason, n in dropped.items()) + " (dropped.csv)"
        )
    summarise(counts, words, as_json=as_json)
    for note in result.notes:
        say(f"note: {note}")
    say_next("agree" if out is None else f"agree {file}")


def _came_back(path: Path, root: Path) -> Path:
    """Return the path of an export, which must not be a file that was handed out."""
    if path.resolve().is_relative_to((root / "tasks").resolve()):
        raise UsageError(f"{path}: is a file that was handed out; save what came back in exports/")
    return path


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no circles among objects meanwhile: answers are millions of them, and none is in a circle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def workspace_exports() -> list[Path]:
    """Return the exports that the workspace names."""
    workspace = here()
    return [shown(path) for path in workspace.paths("import", "exports")] if workspace else []
