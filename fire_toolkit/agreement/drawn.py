"""How tables of agreement are drawn for people: headings in words, an interval in one column, notes once."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.results import drawn_text

# What is one number for all rows stands in the words below the table.
_SAID_BELOW = ("level", "n_units", "n_pairable", "n_annotators", "n_resampled")
_NOTES = ("note", "interval_note")
_HEADINGS = {
    "statistic": "measure",
    "n_units": "pairs",
    "n_pairable": "judged twice+",
    "n_annotators": "annotators",
    "below_667": "P(< .667)",
    "below_800": "P(< .8)",
    "n_resampled": "resampled",
}


def draw_agreement(measured: pd.DataFrame, form: str, *, by: str | None, is_summary: bool) -> str:
    """Return rows of agreement as a table, without their notes.

    by: the column that groups; is_summary: leave out the chances of alpha below its customary bounds, and
    what was resampled.
    """
    left_out = ("below_667", "below_800", "n_resampled") if is_summary else ()
    shown = measured.drop(columns=[*_NOTES, *left_out], errors="ignore")
    if by is None:
        one_number = [name for name in _SAID_BELOW if name in shown.columns and shown[name].nunique() == 1]
        shown = shown.drop(columns=["group", *one_number])
    if form != "table":
        shown["statistic"] = [STATISTICS[name].title or name for name in shown["statistic"]]
    if "low" in shown.columns:
        limits = "{:.4f} to {:.4f}" if form == "table" else "[{:.3f}, {:.3f}]"
        ends = zip(shown.pop("low"), shown.pop("high"), strict=True)
        interval = [limits.format(low, high) if low == low else "not known" for low, high in ends]
        shown.insert(list(shown.columns).index("value") + 1, "95%", interval)
    rows = [
        [f"{x:.4f}" if isinstance(x, float) else x if isinstance(x, str) else f"{x:,}" for x in row]
        for row in shown.itertuples(index=False)
    ]
    return drawn_text(rows, [{"group": by, **_HEADINGS}.get(name) or name for name in shown.columns], form)


def notes_of_rows(measured: pd.DataFrame) -> list[str]:
    """Return each note on rows of agreement once, behind the rows that it is of where it is not of all."""
    keys, notes = ["group", "statistic"], []
    for column in (name for name in _NOTES if name in measured.columns):
        for note, own in measured[measured[column] != ""].groupby(column, sort=False):
            by = [key for key in keys if len(own) == measured[key].isin(own[key]).sum()][-1:] or keys
            names = [" ".join(map(str, row)) for row in own[by].drop_duplicates().to_numpy()]
            of_rows = ", ".join(name.removeprefix("all ") for name in names)
            notes.append(str(note) if len(own) == len(measured) else f"{of_rows}: {note}")
    return notes
