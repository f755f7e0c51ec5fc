"""`pool`: runs to the pairs that are to be judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    current_workspace,
    json_option,
    made_file,
    n_of,
    named_file,
    run_arguments,
    say,
    say_next,
    setting_or_default,
    summarise,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.hints import named
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.run_files import read_runs
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import delimited_bytes, read_delimited
from fire_toolkit.formats.tables.table_files import (
    read_judged_pairs,
    read_labels,
    read_pool,
    read_pool_sources,
)
from fire_toolkit.pooling import PoolingResult, pool_runs, source_changes
from fire_toolkit.tables import Pool, PoolSources
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.workspace.rounds import begun_rounds, planned_rounds


@click.command()
@run_arguments
@click.option("--depth", type=click.IntRange(min=1), help="Docs taken from each run and query. [default: 10]")
@click.option(
    "--strategy",
    metavar="NAME",
    help="Which of these are pooled: all (depth), or as a plug-in's strategy chooses. [default: depth]",
)
@click.option(
    "--qrels", metavar="FILE", help="Original qrels: their queries are pooled, their positives marked."
)
@click.option("--queries", metavar="FILE", help="queries.tsv: own items (column reference) are not pooled.")
@click.option(
    "--include-originals/--no-include-originals",
    default=None,
    help="Also pool original positives that no run found.",
)
@click.option(
    "--judged",
    multiple=True,
    metavar="FILE",
    help="Pairs judged before, which are marked and not asked again: judgments, labels or qrels (may be "
    "repeated). A workspace's own judgments count without it.",
)
@click.option(
    "--previous",
    metavar="POOL",
    help="An earlier pool that people were asked: its pairs keep their round, the others get the next. "
    "[default: the workspace's, once it was asked]",
)
@click.option("--out", metavar="DIR", help="Folder for pool.csv, pool_sources.csv and manifest.json.")
@json_option
@writes_workspace
def pool(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    depth: int | None,
    strategy: str | None,
    qrels: str | None,
    queries: str | None,
    include_originals: bool | None,
    judged: tuple[str, ...],
    previous: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Pool the top docs of several runs into the pairs that people are to judge.

    RUN is TREC text (.gz too) or a dense matrix, .npy or .npz (rows are queries, columns docs);
    NAME=PATH gives it a name. Order: score descending, ties by doc id descending. A query's own item (the
    image that a text changes, column reference of the queries) is left out of every list before.

    A model that comes later: pool all runs again, the old ones too. The pool then holds all pairs and says
    of each which runs brought it, in which round it was first asked, and whether it is judged; `tasks` asks
    only what is new.
    """
    folder = chosen_path(out, workspace_path("pool"), "--out")
    made = _make(
        runs, query_ids, doc_ids, depth, qrels, include_originals, judged, previous, queries, strategy
    )
    result, counts = made.result, made.result.counts
    texts = {"pool.csv": delimited_bytes(result.pool), "pool_sources.csv": delimited_bytes(result.sources)}
    write_outputs(folder, texts, stage="pool", parameters=made.parameters, inputs=made.inputs, counts=counts)
    summarise(counts, _words(counts, made.parameters), as_json=as_json)
    _say_changes(made)
    _say_next(folder, counts)


@dataclass(frozen=True)
class _Made:
    """A pool, what was asked before it, and what it was made of."""

    result: PoolingResult
    earlier: _Earlier
    inputs: Inputs
    parameters: dict[str, Any]


def _make(
    runs: tuple[str, ...] = (),
    query_ids: str | None = None,
    doc_ids: str | None = None,
    depth: int | None = None,
    qrels: str | None = None,
    include_originals: bool | None = None,
    judged: tuple[str, ...] = (),
    previous: str | None = None,
    queries: str | None = None,
    strategy: str | None = None,
) -> _Made:
    """Return the pool of the runs given, else of the workspace's."""
    depth = int(setting_or_default(depth, "pool", "depth"))
    strategy = str(setting_or_default(strategy, "pool", "strategy"))
    include = bool(setting_or_default(include_originals, "pool", "include_originals"))
    inputs = Inputs()
    own_items = queries_own_items(queries, inputs)
    to_read = depth + 1 if own_items else depth
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids, depth=to_read)
    original_file = qrels or named_file("qrels")
    originals = read_qrels(inputs.use(original_file)) if original_file else None
    earlier = _read_earlier(judged, previous, inputs)
    result = pool_runs(
        tables,
        depth=depth,
        strategy=strategy,
        originals=originals,
        include_originals=include,
        judged=earlier.judged,
        previous=earlier.pool,
        round_number=earlier.next_round,
        own_items=own_items,
    )
    parameters = {"depth": depth, "strategy": strategy, "include_originals": include}
    return _Made(result, earlier, inputs, parameters)


def news_of_runs() -> str | None:
    """Return which models of the workspace are new, changed or withdrawn since its pool, and what that asks.

    None where nobody was asked yet, or the models bring what they brought.
    """
    made = _make()
    changes = _changes(made)
    news = []
    for kind, words in (("new", "new model{} {}"), ("changed", "model{} {} changed"),
                        ("withdrawn", "model{} {} withdrawn")):  # fmt: skip
        names = [row["run_id"] for row in changes if row["kind"] == kind]
        if names:
            news.append(words.format("s" * (len(names) > 1), ", ".join(names)))
    to_ask = made.result.counts.get("to_ask", 0)
    asked = f"{n_of(to_ask, 'pair')} to ask{time_of(to_ask)}" if to_ask else "nothing new to ask"
    return f"{', '.join(news)}: {asked}" if news else None


