"""JSON and JSON Lines of ranked lists, in the shapes that retrieval tools and challenges write.

| shape | from |
|---|---|
| `{query: {doc: score}}` | ranx, BEIR; MTEB, within subset and split |
| `{query: [doc, doc, ...]}`, best first | CIRR, CIRCO, ECCV Caption |
| records `{"query_id", "doc_id", "score" or "rank"}` | tables written as JSON or JSON Lines |
| records `{"query_id", "docs": [...] or {...}}` | JSON Lines of lists |
| `[[place, place, ...], ...]`, whole numbers from 0 | `argsort(...).tolist()`, saved |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text, without_mark
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.index_lists import from_places
from fire_toolkit.formats.runs.listed import FROM_RANKS, Listed, from_columns
from fire_toolkit.formats.runs.names import DOC, QUERY, RANK, RUN, SCORE, find_name, needed_name
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.syntax import parse_json

_META = ("mteb_model_meta", "version", "metric", "comment", "team", "name")
_LISTS = ("docs", "doc_ids", "results", "ranking", "ranked", "retrieved", "hits")
_MOST_LEVELS = 8


def is_json(start: bytes, path: Path) -> bool:
    """Whether the text begins as a JSON object or list does."""
    return without_mark(start).lstrip()[:1] in (b"{", b"[")


def is_jsonl(start: bytes, path: Path) -> bool:
    """Whether the first line is a whole JSON object or list and another of its kind follows."""
    first, _, rest = without_mark(start).lstrip().partition(b"\n")
    ends = {b"{": b"}", b"[": b"]"}
    return first.rstrip()[-1:] == ends.get(first[:1]) and rest.lstrip()[:1] == first[:1]


def read_json(path: Path, key: str | None = None) -> Listed:
    """Return the ranked lists of a JSON file.

    Args:
        path: the file, gzip or not.
        key: which part of the file, where it holds several runs: the path of keys (`default/test`).

    Raises:
        FormatError: invalid JSON, a key given twice, none of the known shapes, or several runs and no `key`.
    """
    return listed_of(parse_json(read_text(path), str(path)), str(path), key)


def read_jsonl(path: Path, key: str | None = None) -> Listed:
    """Return the records of a JSON Lines file as ranked lists; see `read_json`."""
    lines = ((n, line) for n, line in enumerate(read_text(path).split("\n"), start=1) if line.strip())
    return listed_of([parse_json(line, str(path), line=n) for n, line in lines], str(path), key)


def listed_of(value: Any, where: str, key: str | None) -> Listed:
    """Return the ranked lists in a JSON value of one of the shapes above; errors as of `read_json`."""
    runs = dict(_runs(value, ""))
    chosen = _choose(runs, value, where, key)
    if _are_places(chosen):
        lists = {f"{where}: list {number}": places for number, places in enumerate(chosen, start=1)}
        return from_places(lists, where)
    if isinstance(chosen, list):
        return _from_records(chosen, where)
    queries: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    for query, ranked in chosen.items():
        for doc, score in _ranked(ranked, f"{where}: query {query}"):
            queries.append(query)
            docs.append(doc)
            scores.append(score)
    is_order = any(isinstance(ranked, list) for ranked in chosen.values())
    return from_columns(queries, docs, scores, where=where, notes=(FROM_RANKS,) if is_order else ())


def _runs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what may be a run, with the path of keys to it."""
    if isinstance(value, list):
        if (value and all(isinstance(item, dict) for item in value)) or (not path and _are_places(value)):
            yield path, value
    elif isinstance(value, dict):
        inner = {name: item for name, item in value.items() if path or name not in _META}
        if inner and all(_is_ranking(item) for item in inner.values()):
            yield path, inner
        elif path.count("/") < _MOST_LEVELS:
            for name, item in inner.items():
                yield from _runs(item, f"{path}/{name}" if path else name)


def _is_ranking(item: Any) -> bool:
    """Whether a value is `{doc: score}` or `[doc, ...]` (lists of records are not a ranking)."""
    if isinstance(item, dict):
        return all(_is_number(score) for score in item.values())
    return isinstance(item, list) and all(isinstance(doc, str | int) for doc in item)


