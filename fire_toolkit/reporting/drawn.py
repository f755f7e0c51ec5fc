"""How the tables of a paper are drawn for people: which columns, under which headings, with which digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from fire_toolkit.reporting.methods import drawn_paragraph
from fire_toolkit.results import drawn_text

# Column → its heading, and the format of its numbers.
Columns = Mapping[str, tuple[str, str]]
DATA: Columns = {
    "group": ("", ""),
    "pairs": ("pairs", ","),
    "labels": ("labels", ","),
    "resolved_share": ("resolved", ".1%"),
    "relevant": ("relevant", ","),
    "relevant_share": ("(share)", ".1%"),
    "irrelevant": ("irrelevant", ","),
    "disagreement": ("disagreement", ","),
    "multiply_labelled": ("labelled twice+", ","),
    "agreeing": ("agreeing", ".3f"),
    "unanimous": ("unanimous", ".3f"),
    "alpha": ("alpha", ".3f"),
}
NEW: Columns = {
    "run_id": ("run", ""),
    "pooled": ("pooled", ""),
    "measure": ("measure", ""),
    "original": ("original", ".3f"),
    "all": ("all", ".3f"),
    "new": ("new", ".3f"),
    "change": ("change", "+.3f"),
    "n_own": ("own pairs", ","),
    "n_own_relevant": ("own positives", ","),
}
LENGTH: Columns = {
    "from_chars": ("from", ""),
    "to_chars": ("to", ""),
    "n_queries": ("captions", ","),
    "run_id": ("run", ""),
    "measure": ("measure", ""),
    "original": ("original", ".3f"),
    "augmented": ("augmented", ".3f"),
    "delta": ("gain", "+.3f"),
    "low": ("95% from", "+.3f"),
    "high": ("to", "+.3f"),
}
SATURATION: Columns = {
    "measure": ("measure", ""),
    "run_id": ("run", ""),
    "original": ("original", ".1%"),
    "augmented": ("augmented", ".1%"),
    "left": ("left to win", ".1%"),
}
SIMILARITY: Columns = {
    "run_id": ("run", ""),
    "qrels": ("qrels", ""),
    "n_solved": ("solved", ","),
    "solved": ("likeness", ".4f"),
    "n_unsolved": ("unsolved", ","),
    "unsolved": ("likeness", ".4f"),
    "difference": ("difference", "+.4f"),
    "low": ("95% from", "+.4f"),
    "high": ("to", "+.4f"),
    "p": ("p", ".4f"),
}


def drawn_as(columns: Columns) -> Callable[[Any, str], str]:
    """Return what draws these columns of a table; nan is empty."""
    return partial(_drawn, columns=columns)


def _drawn(table: pd.DataFrame, form: str, columns: Columns) -> str:
    rows = [
        ["" if row[name] != row[name] else f"{row[name]:{digits}}" for name, (_, digits) in columns.items()]
        for row in table.to_dict("records")
    ]
    return drawn_text(rows, [heading for heading, _ in columns.values()], form)


def drawn_overlaps(comparisons: pd.DataFrame, form: str) -> str:
    """Draw overlap and RBO with a row for every two runs."""
    kept = comparisons[~comparisons["measure"].str.contains("RBO_min|RBO_res")]
    wide = kept.pivot_table(index=["run_a", "run_b"], columns="measure", values="value", sort=False)
    values = zip(wide.index, wide.to_numpy(), strict=True)
    rows = [[" & ".join(pair), *(f"{value:.4f}" for value in row)] for pair, row in values]
    return drawn_text(rows, ["runs", *wide.columns], form)


def drawn_paragraphs(paragraphs: pd.DataFrame, form: str) -> str:
    """Return paragraphs, each with its title, as text or for LaTeX."""
    both = zip(paragraphs["title"], paragraphs["text"], strict=True)
    return "\n\n".join(drawn_paragraph(title, text, form) for title, text in both) + "\n"
