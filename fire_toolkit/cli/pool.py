"""`pool`: runs to the pairs that are to be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import (
    Range,
    current_workspace,
    json_option,
    made_file,
    n_of,
    numbers_of,
    relative_path,
    say,
    say_next,
    setting_or_default,
)
from fire_toolkit.cli.earlier import Earlier, read_earlier
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.hints import named
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.machine_scores import MACHINE_SAMPLE, scores_of_judge
from fire_toolkit.cli.options import reads
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.pace import time_of
from fire_toolkit.cli.run_files import stem_of
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import has_columns, read_labels
from fire_toolkit.pooling import PoolingResult, pool_runs, source_changes
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.pooling.settle import SETTLED
from fire_toolkit.tables import Labels, PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.evidence import Settled
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.stages import CHANGED, GONE, NEW

DRAWN = "inclusion_probability"
_OF_SAMPLE = ("depth", "strategy", "budget", "per_query", "deep_queries", "deep_depth", "seed")
_OPTIONAL = ("budget", "per_query", "deep_queries")  # 0 in fire.toml: none


@click.command()
@reads(
    "runs",
    qrels="Original qrels: their queries are pooled, their positives marked.",
    labels="The labels that `resolve` wrote, for strategies that read labels. [default: the workspace's]",
    machine="Machine judgments (machine.csv), for the strategy machine. [default: the workspace's]",
    queries="The queries: their own items (column reference) are not pooled.",
)
@click.option("--depth", type=click.IntRange(min=0), help="Docs taken from each run and query. [default: 10]")
@click.option(
    "--strategy",
    metavar="NAME",
    help="Which of these are pooled: all (depth), or the first by reciprocal rank fusion ('rrf(k=60)'), a "
    "sample ('strata(1:10:1,11:50:.1)'), or in rounds (move-to-front, 'settle(C@10)'), or in a machine "
    "judge's order ('machine(judge=NAME)'); see docs/pools.md. [default: depth]",
)
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Pool at most N pairs in all.")
@click.option("--per-query", type=click.IntRange(min=1), metavar="N", help="Pool at most N pairs a query.")
@click.option(
    "--deep-queries",
    type=Range(0, 1),
    metavar="SHARE",
    help="Judge a random share of the queries, such as .1 and never below 40 queries, to --deep-depth whole.",
)
@click.option("--deep-depth", type=click.IntRange(min=1), help="Docs taken for these queries. [default: 50]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of what is drawn at random. [default: 0]")
@click.option(
    "--include-originals/--no-include-originals",
    default=None,
    help="Also pool original positives that no run found, or the strategy left out; beyond the budget.",
)
@click.option(
    "--judged",
    multiple=True,
    metavar="FILE",
    help="Pairs judged before, which are marked and not asked again: judgments, labels, qrels or a release "
    "(may be repeated). A workspace's own judgments count without it.",
)
@click.option(
    "--previous",
    metavar="POOL",
    help="An earlier pool whose pairs were handed out: they keep their round, the others get the next. "
    "[default: the workspace's, once it was handed out]",
)
@click.option("--out", metavar="DIR", help="Folder for pool.csv, pool_sources.csv and manifest.json.")
@json_option
@writes_workspace
def pool(
    given: Given,
    depth: int | None,
    strategy: str | None,
    budget: int | None,
    per_query: int | None,
    deep_queries: float | None,
    deep_depth: int | None,
    include_originals: bool | None,
    judged: tuple[str, ...],
    previous: str | None,
) -> None:
    """Pool the top docs of several runs into the pairs that people are to judge.

    RUN is TREC text (.gz too) or a dense matrix, .npy or .npz (rows are queries, columns docs);
    NAME=PATH gives it a name. Order: score descending, ties by doc id descending. A query's own item (the
    image that a text changes, column reference of the queries) is left out of every list before.

    A model that comes later: pool all runs again, the old ones too. The pool then holds all pairs and says
    of each which runs brought it, in which round it was first asked, and whether it is judged; `tasks` asks
    only what is new.
    """
    folder = given.out("pool")
    chosen: dict[str, Any] = {"depth": depth, "strategy": strategy, "budget": budget, "per_query": per_query}
    chosen |= {"deep_queries": deep_queries, "deep_depth": deep_depth, "seed": given.values["seed"]}
    chosen |= {"include_originals": include_originals}
    parameters = {name: setting_or_default(value, "pool", name) for name, value in chosen.items()}
    write_pool(given, folder, parameters, *pool_given(given, parameters, judged, previous))


def write_pool(
    given: Given,
    folder: Path,
    parameters: dict[str, Any],
    result: PoolingResult,
    earlier: Earlier,
) -> None:
    """Write a pool and say what it holds, what has changed, and what comes next."""
    _refuse_to_lose_sample(folder, result, earlier)
    changes = list(_describe_changes(result, earlier, _takes_all(parameters)))  # before its files go
    tables: dict[str, Any] = {"pool.csv": result.pool, "pool_sources.csv": result.sources}
    tables |= {"stops.csv": result.stops} if len(result.stops) else {}
    tables |= {} if result.design is None else {"query_design.csv": result.design}
    tables |= {} if result.sample is None else {MACHINE_SAMPLE: result.sample}
    tables |= {"undrawn.csv": result.undrawn} if len(result.undrawn) else {}
    given.write(folder, tables, "pool", parameters | _settled(given, parameters, result), result.counts)
    given.summarise(result.counts, _words(result.counts, parameters, earlier.durations))
    for line in changes:
        say(line)
    _say_next(folder, result.counts)


def _refuse_to_lose_sample(folder: Path, result: PoolingResult, earlier: Earlier) -> None:
    """Raise UsageError where a sample that was handed out would be written over by a pool that is none."""
    before = folder / "pool.csv"
    if earlier.pool is None or DRAWN in result.pool or not before.is_file() or not has_columns(before, DRAWN):
        return
    at = manifest_path(folder, is_folder=True)
    was = read_manifest(at).parameters if at.is_file() else {}
    names = [name for name in _OF_SAMPLE if was.get(name)]
    raise UsageError(
        f"{before}: a sample that was handed out, and the pool that would take its place is none, so that "
        f"nothing could be estimated from what was drawn and judged; expected the same design again"
        + (f": {', '.join(f'{name} = {was[name]!r}' for name in names)}" if names else "")
        + " (as options, or under [pool] in fire.toml)"
    )


def _settled(given: Given, parameters: Mapping[str, Any], result: PoolingResult) -> dict[str, Any]:
    """Return what the manifest says of a pool that is settled for its runs alone."""
    chosen = parse_strategy(parameters["strategy"])
    if chosen.name != "settle":
        return {}
    n_open = int((result.stops["reason"] != SETTLED).sum())
    runs = dict(sorted(given.run_hashes.items()))
    return Settled(chosen.parameters["measure"], runs, n_open).parameters


def pool_given(
    given: Given,
    parameters: Mapping[str, Any],
    judged: tuple[str, ...] = (),
    previous: str | None = None,
    earlier: Earlier | None = None,
) -> tuple[PoolingResult, Earlier]:
    """Return the pool of the runs given, else of the workspace's, and what was asked before it."""
    own_items = queries_own_items(given)
    qrels = given.path("qrels")
    originals = read_qrels(given.use(qrels)) if qrels else None
    earlier = earlier or read_earlier(given, judged, previous)
    chosen = parse_strategy(parameters["strategy"])
    result = pool_runs(
        given.stored_runs,
        **{**parameters, **{name: parameters[name] or None for name in _OPTIONAL}},
        originals=originals,
        labels=_labels_so_far(given) if chosen.reads_labels else None,
        machine=scores_of_judge(given, chosen.parameters["judge"]) if chosen.reads_machine else None,
        judged=earlier.judged,
        previous=earlier.pool,
        round_number=earlier.next_round,
        own_items=own_items,
    )
    return result, earlier