def _are_places(value: Any) -> bool:
    """Whether a value is lists of whole numbers from 0, one for each query."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(
            isinstance(item, list) and all(type(place) is int and place >= 0 for place in item)
            for item in value
        )
        and any(value)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choose(runs: dict[str, Any], value: Any, where: str, key: str | None) -> Any:
    if key is not None and key in runs:
        return runs[key]
    if key is None and len(runs) == 1:
        return next(iter(runs.values()))
    names = ", ".join(map(repr, list(runs)[:8]))
    if not runs:
        raise FormatError(
            f"{where}: no ranked lists{_oddity(value)}; expected {{query: {{doc: score}}}}, "
            "{query: [doc, ...]}, [[place, ...], ...] or records with query_id, doc_id and score"
        )
    problem = f"no part {key!r}" if key is not None else f"{len(runs)} runs in one file"
    raise FormatError(f"{where}: {problem}; choose one with --key: {names}")


def _oddity(value: Any) -> str:
    """Describe the first value that should be a score and is not; empty where there is none."""
    for query, docs in value.items() if isinstance(value, dict) else ():
        for doc, score in docs.items() if isinstance(docs, dict) else ():
            if not isinstance(score, dict | list) and not _is_number(score):
                return f" (query {query[:40]}, doc {doc[:40]}: score {str(score)[:40]!r}, expected a number)"
    return ""


def _ranked(value: Any, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for doc, score in value.items():
            yield doc, as_score(score, where)
        return
    for place, doc in enumerate(value, start=1):
        yield id_text(doc, where), float(-place)


def as_score(value: Any, where: str) -> float:
    """Return a JSON number as a score; NaN and infinities pass, to be counted later."""
    if not _is_number(value):
        raise FormatError(f"{where}: score {str(value)[:40]!r}, expected a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _from_records(records: list[dict[str, Any]], where: str) -> Listed:
    names = list(dict.fromkeys(name for record in records for name in record))
    query, doc = needed_name(names, QUERY, where), find_name(names, DOC)
    if doc is None or isinstance(records[0].get(doc), list | dict):
        return _from_lists(records, query, where)
    score, rank = find_name(names, SCORE), find_name(names, RANK)
    number_name = score or rank
    if number_name is None:
        raise FormatError(f"{where}: records with {', '.join(names)}; expected score or rank among them")
    queries, docs, scores = [], [], []
    for number, record in enumerate(records, start=1):
        at = f"{where}: record {number}"
        queries.append(id_text(_field(record, query, at), at))
        docs.append(id_text(_field(record, doc, at), at))
        number_in = as_score(_field(record, number_name, at), at)
        scores.append(number_in if score else -number_in)
    run_id = _run_id(records, names, where)
    return from_columns(
        queries, docs, scores, where=where, run_id=run_id, notes=() if score else (FROM_RANKS,)
    )


def _from_lists(records: list[dict[str, Any]], query: str, where: str) -> Listed:
    lists: dict[str, Any] = {}
    for number, record in enumerate(records, start=1):
        at = f"{where}: record {number}"
        query_id = id_text(_field(record, query, at), at)
        content = next((record[name] for name in (*_LISTS, *DOC) if name in record), None)
        if query_id in lists or not _is_ranking(content):
            problem = "appears twice" if query_id in lists else f"has no list ({', '.join(_LISTS[:3])})"
            raise FormatError(f"{at}: query {query_id!r} {problem}, expected one list of docs for each query")
        lists[query_id] = content
    return listed_of(lists, where, None)


def _field(record: dict[str, Any], name: str, where: str) -> Any:
    if name not in record:
        raise FormatError(f"{where}: no {name}; found {', '.join(record) or 'nothing'}")
    return record[name]


def _run_id(records: list[dict[str, Any]], names: list[str], where: str) -> str | None:
    name = find_name(names, RUN)
    found = sorted({str(record.get(name, "")) for record in records}) if name else []
    if len(found) > 1:
        raise FormatError(f"{where}: {len(found)} run ids in one file ({', '.join(found[:3])}), expected one")
    return found[0] if found and found[0] else None


JSONL = RunReader("jsonl", "JSON Lines", "two lines that begin with { or [", is_jsonl, read_jsonl)
JSON = RunReader("json", "JSON", "begins with { or [", is_json, read_json)
