"""Values in records of any shape: where a name leads, which answers a value holds, times and seconds."""

import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.resolution.judgments import describe_bad_time, utc_time
from fire_toolkit.syntax import parse_json

_VALUES = ("choices", "rating", "number", "text", "taxonomy", "datetime")  # of Label Studio's controls
_NOTHING = ("", "false", "0", "none", "null", "nan")
_EPOCH = re.compile(r"[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]+)?")
_OF_MTURK = re.compile(r"\w{3} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9:]{8}) (PDT|PST|UTC|GMT) ([0-9]{4})")
_OFFSETS = {"PDT": "-07:00", "PST": "-08:00", "UTC": "Z", "GMT": "Z"}
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_HAS_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_SPENT = re.compile(r"(?:Time spent: )?([0-9]+)d ([0-9]+)h ([0-9]+)m ([0-9]+)s *")


def find_columns(name: str, columns: Collection[str]) -> tuple[list[str], Callable[..., Any]] | None:
    """Return the columns that hold what `name` names, and what makes its value of theirs; None if none fits.

    A column of that name; else a way into the JSON of a column (`Answer.taskAnswers.match.label`); else
    the columns that begin with it (`Answer.match.Yes`, `match:::Yes`) together, as an object.
    """
    if name in columns:
        return [name], as_it_is
    parents = [column for column in columns if name.startswith(f"{column}.")]
    if parents:
        column = max(parents, key=len)
        return [column], lambda value: value_at(value, name[len(column) + 1 :])
    for start in (f"{name}.", f"{name}:::"):
        parts = [column for column in columns if column.startswith(start)]
        if parts:
            names = [column.removeprefix(start) for column in parts]
            return parts, partial(lambda own, *values: dict(zip(own, values, strict=True)), names)
    return None


def as_it_is(value: Any) -> Any:
    """Return a value: what makes that of a role where one column holds it."""
    return value


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
    keys = [key for key in value if name.startswith(f"{key}.")]
    return value_at(value[max(keys, key=len)], name[len(max(keys, key=len)) + 1 :]) if keys else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the answers that a value holds: itself, the entries of a list, the chosen keys of an object.

    Examples:
        >>> texts_of(" Yes "), texts_of(["a", "b"]), texts_of({"Yes": "true", "No": "false"}), texts_of("")
        (('Yes',), ('a', 'b'), ('Yes',), ())
    """
    if isinstance(value, dict) and list(value) == ["choices"]:
        value = value["choices"]  # Label Studio's JSON_MIN, where several were chosen
    if isinstance(value, dict):
        return tuple(
            str(key)
            for key, chosen in value.items()
            if (chosen if isinstance(chosen, dict | list) else text_of_value(chosen).lower() not in _NOTHING)
        )
    if isinstance(value, list):
        return tuple(dict.fromkeys(text for entry in value for text in texts_of(entry)))
    text = text_of_value(value)
    return (text,) if text else ()


def controls_in(result: Any) -> dict[str, list[str] | str]:
    """Return what was answered with each control of Label Studio as texts; of what answers nothing its kind.

    Examples:
        >>> controls_in([{"from_name": "fits", "type": "rating", "value": {"rating": 4}}])
        {'fits': ['4']}
    """
    found: dict[str, list[str] | str] = {}
    for each in result if isinstance(result, list) else ():
        if isinstance(each, dict) and isinstance(name := each.get("from_name"), str):
            value = each.get("value")
            named = [value[key] for key in _VALUES if key in value] if isinstance(value, dict) else []
            before = found.setdefault(name, [])
            if not isinstance(before, str):
                texts = [text for given in named for text in texts_of(given)]
                found[name] = [*before, *texts] if named else str(each.get("type"))
    return found


def chosen_texts(chosen: Sequence[str], result: Any) -> tuple[tuple[str, str], ...]:
    """Return each text that was answered with one of the chosen controls of Label Studio, with its control.

    Raises:
        FormatError: a control that answers no question.
    """
    answered = controls_in(result)
    for name in chosen:
        if isinstance(kind := answered.get(name), str):
            raise FormatError(f"control {name} is of type {kind}, which does not answer a question")
    return tuple(dict.fromkeys((name, text) for name in chosen for text in answered.get(name, ())))


def author_of(value: Any) -> str:
    """Return an account's number, else its e-mail; empty where the account is deleted."""
    if isinstance(value, dict):
        value = value.get("email") if value.get("id") is None else value["id"]
    return text_of_value(value).lower()


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


def time_of(text: str) -> tuple[str, bool]:
    """Return a time in this toolkit's form, empty for an empty text, and whether it says its zone.

    Taken: ISO 8601; seconds or milliseconds since 1970; MTurk's (Mon Jun 08 15:27:14 PDT 2015).

    Raises:
        FormatError: any other.

    Examples:
        >>> time_of("Mon Jun 08 15:27:14 PDT 2015"), time_of("1707211049")
        (('2015-06-08T22:27:14.000000Z', True), ('2024-02-06T09:17:29.000000Z', True))
    """
    is_iso = text[4:5] == "-"
    if not is_iso and _EPOCH.fullmatch(text):
        seconds = float(text) / (1000 if len(text.partition(".")[0]) == 13 else 1)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z", True
    written = text
    if not is_iso and (found := _OF_MTURK.fullmatch(text)):
        month, day, clock, zone, year = found.groups()
        written = f"{year}-{_MONTHS.find(month) // 3 + 1:02d}-{int(day):02d}T{clock}{_OFFSETS[zone]}"
    time = utc_time(written) if text else ""
    if time is None:
        raise FormatError(f"{text!r}: {describe_bad_time(text)}")
    return time, not text or text.endswith("Z") or bool(_HAS_OFFSET.search(written))


def seconds_of(text: str) -> float | None:
    """Return seconds; None for an empty text.

    Raises:
        FormatError: no number of seconds.

    Examples:
        >>> seconds_of("7.5"), seconds_of("Time spent: 0d 0h 1m 5s ")
        (7.5, 65.0)
    """
    if not text:
        return None
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


def round_of(value: Any) -> int:
    """Return a round as a number, 1 for none; raise `FormatError` for what is no whole number from 1."""
    text = text_of_value(value)
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text) < 2**31):
        raise FormatError(f"round is {text!r}, expected a whole number from 1")
    return int(text or 1)


def are_objects(value: Any) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def are_of_people(value: Any) -> bool:
    """Whether an answer is a list of responses, each with its annotator, as Argilla has them."""
    return are_objects(value) and all({"value", "user_id"} <= each.keys() for each in value)


def kind_of(origin: Any) -> str:
    """Return the kind that an answer's origin names, in small letters; empty for none."""
    return text_of_value(origin.get("kind") if isinstance(origin, dict) else origin).lower()
