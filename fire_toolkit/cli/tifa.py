"""`tifa`: text–item pairs scored by a VQA model's answers."""

from __future__ import annotations

import click
import pandas as pd

from fire_toolkit.cli.common import drawn, format_option, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import choice_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.scoring import tifa as stage


@click.command()
@reads("labels")
@click.argument("questions", metavar="QUESTIONS")
@click.argument("answers", metavar="[ANSWERS]", required=False)
@choice_option(
    "--per",
    ["query", "pair", "type", "label"],
    "A score for each text, pair, kind of question, or human label (with --labels).",
)
@format_option
@click.option("--out", metavar="FILE", help="Also write the table as CSV.")
def tifa(given: Given, questions: str, answers: str | None, per: str) -> None:
    """Score pairs by TIFA: the share of questions on the text that a VQA model answers as expected.

    QUESTIONS is TIFA's JSON (id, question, choices, answer, element_type). ANSWERS is CSV, TSV or a JSON
    list with query_id, doc_id, question, answer: an answer to every question of each pair. A result of
    TIFA's own benchmark (question_details) holds both: alone it is scored as it stands, each text with its
    one item; a question that a text has twice counts twice only with the questions' own file. No model is
    run. The scores stand beside people's labels (--per label) and never become labels.
    """
    if (per == "label") != (given.values["labels"] is not None):
        raise click.UsageError("--per label and --labels go together")
    answered = given.use(answers or questions)
    judged = stage.judge_answers(read_questions(given.use(questions)), read_answers(answered))
    scores = stage.score_tifa(judged)
    if per == "label":
        table = stage.tifa_by_label(scores, given.labels)
    else:
        table = {
            "query": stage.tifa_by_query(scores), "pair": scores, "type": stage.tifa_by_type(judged)
        }[per]  # fmt: skip
    print_table(table, given.form, _drawn)
    if len(scores):
        by_text = stage.tifa_by_query(scores)["tifa"]
        words = f"{n_of(len(scores), 'pair')} of {n_of(len(by_text), 'text')}"
        say(f"{words}; mean TIFA over texts {100 * by_text.mean():.1f}")
    given.keep(table, "tifa", {"per": per})


def _drawn(table: pd.DataFrame, output_format: str) -> str:
    rows = [
        [f"{100 * cell:.1f}" if name == "tifa" else str(cell) for name, cell in row.items()]
        for row in table.to_dict("records")
    ]
    return drawn(rows, [str(name) for name in table.columns], output_format)
