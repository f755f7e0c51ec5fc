"""All that is known of each pair, and of the whole: what `augment` makes, and every score reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.tables.checks import Column, TableSpec, check_table
from fire_toolkit.tables.design import DESIGN

MOST_ROWS = 1_000_000  # of a CSV; more are written as Parquet
UNJUDGED, TAKEN_OUT = "unjudged", "unusable"  # sources beside those of `augment_qrels`

EVIDENCE = TableSpec(
    "evidence",
    (
        Column("query_id", "id"),
        Column("doc_id", "id"),
        Column("relevance", "int", missing=True),
        Column("original_relevance", "int", missing=True),
        Column("label_relevance", "int", missing=True),
        Column("source", "text"),
        Column("label", "text", rare=True, missing=True),
        Column("method", "text", rare=True, missing=True),
        Column("n_judgments", "int", rare=True, missing=True, minimum=0),
        Column("n_agree", "int", rare=True, missing=True, minimum=0),
        Column("is_disputed", "bool"),
        *(Column(name, "text", rare=True, missing=True) for name in (*DESIGN, "later_votes")),
        Column("best_rank", "int", rare=True, missing=True, minimum=1),
        Column("stratum", "text", rare=True, missing=True),
        Column("inclusion_probability", "probability", rare=True, missing=True),
        Column("is_drawn", "bool", rare=True),
        Column("query_depth", "int", rare=True, missing=True, minimum=0),
        Column("query_probability", "probability", rare=True, missing=True),
        Column("machine_score", "float", rare=True, missing=True),
        Column("judge_id", "text", rare=True, missing=True),
        Column("is_usable", "bool", rare=True),
    ),
    ("query_id", "doc_id"),
)


def check_evidence(table: pd.DataFrame, *, where: str = "") -> pd.DataFrame:
    """Return `table` as the pairs of `Evidence`, or raise `TableError` with all that is wrong with it.

    relevance: in the augmented qrels, below 0 where the pair could be drawn and is not judged; missing where
    they do not hold it. original_relevance: in the original qrels, as it counts beside labels.
    label_relevance, label, method, n_judgments, n_agree: of its label; missing without one. source: see
    `augment_qrels`; `unjudged`: in no qrels; `unusable`: its query was taken out (`--unusable drop`).
    is_disputed: judged, without a label. design_class, design_votes: see `tables.design`; later_votes: those
    beyond the design. best_rank: over the runs that pooled it. stratum, inclusion_probability: of a sample,
    with judge_id the one by the judge's machine_score; is_drawn: whether it is in that sample. query_depth:
    how deep its query was judged; query_probability: with which chance the query was drawn for that, missing
    where it was not drawn. is_usable: of its query. Columns of what nobody asked are not there.

    Examples:
        >>> check_evidence(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["b", "a"], "relevance": [None, 1],
        ...     "original_relevance": [None, 1], "label_relevance": None,
        ...     "source": ["unjudged", "original"], "is_disputed": False}))[["doc_id", "relevance", "source"]]
          doc_id  relevance    source
        0      a          1  original
        1      b       <NA>  unjudged
    """
    return check_table(EVIDENCE, table, where=where)


class Settled(NamedTuple):
    """What labels are settled for: a measure, the runs (id → sha256 of its file), and queries that wait."""

    measure: str
    runs: Mapping[str, str]
    open_queries: int

    @property
    def parameters(self) -> dict[str, Any]:
        """The same as it stands in a manifest."""
        return {"settled": self._asdict()}


@dataclass(frozen=True)
class Facts:
    """What is known of evidence as a whole.

    policy: on rejected originals. original_grade: at which original positives count, None: as in their
    file; grade_from: who says so. highest_grade: of the guideline, None: not known, or 1. unusable: what
    becomes of unusable queries (`flag`, `keep`, `drop`), empty where nobody was asked; n_queries: of the
    original qrels, and n_labelled: how many of them are known to be usable or not. settled: for what the
    labels are, None: for any run. counts: of `augment`: labels that were shared, errors of labels, a
    machine's labels. backbone: of the machine judge whose sample was drawn, backbones: of runs. experts: the
    labels drawn for them, and their answers.
    """

    policy: str = "union"
    original_grade: int | None = None
    grade_from: str = ""
    highest_grade: int | None = None
    unusable: str = ""
    n_queries: int = 0
    n_labelled: int = 0
    settled: Settled | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    backbone: str = ""
    backbones: Mapping[str, str] = field(default_factory=dict)
    experts: tuple[pd.DataFrame, pd.DataFrame] | None = None


class Evidence(NamedTuple):
    """All that is known of each pair (see `check_evidence`), and of the whole."""

    pairs: pd.DataFrame
    facts: Facts = Facts()
