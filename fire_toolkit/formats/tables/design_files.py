"""The design of what is asked, as a file: which pairs get how many votes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import CLASSES, RECHECK, UNTIL_CONFIRMED

COLUMNS = [*PAIR, "design_class", "place", "cells"]
_KNOWN = (*CLASSES, RECHECK, UNTIL_CONFIRMED)


def read_design(path: Path) -> pd.DataFrame:
    """Return a design: query_id, doc_id, design_class and, of until-confirmed, place and cells.

    Raises:
        FormatError: an unknown class, a pair twice, a place or cells that are no numbers.
    """
    table = read_delimited(path, required=[*PAIR, "design_class"]).reindex(columns=COLUMNS, fill_value="")
    kind, place = table["design_class"], table["place"]
    is_number = place.str.fullmatch("[0-9]+") & table["cells"].str.fullmatch("[0-9a-f]+")
    is_again = table.duplicated(PAIR)
    faults = {
        f"design_class {{kind!r}}; expected one of {', '.join(_KNOWN)}": ~kind.isin(["", *_KNOWN]),
        "{pair} appears twice; expected one design class for each pair": is_again,
        "class {kind} needs place (a number) and cells (hexadecimal digits), as `next-round --policy` writes "
        "them": (kind == UNTIL_CONFIRMED) & ~is_number,
    }
    for words, is_bad in faults.items():
        for row in table.index[is_bad][:1]:
            named = {"kind": kind[row], "pair": " ".join(table.loc[row, PAIR])}
            raise FormatError(f"{path}:{row + 2}: {words.format(**named)}")
    return table.assign(place=pd.to_numeric(place.where(place != "", "1")))
