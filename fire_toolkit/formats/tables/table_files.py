"""The tables' own files: CSV (or TSV) in, checked; CSV out. Qrels are TREC text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.files import STDIN, is_gzip, opened, read_bytes, text_of, without_mark
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.resolution.judgments import latest_judgments, typed_judgments
from fire_toolkit.results import Result
from fire_toolkit.tables import (
    ITEMS,
    JUDGMENTS,
    LABELS,
    MACHINE_JUDGMENTS,
    POOL,
    POOL_SOURCES,
    QUERIES,
    QUERY_DESIGN,
    Dropped,
    Judgments,
    check_items,
    check_labels,
    check_machine_judgments,
    check_pool,
    check_pool_sources,
    check_queries,
    check_query_design,
)
from fire_toolkit.tables.checks import Check, TableSpec, are_ids
from fire_toolkit.tables.columns import PAIR, pairs_once
from fire_toolkit.tables.validity import QUERY_LABELS, check_query_labels

_NUMBER = re.compile("[1-9][0-9]{0,8}")

Table = TypeVar("Table")

_DOC = """Return {what}.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "table"
        >>> _ = file.write_text({text!r})
        >>> read_{name}(file)[{columns}].values.tolist()
        {rows}
    """


def _reader(
    check: Check[Table], spec: TableSpec, what: str, *, text: str, shown: str, instead: str = ""
) -> Callable[[str | Path], Table]:
    """Return the reader of a table's file, or of the folder that holds it.

    what: it returns. text: an example; shown: some of its columns and their values. instead: a column that a
    file may have in the place of the last needed one, which is empty then.
    """
    names, _, rows = shown.partition(": ")

    def read(path: str | Path) -> Table:
        file = Path(path) / spec.file if spec.file and Path(path).is_dir() else path
        table = read_delimited(file, required=() if instead else spec.needed)
        if instead:
            if instead in table.columns and set(spec.needed) - set(table.columns) == {spec.needed[-1]}:
                table = table.assign(**{spec.needed[-1]: ""})
            check_header(list(table.columns), spec.needed, file)
        return check(table, where=str(file))

    name = spec.name.replace(" ", "_")
    read.__name__ = read.__qualname__ = f"read_{name}"
    read.__doc__ = _DOC.format(name=name, what=what, text=text, columns=names.split(), rows=rows)
    return read


read_queries = _reader(
    check_queries,
    QUERIES,
    "a file with columns query_id and text (media_url of images or videos), and any others, as Queries",
    text="query_id\ttext\n007\ta dog runs\n",
    shown="query_id text: [['007', 'a dog runs']]",
    instead="media_url",
)
read_items = _reader(
    check_items,
    ITEMS,
    "a file with columns doc_id, media_url (text of captions), start_s, end_s and any others as Items",
    text="doc_id,media_url\nv1,v1.mp4\n",
    shown="doc_id media_url: [['v1', 'v1.mp4']]",
    instead="text",
)
read_pool = _reader(
    check_pool,
    POOL,
    "a pool: `pool.csv`, or the folder that holds it; query_id and doc_id are enough",
    text="query_id,doc_id\nq,d1\n",
    shown="query_id doc_id round: [['q', 'd1', 1]]",
)
read_pool_sources = _reader(
    check_pool_sources,
    POOL_SOURCES,
    "`pool_sources.csv` as PoolSources",
    text="query_id,doc_id,run_id,rank\nq,d1,a,1\n",
    shown="query_id doc_id run_id rank: [['q', 'd1', 'a', 1]]",
)
read_query_design = _reader(
    check_query_design,
    QUERY_DESIGN,
    "which queries were drawn to be judged deep: `query_design.csv`, or the folder that holds it",
    text="query_id,depth,is_sampled,inclusion_probability,seed\nq,50,True,1,0\n",
    shown="query_id depth is_sampled: [['q', 50, True]]",
)
read_labels = _reader(
    check_labels,
    LABELS,
    "labels: `labels.csv`, or the folder that holds it",
    text="query_id,doc_id,label,relevance\nq,d1,relevant,1\n",
    shown="query_id doc_id label relevance: [['q', 'd1', 'relevant', 1]]",
)
read_query_labels = _reader(
    check_query_labels,
    QUERY_LABELS,
    "which queries are usable: `query_labels.csv`, or the folder that holds it",
    text="query_id,label,is_usable,n_votes,n_agree\nq,unusable,False,2,2\n",
    shown="query_id label is_usable: [['q', 'unusable', False]]",
)
read_machine_judgments = _reader(
    check_machine_judgments,
    MACHINE_JUDGMENTS,
    "what a machine judge said: `machine.csv`, or the folder that holds it",
    text="judge_id,query_id,doc_id,score\nj,q,d1,.75\n",
    shown="judge_id query_id doc_id score status: [['j', 'q', 'd1', 0.75, 'ok']]",
)


def has_columns(path: str | Path, *names: str) -> bool:
    """Whether the header of a CSV or TSV file names all these columns."""
    with opened(path) as stream:
        line = b"" if str(path) == STDIN else stream.readline()
    raw = without_mark(line if line and not is_gzip(line) else read_bytes(path))
    header = raw[: raw.find(b"\n") + 1] or raw
    found = text_of(header, path) if header.strip() else ""
    return set(names) <= {field.strip(' "\r\n') for field in found.replace("\t", ",").split(",")}


def read_pooled_runs(path: str | Path) -> set[str]:
    """Return the runs in `pool_sources.csv`; only their column is read.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "pool_sources.csv"
        >>> _ = file.write_text("query_id,doc_id,run_id,rank\\nq,d1,a,1\\n")
        >>> read_pooled_runs(file)
        {'a'}
    """
    found = read_delimited(path, required=POOL_SOURCES.names, only=["run_id"])["run_id"].unique().tolist()
    return set(found if are_ids(found) else read_pool_sources(path)["run_id"])


def read_judged_pairs(path: str | Path) -> pd.DataFrame:
    """Return the judged pairs in a file: columns query_id, doc_id and round.

    Of judgments, labels and pools (CSV or TSV with those columns) all pairs count; of qrels, in any format
    of `read_qrels`, those with a relevance of 0 or more. round: the first round of a pair, 1 if the file has
    no rounds.
    """
    return judged_pairs(path)[0]


def judged_pairs(path: str | Path) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return what `read_judged_pairs` does, and the column duration_s as text, None where there is none."""
    from fire_toolkit.formats.collections.qrels import read_qrels

    if not has_columns(path, *PAIR):
        qrels = read_qrels(path)
        return qrels.loc[qrels["relevance"] >= 0, PAIR].assign(round=1), None
    table = read_delimited(path, required=PAIR, only=(*PAIR, "round", "duration_s"))
    codes, words = table.get("round", pd.Series("", index=table.index)).factorize()
    are_rounds = all(map(_NUMBER.fullmatch, words))
    rounds = np.array([int(word) if are_rounds else 1 for word in words], dtype=np.int64)
    return pairs_once(table[PAIR].assign(round=rounds[codes]), "round"), table.get("duration_s")


