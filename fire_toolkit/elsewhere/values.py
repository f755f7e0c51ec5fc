"""Values in records of any shape: where a name leads, which answers a value holds, times and seconds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.resolution.judgments import describe_bad_time, utc_time
from fire_toolkit.syntax import parse_json

_NOTHING = ("", "false", "0", "none", "null", "nan")
_SEPARATORS = (".", ":::")
_EPOCH = re.compile(r"[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]+)?")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_OF_MTURK = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) "
                       r"(PDT|PST|UTC|GMT) ([0-9]{4})")  # fmt: skip
_OFFSETS = {"PDT": "-07:00", "PST": "-08:00", "UTC": "+00:00", "GMT": "+00:00"}
_HAS_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_SPENT = re.compile(r"(?:Time spent: )?([0-9]+)d ([0-9]+)h ([0-9]+)m ([0-9]+)s *")


def value_finder(name: str, columns: Collection[str]) -> Callable[[Mapping[str, Any]], Any] | None:
    """Return what finds the value that `name` names in a record; None if no column fits.

    A column of that name; else a way into the JSON of a column (`Answer.taskAnswers.match.label`); else
    the columns that begin with it (`Answer.match.Yes`, `match:::Yes`) together, as an object.
    """
    if name in columns:
        return lambda record: record.get(name)
    parents = [column for column in columns if name.startswith(f"{column}.")]
    if parents:
        column = max(parents, key=len)
        return lambda record: value_at(record.get(column), name[len(column) + 1 :])
    for separator in _SEPARATORS:
        start = name + separator
        parts = {column: column[len(start) :] for column in columns if column.startswith(start)}
        if parts:
            return lambda record: {option: record.get(column) for column, option in parts.items()}
    return None


def columns_of(name: str, columns: Collection[str]) -> list[str]:
    """Return the columns that `value_finder` looks at."""
    starts = tuple(name + separator for separator in _SEPARATORS)
    own = [column for column in columns if column == name or name.startswith(f"{column}.")]
    return own or [column for column in columns if column.startswith(starts)]


def value_at(value: Any, name: str) -> Any:
    """Return what a dotted name leads to in objects; None where it leads nowhere.

    Text is taken for JSON, and a list of one object for that object.

    Raises:
        FormatError: text that is no JSON, or a list of several objects.

    Examples:
        >>> value_at('[{"match": {"label": "Yes"}}]', "match.label")
        'Yes'
    """
    if isinstance(value, str) and value.strip():
        value = parse_json(value, "the text", as_written=True)
    if isinstance(value, list) and value:
        if len(value) > 1:
            raise FormatError(f"a list of {len(value)} entries, expected one")
        value = value[0]
    if not isinstance(value, dict):
        return None
    if name in value:
        return value[name]
    fits = [key for key in value if name.startswith(f"{key}.")]
    return value_at(value[max(fits, key=len)], name[len(max(fits, key=len)) + 1 :]) if fits else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the answers that a value holds: itself, the entries of a list, the chosen keys of an object.

    Examples:
        >>> texts_of(" Yes "), texts_of(["a", "b"]), texts_of({"Yes": "true", "No": "false"}), texts_of("")
        (('Yes',), ('a', 'b'), ('Yes',), ())
    """
    if isinstance(value, dict) and list(value) == ["choices"]:
        value = value["choices"]  # Label Studio's JSON_MIN, where several were chosen
    if isinstance(value, dict):
        return tuple(str(key) for key, chosen in value.items() if _is_chosen(chosen))
    if isinstance(value, list):
        return tuple(dict.fromkeys(text for entry in value for text in texts_of(entry)))
    text = text_of_value(value)
    return (text,) if text else ()


def _is_chosen(value: Any) -> bool:
    return text_of_value(value).lower() not in _NOTHING if not isinstance(value, dict | list) else bool(value)


def text_of_value(value: Any) -> str:
    """Return a single value as text without white space around it; empty for none.

    Raises:
        FormatError: a list or an object.
    """
    if isinstance(value, dict | list):
        raise FormatError(f"{'an object' if isinstance(value, dict) else 'a list'}, expected one value")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()


def time_of(text: str) -> str:
    """Return a time in this toolkit's form; empty for an empty text.

    Taken: ISO 8601; seconds or milliseconds since 1970; MTurk's (Mon Jun 08 15:27:14 PDT 2015).

    Raises:
        FormatError: any other.

    Examples:
        >>> time_of("Mon Jun 08 15:27:14 PDT 2015"), time_of("1707211049")
        ('2015-06-08T22:27:14.000000Z', '2024-02-06T09:17:29.000000Z')
    """
    if not text:
        return ""
    if _EPOCH.fullmatch(text):
        seconds = float(text) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if (found := _OF_MTURK.fullmatch(text)) and found[1] in _MONTHS:
        month, day = _MONTHS.index(found[1]) + 1, int(found[2])
        text = f"{found[5]}-{month:02}-{day:02}T{found[3]}{_OFFSETS[found[4]]}"
    time = utc_time(text)
    if time is None:
        raise FormatError(f"{text!r}: {describe_bad_time(text)}")
    return time


def has_zone(text: str) -> bool:
    """Whether a time says its offset from UTC, or needs none."""
    return bool(_EPOCH.fullmatch(text) or _OF_MTURK.fullmatch(text) or _HAS_OFFSET.search(text))


def seconds_of(text: str) -> float:
    """Return seconds; nan for an empty text.

    Raises:
        FormatError: no number of seconds.

    Examples:
        >>> seconds_of("7.5"), seconds_of("Time spent: 0d 0h 1m 5s ")
        (7.5, 65.0)
    """
    if not text:
        return math.nan
    if found := _SPENT.fullmatch(text):
        days, hours, minutes, seconds = map(int, found.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 2**53:
        raise FormatError(f"{text!r}, expected seconds")
    return number
