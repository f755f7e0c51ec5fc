"""`tifa`: text–item pairs scored by a VQA model's answers."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import (
    DRAWN,
    Inputs,
    drawn,
    file_in,
    format_option,
    formatted,
    n_of,
    say,
    write_table,
)
from fire_toolkit.formats.tables.table_files import read_labels
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.scoring import tifa as stage


@click.command()
@click.argument("questions", metavar="QUESTIONS")
@click.argument("answers", metavar="[ANSWERS]", required=False)
@click.option(
    "--per",
    type=click.Choice(["query", "pair", "type", "label"]),
    default="query",
    show_default=True,
    help="A score for each text, pair, kind of question, or human label (with --labels).",
)
@click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it.")
@format_option
@click.option("--out", metavar="FILE", help="Also write the table as CSV.")
def tifa(
    questions: str, answers: str | None, per: str, labels: str | None, output_format: str, out: str | None
) -> None:
    """Score pairs by TIFA: the share of questions on the text that a VQA model answers as expected.

    QUESTIONS is TIFA's JSON (id, question, choices, answer, element_type). ANSWERS is CSV, TSV or a JSON
    list with query_id, doc_id, question, answer: an answer to every question of each pair. A result of
    TIFA's own benchmark (question_details) holds both: alone it is scored as it stands, each text with its
    one item; a question that a text has twice counts twice only with the questions' own file. No model is
    run. The scores stand beside people's labels (--per label) and never become labels.
    """
    if (per == "label") != (labels is not None):
        raise click.UsageError("--per label and --labels go together")
    inputs = Inputs()
    answered = inputs.use(answers or questions)
    judged = stage.judge_answers(read_questions(inputs.use(questions)), read_answers(answered))
    scores = stage.score_tifa(judged)
    if labels is not None:
        file = inputs.use(file_in(labels, "labels.csv"))
        table = stage.tifa_by_label(scores, read_labels(file))
    else:
        table = {
            "query": stage.tifa_by_query(scores), "pair": scores, "type": stage.tifa_by_type(judged)
        }[per]  # fmt: skip
    if output_format in DRAWN:
        rows = [
            [f"{100 * cell:.1f}" if name == "tifa" else str(cell) for name, cell in row.items()]
            for row in table.to_dict("records")
        ]
        click.echo(drawn(rows, [str(name) for name in table.columns], output_format), nl=False)
    else:
        click.echo(formatted(table, output_format), nl=False)
    if len(scores):
        by_text = stage.tifa_by_query(scores)["tifa"]
        words = f"{n_of(len(scores), 'pair')} of {n_of(len(by_text), 'text')}"
        say(f"{words}; mean TIFA over texts {100 * by_text.mean():.1f}")
    if out:
        write_table(out, table, stage="tifa", parameters={"per": per}, inputs=inputs)
