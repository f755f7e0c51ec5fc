"""JSON and JSON Lines of ranked lists, in the shapes that retrieval tools and challenges write.

| shape | from |
|---|---|
| `{query: {doc: score}}` | ranx, BEIR; MTEB, within subset and split |
| `{query: [doc, doc, ...]}`, best first | CIRR, CIRCO, ECCV Caption |
| `{query: [[doc, score], ...]}`, `{query: [{"doc_id", "score"}, ...]}` | saved searches; or a distance |
| records `{"query_id", "doc_id", "score" or "rank"}` | tables written as JSON or JSON Lines |
| records `{"query_id", "docs": [...] or {...}}`, with `"scores": [...]` | JSON Lines of lists |
| records `{"candidate", "ranking": [...]}` | FashionIQ's predictions |
| `[[place, place, ...], ...]`, whole numbers from 0 | `argsort(...).tolist()`, saved |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import rows_of_lists
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.columns import DISTANCE, SCORE, find_name, needed_column, pair_column, pair_columns
from fire_toolkit.formats.ids import id_text
from fire_toolkit.formats.runs.listed import (
    FROM_RANKS,
    NUMBERED,
    OF_GROUPS,
    Listed,
    chosen_run,
    listed_table,
    numbers_of,
    refuse_distances,
)
from fire_toolkit.syntax import parse_json

_META = ("mteb_model_meta", "version", "metric", "comment", "team", "name")
_LISTS = ("docs", "doc_ids", "results", "ranking", "ranked", "retrieved", "hits")
_BESIDE = {"score": (*SCORE, "similarities"), "distance": (*DISTANCE, "distances")}  # of docs, in their order
_MOST_LEVELS = 8
_CANDIDATE = "candidate"  # of FashionIQ, whose entries have no id
_PLACE = re.compile("[0-9]{1,15}")
_Ranking = tuple[Sequence[Any], Sequence[Any] | None, bool]  # docs, their scores, and whether best first
_List = tuple[str, Any, _Ranking]  # where it stands, its query


def read_json(path: Path, key: str | None = None, *, are_lines: bool = False) -> Listed:
    """Return the ranked lists of a file of JSON, or of JSON Lines, gzip or not.

    key: which part of the file, where it holds several runs: the path of keys (`default/test`).

    Raises:
        FormatError: invalid JSON, a key given twice, none of the known shapes, or several runs and no `key`.
    """
    if are_lines:
        return listed_of([parse_json(line, str(path), line=n) for n, line in _lines(path)], str(path), key)
    return listed_of(parse_json(read_text(path), str(path)), str(path), key)


def read_index_list(path: Path, key: str | None = None) -> Listed:
    """Return lines of places as lists of places.

    Raises:
        FormatError: a line has another length, or a field that is not a whole number; names the line.
    """
    rows = [(f"{path}:{n}", [each.strip() for each in line.split(",")]) for n, line in _lines(path)]
    width = len(rows[0][1])
    for at, fields in rows:
        if len(fields) != width or not all(map(_PLACE.fullmatch, fields)):
            raise FormatError(
                f"{at}: {','.join(fields)[:40]!r}, expected {width} whole numbers, as on the first line: "
                "places of docs, best first"
            )
    return _of_places([(at, list(map(int, fields))) for at, fields in rows])


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    lines = enumerate(read_text(path).split("\n"), start=1)
    return ((number, line) for number, line in lines if line.strip())


def listed_of(value: Any, where: str, key: str | None) -> Listed:
    """Return the ranked lists in a JSON value of one of the shapes above, or in what Python holds alike.

    Raises:
        FormatError: as of `read_json`; an id is none, or a query is there as text and as a number.
    """
    is_object = isinstance(value, dict) and any(name in value for name in _LISTS)
    if is_object and pair_column(list(map(str, value)), "query_id"):
        value = [value]  # a file of one record
    runs = dict(_runs(value, ""))
    if not runs:
        raise FormatError(
            f"{where}: no ranked lists{_oddity(value)}; expected {{query: {{doc: score}}}}, "
            "{query: [doc, ...]} (of a search's lists dict(zip(query_ids, ids))), [[place, ...], ...] or "
            "records with query_id, doc_id and score"
        )
    if isinstance(records := runs.get(""), list) and isinstance(records[0], dict):
        return _of_records(records, where, key)
    chosen = runs[chosen_run(runs, key, where)]
    if isinstance(chosen, dict):
        notes = (OF_GROUPS,) if value.get("metric") == "recall_subset" else ()  # of CIRR's submissions
        return of_lists(
            [(f"{where}: query {query!r}", query, each) for query, each in chosen.items()], where, notes
        )
    if isinstance(chosen[0], list):
        return _of_places([(f"{where}: list {n}", each) for n, each in enumerate(chosen, start=1)])
    return _of_records(chosen, where, None)


def _runs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what may be a run, with the path of keys to it: rankings by query, records or lists of places."""
    if isinstance(value, list):
        are_records = bool(value) and all(isinstance(item, dict) for item in value)
        if are_records and path and _CANDIDATE not in value[0]:  # records of one query do not name theirs
            are_records = pair_columns([*map(str, value[0])], "query_id") not in ([], ["key"])
        lists = value if not path and all(isinstance(item, list) for item in value) else []
        if are_records or (
            any(lists) and all(type(place) is int and place >= 0 for item in lists for place in item)
        ):
            yield path, value
    elif isinstance(value, Mapping):
        inner = {name: item for name, item in value.items() if path or str(name) not in _META}
        rankings = {query: _ranking(item) for query, item in inner.items()}
        if inner and all(rankings.values()):
            yield path, rankings
        elif path.count("/") < _MOST_LEVELS:
            for name, item in inner.items():
                yield from _runs(item, f"{path}/{name}" if path else str(name))