def _labels_so_far(given: Given) -> Labels | None:
    """Return the labels; a usage error where the judgments read have changed since they were made."""
    path = given.found("labels")
    at = manifest_path(path.parent, is_folder=True) if path else None
    made_of = read_manifest(at).inputs if at and at.is_file() else {}
    for name, sha256 in made_of.items():
        if given.hashes.get(name, sha256) != sha256:
            raise UsageError(f"{path}: {name} has changed since; run fire-toolkit resolve, then this again")
    return read_labels(given.use(path)) if path else None


def news_of_runs(changed: Mapping[str, str], *, are_all: bool) -> str | None:
    """Return which models of the workspace are new, changed or withdrawn since its pool, and what that asks.

    None where nobody was asked yet.

    Args:
        changed: runs by their names in the pool's manifest, as `changed_runs` returns them.
        are_all: whether nothing else differs from then; pairs of the other runs are then in the pool.
    """
    workspace, given = current_workspace(), Given({"runs": ()})
    earlier = read_earlier(given, (), None)
    if workspace is None or earlier.pool is None:
        return None
    settings = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    is_rest_asked = are_all and earlier.is_whole and _takes_all(settings)  # else it moves the others' pairs
    files = [str(relative_path(workspace.root / name)) for name, what in changed.items() if what != GONE]
    to_ask = 0
    if files or not is_rest_asked:
        given.values["runs"] = tuple(files) if is_rest_asked else ()
        to_ask = pool_given(given, settings, earlier=earlier)[0].counts.get("to_ask", 0)
    hours = time_of(to_ask, earlier.durations)
    asked = f"{n_of(to_ask, 'pair')} to ask{hours}" if to_ask else "nothing new to ask"
    return f"{_in_words(changed)}: {asked}"


