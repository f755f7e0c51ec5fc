"""Runs, qrels and judgments of what people hold, and back to what other programs take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import qrels_of_json, read_qrels
from fire_toolkit.formats.columns import (
    ANNOTATOR,
    LABEL,
    OWN,
    RELEVANCE,
    RUN,
    are_pairs,
    find_name,
    pair_column,
)
from fire_toolkit.formats.runs.axis_ids import Given
from fire_toolkit.formats.runs.ingest import Request, ingest_matrix
from fire_toolkit.formats.runs.json_runs import listed_of
from fire_toolkit.formats.runs.listed import id_column, listed_table
from fire_toolkit.formats.runs.ranked import run_of_lists
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.score_anomalies import parse_allowances
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.matching.ranking import top
from fire_toolkit.resolution.judgments import judgments_that_count
from fire_toolkit.tables import JUDGMENTS, Judgments, Qrels, Run, check_qrels

_PAIR: dict[str, Sequence[str]] = {"query_id": (), "doc_id": ()}  # found by all their usual names


def run(
    x: Any,
    name: str | None = None,
    *,
    query_ids: Any = None,
    doc_ids: Any = None,
    depth: int | None = None,
    qrels: Qrels | None = None,
    allow: str = "",
) -> Run:
    """Return what somebody holds of a model's predictions as a Run, ranked by the one order.

    Args:
        x: a path; {query: {doc: score}} or {query: [doc, ...]}, best first; a frame with a column of queries
            (query_id, qid, q_id, query), of docs (doc_id, docid, docno) and of scores or ranks; a Run of
            ranx; or a matrix of queries × docs (array, tensor, nested lists, frame).
        name: what the run is called; needed where x does not say.
        query_ids, doc_ids: ids of a matrix's rows and columns, in their order; for a path, files of them.
        depth: how many docs of each query are kept; of a matrix 100 unless told, of others all.
        qrels: for a matrix: their positives are kept at any rank, with their exact ranks.
        allow: for a matrix: what `add-run --allow` takes, such as `nan`.

    Returns:
        run_id, query_id, doc_id, rank, score, by query id and rank; equal scores by doc id, descending.

    Raises:
        FormatError: columns, ids or scores that are none; the message names what was found and expected.
        UsageError: no name, no ids for a matrix, or a depth below 1.

    Examples:
        >>> run({"q": {"a": 0.2, "b": 0.9}}, "clip")
          run_id query_id doc_id  rank  score
        0   clip        q      b     1    0.9
        1   clip        q      a     2    0.2
        >>> run([[0.2, 0.9]], "clip", query_ids=["q"], doc_ids=["a", "b"], depth=1)
          run_id query_id doc_id  rank  score
        0   clip        q      b     1    0.9
    """
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise UsageError(f"run: depth is {depth!r}, expected a whole number from 1, or None")
    names, is_path = _names_of(x, "run"), isinstance(x, str | Path)
    is_table, is_listed = are_pairs(names), isinstance(x, Mapping) or _is_of(x, "ranx")
    is_matrix = not is_path and not is_table and (query_ids is not None or not is_listed)
    are_lists = is_path and not all(isinstance(each, Given) for each in (query_ids, doc_ids))
    if not is_matrix and (are_lists or allow or (qrels is not None and depth)):
        raise UsageError("run: lists of ids, qrels and allow are for a matrix; of a path give np.load(path)")
    if is_path:
        return read_run(x, run_id=name, query_ids=query_ids, doc_ids=doc_ids, depth=depth)
    if _is_of(x, "ranx"):
        x, name = x.to_dict(), name or x.name
    if is_matrix:
        if query_ids is None or doc_ids is None or name is None:
            found = f"a frame with columns {_shown(names)}" if isinstance(x, pd.DataFrame) else _kind(x)
            raise UsageError(
                f"run: {found}; expected a path, {{query: {{doc: score}}}}, a frame with query_id, doc_id "
                "and score, or a matrix with name=, query_ids= and doc_ids="
            )
        ids: dict[str, Any] = {"query_ids": query_ids, "doc_ids": doc_ids}
        allowed = parse_allowances(allow)
        asked = Request(run_id=name, **ids, depth=depth or 100, qrels=qrels, allow=allowed)
        return ingest_matrix(x, asked)
    key = name if is_table and find_name(names, RUN) else None
    listed = listed_table(x, "run", key) if is_table else listed_of(x, "run", None)
    if name is None and listed.run_id is None:
        raise UsageError('run: nothing says what the run is called; give name="..."')
    made = run_of_lists(listed, Path("run"), run_id=name)
    return top(made, depth) if depth else made


def qrels(x: Any) -> Qrels:
    """Return what somebody holds of relevance judgments as Qrels.

    Args:
        x: a path; {query: {doc: grade}} or {query: [doc, ...]}, all of grade 1; a frame with a column of
            queries (query_id, qid, q_id, query), of docs (doc_id, docid, docno) and of whole grades
            (relevance, rel, grade, label, score); Qrels of ranx.

    Returns:
        query_id, doc_id, relevance, source, by query and doc id.

    Raises:
        FormatError, TableError: columns, ids or grades that are none, or a pair given twice.

    Examples:
        >>> qrels({"q": {"a": 2, "b": 0}})
          query_id doc_id  relevance    source
        0        q      a          2  original
        1        q      b          0  original
    """
    if isinstance(x, str | Path):
        return read_qrels(x)
    if _is_of(x, "ranx"):
        x = x.to_dict()
    if isinstance(x, Mapping):
        return check_qrels(qrels_of_json(x, "qrels"), where="qrels")
    found = {**_PAIR, "relevance": (*RELEVANCE, "label", "score")}
    table = _columns(x, found, "qrels")
    source = {"source": x["source"].array} if "source" in x.columns else {}
    return check_qrels(table.assign(**source), where="qrels")


def judgments(x: Any, columns: Mapping[str, str] | None = None) -> Judgments:
    """Return what somebody holds of people's answers as Judgments, of several by one person the latest.

    Args:
        x: a path to a judgments file, or a frame with columns of queries, docs, annotators and labels.
        columns: our name of a column → its name in the frame, such as {"annotator_id": "worker"}; usual names
            (qid, docno, worker, answer) need not be given. Further columns of ours (created_at, duration_s,
            round, ...) are taken as they are called.

    Raises:
        UsageError: a column is named that the frame does not have, or under a misspelled name of ours.
        FormatError, TableError: a column is missing, or an id is none.

    Examples:
        >>> import pandas as pd
        >>> held = pd.DataFrame({"qid": ["q"], "docno": ["a"], "worker": ["A1"], "fits": ["yes"]})
        >>> judgments(held, {"label": "fits"})[["query_id", "doc_id", "annotator_id", "label"]]
          query_id doc_id annotator_id label
        0        q      a           A1   yes
    """
    if isinstance(x, str | Path):
        if columns:
            raise UsageError("judgments: columns are those of a frame; give pd.read_csv(path, dtype=str)")
        return read_judgments(x)
    names = dict(columns or {})
    there = _names_of(x, "judgments")
    if missing := [name for name in names.values() if name not in there]:
        raise UsageError(f"judgments: no column {missing[0]!r}; found {_shown(there)}")
    wanted: dict[str, Sequence[str]] = {**_PAIR, "annotator_id": ANNOTATOR, "label": LABEL}
    wanted = {name: (names.pop(name),) if name in names else usual for name, usual in wanted.items()}
    known = (*JUDGMENTS.names, "round")
    for name in set(names).difference(known):
        if near := get_close_matches(name, known, n=1):
            raise UsageError(f"judgments: {name!r} is no column of ours; did you mean {near[0]!r}?")
    table = _columns(x, wanted, "judgments")
    with suppress(UnicodeEncodeError):  # half a character: told where the table is checked
        table["label"] = table["label"].astype("str")
    table["annotator_id"] = id_column(table["annotator_id"], "judgments: annotator_id")
    used = {_column_of(there, name, usual) for name, usual in wanted.items()} | set(names.values())
    rest = {name: name for name in there if name not in used and name not in (*table.columns, *names)}
    named = x.set_axis(there, axis="columns").reset_index(drop=True)
    whole = table.assign(**{name: named[own] for name, own in {**names, **rest}.items()})
    if not whole.filter(["created_at"]).select_dtypes(["datetime", "datetimetz"]).empty:
        times = pd.to_datetime(whole["created_at"], utc=True)
        whole["created_at"] = times.dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ").fillna("")
    return judgments_that_count(whole, where="judgments")


def to_dict(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return a Run of one model as {query: {doc: score}}, or Qrels as {query: {doc: relevance}}.

    Examples:
        >>> to_dict(qrels({"q": ["a"]}))
        {'q': {'a': 1}}
    """
    value = _value_of(table, "to_dict")
    found: dict[str, dict[str, Any]] = {}
    columns = (table[name].tolist() for name in ("query_id", "doc_id", value))
    for query, doc, number in zip(*columns, strict=True):
        found.setdefault(query, {})[doc] = number
    return found


