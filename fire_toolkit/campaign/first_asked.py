"""Which pairs a campaign asks for the first time, and which of them of two annotators."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fire_toolkit.campaign.queues import OVERLAP, TASK
from fire_toolkit.campaign.records import Round
from fire_toolkit.tables.columns import PAIR, are_in


def first_asked(rounds: Sequence[Round]) -> pd.DataFrame:
    """Return the pairs that rounds ask for the first time, as their queues were drawn.

    Returns:
        query_id, doc_id, round, is_doubled: given to a second annotator too; each pair once, in the first
        round that asks it. Training and controls are no such pairs, nor are those asked again.
    """
    parts = []
    for entry in rounds:
        drawn = entry.assignments if entry.drawn is None else entry.drawn
        asked = drawn[drawn["kind"].isin([TASK, OVERLAP])]
        doubled = asked.loc[asked["kind"] == OVERLAP, "pair_id"]
        pairs = entry.tasks[are_in(entry.tasks["pair_id"], asked["pair_id"])].drop_duplicates("pair_id")
        parts.append(pairs[PAIR].assign(round=entry.number, is_doubled=are_in(pairs["pair_id"], doubled)))
    if not parts:
        return pd.DataFrame({name: [] for name in (*PAIR, "round", "is_doubled")})
    return pd.concat(parts, ignore_index=True).drop_duplicates(PAIR, ignore_index=True)
