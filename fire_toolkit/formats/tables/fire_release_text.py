"""Writes judgments as the JSON of FIRE's release, for tools that read that JSON."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.formats.tables.fire_release import LICENCE, VOTE_ORDER, WHOLE_NUMBERS
from fire_toolkit.tables import Disputes, Judgments, Labels, Queries
from fire_toolkit.tables.columns import PAIR

_VOTES = {
    "annotator_ids": "annotator_id",
    "annotator_labels": "label",
    "response_ids": "response_id",
    "queue_ids": "queue_id",
}
_Entry = dict[str, Any]


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
    votes = _votes(judgments)
    models = {} if provenance is None else provenance.groupby(PAIR)["model"].agg(sorted).to_dict()

    def entry(pair: tuple[str, str]) -> _Entry:
        answers = votes.get(pair) or {name: [] for name in _VOTES}
        own = {"query": texts[pair[0]], "video_id": pair[1], **answers}
        numbered = {name: _as_numbers(value) if name in whole else value for name, value in own.items()}
        return {**numbered, "models": models.get(pair, []), "dataset": dataset}

    labelled = zip(labels["query_id"], labels["doc_id"], labels["label"], strict=True)
    annotations = [
        (query_id, entry((query_id, doc_id)) | {"label": label}) for query_id, doc_id, label in labelled
    ]
    pairs = zip(disputes["query_id"], disputes["doc_id"], strict=True)
    disagreements = [(pair[0], entry(pair)) for pair in pairs]
    n_of_text = Counter(queries["text"])
    content = {
        "annotations": _one_a_text(annotations, n_of_text),
        "disagreements": _one_a_text(disagreements, n_of_text),
    }
    digest = hashlib.md5(json.dumps(content).encode(), usedforsecurity=False).hexdigest()
    named = {"source_data_md5": digest, "license": licence, "datasets": [dataset]}
    top = {**content, **named, **given, "license": licence}
    return json.dumps(top, ensure_ascii=False, indent=1) + "\n"


def _as_numbers(value: Any) -> Any:
    """Return ids as whole numbers if they are written as such."""
    if isinstance(value, list):
        return [_as_numbers(each) for each in value]
    return int(value) if value.removeprefix("-").isdecimal() and str(int(value)) == value else value


def _one_a_text(entries: list[tuple[str, _Entry]], n_of_text: Mapping[str, int]) -> list[_Entry]:
    """Return one entry for captions of a text that were all judged alike; others get their query_id."""
    alike: dict[str, list[str]] = {}
    for query_id, entry in entries:
        alike.setdefault(json.dumps(entry), []).append(query_id)
    written = []
    for query_id, entry in entries:
        sharing = alike[json.dumps(entry)]
        if len(sharing) == 1 or len(sharing) < n_of_text[entry["query"]]:
            written.append({"query_id": query_id, **entry})
        elif query_id == sharing[0]:
            written.append(entry)
    return written


def _votes(judgments: Judgments) -> dict[Any, dict[str, list[str]]]:
    """Return the answers of each pair, as lists of equal length; of fields that nobody has, empty ones."""
    ordered: pd.DataFrame = judgments
    if VOTE_ORDER in judgments:
        place = pd.to_numeric(judgments[VOTE_ORDER], errors="coerce")
        ordered = judgments.iloc[place.argsort(kind="stable")]
    nothing: dict[str, list[str]] = {name: [] for name in _VOTES}
    known = {name: of for name, of in _VOTES.items() if of in ordered and (ordered[of] != "").any()}
    lists = ordered.groupby(PAIR, sort=False)[list(known.values())].agg(list)
    rows = lists.itertuples(index=False, name=None)
    return {
        pair: {**nothing, **dict(zip(known, row, strict=True))}
        for pair, row in zip(lists.index, rows, strict=True)
    }
