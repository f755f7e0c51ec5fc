"""Whether the rows of a matrix are queries or docs: by its shape, by the user, or by the file."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, Matrix, n_rows_columns
from fire_toolkit.formats.runs.ranked import QUERIES_COLUMNS, QUERIES_ROWS

ORIENTATIONS = (QUERIES_ROWS, QUERIES_COLUMNS)


def possible_readings(
    path: Path, matrix: Matrix, lengths: tuple[int, int], mask: Array | None
) -> tuple[str, ...]:
    """Return the orientations in which the shape fits the ids; rows of padding are possible."""
    n_queries, n_docs = lengths
    rows, columns = n_rows_columns(matrix)
    if matrix.is_flipped:
        rows, columns = columns, rows
    fits = []
    if columns == n_docs and (rows == n_queries or (rows > n_queries and not matrix.is_flipped)):
        fits.append(QUERIES_ROWS)
    if (rows, columns) == (n_docs, n_queries) and len(matrix.shape) == 2 and mask is None:
        fits.append(QUERIES_COLUMNS)
    if not fits or 0 in (rows, columns):
        shape = " × ".join(map(str, matrix.shape[::-1] if matrix.is_flipped else matrix.shape))
        raise FormatError(
            f"{path}: shape {shape}, but {n_queries} query ids and {n_docs} doc ids; expected "
            f"{n_queries} × {n_docs}, or {n_docs} × {n_queries}, or more rows of padding; if these are "
            "vectors, give query vectors and doc vectors with --similarity"
        )
    return tuple(fits)


def known_orientation(
    readings: tuple[str, ...], wanted: str | None, path: Path, *, is_given: bool
) -> tuple[str | None, str]:
    """Return the orientation and how it is known; None where the logged score must tell.

    Args:
        readings: what `possible_readings` returned.
        wanted: the orientation that the user or the file names, None where neither does.
        path: the file, for errors.
        is_given: whether it was the user.

    Raises:
        FormatError: it is not an orientation, or the shape does not fit it.
    """
    if wanted is not None:
        if wanted not in ORIENTATIONS:
            raise FormatError(f"{path}: orientation {wanted!r}, expected one of {', '.join(ORIENTATIONS)}")
        if wanted not in readings:
            raise FormatError(f"{path}: orientation {wanted}, but the shape fits {readings[0]} only")
        return wanted, "given" if is_given else "said by the file"
    if len(readings) == 1:
        return readings[0], "the shape"
    return None, "the logged score"