class _ReadJudgments(NamedTuple):
    judgments: Judgments
    n_superseded: int


class ReadJudgments(_ReadJudgments, Result):
    """What `read_judgments` returns: the judgments that count, and how many a later one replaced."""

    __slots__ = ()


def read_judgments(path: str | Path) -> ReadJudgments:
    """Return a judgments file, and how many answers were left out as superseded by a later one.

    Columns query_id, doc_id, annotator_id and label are needed. Of several answers by one annotator
    to one pair the latest by created_at counts, or the last row if there are no dates. The columns round
    and inclusion_probability, if present, are numbers.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "judgments.csv"
        >>> _ = file.write_text("query_id,doc_id,annotator_id,label\\nq,d1,ann,relevant\\n")
        >>> read_judgments(file).judgments[["query_id", "doc_id", "annotator_id", "label"]]
          query_id doc_id annotator_id     label
        0        q     d1          ann  relevant
    """
    judgments, superseded = read_judgments_and_repeats(path)
    return ReadJudgments(judgments, len(superseded))


def read_judgments_and_repeats(path: str | Path) -> tuple[Judgments, Dropped]:
    """Return what `read_judgments` returns, and the superseded answers themselves."""
    latest, superseded = latest_judgments(read_delimited(path, required=JUDGMENTS.needed), where=str(path))
    return typed_judgments(latest, where=str(path)), superseded
