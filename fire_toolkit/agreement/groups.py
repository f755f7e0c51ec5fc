"""By what agreement can be grouped beside the judgments' own columns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import PAIR

KEYS = [*PAIR, "annotator_id"]
LENGTHS = (5, 10, 15, 20)


def join_columns(judgments: Judgments, table: pd.DataFrame, *, by: str | None = None) -> Judgments:
    """Return `judgments` with the columns of another table of queries, docs, pairs or annotators.

    Args:
        judgments: columns that they have stay as they are.
        table: with some of query_id, doc_id, annotator_id, which join it, and columns to group by. From
            a column text a column text_words is made: the number of words, in steps of five.
        by: the column that will group. If it is of `table`, a pair may stand there several times, and
            its judgments are then in several groups: of each run that pooled it, say.

    Returns:
        Rows by query_id, doc_id, annotator_id and the order of `table`; values without a partner are
        missing.

    Raises:
        TableError: `table` has none of the ids, or nothing else.
        JoinError: no judgment has a partner in `table`.
        UsageError: `table` has several rows for a judgment and does not hold `by`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("ab"), "annotator_id": "u", "label": "1"}))
        >>> sources = pd.DataFrame({"query_id": "q", "doc_id": list("aab"), "run_id": ["x", "y", "x"]})
        >>> join_columns(judgments, sources, by="run_id")[["doc_id", "run_id"]].values.tolist()
        [['a', 'x'], ['a', 'y'], ['b', 'x']]
    """
    on = [name for name in KEYS if name in table.columns]
    new = [name for name in table.columns if name not in judgments.columns]
    if not on or not new:
        raise TableError(
            f"joined table has columns {', '.join(map(str, table.columns))}; expected some of "
            f"{', '.join(KEYS)}, and a column that judgments do not have"
        )
    added = table[[*on, *new]].drop_duplicates()
    if "text" in new:
        steps = [f"{low + 1}-{high}" for low, high in pairwise((0, *LENGTHS))]
        labels = [*steps, f"{LENGTHS[-1] + 1} or more"]
        n_words = [len(text.split()) for text in added["text"]]
        added = added.assign(text_words=pd.cut(n_words, bins=[-1, *LENGTHS, np.inf], labels=labels))
    joined = judgments.merge(added, on=on, how="left", indicator="_partner")
    if len(judgments) and not (joined["_partner"] == "both").any():
        raise JoinError(f"no judgment has its {', '.join(on)} in the joined table; is it of these judgments?")
    if len(joined) > len(judgments) and by not in added.columns:
        raise UsageError(
            f"joined table has several rows for one {', '.join(on)}, so its judgments would count several "
            f"times; group by one of {', '.join(new)}"
        )
    return Judgments(joined.drop(columns="_partner"))
