"""The one converter of ids: ids from files become text, exactly as written."""

from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.tables.ids import spelling_of


def id_text(value: object, where: str) -> str:
    """Return one id: text as it is, bytes as UTF-8, a whole number of any size as its digits.

    Nothing else is an id: no True or None, and no 7.0, which may have lost digits on its way.
    Whether the text can be an id (not empty, no white space) is for the table to say.

    Args:
        value: what the file holds; NumPy's text and whole numbers too.
        where: the place, for the error.

    Raises:
        FormatError: it is something else, or text with half of a character in it.

    Examples:
        >>> [id_text(value, "ids.json") for value in ("007", b"v1", 2**63)]
        ['007', 'v1', '9223372036854775808']
        >>> id_text(7.0, "ids.json: entry 3")
        Traceback (most recent call last):
        fire_toolkit.errors.FormatError: ids.json: entry 3: 7.0, expected an id: text or a whole number
    """
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise FormatError(
                f"{where}: id {value!r} contains half a character (an unpaired surrogate)"
            ) from None
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        try:
            return str(int(value))
        except ValueError:
            raise FormatError(f"{where}: a number of thousands of digits, expected an id") from None
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatError(f"{where}: an id whose bytes are not UTF-8: {value[:20]!r}") from None
    is_plain = value is None or isinstance(value, bool | float | np.floating | np.bool_)
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    found = shown if is_plain else f"a {type(value).__name__}"
    raise FormatError(f"{where}: {found}, expected an id: text or a whole number")


def id_texts(values: Any, where: str) -> list[str]:
    """Return a list, or an array of one axis, of ids as `id_text` has them, in its order.

    Where one has a blank within, all are percent-encoded, as `tables.ids.encoded_id` does it.

    Raises:
        FormatError: one is no id, with its place from 1; or they are no list.
    """
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise FormatError(f"{where} has shape {values.shape} of {values.dtype}, expected a list of ids")
    if isinstance(values, str | bytes | dict | set | frozenset):
        kind = type(values).__name__
        raise FormatError(f"{where}: a {kind}, expected a list of ids in the order of the matrix")
    try:
        items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    except (ValueError, TypeError):
        raise FormatError(f"{where}: not readable as text, expected a list of ids") from None
    if not all(type(item) is str and item.isascii() for item in items):
        items = [id_text(item, f"{where}: id {place}") for place, item in enumerate(items, start=1)]
    return [*map(spelling_of(items), items)]