def to_ranx(table: pd.DataFrame) -> Any:
    """Return a Run of one model as ranx's Run, or Qrels as its Qrels; ranx must be installed.

    ranx breaks ties in an order of its own: where scores are equal its measures may differ from ours.

    Raises:
        UsageError: no such table, several runs in it, or no ranx.

    Examples:
        >>> to_ranx([1])
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: to_ranx: list, expected a Run or Qrels
    """
    value = _value_of(table, "to_ranx")
    try:
        import ranx
    except ImportError:
        raise UsageError("to_ranx: ranx is not installed here; pip install ranx") from None
    if value == "relevance":
        return ranx.Qrels(to_dict(table))
    return ranx.Run(to_dict(table), name=str(table["run_id"].iloc[0]) if len(table) else None)


def _value_of(table: Any, where: str) -> str:
    """Return the column of scores or relevance of a table of one run, or of qrels."""
    names = list(table.columns) if isinstance(table, pd.DataFrame) else []
    values = [name for name in ("relevance", "score") if {*_PAIR, name} <= set(names)]
    if not values:
        found = f"a frame with columns {_shown(names)}" if names else _kind(table)
        raise UsageError(f"{where}: {found}, expected a Run or Qrels")
    if "run_id" in names and table["run_id"].nunique() > 1:
        raise UsageError(f"{where}: {table['run_id'].nunique()} runs in one table; give one run's rows")
    return values[0]


