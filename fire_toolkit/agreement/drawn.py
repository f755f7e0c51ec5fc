"""How tables of agreement are drawn for people: headings in words, an interval in one column, notes once."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.results import drawn_text

# What is one number for all rows stands in the words below the table.
_SAID_BELOW = ("level", "n_units", "n_pairable", "n_annotators", "n_resampled")
_MORE = ("below_667", "below_800", "n_resampled")
_NOTES = ("note", "interval_note")


def draw_agreement(measured: pd.DataFrame, form: str, *, by: str | None, is_summary: bool) -> str:
    """Return rows of agreement as a table, without their notes.

    by: the column that groups; is_summary: leave out the chances of alpha below its customary bounds, and
    what was resampled.
    """
    left_out = [*_NOTES, *(_MORE if is_summary else ())]
    measured = measured.drop(columns=[name for name in left_out if name in measured.columns])
    measured = _in_words(measured, by, is_paper=form != "table")
    rows = [[_cell(value) for value in row] for row in measured.itertuples(index=False)]
    return drawn_text(rows, list(measured.columns), form)


def notes_of_rows(measured: pd.DataFrame) -> list[str]:
    """Return each note on rows of agreement once, behind the rows that it is of where it is not of all."""
    return [note for name in _NOTES if name in measured.columns for note in _notes(measured, name)]


def _notes(measured: pd.DataFrame, column: str) -> list[str]:
    keys = ["group", "statistic"]
    notes = []
    for note, own in measured[measured[column] != ""].groupby(column, sort=False):
        by = [key for key in keys if len(own) == measured[key].isin(own[key]).sum()][-1:] or keys
        names = [" ".join(map(str, row)).removeprefix("all ") for row in own[by].drop_duplicates().to_numpy()]
        notes.append(str(note) if len(own) == len(measured) else f"{', '.join(names)}: {note}")
    return notes


def _in_words(measured: pd.DataFrame, by: str | None, *, is_paper: bool) -> pd.DataFrame:
    """Return the statistics with headings in words, and the interval in one column."""
    names = {"group": by or "group", "statistic": "measure", "n_units": "pairs",
             "n_pairable": "judged twice+", "n_annotators": "annotators", "below_667": "P(< .667)",
             "below_800": "P(< .8)", "n_resampled": "resampled"}  # fmt: skip
    shown = measured.drop(columns=_alike(measured)) if by is None else measured
    if is_paper:
        titles = [STATISTICS[name].title or name for name in shown["statistic"]]
        shown = shown.assign(statistic=titles)
    if "low" in shown.columns:
        form = "[{:.3f}, {:.3f}]" if is_paper else "{:.4f} to {:.4f}"
        limits = zip(shown["low"], shown["high"], strict=True)
        interval = [form.format(low, high) if low == low else "not known" for low, high in limits]
        shown.insert(list(shown.columns).index("value") + 1, "95%", interval)
        shown = shown.drop(columns=["low", "high"])
    return shown.rename(columns=names)


def _alike(measured: pd.DataFrame) -> list[str]:
    """Return the columns to leave out where there are no groups: the group, and what is said below."""
    known = [name for name in _SAID_BELOW if name in measured.columns]
    return ["group", *(name for name in known if measured[name].nunique() == 1)]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return value if isinstance(value, str) else f"{value:,}"
