"""The part of a ledger that new segments bear upon, read without the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from fire_toolkit.campaign.ledger import Ledger, empty_ledger, ledger_of, ledger_tables
from fire_toolkit.workspace.segments import segments_of

_MOST = 0.5  # of the ledger, beyond which reading all of it is as fast


class Part(NamedTuple):
    """Rows of a ledger, and those of them that were there before."""

    rows: Ledger
    before: Ledger


class _Page(msgspec.Struct, gc=False):
    page: str = ""


_PAGE = msgspec.json.Decoder(_Page)


def rows_beside(
    folder: Path, known: Collection[str], *, by_page: bool, only: Sequence[Path] | None = None
) -> Part | None:
    """Return the rows of all segments but those that are known, and each row that is judged with them.

    That is every row, wherever it is, of an answer, a pair or (with `by_page`) a page of several captions of
    which another such row is: what judgments are made of them does not depend on any other row, nor that of
    others on them.

    Args:
        folder: the ledger.
        known: names of segments.
        by_page: whether the ledger has pages of several captions.
        only: the segments there are; None: all in the folder.

    Returns:
        Rows in the ledger's order, and those of them that known segments have; None where all have to be
        looked at: a known segment is not there any more, a row has no pair, or they are half of the ledger.

    Raises:
        FormatError: as `read_ledger`.
    """
    paths = segments_of(folder) if only is None else only
    are_new = [path.name not in known for path in paths]
    if not known or len(paths) - sum(are_new) < len(set(known)):
        return None
    if not any(are_new):
        return Part(empty_ledger(), empty_ledger())
    names = ["annotation", "pair_id", *(["answer"] if by_page else [])]
    keys = ledger_tables(folder, only=paths, names=names)
    lengths = [table.num_rows for table in keys]
    is_part = _closed(np.repeat(are_new, lengths), keys)
    if is_part is None or is_part.mean() > _MOST:
        return None
    parts = np.split(is_part, np.cumsum(lengths)[:-1])
    used = [(path, part) for path, part in zip(paths, parts, strict=True) if part.any()]
    tables = ledger_tables(folder, only=[path for path, _ in used])
    parts_of = {path.name: table.filter(part) for table, (path, part) in zip(tables, used, strict=True)}
    before = [table for name, table in parts_of.items() if name in known]
    return Part(ledger_of([*parts_of.values()]), ledger_of(before))


def _closed(is_part: npt.NDArray[np.bool_], tables: list[Any]) -> npt.NDArray[np.bool_] | None:
    """Return the rows that share a value of a column with others of the part, and theirs, and so on.

    None where one of them has no pair, or its page cannot be told.
    """
    import pyarrow as pa
    from pyarrow import compute

    rows = pa.concat_tables(tables)
    links = [rows["annotation"], rows["pair_id"]]
    if "answer" in rows.column_names:
        pages = _pages_of(rows["answer"])
        if pages is None:
            return None
        links.append(pages)
    n_before = 0
    while (n_part := int(is_part.sum())) > n_before:
        n_before = n_part
        for values in links:
            mine = compute.unique(values.filter(is_part))
            mine = mine.filter(compute.not_equal(mine, ""))
            is_part = is_part | compute.is_in(values, value_set=mine).to_numpy(zero_copy_only=False)
    has_pair = compute.not_equal(rows["pair_id"].filter(is_part), "")
    return is_part if compute.all(has_pair, min_count=0).as_py() else None


def _pages_of(answers: Any) -> Any:
    """Return the page of each answer, empty where there is none; None where one cannot be told."""
    import pyarrow as pa

    try:
        pages = [_PAGE.decode(answer).page if '"page"' in answer else "" for answer in answers.to_pylist()]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return pa.chunked_array([pa.array(pages, pa.large_string())])
