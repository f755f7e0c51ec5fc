"""What machine judges said of pairs: a table of its own, which no stage of people's judgments reads."""

from __future__ import annotations

from typing import NewType

import pandas as pd

from fire_toolkit.errors import TableError
from fire_toolkit.tables.checks import Column, TableSpec, checks_as, columns_of, if_any

MachineJudgments = NewType("MachineJudgments", pd.DataFrame)

OK, FAILED = "ok", "failed"


def _refuse_half_answers(table: pd.DataFrame, where: str) -> None:
    unknown = sorted(set(table["status"].unique()) - {OK, FAILED})
    if unknown:
        raise TableError(f"{where}: status {', '.join(map(repr, unknown))}, expected {OK} or {FAILED}")
    is_ok = table["status"] == OK
    has_any = table["score"].notna() | (table["label"] != "")
    for wrong, what in (
        (is_ok & ~has_any, "neither score nor label in an answer that is ok"),
        (~is_ok & has_any, "a score or a label in an answer that failed"),
    ):
        if wrong.any():
            pair = " ".join(table.loc[wrong, ["query_id", "doc_id"]].iloc[0])
            raise TableError(
                f"{where}: {what} ({int(wrong.sum())} of {len(table)}; {pair}); an answer without either "
                f"is `{FAILED}`, with its reason"
            )


MACHINE_JUDGMENTS = TableSpec(
    "machine judgments",
    (
        *columns_of("id", "judge_id", "query_id", "doc_id"),
        *if_any("float", "score", finite=True),
        *if_any("text", "label", "model", "revision", "prompt_hash", "frames"),
        *if_any("float", "cost", "latency_seconds", finite=True, minimum=0),
        Column("sample_number", "int", optional=True, minimum=1, default=1),
        Column("status", "text", optional=True, default=OK),
        *if_any("text", "reason", "backbone"),
    ),
    ("judge_id", "query_id", "doc_id", "sample_number"),
    further=_refuse_half_answers,
    file="machine.csv",
    about="""judge_id: the name that the user gave; score: P(yes) or any real number that rises with
    relevance, missing where the judge gave a label alone; label: of the guideline, missing where it gave
    a score alone; model, revision; prompt_hash: of the prompt, another prompt is another judge; frames:
    the times in seconds of the frames that were shown, joined by `;`, missing for images and unknown
    ones; cost: in the currency of the price that was named; latency_seconds; sample_number: from 1;
    status: `ok` or `failed`; reason: why it failed; backbone: of the judge, missing where it is not
    known. An answer that is ok has a score or a label, one that failed has neither: a failure is never a
    0.""",
)
check_machine_judgments = checks_as(MachineJudgments, MACHINE_JUDGMENTS)
