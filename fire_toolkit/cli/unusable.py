"""Queries that annotators found unusable: flagged, kept or dropped by `augment`, counted in every score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.cli.common import n_of
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.table_files import read_query_labels
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.tables import Qrels, Scores
from fire_toolkit.tables.validity import QueryLabels
from fire_toolkit.workspace.manifests import writer_of

FLAG, KEEP, DROP = POLICIES = ("flag", "keep", "drop")
FILE = "unusable.csv"
USABLE = "usable"  # the query_id of a mean over the usable queries
_EFFECTS = {
    FLAG: "flagged (`score` gives both figures)",
    KEEP: "kept as all others",
    DROP: "dropped from the qrels",
}

Table = TypeVar("Table", bound=pd.DataFrame)


class Unusable(NamedTuple):
    """The unusable queries of qrels, what becomes of them, and how many queries there are.

    n_labelled: of how many of the queries it is known whether they are usable.
    """

    policy: str
    queries: QueryLabels
    n_queries: int
    n_labelled: int

    @property
    def words(self) -> str:
        """How many they are, and what becomes of them."""
        found = f"{len(self.queries):,} of {n_of(self.n_queries, 'query')} are unusable"
        n_open = self.n_queries - self.n_labelled
        unknown = f" ({n_open:,} not known, taken as usable)" if n_open else ""
        return f"{found}{unknown}, {_EFFECTS[self.policy]}"

    @property
    def parameters(self) -> dict[str, Any]:
        """What the manifest of `augment` says of them."""
        return {"unusable": self.policy, "n_queries": self.n_queries, "n_labelled": self.n_labelled}

    def usable(self, table: Table) -> Table:
        """Return the rows of a table on other queries."""
        kept = table[~table["query_id"].isin(set(self.queries["query_id"]))]
        return kept.reset_index(drop=True)

    def counted(self, table: Table) -> Table:
        """Return the rows of a table that count in every score: all, unless unusable queries are dropped."""
        return self.usable(table) if self.policy == DROP else table


def unusable_among(inputs: Inputs, original: Qrels, policy: str) -> Unusable | None:
    """Return the unusable queries of original qrels by `--validity`; None where nobody was asked.

    Raises:
        UsageError: labels of other queries; no query would be left.
    """
    path = inputs.found("validity")
    if path is None:
        return None
    labels = read_query_labels(inputs.use(path))
    queries = original["query_id"].unique()
    own = labels[labels["query_id"].isin(queries)]
    if len(labels) and not len(own):
        raise UsageError(f"{path}: no query of it is in the original qrels; expected the same collection's")
    unusable = QueryLabels(own[~own["is_usable"]].reset_index(drop=True))
    if policy == DROP and len(unusable) == len(queries):
        raise UsageError(f"{path}: every query is unusable, so none would be left; take --unusable flag")
    return Unusable(policy, unusable, len(queries), len(own))


def unusable_of(inputs: Inputs) -> Unusable | None:
    """Return the unusable queries that `augment` wrote beside the augmented qrels; None without any."""
    is_its_own = not inputs.values.get("qrels") or inputs.values.get("augmented")
    path = inputs.found("augmented") if is_its_own else None
    writer = writer_of(path) if path else None
    found = writer.parameters if writer else {}
    if path is None or "unusable" not in found:
        return None
    table = read_query_labels(inputs.use(path.with_name(FILE)))
    return Unusable(found["unusable"], table, int(found["n_queries"]), int(found["n_labelled"]))


def usable_alone(
    flagged: Unusable | None,
    runs: Sequence[Any],
    original: Qrels,
    augmented: Qrels | None,
    measures: Sequence[str],
    **ordered: Any,
) -> Scores | None:
    """Return the scores over the usable queries, under the query id `usable`; None where none is flagged.

    ordered: how docs of equal score stand, as `score_runs` takes it.
    """
    from fire_toolkit.scoring import score_runs

    if flagged is None or flagged.policy != FLAG or augmented is None or not len(flagged.queries):
        return None
    left = flagged.usable(original)
    if not len(left):
        return None
    found = score_runs(runs, left, measures, augmented=flagged.usable(augmented), **ordered)
    return Scores(found.scores.assign(query_id=USABLE))


def usable_join(flagged: Unusable | None, joined: JudgedPairs) -> JudgedPairs | None:
    """Return the join of the usable queries alone; None where none is flagged, or none would be left."""
    if flagged is None or flagged.policy != FLAG:
        return None
    is_usable = ~joined.queries.isin(flagged.queries["query_id"])
    if is_usable.all() or not is_usable.any():
        return None
    return joined.within(np.flatnonzero(is_usable))


def beside_usable(table: pd.DataFrame, usable: pd.DataFrame | None) -> pd.DataFrame:
    """Return rows over all queries and over the usable ones, told apart by the column `queries`.

    The table alone, without that column, where there are none over usable queries.
    """
    if usable is None:
        return table
    parts = [table.assign(queries="all"), usable.assign(queries=USABLE)]
    return pd.concat([part.set_index("queries").reset_index() for part in parts], ignore_index=True)


def drawn_beside(table: pd.DataFrame, output_format: str, draw: Callable[[Any, str], str]) -> str:
    """Return what `beside_usable` made as text: the rows over all queries, below them the others."""
    if "queries" not in table:
        return draw(table, output_format)
    is_usable = table["queries"] == USABLE
    parts = [table[~is_usable].drop(columns="queries"), table[is_usable].drop(columns="queries")]
    estimated = [name for name in table if str(name).startswith(("estimate", "missing"))]
    parts[1] = parts[1].drop(columns=estimated)  # estimates are of all queries
    over_all, usable = (draw(part, output_format) for part in parts)
    return over_all + heading_of_usable(output_format) + usable


def heading_of_usable(output_format: str) -> str:
    """Return what stands above a table over the usable queries."""
    return "% usable queries alone\n" if output_format == "latex" else "\nusable queries alone:\n\n"


def files_of(unusable: Unusable | None) -> dict[str, pd.DataFrame]:
    """Return the file beside augmented qrels that names the unusable queries."""
    return {} if unusable is None else {FILE: unusable.queries}


def refuse_sampled(unusable: Unusable | None, beside: Sequence[str]) -> None:
    """Raise `UsageError` where queries are to be dropped from a sample, whose estimates need all of them."""
    if unusable is not None and unusable.policy == DROP and beside:
        raise UsageError(
            "the pool is a sample, and estimates from it need all of its queries; take --unusable flag, "
            "which gives scores with and without the unusable ones"
        )
