"""How long people will need, by their pace so far."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.cli.common import made_file, setting_or_default
from fire_toolkit.formats.tables.delimited import read_delimited


def time_of(n_pairs: int) -> str:
    """Return how long people need for the judgments of so many new pairs, in words; empty if unknown.

    By the median time of the workspace's judgments and the share of pairs that are judged twice.
    """
    path = made_file("judgments/judgments.csv")
    table = read_delimited(path, only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return ""
    seconds = pd.to_numeric(table["duration_s"], errors="coerce").median()
    minutes = n_pairs * (1 + float(setting_or_default(None, "tasks", "overlap"))) * seconds / 60
    if not minutes > 0:
        return ""
    duration = f"{max(1, round(minutes))} minutes" if minutes < 90 else f"{minutes / 60:,.0f} hours"
    return f", about {duration} at the pace so far"