def _ranking(item: Any) -> _Ranking | None:
    """Return `{doc: score}`, `[doc, ...]`, `[[doc, score], ...]` or such records as a ranking, else None."""
    if isinstance(item, Mapping):
        are_numbers = {*map(type, item.values())} <= {int, float} or all(map(_is_number, item.values()))
        return (list(item), list(item.values()), False) if are_numbers else None
    is_one = isinstance(item, str | bytes) or getattr(item, "shape", None) == ()
    if is_one or isinstance(item, set | frozenset) or not isinstance(item, Collection):
        return None  # a set has no order
    items = list(item)
    if all(isinstance(doc, str | bytes | int | np.integer) for doc in items):
        return items, None, True
    pairs = items
    if isinstance(items[0], dict):
        names = list(map(str, items[0]))
        doc = pair_column(names, "doc_id") or find_name(names, ("id", "_id"))
        score = find_name(names, SCORE) or find_name(names, DISTANCE)
        is_own = pair_columns(names, "query_id") in ([], ["key"])  # or each names its query: a run's records
        are_hits = is_own and all(isinstance(each, dict) and {doc, score} <= {*each} for each in items)
        pairs = [(each[doc], each[score]) for each in items] if are_hits else []
    elif not all(isinstance(each, list | tuple) and len(each) == 2 for each in items):
        return None
    if not pairs or not all(isinstance(doc, str | int) and _is_number(score) for doc, score in pairs):
        return None
    docs, scores = ([*own] for own in zip(*pairs, strict=True))
    if pairs is items or find_name(names, SCORE):
        return docs, scores, True
    is_sorted = scores in (sorted(scores), sorted(scores, reverse=True))  # distances, or what some call so
    return (docs, None, True) if is_sorted else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _oddity(value: Any) -> str:
    """Describe the first value that should be a score and is not; empty where there is none."""
    for query, docs in value.items() if isinstance(value, dict) else ():
        for doc, score in docs.items() if isinstance(docs, dict) else ():
            if not isinstance(score, dict | list) and not _is_number(score):
                place = f"query {str(query)[:40]}, doc {str(doc)[:40]}"
                return f" ({place}: score {str(score)[:40]!r}, expected a number)"
        if isinstance(docs, list) and docs and isinstance(docs[0], dict):
            found = ", ".join(map(str, docs[0]))[:120] or "nothing"
            return f" (under {str(query)[:40]!r}: found {found}, expected doc_id and score, or query_id too)"
    return ""


def of_lists(
    lists: Sequence[_List], where: str, notes: tuple[str, ...] = (), run_id: str | None = None
) -> Listed:
    """Return docs with their scores, or best first.

    Raises:
        FormatError: there is no pair at all; a query has two lists; scores that rise along the lists.
    """
    queries, docs, scores, ranks, seen = list[str](), list[str](), list[Any](), list[int](), set[str]()
    for at, named, (ranked, values, is_ordered) in lists:
        query = id_text(named, at)
        if query in seen:
            raise FormatError(f"{at}: the query appears twice, expected one list for each query")
        seen.add(query)
        queries += [query] * len(ranked)
        are_plain = {*map(type, ranked)} <= {str} and "".join(ranked).isascii()
        docs += ranked if are_plain else [id_text(doc, at) for doc in ranked]
        scores += range(-1, -1 - len(ranked), -1) if values is None else values
        ranks += range(len(ranked)) if is_ordered else [0] * len(ranked)
    are_orders = any(values is None and len(ranked) for _, _, (ranked, values, _) in lists)
    notes = (*notes, *((FROM_RANKS,) if are_orders and FROM_RANKS not in notes else ()))
    numbers = numbers_of(scores, where)
    are_ordered = any(is_ordered for _, _, (_, _, is_ordered) in lists)
    refuse_distances(pd.Series(queries), pd.Series(ranks) if are_ordered else None, numbers, where)
    if not queries:
        raise FormatError(f"{where}: no query with a ranked doc, expected at least one")
    columns = {"query_id": pd.Series(queries, dtype="str"), "doc_id": pd.Series(docs, dtype="str")}
    return Listed(pd.DataFrame({**columns, "score": numbers}), run_id, notes)


