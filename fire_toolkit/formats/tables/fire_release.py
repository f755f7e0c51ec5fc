"""The JSON in which FIRE's judgments were released: read as tables, and written from them.

It names captions by their text and lists disputes separately from annotations. Here a text becomes the ids
of all captions that have it, every annotator's answer becomes a judgment, disputes are kept, and entries
outside the collection are listed. The released data are CC BY-NC: reading them is one thing,
passing them on under another licence is not allowed.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.collections.duplicates import normal_text
from fire_toolkit.errors import FormatError, JoinError
from fire_toolkit.files import BOM, read_text
from fire_toolkit.formats.collections.source import Entry, Source
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.syntax import parse_json
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
ABOUT, PROVENANCE = "about.json", "provenance.csv"  # what `import` writes beside the tables
_LISTS = ("annotator_ids", "response_ids", "queue_ids")
_FIELDS = ["text", "doc_id", "label", "votes", "models", "own_id"]
_VOTES = {
    "annotator_ids": "annotator_id",
    "annotator_labels": "label",
    "response_ids": "response_id",
    "queue_ids": "queue_id",
}
_Written = dict[str, Any]


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

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by the names of their files."""
        names = ("judgments", "labels", "disputes", "provenance", "outside")
        return {f"{name}.csv": getattr(self, name) for name in names}


def is_fire_release(path: str | Path) -> bool:
    """Whether a file is one JSON object with `annotations` and `disagreements`."""
    try:
        start, _ = start_of(path)
        found = Source(path).json if start.removeprefix(BOM).lstrip().startswith(b"{") else None
    except FormatError:  # whoever reads the file as what it is says what is wrong with it
        return False
    return isinstance(found, dict) and {"annotations", "disagreements"} <= set(found)


def read_about(path: Path) -> dict[str, Any]:
    """Return the fields at the top of a release that was read, as `import` wrote them (`Release.about`).

    Raises:
        FormatError: it is something else.
    """
    about = parse_json(read_text(path), str(path))
    lists = ("datasets", WHOLE_NUMBERS)
    if not isinstance(about, dict) or not all(isinstance(about.get(name, []), list) for name in lists):
        raise FormatError(f"{path}: not what `import` writes; delete it, or import the release again")
    return about


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
    listed = {name: whole.entries(name) for name in ("annotations", "disagreements")}
    rows = [_entry(entry, is_labelled=name == "annotations") for name, own in listed.items() for entry in own]
    licence = repr(found["license"])[:60] if found.get("license") else "nothing"
    notes = [
        f"licence: the file says {licence}; FIRE's repository says {LICENCE} for its data: do not pass these "
        "judgments on under a licence that allows commercial use"
    ]
    joined, outside = _joined(pd.DataFrame(rows, columns=_FIELDS), queries, items, notes)
    each = joined[[*PAIR, "votes"]].explode("votes").dropna(subset="votes").reset_index(drop=True)
    told = pd.DataFrame(each["votes"].tolist(), columns=[*_VOTES.values()])
    votes = pd.concat([each[PAIR], told], axis=1).assign(origin=METHOD)
    votes = votes.assign(**{VOTE_ORDER: votes.groupby(PAIR).cumcount() + 1})
    judgments, repeated = latest_judgments(votes, where=str(path))
    if len(repeated):
        notes.append(f"{len(repeated):,} answers replaced by a later one of the same annotator")
    labels, disputes = _verdicts(joined, judgments)
    sources = joined[[*PAIR, "models"]].explode("models").dropna().rename(columns={"models": "model"})
    provenance = sources.drop_duplicates().sort_values([*PAIR, "model"]).reset_index(drop=True)
    about = {name: value for name, value in found.items() if name not in listed}
    entries = [entry.fields for own in listed.values() for entry in own]
    ids = {name: [each for own in entries for each in own.get(name, [])] for name in _LISTS}
    ids["video_id"] = [own["video_id"] for own in entries]
    if numbered := [name for name, own in ids.items() if own and all(isinstance(each, int) for each in own)]:
        about[WHOLE_NUMBERS] = sorted(numbered)
    return Release(judgments, labels, disputes, provenance, outside, notes, about)


def _entry(entry: Entry, *, is_labelled: bool) -> tuple[Any, ...]:
    """Return a row of `_FIELDS`."""
    where, annotators = entry.where, entry.ids("annotator_ids")
    answers = [_label(value, where) for value in entry.values("annotator_labels")]
    if len(answers) != len(annotators):
        raise FormatError(f"{where}: {len(annotators)} annotators and {len(answers)} labels")
    more = [entry.ids(f"{name}?") for name in _LISTS[1:]]
    more = [own if len(own) == len(answers) else [";".join(own)] * len(answers) for own in more]
    label = _label(entry.value("label"), where) if is_labelled else None
    votes = list(zip(annotators, answers, *more, strict=True))
    own_id = entry.id("query_id") if "query_id" in entry.fields else None
    models = sorted(set(entry.ids("models?")))
    return entry.text("query"), entry.id("video_id"), label, votes, models, own_id


