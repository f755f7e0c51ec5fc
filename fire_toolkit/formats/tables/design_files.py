"""The design of what is asked, as a file: which pairs get how many votes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import CLASSES, RECHECK, UNTIL_CONFIRMED

COLUMNS = [*PAIR, "design_class", "place", "cells"]


def read_design(path: Path) -> pd.DataFrame:
    """Return a design: query_id, doc_id, design_class and, of until-confirmed, place and cells.

    Raises:
        FormatError: an unknown class, a pair twice, a place or cells that are no numbers.
    """
    table = read_delimited(path, required=[*PAIR, "design_class"])
    known = {"", *CLASSES, RECHECK, UNTIL_CONFIRMED}
    wrong = table.loc[~table["design_class"].isin(known), "design_class"]
    if len(wrong):
        raise FormatError(
            f"{path}:{int(wrong.index[0]) + 2}: design_class {wrong.iloc[0]!r}; expected one of "
            f"{', '.join((*CLASSES, RECHECK, UNTIL_CONFIRMED))}"
        )
    if table.duplicated(PAIR).any():
        again = " ".join(table.loc[table.duplicated(PAIR), PAIR].iloc[0])
        raise FormatError(f"{path}: {again} appears twice; expected one design class for each pair")
    table = table.reindex(columns=COLUMNS, fill_value="")
    waiting = table[table["design_class"] == UNTIL_CONFIRMED]
    is_whole = waiting["place"].str.fullmatch("[0-9]+") & waiting["cells"].str.fullmatch("[0-9a-f]+")
    if not is_whole.all():
        raise FormatError(
            f"{path}:{int(waiting.index[~is_whole][0]) + 2}: class {UNTIL_CONFIRMED} needs place (a number) "
            "and cells (hexadecimal digits), as `next-round --policy` writes them"
        )
    return table.assign(place=pd.to_numeric(table["place"].where(table["place"] != "", "1")))