def _in_words(changed: Mapping[str, str]) -> str:
    """Return which models are new, changed or withdrawn, by the names of their files."""
    parts = []
    for kind, words in ((NEW, "new model{} {}"), (CHANGED, "model{} {} changed"),
                        (GONE, "model{} {} withdrawn")):  # fmt: skip
        found = [stem_of(name) for name, what in changed.items() if what == kind]
        if found:
            parts.append(words.format("s" * (len(found) > 1), ", ".join(found)))
    return ", ".join(parts)


def _changes(result: PoolingResult, earlier: Earlier) -> list[dict[Any, Any]]:
    """Return the runs that are new, changed or withdrawn since the earlier pool, with what they bring."""
    if earlier.sources is None or _are_same(earlier.sources, result.sources):
        return []
    before, now = (set(sources["run_id"].unique()) for sources in (earlier.sources, result.sources))
    judged = earlier.judged if before - now else None  # told of withdrawn runs alone
    path = made_file("labels/labels.csv") if before - now else None
    labels = read_labels(path) if path else None
    found = source_changes(earlier.sources, result.sources, judged=judged, labels=labels)
    rows = found[(found["n_gone"] > 0) | (found["n_new"] > 0)].to_dict("records")
    for row in rows:
        row["kind"] = "new" if not row["n_before"] else "changed" if row["n_now"] else "withdrawn"
    return rows


def _are_same(before: PoolSources, now: PoolSources) -> bool:
    """Return whether every run brings the pairs that it brought before."""
    names = ["query_id", "doc_id", "run_id"]
    return before[names].equals(now[names])


def _takes_all(parameters: Mapping[str, Any]) -> bool:
    """Return whether all that the runs bring is pooled, so that each run's pairs are its own affair."""
    limits = (parameters["budget"], parameters["per_query"])
    return parameters["strategy"] == "depth" and not any(limits)