def _of_records(records: list[dict[str, Any]], where: str, key: str | None) -> Listed:
    """Return records of a pair, or of a query and its list; FashionIQ's name a candidate, not a query."""
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    docs = pair_columns(names, "doc_id")
    are_lists = not docs or any(name in names for name in _LISTS)
    if not are_lists and not isinstance(records[0].get(docs[0]), list | dict):
        table = pd.DataFrame(records, dtype=object)
        return listed_table(table.where(table.notna(), None), where, key)
    is_numbered = not pair_columns(names, "query_id") and _CANDIDATE in names
    column = _CANDIDATE if is_numbered else needed_column(names, "query_id", where)
    lists, seen, targets = list[_List](), Counter[Any](), dict[str, str]()
    for number, record in enumerate(records, start=1):
        at = f"{where}: record {number}"
        if column not in record:
            raise FormatError(f"{at}: no {column}; found {', '.join(map(str, record)) or 'nothing'}")
        query = id_text(record[column], at)
        found = _ranking(next((record[name] for name in (*_LISTS, *docs) if name in record), None))
        if found and found[1] is None:
            found = _with_numbers(found[0], record, at)
        if found is None:
            raise FormatError(
                f"{at}: query {query!r} has no list ({', '.join(_LISTS[:3])}), expected one list of docs for "
                "each query"
            )
        name = f"{query}#{seen[query]}" if is_numbered else query  # as the collection has
        targets |= {name: str(record["target"])} if is_numbered and "target" in record else {}
        lists.append((at, name, found))
        seen[query] += 1
    return replace(of_lists(lists, where, (FROM_RANKS, NUMBERED) if is_numbered else ()), targets=targets)


def _with_numbers(docs: Sequence[Any], record: Mapping[str, Any], at: str) -> _Ranking:
    """Return a record's docs with the scores or distances that lie beside them, else best first.

    Raises:
        FormatError: these are no numbers, or not as many; others lie there under a name that is not known.
    """
    lists = {str(name): own for name, own in record.items() if isinstance(own, list | tuple | np.ndarray)}
    for kind, usual in _BESIDE.items():
        if name := find_name([*lists], usual):
            hits = [{"doc_id": doc, kind: each} for doc, each in zip(docs, lists[name], strict=False)]
            if not len(hits) == len(docs) == len(lists[name]) or not (found := _ranking(hits)):
                raise FormatError(f"{at}: {kind}s, expected one for each doc, in the order of the docs")
            return found
    ranks = lists.get(find_name([*lists], ("ranks", "rank")) or "", [])
    if all(map(_is_number, ranks)) and (np.diff(ranks) < 0).any():
        raise FormatError(f"{at}: ranks that do not rise from doc to doc; put the docs in order, best first")
    for name, own in lists.items():
        if len(own) != len(docs) or [*own] == [*docs] or not all(map(_is_number, own)):
            continue
        is_order = [*own] in (sorted(own), sorted(own, reverse=True)) or len({*own}) < 3  # or a mark of each
        if not is_order or any(isinstance(each, float | np.floating) for each in own):
            raise FormatError(
                f"{at}: {name}: a number for each doc; name them scores, or distances (sed "
                f'\'s/"{name}"/"scores"/\' FILE > NEW), or leave them out where docs stand best first'
            )
    return docs, None, True


def _of_places(lists: Sequence[tuple[str, Sequence[int]]]) -> Listed:
    """Return lists of places, one for each query in the order of the ids, best first; with each: where it is.

    Raises:
        FormatError: a list is empty or holds a place twice.
    """
    for at, places in lists:
        if not places or len(set(places)) < len(places):
            problem = "a doc appears twice" if places else "an empty list"
            raise FormatError(f"{at}: {problem}, expected {len(places) or 'some'} different places of docs")
    lengths = np.array([len(own) for _, own in lists])
    row, places = np.repeat(np.arange(len(lists)), lengths), [place for _, own in lists for place in own]
    scored = pd.DataFrame({"query_id": row, "doc_id": places, "score": -rows_of_lists(1, lengths)})
    return Listed(scored, notes=(FROM_RANKS,), has_places=True)
