"""The tables' own files: CSV (or TSV) in, checked; CSV out. Qrels are TREC text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.files import STDIN, is_gzip, opened, read_bytes, text_of, without_mark
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.resolution.judgments import latest_judgments, typed_judgments
from fire_toolkit.results import Result
from fire_toolkit.tables import (
    JUDGMENTS,
    LABELS,
    MACHINE_JUDGMENTS,
    POOL,
    POOL_SOURCES,
    QUERY_DESIGN,
    Dropped,
    Items,
    Judgments,
    Labels,
    MachineJudgments,
    Pool,
    PoolSources,
    Queries,
    QueryDesign,
    check_items,
    check_labels,
    check_machine_judgments,
    check_pool,
    check_pool_sources,
    check_queries,
    check_query_design,
)
from fire_toolkit.tables.checks import TableSpec, are_ids
from fire_toolkit.tables.columns import PAIR, pairs_once
from fire_toolkit.tables.validity import QUERY_LABELS, QueryLabels, check_query_labels

_NUMBER = re.compile("[1-9][0-9]{0,8}")


def _read(path: str | Path, spec: TableSpec) -> pd.DataFrame:
    return read_delimited(path, required=[c.name for c in spec.columns if not (c.optional or c.rare)])


def read_queries(path: str | Path) -> Queries:
    """Return a file with columns query_id and text (and any others) as Queries.

    Queries that are images or videos have media_url instead of text.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "queries.tsv"
        >>> _ = file.write_text("query_id\\ttext\\n007\\ta dog runs\\n")
        >>> read_queries(file)
          query_id        text
        0      007  a dog runs
    """
    return check_queries(_read_either(path, "query_id", "text", "media_url"), where=str(path))


def has_columns(path: str | Path, *names: str) -> bool:
    """Whether the header of a CSV or TSV file names all these columns."""
    with opened(path) as stream:
        line = b"" if str(path) == STDIN else stream.readline()
    raw = without_mark(line if line and not is_gzip(line) else read_bytes(path))
    header = raw[: raw.find(b"\n") + 1] or raw
    found = text_of(header, path) if header.strip() else ""
    return set(names) <= {field.strip(' "\r\n') for field in found.replace("\t", ",").split(",")}


def read_items(path: str | Path) -> Items:
    """Return a file with columns doc_id, media_url (and start_s, end_s, any others) as Items.

    Items that are captions have text instead of media_url.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "items.csv"
        >>> _ = file.write_text("doc_id,media_url\\nv1,v1.mp4\\n")
        >>> read_items(file)[["doc_id", "media_url"]]
          doc_id media_url
        0     v1    v1.mp4
    """
    return check_items(_read_either(path, "doc_id", "media_url", "text"), where=str(path))


def _read_either(path: str | Path, key: str, usual: str, other: str) -> pd.DataFrame:
    """Return a table that has the column `usual`; if it has only `other`, `usual` is empty."""
    table = read_delimited(path)
    if key in table.columns and other in table.columns and usual not in table.columns:
        return table.assign(**{usual: ""})
    check_header(list(table.columns), (key, usual), path)
    return table


def read_pool(path: str | Path) -> Pool:
    """Return a pool: `pool.csv`, or the folder that holds it; query_id and doc_id are enough.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "pool.csv"
        >>> _ = file.write_text("query_id,doc_id\\nq,d1\\n")
        >>> read_pool(file)[["query_id", "doc_id", "round"]]
          query_id doc_id  round
        0        q     d1      1
    """
    file = Path(path) / "pool.csv" if Path(path).is_dir() else path
    return check_pool(_read(file, POOL), where=str(file))


def read_pool_sources(path: str | Path) -> PoolSources:
    """Return `pool_sources.csv` as PoolSources.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "pool_sources.csv"
        >>> _ = file.write_text("query_id,doc_id,run_id,rank\\nq,d1,a,1\\n")
        >>> read_pool_sources(file)
          query_id doc_id run_id  rank
        0        q     d1      a     1
    """
    return check_pool_sources(_read(path, POOL_SOURCES), where=str(path))


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


def read_query_design(path: str | Path) -> QueryDesign:
    """Return which queries were drawn to be judged deep: `query_design.csv`, or the folder that holds it.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "query_design.csv"
        >>> _ = file.write_text("query_id,depth,is_sampled,inclusion_probability,seed\\nq,50,True,1,0\\n")
        >>> read_query_design(file)
          query_id  depth  is_sampled  inclusion_probability  seed
        0        q     50        True                    1.0     0
    """
    file = Path(path) / "query_design.csv" if Path(path).is_dir() else path
    return check_query_design(_read(file, QUERY_DESIGN), where=str(file))


def read_labels(path: str | Path) -> Labels:
    """Return labels: `labels.csv`, or the folder that holds it.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "labels.csv"
        >>> _ = file.write_text("query_id,doc_id,label,relevance\\nq,d1,relevant,1\\n")
        >>> read_labels(file)[["query_id", "doc_id", "label", "relevance"]]
          query_id doc_id     label  relevance
        0        q     d1  relevant          1
    """
    file = Path(path) / "labels.csv" if Path(path).is_dir() else path
    return check_labels(_read(file, LABELS), where=str(file))


def read_query_labels(path: str | Path) -> QueryLabels:
    """Return which queries are usable: `query_labels.csv`, or the folder that holds it.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "query_labels.csv"
        >>> _ = file.write_text("query_id,label,is_usable,n_votes,n_agree\\nq,unusable,False,2,2\\n")
        >>> read_query_labels(file)[["query_id", "label", "is_usable"]]
          query_id     label  is_usable
        0        q  unusable      False
    """
    file = Path(path) / "query_labels.csv" if Path(path).is_dir() else path
    return check_query_labels(_read(file, QUERY_LABELS), where=str(file))


def read_machine_judgments(path: str | Path) -> MachineJudgments:
    """Return what a machine judge said: `machine.csv`, or the folder that holds it.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "machine.csv"
        >>> _ = file.write_text("judge_id,query_id,doc_id,score\\nj,q,d1,.75\\n")
        >>> read_machine_judgments(file)[["judge_id", "query_id", "doc_id", "score", "status"]]
          judge_id query_id doc_id  score status
        0        j        q     d1   0.75     ok
    """
    file = Path(path) / "machine.csv" if Path(path).is_dir() else path
    return check_machine_judgments(_read(file, MACHINE_JUDGMENTS), where=str(file))


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
    latest, superseded = latest_judgments(_read(path, JUDGMENTS), where=str(path))
    return typed_judgments(latest, where=str(path)), superseded