def _columns(x: Any, wanted: Mapping[str, Sequence[str]], where: str) -> pd.DataFrame:
    """Return the columns of a frame under our names, ids as text."""
    if not isinstance(x, pd.DataFrame):
        raise UsageError(f"{where}: {_kind(x)}, expected a path, a dict or a frame with {', '.join(wanted)}")
    names = _names_of(x, where)
    found = {name: _column_of(names, name, usual) for name, usual in wanted.items()}
    if missing := [name for name, own in found.items() if own is None]:
        expected = "; ".join(f"{name} ({', '.join((wanted[name] or OWN[name])[:5])})" for name in missing)
        raise UsageError(f"{where}: columns {_shown(names)}; expected {expected}")
    named = x.set_axis(names, axis="columns").reset_index(drop=True)
    table = pd.DataFrame({name: named[own] for name, own in found.items()})
    return table.assign(**{name: id_column(table[name], f"{where}: {name}") for name in _PAIR})


def _names_of(x: Any, where: str) -> list[str]:
    """Return the names of a frame's columns, of pairs each once; none of what is no frame."""
    names = list(map(str, x.columns)) if isinstance(x, pd.DataFrame) else []
    if are_pairs(names) and len(again := pd.Index(names)[pd.Index(names).duplicated()]):
        raise UsageError(f"{where}: several columns are called {again[0]}, expected one")
    return names


def _column_of(names: Sequence[str], name: str, usual: Sequence[str]) -> str | None:
    return find_name(names, usual) if usual else pair_column(names, name)


def _is_of(x: Any, package: str) -> bool:
    return type(x).__module__.partition(".")[0] == package


def _kind(x: Any) -> str:
    kind = f"{type(x).__module__}.{type(x).__name__}".removeprefix("builtins.")
    return f"{kind} (give its .to_pandas())" if hasattr(x, "to_pandas") else kind


def _shown(names: Any) -> str:
    return ", ".join(map(str, list(names)[:8])) or "none"