def _label(value: object, where: str) -> str:
    label = "_".join(str(value).split()) if isinstance(value, str | int) else ""
    if label.casefold() not in POSITIVE + NEGATIVE:
        expected = ", ".join(POSITIVE + NEGATIVE)
        raise FormatError(f"{where}: label {value!r}, expected one of {expected}")
    return label


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


def _verdicts(joined: pd.DataFrame, judgments: Judgments) -> tuple[Labels, Disputes]:
    """Return one label per pair, and the pairs that have no label or several."""
    by_pair = joined.assign(label=joined["label"].fillna("")).groupby(PAIR)["label"]
    pairs = by_pair.agg(["nunique", "first"]).reset_index()
    pairs["relevance"] = pairs["first"].str.casefold().isin(POSITIVE).astype("int64")
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
    tally = pd.crosstab([judgments[name] for name in PAIR], judgments["label"]).add_prefix("n_")
    disputed = pairs[PAIR][~is_label].assign(reason="no_majority").merge(tally, on=PAIR, how="left")
    disputed = disputed.fillna(0).astype(dict.fromkeys(tally.columns, "int64"))
    return check_labels(labels), check_disputes(disputed)


def fire_release_json(
    judgments: Judgments,
    labels: Labels,
    disputes: Disputes,
    queries: Queries,
    *,
    provenance: pd.DataFrame | None = None,
    dataset: str = "",
    licence: str = LICENCE,
    about: Mapping[str, Any] | None = None,
) -> str:
    """Return judgments in the format of FIRE's release.

    Args:
        judgments, labels, disputes: of the same pairs; columns response_id and queue_id are kept, and
            answers are in the order of vote_order if the table has it.
        queries: gives each entry its text. Captions with the same text that were all judged alike share one
            entry; other entries also have their `query_id`.
        provenance: query_id, doc_id, model.
        dataset: the name in every entry.
        licence: of the judgments.
        about: further fields at the top (creator, website, created_ds), in the order given; what a release
            that was read had there (`Release.about`) stands over what would be computed.

    Returns:
        JSON text with one line end at its end; the same tables give the same bytes.

    Raises:
        JoinError: a judged query has no text.
    """
    texts = dict(zip(queries["query_id"], queries["text"], strict=True))
    textless = sorted({*labels["query_id"], *disputes["query_id"]} - set(texts))
    if textless:
        raise JoinError(
            f"{len(textless)} judged queries have no text ({', '.join(textless[:3])}); expected "
            "the queries of the same collection"
        )
    given = dict(about or {})
    whole = set(given.pop(WHOLE_NUMBERS, ()))
    votes = _answers(judgments)
    models = {} if provenance is None else provenance.groupby(PAIR)["model"].agg(sorted).to_dict()
    n_of_text = Counter(queries["text"])

    def listed(table: pd.DataFrame, *more: str) -> list[_Written]:
        """Return one entry for captions of a text that were all judged alike; others get their query_id."""
        alike, entries = dict[str, list[str]](), list[tuple[str, str, _Written]]()
        rows: Any = table[[*PAIR, *more]].to_dict("records")
        for row in rows:
            query_id, doc_id = pair = row.pop("query_id"), row.pop("doc_id")
            own: _Written = {"query": texts[query_id], "video_id": doc_id}
            own |= {name: [] for name in _VOTES} | votes.get(pair, {})
            own = {name: _as_numbers(value) if name in whole else value for name, value in own.items()}
            entry: _Written = {**own, "models": models.get(pair, []), "dataset": dataset, **row}
            alike.setdefault(key := json.dumps(entry), []).append(query_id)
            entries.append((query_id, key, entry))
        written = []
        for query_id, key, entry in entries:
            sharing = alike[key]
            if len(sharing) == 1 or len(sharing) < n_of_text[entry["query"]]:
                written.append({"query_id": query_id, **entry})
            elif query_id == sharing[0]:
                written.append(entry)
        return written

    content = {"annotations": listed(labels, "label"), "disagreements": listed(disputes)}
    digest = hashlib.md5(json.dumps(content).encode(), usedforsecurity=False).hexdigest()
    named = {"source_data_md5": digest, "license": licence, "datasets": [dataset]}
    top = {**content, **named, **given, "license": licence}
    return json.dumps(top, ensure_ascii=False, indent=1) + "\n"


def _as_numbers(value: Any) -> Any:
    """Return ids as whole numbers if they are written as such."""
    if isinstance(value, list):
        return [_as_numbers(each) for each in value]
    return int(value) if value.removeprefix("-").isdecimal() and str(int(value)) == value else value


def _answers(judgments: Judgments) -> dict[Any, dict[str, list[str]]]:
    """Return the answers of each pair, as lists of equal length, of the fields that anybody has."""
    ordered: pd.DataFrame = judgments
    if VOTE_ORDER in judgments:
        place = pd.to_numeric(judgments[VOTE_ORDER], errors="coerce")
        ordered = judgments.iloc[place.argsort(kind="stable")]
    known = {name: of for name, of in _VOTES.items() if of in ordered and (ordered[of] != "").any()}
    lists = ordered.groupby(PAIR, sort=False)[list(known.values())].agg(list)
    rows = lists.itertuples(index=False, name=None)
    return {pair: dict(zip(known, row, strict=True)) for pair, row in zip(lists.index, rows, strict=True)}
