"""Pairs judged once for captions or items that are alike: which they are, and what rests on their labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import n_of, say, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.collections.duplicates import seen_beside_text
from fire_toolkit.collections.sharing import SharedOnce, share_among_alike
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.pooling.judge_once import Alike, group_alike, judge_once
from fire_toolkit.pooling.pool import PoolingResult
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.tables import Labels, check_disputes
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.designs import JUDGED_ONCE
from fire_toolkit.workspace.manifests import manifest_path, read_manifest

FILE = "judged_once.csv"
_OTHERS = {"same_as": True, "other_id": False}  # how a table of `audit` names the other id, if it is equal


def pooled_once(
    given: Given, result: PoolingResult, files: Sequence[str], strategy: str, judged: pd.DataFrame | None
) -> PoolingResult:
    """Return a pool in which captions and items that `files` name as alike are asked once; say how many.

    Raises:
        UsageError: a strategy in rounds, a sample, or a file without such ids.
    """
    if parse_strategy(strategy).reads_labels:
        raise UsageError(
            f"--judge-once does not go with strategy {strategy}, which decides by each pair's own label; "
            "leave one of them out"
        )
    links = {name: pd.concat(found) for name, found in _links(given, files).items() if found}
    alike = {name: group_alike(table) for name, table in links.items()}
    for name, groups in alike.items() if "out" in given.values else ():  # where a pool is written
        say(_in_words("caption" if name == "query_id" else "item", groups))
    once = judge_once(result, queries=alike.get("query_id"), docs=alike.get("doc_id"), judged=judged)
    return once.result._replace(alike=once.pairs)


def _links(given: Given, files: Sequence[str]) -> dict[str, list[pd.DataFrame]]:
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in PAIR}
    for file in files:
        own = workspace_path(file)
        path = Path(file) if own is None or Path(file).is_file() else own
        table = read_delimited(given.use(path))
        names = [name for name in PAIR if name in table.columns]
        others = [name for name in _OTHERS if name in table.columns]
        if len(names) != 1 or len(others) != 1:
            raise FormatError(
                f"{path}: columns {', '.join(table.columns)}; expected query_id or doc_id, and same_as or "
                "other_id, as `audit` writes duplicate_captions.csv, near_duplicate_captions.csv and "
                "duplicate_items.csv"
            )
        links = table[[*names, *others]].set_axis(["id", "other_id"], axis=1)
        links = links.assign(is_equal=_OTHERS[others[0]])
        found[names[0]].append(_of_same_sight(given, links, path) if names[0] == "query_id" else links)
    return found


def _of_same_sight(given: Given, links: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the pairs of queries that show the same beside their texts, and say how many do not."""
    known = given.found("queries")
    queries = read_queries(given.use(known)) if known else None
    if queries is None:
        return links
    ids = pd.concat([links["id"], links["other_id"]])
    if unknown := sorted(set(ids) - set(queries["query_id"])):
        raise UsageError(f"{path}: {unknown[0]} is not among the queries; expected the same collection")
    sight = seen_beside_text(queries)
    if sight is None:
        return links
    of_query = pd.Series(sight, index=queries["query_id"])
    is_same = of_query[links["id"]].to_numpy() == of_query[links["other_id"]].to_numpy()
    if n_other := int((~is_same).sum()):
        say(f"note: {n_of(n_other, 'pair')} of {path} left out: their queries show something else beside")
    kept: pd.DataFrame = links[is_same]
    return kept


def _in_words(thing: str, groups: Alike) -> str:
    chained = f"; {groups.n_chained:,} of them by chains, in which not every two are alike"
    found = f"{n_of(groups.n, 'group')} of {thing}s that are alike, the largest of {groups.largest:,}"
    return found + (chained if groups.n_chained else "")


def shared_once(given: Given, labels: Labels) -> SharedOnce:
    """Return labels with those that pairs judged once take, by the file beside the pool; else as they are."""
    path = next((p for p in map(given.found, _named(given)) if p and p.with_name(FILE).is_file()), None)
    if path is None:
        return SharedOnce(labels)
    file = path.with_name(FILE)
    pairs = check_table(JUDGED_ONCE, read_delimited(given.use(file)), where=str(file))
    pairs = pairs if given.unusable is None else given.unusable.counted(pairs)
    beside = given.needed("labels").with_name("disputes.csv")
    disputed = given.disputes if beside.is_file() else check_disputes(pairs[PAIR].head(0).assign(reason=""))
    return share_among_alike(labels, pairs, disputed=disputed)


def _named(given: Given) -> list[str]:
    """Return which options may name the pool: it is the workspace's own where the qrels are."""
    known = [name for name in ("pool", "pool_sources") if name in given.values]
    is_its_own = "pool" in known or not given.values.get("qrels")
    return [name for name in known if is_its_own or given.values.get(name)]


def words_of_shared(counts: dict[str, Any]) -> list[str]:
    """Return what rests on labels of other pairs; nothing where none does."""
    words = []
    if n := counts.get("shared", 0):
        words.append(
            f"{n_of(n, 'label')} shared by pairs that are alike, {counts['shared_positive']:,} of them "
            "positive: nobody judged these pairs"
        )
    if n := counts.get("shared_waiting", 0):
        words.append(f"{n_of(n, 'pair')} judged once without a label: none in the group has one yet")
    if n := counts.get("shared_conflicts", 0):
        words.append(f"{n_of(n, 'pair')} judged once without a label: those of the group differ")
    if n := counts.get("judged_themselves", 0):
        words.append(
            f"{n_of(n, 'pair')} judged themselves all the same: their own labels stand, and "
            f"{counts['other_label']:,} of these differ from the label they would have taken"
        )
    return words


def counts_of_shared(shared: SharedOnce) -> dict[str, int]:
    """Return what a manifest says of pairs judged once, beside the labels shared."""
    counts = {"shared_waiting": shared.n_waiting, "shared_conflicts": shared.n_conflicts}
    counts |= {"judged_themselves": shared.n_own, "other_label": shared.n_differ}
    return counts if any(counts.values()) or shared.n_shared else {}


def say_shared(given: Given) -> None:
    """Say how many labels of the augmented qrels are other pairs'."""
    path = given.found("augmented") if given.augmented_if_any is not None else None
    at = manifest_path(path, is_folder=False) if path else None
    counts = read_manifest(at).counts if at and at.is_file() else {}
    if counts.get("shared"):
        say(f"note: {words_of_shared({name: counts[name] for name in ('shared', 'shared_positive')})[0]}")