def _known(row: Mapping[Any, Any]) -> str:
    """Return what is known of a withdrawn run's own pairs."""
    counts = [(row[f"n_own_{word}"], word) for word in ("judged", "relevant")]
    known = ", ".join(f"{count:,} {word}" for count, word in counts if not pd.isna(count))
    return f" ({known})" if known else ""


def _describe_changes(result: PoolingResult, earlier: Earlier, takes_all: bool) -> Iterator[str]:
    """Yield which runs are new, changed or withdrawn since the earlier pool, and what they had brought."""
    rows = _changes(result, earlier)
    for row in rows:
        if row["kind"] == "changed" and not takes_all:  # the strategy has chosen others
            continue
        pairs, before = n_of(row["n_now"], "pair"), row["n_before"]
        words = {
            "new": f"new, {pairs}",
            "changed": f"changed; {pairs}, {before:,} before; {row['n_new']:,} new, {row['n_gone']:,} gone",
            "withdrawn": f"withdrawn; it had pooled {n_of(before, 'pair')}, {row['n_own_before']:,} of them "
            f"alone{_known(row)}",
        }
        yield f"{row['run_id']}: {words[row['kind']]}"
    is_all_there = takes_all and not any(row["n_gone"] for row in rows)
    if earlier.sources is None or earlier.judged is None or not rows or is_all_there:
        return
    pairs_before = earlier.sources[PAIR].drop_duplicates()
    is_gone = pair_rows(pairs_before, result.pool) < 0
    n_left = int((is_gone & (pair_rows(pairs_before, earlier.judged) >= 0)).sum())
    if n_left:
        left = n_of(n_left, "judged pair")
        yield f"{left} no longer in the pool; their judgments stay in labels and qrels"


def _say_next(folder: Path, counts: dict[str, int]) -> None:
    workspace = current_workspace()
    if counts.get("to_ask") == 0:
        say("nothing new to ask")
    elif workspace and folder.resolve() == (workspace.root / "pool").resolve():
        say_next("tasks")
    elif workspace:
        say(f"next: fire-toolkit tasks {folder}")
    else:
        say_next("tasks", f"{folder} --queries {named('QUERIES')} --out {folder / 'tasks.json'}")


def _words(counts: dict[str, int], parameters: dict[str, Any], durations: pd.Series | None) -> str:
    chosen_by = "" if parameters["strategy"] == "depth" else f", chosen by {parameters['strategy']}"
    words = [
        f"{n_of(counts['pairs'], 'pair')} of {n_of(counts['queries'], 'query')} "
        f"from {n_of(counts['runs'], 'run')} at depth {parameters['depth']}{chosen_by}"
    ]
    if "originals" in counts:
        words.append(
            f"{counts['originals_in_pool']:,} of {counts['originals']:,} original positives among them"
        )
    if counts["extra_queries"]:
        words.append(f"{counts['extra_queries']:,} queries that the qrels do not have left out")
    if "deep_queries" in counts:
        n_deep, deep = n_of(counts["deep_queries"], "query"), parameters["deep_depth"]
        words.append(f"{n_deep} drawn with seed {parameters['seed']} to be judged to depth {deep}")
    if counts.get("own_items"):
        words.append(f"{n_of(counts['own_items'], 'pair')} of a query and its own item left out")
    stopped = {name[8:]: n for name, n in counts.items() if name.startswith("stopped_")}
    if stopped:
        words.append(f"queries stopped: {numbers_of(stopped)}")
    if "again" in counts:
        words.append(f"{n_of(counts['again'], 'pair')} to be asked again (`next-round --strategy`)")
    if "to_ask" in counts:
        n_asked = counts["to_ask"]
        waiting = counts["pairs"] - counts["judged_before"] - n_asked
        new = f"{n_asked:,} new, to be asked in round {counts['round']}{time_of(n_asked, durations)}"
        parts = [f"{waiting:,} asked and not judged"] if waiting else []
        parts.append(new if n_asked else "none new")
        words.append(", ".join([f"{counts['judged_before']:,} judged before", *parts]))
    return "; ".join(words)
