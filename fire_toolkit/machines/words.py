"""What a run of a judge came to, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from fire_toolkit.machines.judge import Judge
from fire_toolkit.machines.run import Spending
from fire_toolkit.tables.machine import OK


def counts_in_words(counts: Mapping[str, int], spending: Spending) -> str:
    """Return what a run of a judge counted beyond its answers, and what it cost."""
    words = f" ({counts['stored_before']:,} were there before); {counts['failed']:,} failed"
    if spending.tokens:
        money = f", cost {spending.money:,.4f}" if spending.price else ""
        words += f"; {spending.tokens:,} tokens{money} so far"
    if counts["not_asked"]:
        words += f"; the budget is spent: {counts['not_asked']:,} not asked"
    return words


def remarks(table: pd.DataFrame, judge: Judge) -> Iterator[str]:
    """Yield why answers failed, and what the server did not give."""
    reasons = table.loc[table["status"] != OK, "reason"].value_counts()
    for reason, number in reasons.head(5).items():
        yield f"failed {number:,} times: {reason}"
    if len(reasons) > 5:
        yield f"and {len(reasons) - 5:,} further reasons: see machine.csv"
    if (table["status"] == OK).any() and table["score"].isna().all() and judge.wants_logprobs:
        yield "note: the server gives no probabilities of tokens: there are labels, and no P(yes)"
    if (versions := table["revision"].nunique()) > 1:
        yield f"note: the server named {versions} versions of itself (column revision): answers may differ"
