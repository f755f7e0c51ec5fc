"""Raw answers to clean judgments: one vote for each annotator and pair; what is left out keeps its reason."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.errors import FileNote, TableError
from fire_toolkit.tables import JUDGMENTS, Dropped, Judgments, asked_judgments, check_dropped
from fire_toolkit.tables.checks import check_table, ordered
from fire_toolkit.tables.columns import arrow_text, codes_of, packed_codes
from fire_toolkit.tables.specs import Column, TableSpec

_VOTE = ["annotator_id", "query_id", "doc_id"]
_ANSWERS = TableSpec("judgments", JUDGMENTS.columns, (), extra=True)

_TO_SECONDS = "[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"  # but for the year's first digit
_EITHER = rf"^[1-9]{_TO_SECONDS}(\.[0-9]{{6}})?Z$"
_ROUND = re.compile(r"[1-9][0-9]*(\.0)?")
_SLASHED = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}\b")
SUPERSEDED = "superseded"
DUPLICATE = "duplicate"  # a copy of an answer
_ROUNDS = TableSpec("judgments", (Column("round", "int"),), ())
_NUMBERS = (Column("round", "int", minimum=1), Column("inclusion_probability", "float", missing=True))
_TYPED = {column.name: TableSpec("judgments", (column,), ()) for column in _NUMBERS}


def latest_judgments(
    answers: pd.DataFrame, *, time: str = "created_at", where: str = "judgments"
) -> tuple[Judgments, Dropped]:
    """Return the latest answer of each annotator to each pair, and the earlier ones as dropped.

    Args:
        answers: the columns of Judgments; an annotator may stand several times at a pair.
        time: the column that says which answer is later (ISO 8601; without an offset it is UTC).
            Among equal times the later row wins, and among all of an annotator's answers to a pair
            if one of them has no time.
        where: what the table is called in an error.

    Returns:
        Judgments; and Dropped with reason `superseded`, in the order of the rows given.

    Raises:
        TableError: columns are missing or wrong; a time that must be compared cannot be read.

    Examples:
        >>> answers = pd.DataFrame({"query_id": "q", "doc_id": "d", "annotator_id": "ann",
        ...                         "label": ["irrelevant", "relevant"]})
        >>> judgments, dropped = latest_judgments(answers)
        >>> list(judgments["label"]), list(dropped["label"]), list(dropped["reason"])
        (['relevant'], ['irrelevant'], ['superseded'])
    """
    checked = check_table(_ANSWERS, answers, where=where)
    del answers  # as large as all exports, as is each copy of it
    vote = pd.Series(packed_codes([codes_of(checked[name]) for name in _VOTE]))
    earlier = checked.index[:0]
    if not vote.is_unique:
        contested = vote[vote.duplicated(keep=False)].to_frame("vote")
        times = checked.loc[contested.index, time]
        contested["when"] = [utc_time(text) if text else "" for text in times]
        if len(unread := times[contested["when"].isna()]):
            raise TableError(
                f"{where}: row {unread.index[0] + 1}: {time} is {unread.iloc[0]!r}, "
                f"{describe_bad_time(unread.iloc[0])}"
            )
        contested.loc[contested["when"].eq("").groupby(contested["vote"]).transform("any"), "when"] = ""
        in_order = contested.sort_values(["vote", "when"], kind="stable")
        earlier = in_order.index[in_order["vote"].duplicated(keep="last")].sort_values()
    left = checked.loc[earlier, ["query_id", "doc_id", "annotator_id", "label", "created_at"]]
    left = left.assign(reason=SUPERSEDED, detail="the same annotator answered this pair again")
    checked = checked.drop(index=earlier) if len(earlier) else checked
    return Judgments(ordered(checked, JUDGMENTS.order)), check_dropped(left)


def judgments_that_count(answers: pd.DataFrame, *, where: str) -> Judgments:
    """Return the latest answer of each annotator to each pair, typed; a `FileNote` counts the earlier ones.

    Raises:
        TableError: as `latest_judgments`.
    """
    latest, earlier = latest_judgments(answers, where=where)
    if len(earlier):
        known = earlier.merge(latest[[*_VOTE, "label"]], on=_VOTE, suffixes=("", "_now"))
        n_other = int((known["label"] != known["label_now"]).sum())
        words = f"{where}: {len(earlier):,} earlier answers of an annotator to the same pair left out"
        words += f", {n_other:,} of them with another label than the one that counts"
        warnings.warn(words, FileNote, stacklevel=3)
    typed = typed_judgments(latest, where=where)
    if "round" in typed and len(typed) and typed["round"].dtype.kind not in "iu":
        warnings.warn(
            f"{where}: round is not whole in every row, so labels lack rounds", FileNote, stacklevel=3
        )
    return typed


def typed_judgments(judgments: pd.DataFrame, *, where: str) -> Judgments:
    """Return judgments with the columns round and inclusion_probability, if present, as numbers.

    Rounds stay as they are where one is not a whole number.
    """
    for name, spec in _TYPED.items():
        is_there = name in judgments.columns
        if is_there and (name != "round" or all(map(_ROUND.fullmatch, map(str, judgments[name].unique())))):
            typed = check_table(spec, judgments[[name]], where=where)
            judgments = judgments.assign(**{name: typed[name].array})
    return Judgments(judgments)


def latest_round(judgments: pd.DataFrame) -> int:
    """Return the latest round that judgments name; 1 where they name none."""
    is_known = "round" in judgments.columns and judgments["round"].dtype.kind in "iu" and len(judgments)
    return int(judgments["round"].max()) if is_known else 1


def utc_time(text: str) -> str | None:
    """Return a time in this toolkit's form (UTC, microseconds, `Z`); None if it is not a time.

    Texts of this form sort as their times do. A time without an offset is taken as UTC.

    Examples:
        >>> utc_time("2026-03-29T01:30:00+02:00")
        '2026-03-28T23:30:00.000000Z'
    """
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return _in_form(moment)


def utc_times(texts: Sequence[str]) -> Any:
    """Return what `utc_time` does of each text, as an Arrow array; an empty one stays.

    Examples:
        >>> utc_times(["2026-03-28T23:30:00+01:00", "", "now"]).to_pylist()
        ['2026-03-28T22:30:00.000000Z', '', None]
    """
    if (found := times_in_form(texts)) is not None:
        return found
    return pa.array([utc_time(text) if text else "" for text in texts], pa.large_string())


def times_in_form(texts: Any) -> Any:
    """Return what `utc_time` does of texts that are all of its form, or of that to the second; else None.

    They are read at once; an empty one stays.
    """
    with suppress(pa.ArrowInvalid, UnicodeError):
        found = arrow_text(texts)
        given = found.filter(compute.not_equal(found, ""))
        if compute.all(compute.match_substring_regex(given, _EITHER)).as_py() is not False:
            given.cast(pa.timestamp("us", "UTC"))  # refuses what is no day or hour
            is_short = compute.equal(compute.binary_length(found), len("2026-03-28T23:30:00Z"))
            return compute.if_else(is_short, compute.replace_substring(found, "Z", ".000000Z"), found)
    return None


def just_after(moment: str) -> str:
    """Return the time a microsecond after a time in this toolkit's form.

    Examples:
        >>> just_after("2026-03-28T23:59:59.999999Z")
        '2026-03-29T00:00:00.000000Z'
    """
    return _in_form(datetime.fromisoformat(moment) + timedelta(microseconds=1))


def _in_form(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def describe_bad_time(text: str) -> str:
    """Return what is expected in the place of a text that is not a time, and what it looks like.

    Examples:
        >>> describe_bad_time("3/14/2026 10:00")
        'a US date, or one with the day first; expected a time as in ISO 8601 (2026-03-14T10:00:00Z)'
    """
    found = "a US date, or one with the day first; " if _SLASHED.match(text.strip()) else ""
    return f"{found}expected a time as in ISO 8601 (2026-03-14T10:00:00Z)"


def number_annotators(judgments: Judgments) -> dict[str, int]:
    """Return a number for each annotator, from 1, the busiest first: for pages that name nobody."""
    counts = judgments["annotator_id"].value_counts()
    busiest = sorted(counts.index, key=lambda name: (-counts[name], name))
    return {name: number for number, name in enumerate(busiest, start=1)}


def first_round(judgments: Judgments) -> Judgments:
    """Return the judgments of each pair's first round, which were asked without knowing any answer.

    A pair is asked again because of its earlier answers, so later answers are a biased sample: they make
    agreement too high or too low, depending on how the pairs were chosen.

    Args:
        judgments: with a column round (whole numbers), else all are returned; with a column kind,
            answers that were not asked of their annotator are left out too, see `asked_judgments`.

    Returns:
        The rows kept, in the order given.

    Raises:
        TableError: a round that is not a whole number.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aaab"), "annotator_id": list("uvwu"),
        ...     "label": list("1010"), "round": [1, 1, 2, 2]}))
        >>> first_round(judgments)[["doc_id", "annotator_id", "round"]].values.tolist()
        [['a', 'u', 1], ['a', 'v', 1], ['b', 'u', 2]]
    """
    asked = asked_judgments(judgments)
    if "round" not in asked.columns:
        return asked
    number = check_table(_ROUNDS, asked[["round"]])["round"]
    if number.nunique() > 1:
        first = number.groupby([asked[name] for name in ("query_id", "doc_id")], sort=False).transform("min")
        asked = asked[number == first]
    return Judgments(asked.reset_index(drop=True))
