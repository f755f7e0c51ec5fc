"""How long people will need, by their pace so far."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.cli.common import n_of, setting_or_default
from fire_toolkit.tables.columns import plain_numbers


def time_of(n_pairs: int, durations: pd.Series | None) -> str:
    """Return how long people need for the judgments of so many new pairs, in words; empty if unknown.

    By the share of pairs that are judged twice, and the median of `durations`: the seconds of the judgments
    so far, as text.
    """
    if durations is None or not n_pairs:
        return ""
    known = plain_numbers(durations, "float", missing=True, minimum=None)
    seconds = (pd.to_numeric(durations, errors="coerce") if known is None else known).median()
    minutes = n_pairs * (1 + float(setting_or_default(None, "tasks", "overlap"))) * seconds / 60
    if not minutes > 0:
        return ""
    duration = n_of(max(1, round(minutes)), "minute") if minutes < 90 else f"{minutes / 60:,.0f} hours"
    return f", about {duration} at the pace so far"
