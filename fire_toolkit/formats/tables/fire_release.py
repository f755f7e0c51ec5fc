"""Reads the JSON in which FIRE's judgments were released; `fire_release_text` writes it.

It names captions by their text and lists disputes separately from annotations. Here a text becomes the ids
of all captions that have it, every annotator's answer becomes a judgment, disputes are kept, and entries
outside the collection are listed. The released data are CC BY-NC: reading them is one thing,
passing them on under another licence is not allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.collections.texts import normal_text
from fire_toolkit.errors import FormatError
from fire_toolkit.files import STDIN, is_gzip, opened, without_mark
from fire_toolkit.formats.collections.entries import Entry
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.tables import (
    Disputes,
    Items,
    Judgments,
    Labels,
    Qrels,
    Queries,
    check_disputes,
    check_labels,
    check_qrels,
)
from fire_toolkit.tables.columns import PAIR, are_in

LICENCE = "CC BY-NC"
METHOD = "fire-release"
POSITIVE = ("relevant", "yes", "true", "1")
NEGATIVE = ("irrelevant", "not_relevant", "no", "false", "0")
VOTE_ORDER = "vote_order"
WHOLE_NUMBERS = "whole_number_ids"
_LISTS = ("annotator_ids", "response_ids", "queue_ids")


@dataclass(frozen=True)
class Release:
    """A release as tables.

    judgments: also response_id, queue_id and vote_order, the place of the answer in its entry, from 1.
    provenance: query_id, doc_id, model. outside: what is not in the collection. about: the fields at the
    top of the file (creator, created_ds, license, ...), and under `whole_number_ids` the fields of the
    entries that have numbers as ids.
    """

    judgments: Judgments
    labels: Labels
    disputes: Disputes
    provenance: pd.DataFrame
    outside: pd.DataFrame
    notes: list[str]
    about: dict[str, Any]

    @property
    def qrels(self) -> Qrels:
        """Return the labels as qrels: what was judged, without the original positives."""
        return check_qrels(self.labels[[*PAIR, "relevance"]].assign(source="judged"))


def is_fire_release(path: str | Path) -> bool:
    """Whether a file is one JSON object with `annotations` and `disagreements`."""
    if str(path) == STDIN:
        return False
    with opened(path) as stream:
        start = stream.read(64)
    if not is_gzip(start) and not without_mark(start).lstrip().startswith(b"{"):
        return False
    try:
        found = Source(path).json
    except FormatError:  # whoever reads the file as what it is says what is wrong with it
        return False
    return isinstance(found, dict) and {"annotations", "disagreements"} <= set(found)


def read_fire_release(path: str | Path, queries: Queries, *, items: Items | None = None) -> Release:
    """Return FIRE's release as judgments, labels, disputes and provenance of a collection.

    Args:
        path: the JSON with `annotations` and `disagreements`.
        queries: the captions; a text of the release stands for every caption with that text (exactly,
            else ignoring case and white space). If the entry has the query_id of such a caption, it
            stands for that one only.
        items: when given, pairs with other items are left out.

    Returns:
        A Release. Labels `true`, `1`, `yes` (any case) mean relevance 1, `false`, `0`, `no`,
        `irrelevant` 0. An annotator's second answer to a pair replaces the first. A pair given twice
        with different labels, or also among the disagreements, is a dispute. notes count what was
        joined, repeated and left out, and say what the licence is.

    Raises:
        FormatError: no such JSON, lists of one entry of different lengths, or a label of unknown grade.
    """
    found = Source(path).mapping
    if "annotations" not in found:
        raise FormatError(f"{path}: no field 'annotations', expected the JSON of FIRE's release")
    whole = Entry({"disagreements": [], **found}, str(path))
    rows = [_entry(entry, is_labelled=True) for entry in whole.entries("annotations")]
    rows += [_entry(entry, is_labelled=False) for entry in whole.entries("disagreements")]
    licence = repr(found["license"])[:60] if found.get("license") else "nothing"
    notes = [
        f"licence: the file says {licence}; FIRE's repository says {LICENCE} for its data: do not pass these "
        "judgments on under a licence that allows commercial use"
    ]
    joined, outside = _joined(pd.DataFrame(rows, columns=list(_Entry._fields)), queries, items, notes)
    judgments, repeated = latest_judgments(_votes(joined), where=str(path))
    if len(repeated):
        notes.append(f"{len(repeated):,} answers replaced by a later one of the same annotator")
    labels, disputes = _verdicts(joined, judgments)
    sources = joined[[*PAIR, "models"]].explode("models").dropna().rename(columns={"models": "model"})
    provenance = sources.drop_duplicates().sort_values([*PAIR, "model"]).reset_index(drop=True)
    return Release(judgments, labels, disputes, provenance, outside, notes, _about(found))


class _Entry(NamedTuple):
    text: str
    doc_id: str
    label: str | None
    votes: list[tuple[str, str, str, str]]
    models: list[str]
    own_id: str | None


def _about(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields at the top, and which ids of the entries are whole numbers in the file."""
    entries = [*found["annotations"], *found.get("disagreements", [])]
    values = {name: [value for entry in entries for value in entry.get(name, [])] for name in _LISTS}
    values["video_id"] = [entry["video_id"] for entry in entries]
    whole = [name for name, ids in values.items() if ids and all(isinstance(each, int) for each in ids)]
    top = {name: value for name, value in found.items() if name not in ("annotations", "disagreements")}
    return {**top, WHOLE_NUMBERS: sorted(whole)} if whole else top


