"""What machine judges said of pairs: a table of its own, which no stage of people's judgments reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NewType

import numpy as np
import pandas as pd

from fire_toolkit.errors import TableError
from fire_toolkit.tables.checks import Column, TableSpec, check_table

MachineJudgments = NewType("MachineJudgments", pd.DataFrame)

OK, FAILED = "ok", "failed"

MACHINE_JUDGMENTS = TableSpec(
    "machine judgments",
    (
        Column("judge_id", "id"),
        Column("query_id", "id"),
        Column("doc_id", "id"),
        Column("score", "float", optional=True, missing=True, finite=True, default=np.nan),
        *(
            Column(name, "text", optional=True, missing=True)
            for name in ("label", "model", "revision", "prompt_hash", "frames")
        ),
        Column("cost", "float", optional=True, missing=True, minimum=0, finite=True, default=np.nan),
        Column(
            "latency_seconds", "float", optional=True, missing=True, minimum=0, finite=True, default=np.nan
        ),
        Column("sample_number", "int", optional=True, minimum=1, default=1),
        Column("status", "text", optional=True, default=OK),
        Column("reason", "text", optional=True, missing=True),
        Column("backbone", "text", optional=True, missing=True),
    ),
    ("judge_id", "query_id", "doc_id", "sample_number"),
)


def check_machine_judgments(table: pd.DataFrame, *, where: str = "") -> MachineJudgments:
    """Return `table` as MachineJudgments, or raise `TableError` with all that is wrong with it.

    judge_id: the name that the user gave; score: P(yes) or any real number that rises with relevance, missing
    where the judge gave a label alone; label: of the guideline, missing where it gave a score alone; model,
    revision; prompt_hash: of the prompt, another prompt is another judge; frames: the times in seconds of
    the frames that were shown, joined by `;`, missing for images and unknown ones; cost: in the currency
    of the price that was named; latency_seconds; sample_number: from 1; status: `ok` or `failed`; reason: why
    it failed; backbone: of the judge, missing where it is not known. An answer that is ok has a score
    or a label, one that failed has neither: a failure is never a 0.

    Examples:
        >>> check_machine_judgments(pd.DataFrame({
        ...     "judge_id": "j", "query_id": "q", "doc_id": ["a", "b"], "score": [0.5, None],
        ...     "status": ["ok", "ok"]}))
        Traceback (most recent call last):
        fire_toolkit.errors.TableError: machine judgments: neither score nor label in an answer that is ok \
(1 of 2; q b); an answer without either is `failed`, with its reason
    """
    checked = check_table(MACHINE_JUDGMENTS, table, where=where)
    where = where or MACHINE_JUDGMENTS.name
    unknown = sorted(set(checked["status"]) - {OK, FAILED})
    if unknown:
        raise TableError(f"{where}: status {', '.join(map(repr, unknown))}, expected {OK} or {FAILED}")
    is_ok = checked["status"] == OK
    has_any = checked["score"].notna() | (checked["label"] != "")
    for wrong, what in (
        (is_ok & ~has_any, "neither score nor label in an answer that is ok"),
        (~is_ok & has_any, "a score or a label in an answer that failed"),
    ):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            pair = f"{checked['query_id'].iloc[row]} {checked['doc_id'].iloc[row]}"
            raise TableError(
                f"{where}: {what} ({int(wrong.sum())} of {len(checked)}; {pair}); an answer without either "
                f"is `{FAILED}`, with its reason"
            )
    return MachineJudgments(checked)


def one_answer_per_pair(machine: MachineJudgments) -> pd.DataFrame:
    """Return what each judge said of each pair over its samples: one row for each judge_id, query_id, doc_id.

    Args:
        machine: failed answers are left out, and with them pairs that only failed.

    Returns:
        Columns judge_id, query_id, doc_id, score (the mean of the samples' scores, nan where there are
        none), label (that of most samples; empty where there is none or two are tied), n_samples.

    Examples:
        >>> machine = check_machine_judgments(pd.DataFrame({
        ...     "judge_id": "j", "query_id": "q", "doc_id": ["a", "a", "a", "b"],
        ...     "sample_number": [1, 2, 3, 1], "score": [1, 0.5, 0, None], "label": ["yes", "yes", "no", ""],
        ...     "status": ["ok", "ok", "ok", "failed"]}))
        >>> one_answer_per_pair(machine)[["doc_id", "score", "label", "n_samples"]]
          doc_id  score label  n_samples
        0      a    0.5   yes          3
    """
    keys = ["judge_id", "query_id", "doc_id"]
    answered = machine[machine["status"] == OK]
    pairs = answered.groupby(keys, sort=True)
    found = pairs.agg(score=("score", "mean"), n_samples=("sample_number", "size"))
    votes = answered[answered["label"] != ""].groupby([*keys, "label"]).size()
    most = votes[votes == votes.groupby(keys).transform("max")].reset_index("label")["label"]
    label = most[~most.index.duplicated(keep=False)].reindex(found.index).fillna("")
    return found.assign(label=label.astype("str")).reset_index()[[*keys, "score", "label", "n_samples"]]


def words_of_machine(facts: Mapping[str, Any]) -> list[str]:
    """Return what no person labelled, by the parameters and counts of `augment`; nothing without.

    Examples:
        >>> words_of_machine({"include_machine": "vlm", "machine_positive": 2, "machine_irrelevant": 5})
        ['7 pairs labelled by the machine judge vlm and by no person, 2 of them positive']
    """
    if not facts.get("include_machine"):
        return []
    n, n_positive = (facts.get(f"machine_{name}", 0) for name in ("irrelevant", "positive"))
    named = f"the machine judge {facts['include_machine']}"
    return [f"{n + n_positive:,} pairs labelled by {named} and by no person, {n_positive:,} of them positive"]