def time_of(n_pairs: int) -> str:
    """Return how long people need for the judgments of so many new pairs, in words; empty if unknown.

    By the median time of the workspace's judgments and the share of pairs that are judged twice.
    """
    path = made_file("judgments/judgments.csv")
    table = read_delimited(path) if path else None
    if table is None or "duration_s" not in table.columns:
        return ""
    seconds = pd.to_numeric(table["duration_s"], errors="coerce").median()
    minutes = n_pairs * (1 + float(setting_or_default(None, "tasks", "overlap"))) * seconds / 60
    if not minutes > 0:
        return ""
    duration = f"{max(1, round(minutes))} minutes" if minutes < 90 else f"{minutes / 60:,.0f} hours"
    return f", about {duration} at the pace so far"


@dataclass(frozen=True)
class _Earlier:
    """What was asked before: a pool and its sources, judged pairs, the round that new pairs get."""

    pool: Pool | None
    sources: PoolSources | None
    judged: pd.DataFrame | None
    next_round: int | None


def _read_earlier(judged: tuple[str, ...], previous: str | None, inputs: Inputs) -> _Earlier:
    """Return what was asked before, as the files given and the workspace know it."""
    workspace = current_workspace()
    own = _own_judgments() if workspace else None
    given = [*map(Path, judged), *([own] if own else [])]
    files = {file.absolute(): file for file in given}
    known = [read_judged_pairs(inputs.use(file)) for file in files.values()]
    pairs = pd.concat(known, ignore_index=True) if known else None
    rounds = begun_rounds(workspace.root) if workspace else set()
    rounds |= set(pairs["round"].unique().tolist()) if pairs is not None else set()
    taken = rounds | planned_rounds(workspace.root) if workspace and rounds else rounds
    at = Path(previous) if previous else workspace_path("pool")
    file = at / "pool.csv" if at and at.is_dir() else at
    if file is None or not (previous or (rounds and file.is_file())):
        return _Earlier(None, None, pairs, 1 + max(taken) if taken else None)
    found = read_pool(inputs.use(file) if previous else file)
    if not previous:  # what was pooled and never asked is as new as the rest
        is_asked = found["round"].isin(rounds)
        found = found if is_asked.all() else Pool(found[is_asked])
    beside = file.with_name("pool_sources.csv")
    sources = read_pool_sources(beside) if beside.is_file() else None
    return _Earlier(found, sources, pairs, 1 + max({*taken, *found["round"].unique().tolist()}, default=0))


def _own_judgments() -> Path | None:
    """Return the workspace's judgments, or its labels where it has no judgments."""
    return made_file("judgments/judgments.csv") or made_file("labels/labels.csv")


def _changes(made: _Made) -> list[dict[str, Any]]:
    """Return the runs that are new, changed or withdrawn since the earlier pool, with what they bring."""
    earlier = made.earlier
    if earlier.sources is None or _are_same(earlier.sources, made.result.sources):
        return []
    labels = made_file("labels/labels.csv")
    found = source_changes(
        earlier.sources,
        made.result.sources,
        judged=earlier.judged,
        labels=read_labels(labels) if labels else None,
    )
    rows = [
        {str(key): row[key] for key in row}
        for row in found.to_dict("records")
        if row["n_gone"] or row["n_new"]
    ]
    for row in rows:
        row["kind"] = "new" if not row["n_before"] else "changed" if row["n_now"] else "withdrawn"
    return rows


def _are_same(before: PoolSources, now: PoolSources) -> bool:
    """Return whether every run brings the pairs that it brought before."""
    names = ["query_id", "doc_id", "run_id"]
    return before[names].equals(now[names])


def _say_changes(made: _Made) -> None:
    """Say which runs are new, changed or withdrawn since the earlier pool, and what they had brought."""
    for row in _changes(made):
        pairs, before = n_of(row["n_now"], "pair"), row["n_before"]
        words = {
            "new": f"new, {pairs}",
            "changed": f"changed; {pairs}, {before:,} before; {row['n_new']:,} new, {row['n_gone']:,} gone",
            "withdrawn": f"withdrawn; it had pooled {n_of(before, 'pair')}, {row['n_own_before']:,} of them "
            f"alone ({row['n_own_judged']:,} judged, {row['n_own_relevant']:,} relevant)",
        }
        say(f"{row['run_id']}: {words[row['kind']]}")
    earlier = made.earlier
    if earlier.sources is None or earlier.judged is None or _are_same(earlier.sources, made.result.sources):
        return
    n_left = len(_without(_without(earlier.sources, made.result.pool), earlier.judged, keep=True))
    if n_left:
        say(f"{n_of(n_left, 'judged pair')} no longer in the pool; their judgments stay in labels and qrels")


def _without(pairs: pd.DataFrame, others: pd.DataFrame, *, keep: bool = False) -> pd.DataFrame:
    """Return the pairs of a table, each once, that are not (or, to `keep`, that are) in another."""
    is_known = pair_rows(pairs, others) >= 0
    found: pd.DataFrame = pairs.loc[is_known == keep, ["query_id", "doc_id"]]
    return found.drop_duplicates()


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


def _words(counts: dict[str, int], parameters: dict[str, Any]) -> str:
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
    if counts.get("own_items"):
        words.append(f"{n_of(counts['own_items'], 'pair')} of a query and its own item left out")
    if "to_ask" in counts:
        waiting = counts["pairs"] - counts["judged_before"] - counts["to_ask"]
        words.append(
            f"{counts['judged_before']:,} judged before, "
            + (f"{waiting:,} asked and not judged, " if waiting else "")
            + (
                f"{counts['to_ask']:,} new, to be asked in round {counts['round']}{time_of(counts['to_ask'])}"
                if counts["to_ask"]
                else "none new"
            )
        )
    return "; ".join(words)