def _entry(entry: Entry, *, is_labelled: bool) -> _Entry:
    where, annotators = entry.where, entry.ids("annotator_ids")
    answers = [_label(value, where) for value in entry.values("annotator_labels")]
    more = [_ids(entry, name, len(annotators)) for name in ("response_ids", "queue_ids")]
    if len(answers) != len(annotators):
        raise FormatError(f"{where}: {len(annotators)} annotators and {len(answers)} labels")
    return _Entry(
        text=entry.text("query"),
        doc_id=entry.id("video_id"),
        label=_label(entry.value("label"), where) if is_labelled else None,
        votes=list(zip(annotators, answers, *more, strict=True)),
        models=sorted(set(entry.ids("models", []))),
        own_id=entry.id("query_id") if "query_id" in entry.fields else None,
    )


def _ids(entry: Entry, name: str, n_expected: int) -> list[str]:
    values = entry.ids(name, [])
    return values if len(values) == n_expected else [";".join(values)] * n_expected


def _label(value: object, where: str) -> str:
    label = "_".join(str(value).split()) if isinstance(value, str | int) else ""
    if label.casefold() not in POSITIVE + NEGATIVE:
        expected = ", ".join(POSITIVE + NEGATIVE)
        raise FormatError(f"{where}: label {value!r}, expected one of {expected}")
    return label


def relevance_of(label: str) -> int:
    """Return 1 for a label that means relevant, 0 for one that means irrelevant."""
    return int(label.casefold() in POSITIVE)


def _joined(
    entries: pd.DataFrame, queries: Queries, items: Items | None, notes: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the entries with the ids of their captions, one row per caption, and those outside."""
    exact, loose = (
        queries.groupby(texts)["query_id"].agg(list).to_dict()
        for texts in (queries["text"], queries["text"].map(normal_text))
    )
    found = []
    for text, own_id in zip(entries["text"], entries["own_id"], strict=True):
        ids = exact.get(text) or loose.get(normal_text(text)) or []
        found.append([own_id] if own_id in ids else ids)
    named = entries.assign(query_id=pd.Series(found, index=entries.index, dtype=object))
    known = named["query_id"].map(len) > 0
    inside = known & (are_in(named["doc_id"], items["doc_id"]) if items is not None else True)
    why = pd.Series("no caption has this text", index=named.index).where(~known, "no such item")
    outside = named[["text", "doc_id"]].assign(reason=why)[~inside].reset_index(drop=True)
    kept = named[inside]
    shared = kept[kept["query_id"].map(len) > 1]
    if len(shared):
        n_captions = shared["query_id"].explode().nunique()
        notes.append(
            f"{n_captions:,} captions share {shared['text'].nunique():,} of the texts: judgments of such "
            f"a text ({len(shared):,} of the entries) count for each of them"
        )
    if len(outside):
        notes.append(f"{len(outside):,} of {len(entries):,} entries are outside the collection")
    return kept.explode("query_id").reset_index(drop=True), outside


def _votes(joined: pd.DataFrame) -> pd.DataFrame:
    columns = [*PAIR, "annotator_id", "label", "response_id", "queue_id", "origin"]
    rows = [
        (query_id, doc_id, *vote, METHOD)
        for query_id, doc_id, votes in zip(joined["query_id"], joined["doc_id"], joined["votes"], strict=True)
        for vote in votes
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(**{VOTE_ORDER: table.groupby(PAIR).cumcount() + 1})


def _verdicts(joined: pd.DataFrame, judgments: Judgments) -> tuple[Labels, Disputes]:
    """Return one label per pair, and the pairs that have no label or several."""
    by_pair = joined.assign(label=joined["label"].fillna("")).groupby(PAIR)["label"]
    pairs = by_pair.agg(["nunique", "first"]).reset_index()
    pairs["relevance"] = pairs["first"].map(relevance_of)
    is_label = (pairs["nunique"] == 1) & (pairs["first"] != "")
    votes = judgments.merge(pairs[[*PAIR, "first"]], on=PAIR)
    votes["agrees"] = votes["label"] == votes["first"]
    counts = votes.groupby(PAIR)["agrees"].agg(["size", "sum"]).reset_index()
    counted = pairs[is_label].merge(counts, on=PAIR, how="left")
    n_judgments, n_agree = (counted[name].fillna(0).astype("int64") for name in ("size", "sum"))
    labels = counted[[*PAIR, "relevance"]].assign(
        label=counted["first"],
        method=METHOD,
        n_judgments=n_judgments,
        n_agree=n_agree,
        vote_share=n_agree / n_judgments.where(n_judgments > 0, 1),
    )
    return check_labels(labels), _disputes(pairs[~is_label], judgments)


def _disputes(pairs: pd.DataFrame, judgments: Judgments) -> Disputes:
    counts = pd.crosstab([judgments[name] for name in PAIR], judgments["label"]).add_prefix("n_")
    disputed = pairs[PAIR].assign(reason=["no_majority"] * len(pairs)).merge(counts, on=PAIR, how="left")
    return check_disputes(disputed.fillna(0).astype(dict.fromkeys(counts.columns, "int64")))
