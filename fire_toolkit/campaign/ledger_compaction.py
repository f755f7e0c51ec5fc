"""Many small segments of a ledger into one: every row stays, and what is read from it does not change."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.campaign.ledger import SEGMENTS
from fire_toolkit.workspace.segments import append_segment, segments_of, sound_segments

MOST_SMALL = 100
_SMALL_BYTES = 4_000_000


def compact_ledger(folder: Path, *, most_small: int = MOST_SMALL) -> int:
    """Write the small segments of a ledger as one, if there are more than `most_small`.

    Large ones stay as they are, so that this costs as much as what came in since the last time. Where several
    segments have the same row in all columns, it is kept once; every id and version stays, and the same
    segments give the same one at every site. The new segment is on the disk, whole, before the others go:
    a kill leaves rows in two segments, which are read once.

    Returns:
        How many segments became one; 0 if nothing was done, as where one of them is damaged: that is left to
        `read_ledger`, which names it.

    Raises:
        FireError: the folder cannot be written, or the disk is full; the ledger is as it was.
    """
    import pyarrow as pa

    small = [path for path in segments_of(folder) if path.stat().st_size < _SMALL_BYTES]
    if len(small) <= most_small:
        return 0
    tables, problems = sound_segments(folder, SEGMENTS, only=small)
    if problems:
        return 0
    rows = pa.concat_tables(tables).to_pandas().drop_duplicates()
    written = append_segment(folder, rows.sort_values(list(rows.columns), ignore_index=True), SEGMENTS)
    for path in small:
        if path != written:
            path.unlink()
    return len(small)
