"""`tifa`: text–item pairs scored by a VQA model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import pandas as pd

from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import Table
from fire_toolkit.errors import UsageError
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.scoring import tifa as stage
from fire_toolkit.scoring.tifa import Answers, Question
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of


@command
def tifa(
    questions: Annotated[Sequence[Question], Table("questions", metavar="QUESTIONS", is_argument=True)],
    answers: Annotated[
        Answers, Table("answers", takes="pd.DataFrame", metavar="[ANSWERS]", is_argument=True)
    ],
    labels: Annotated[Labels | None, Table("labels_given")] = None,
    *,
    per: Literal["query", "pair", "type", "label"] = "query",
) -> Found:
    """Score pairs by TIFA: the share of questions on the text that a VQA model answers as expected.

    QUESTIONS is TIFA's JSON (id, question, choices, answer, element_type). ANSWERS is CSV, TSV or a JSON list
    with query_id, doc_id, question, answer: an answer to every question of each pair. A result of TIFA's own
    benchmark (question_details) holds both. A question that a text has twice counts twice only with the
    questions' own file. No model is run, and the scores never become labels.

    Args:
        questions: The questions on each text.
        answers: The model's answers.
        labels: The labels: labels.csv, or its folder.
        per: A score for each text, pair, kind of question, or human label (with --labels).

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.scoring.tifa import Question, check_answers
        >>> asked = [Question("q", "is it red?", ("yes", "no"), "yes"), Question("q", "how many?", (), "2")]
        >>> table = pd.DataFrame({"query_id": "q", "doc_id": "d", "question": ["is it red?", "how many?"]})
        >>> fire.tifa(asked, check_answers(table.assign(answer=["Yes", "3"]))).table
          query_id  tifa  n_pairs
        0        q   0.5        1
    """
    if (per == "label") != (labels is not None):
        raise UsageError("--per label and --labels go together")
    judged = stage.judge_answers(questions, answers)
    scores = stage.score_tifa(judged)
    by_type = stage.score_tifa(judged, ["element_type"])
    tables = {"query": stage.mean_tifa(scores, "query_id"), "pair": scores, "type": by_type}
    if labels is not None:
        tables["label"] = stage.mean_tifa(scores.merge(labels[[*PAIR, "label"]], on=PAIR), "label")
    said = []
    if len(scores):
        by_text = tables["query"]["tifa"]
        words = f"{n_of(len(scores), 'pair')} of {n_of(len(by_text), 'text')}"
        said = [f"{words}; mean TIFA over texts {100 * by_text.mean():.1f}"]
    return Found(tables, shown=per, draw=_drawn, said=said)


def _drawn(table: pd.DataFrame, form: str) -> str:
    rows = [
        [f"{100 * cell:.1f}" if name == "tifa" else str(cell) for name, cell in row.items()]
        for row in table.to_dict("records")
    ]
    return drawn_text(rows, [str(name) for name in table.columns], form)
