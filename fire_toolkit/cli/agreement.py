"""`agree`: how far annotators agree, of whom, and how certain that is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.common import (
    DRAWN,
    FORMATS,
    Inputs,
    chosen,
    chosen_path,
    drawn,
    formatted,
    n_of,
    say,
    say_next,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.judged_files import (
    grades_of,
    judgments_from,
    read_controls,
    typed,
    with_control_answers,
)
from fire_toolkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.guidelines import Grades
    from fire_toolkit.tables import Judgments

INCLUSION = "inclusion_probability"
VIEWS = ("leave_one_out", "matrix", "profiles")


@dataclass(frozen=True)
class _Question:
    """What is asked of the judgments."""

    level: str
    by: str | None
    statistics: tuple[str, ...]
    intervals: str | None
    cluster: str | None
    n_resamples: int
    seed: int


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@click.option(
    "--level", type=click.Choice(["nominal", "ordinal", "interval", "ratio"]), help="[default: nominal]"
)
@click.option("--by", metavar="COLUMN", help="One group for each annotator_id, or each value of a column.")
@click.option(
    "--join",
    "joined",
    multiple=True,
    metavar="FILE",
    help="Add a table's columns by query_id, doc_id, annotator_id, for --by and --cluster: pool.csv (round, "
    "is_original, stratum), pool_sources.csv (run_id), queries (text_words: caption length).",
)
@click.option(
    "--statistics",
    multiple=True,
    metavar="NAME",
    help="Which statistics: names, or `all`. [default: alpha, percent_agreement]",
)
@click.option(
    "--intervals",
    type=click.Choice(["bootstrap", "jackknife"]),
    help="Add 95% intervals, and the probability that alpha is below .667 and .8.",
)
@click.option("--cluster", metavar="COLUMN", help="Draw whole clusters of pairs: query_id, say.")
@click.option("--resamples", "n_resamples", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the bootstrap.", show_default=True)
@click.option("--all-rounds", is_flag=True, help="Count answers of later rounds too.")
@click.option("--leave-one-out", "view", flag_value="leave_one_out", help="Alpha without each annotator.")
@click.option("--matrix", "view", flag_value="matrix", help="Every two annotators on the pairs they share.")
@click.option("--profiles", "view", flag_value="profiles", help="Each annotator beside peers, on controls.")
@click.option("--controls", metavar="FILE", help="With --profiles: qrels or labels of known pairs.")
@click.option(
    "--guideline",
    metavar="NAME",
    help="The guideline judged by. Without it: the default's labels, or numbers as their own grades.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="Form of the output. [default: table on a terminal, else csv]",
)
def agree(
    judgments: str | None,
    level: str | None,
    by: str | None,
    joined: tuple[str, ...],
    statistics: tuple[str, ...],
    intervals: str | None,
    cluster: str | None,
    n_resamples: int,
    seed: int,
    all_rounds: bool,
    view: str | None,
    controls: str | None,
    guideline: str | None,
    output_format: str | None,
) -> None:
    """Measure how far annotators agree: Krippendorff's alpha, percent agreement and their relatives.

    Only pairs with two judgments or more (n_pairable) can say anything; an undefined value is nan,
    with the reason in its note. Where judgments say their round, only the first answers to each pair
    count: later ones were asked because of them. A column inclusion_probability (the chance with which
    a pair was chosen for a second judgment) weighs pairs by its inverse.
    """
    if controls and view != "profiles":
        raise click.UsageError("--controls needs --profiles")
    if cluster and not intervals:
        raise click.UsageError("--cluster needs --intervals")
    inputs = Inputs()
    path = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "JUDGMENTS.csv")
    table = judgments_from(inputs.use(path))
    grades = grades_of(table, guideline)
    table = _designed(table, all_rounds=all_rounds)
    for file in joined:
        table = _joined(table, inputs.use(file), by)
    level = str(chosen(level, "agree", "level"))
    question = _Question(level, by, _named(statistics), intervals, cluster, n_resamples, seed)
    if view:
        measured = _seen(view, table, grades, question, _known(controls, path, table, grades, inputs))
    else:
        measured = _measured(table, grades, question)
    click.echo(_drawn(measured, output_format or ("table" if sys.stdout.isatty() else "csv")), nl=False)
    if judgments is None and by is None and view is None:
        _keep(measured, question, inputs)
    say_next("resolve", f"{path} --out labels")


def _named(statistics: tuple[str, ...]) -> tuple[str, ...]:
    from fire_toolkit.agreement import STATISTICS

    names = tuple(name for text in statistics for name in text.split(",") if name)
    if not names:
        return ("alpha", "percent_agreement")
    return tuple(STATISTICS) if "all" in names else tuple(dict.fromkeys(names))


def _designed(judgments: Judgments, *, all_rounds: bool) -> Judgments:
    """Return the judgments that agreement is of, and say what is left out or should be."""
    from fire_toolkit.agreement import first_round

    if "round" in judgments.columns and judgments["round"].dtype.kind not in "iu":
        raise UsageError("judgments: round holds no whole numbers, so the first round cannot be told")
    first = first_round(judgments)
    n_later = len(judgments) - len(first)
    if not n_later:
        return judgments
    if all_rounds:
        say(
            f"warning: {n_of(n_later, 'answer')} of later rounds or unasked for count too; pairs are asked "
            "again because of what was said of them, so this is not how far annotators agree"
        )
        return judgments
    say(
        f"note: only first answers to each pair count; {n_of(n_later, 'answer')} of later rounds or unasked "
        "for left out (--all-rounds counts them)"
    )
    return first


def _joined(judgments: Judgments, file: Path, by: str | None) -> Judgments:
    from fire_toolkit.agreement import join_columns
    from fire_toolkit.formats.delimited import read_delimited

    return typed(join_columns(judgments, read_delimited(file), by=by), where=str(file))


def _measured(judgments: Judgments, grades: Grades | None, question: _Question) -> pd.DataFrame:
    from fire_toolkit.agreement import agreement, agreement_intervals

    weighted = INCLUSION in judgments.columns and judgments[INCLUSION].notna().any()
    if weighted:
        say(f"note: pairs weigh the inverse of their {INCLUSION}")
    common: dict[str, Any] = {
        "grades": grades,
        "level": question.level,
        "by": question.by,
        "statistics": question.statistics,
        "inclusion": INCLUSION if weighted else None,
    }
    if question.intervals is None:
        return agreement(judgments, **common)
    return agreement_intervals(
        judgments,
        **common,
        cluster=question.cluster,
        method=question.intervals,
        n_resamples=question.n_resamples,
        seed=question.seed,
    )


@dataclass(frozen=True)
class _Known:
    """Pairs whose label is known, and the judgments with the answers to them."""

    controls: pd.DataFrame
    judgments: Judgments


def _known(
    controls: str | None, path: Path, judgments: Judgments, grades: Grades | None, inputs: Inputs
) -> _Known | None:
    if controls is None:
        return None
    pairs = read_controls(inputs.use(controls), grades)
    return _Known(pairs, with_control_answers(judgments, path, pairs, grades, inputs))


def _seen(
    view: str, judgments: Judgments, grades: Grades | None, question: _Question, known: _Known | None
) -> pd.DataFrame:
    from fire_toolkit.agreement import annotator_matrix, annotator_profiles, leave_one_out

    if question.by or question.statistics != _named(()) or question.intervals:
        option = f"--{view.replace('_', '-')}"
        raise click.UsageError(f"{option} is a table of its own: without --by, --statistics, --intervals")
    if view == "leave_one_out":
        return leave_one_out(judgments, grades=grades, level=question.level)
    if view == "matrix":
        return annotator_matrix(judgments, grades=grades)
    if known is None:
        return annotator_profiles(judgments, grades=grades)
    return annotator_profiles(known.judgments, grades=grades, controls=known.controls)


def _drawn(measured: pd.DataFrame, output_format: str) -> str:
    if output_format not in DRAWN:
        return formatted(measured, output_format)
    rows = [[_cell(value) for value in row] for row in measured.itertuples(index=False)]
    return drawn(rows, list(measured.columns), output_format)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return value if isinstance(value, str) else f"{value:,}"


def _keep(measured: pd.DataFrame, question: _Question, inputs: Inputs) -> None:
    """Write the table where the workspace has its place."""
    from fire_toolkit.formats.delimited import delimited_text

    place = workspace_path("agreement/agreement.csv")
    if place is None:
        return
    parameters: dict[str, Any] = {"level": question.level, "statistics": list(question.statistics)}
    if question.intervals:
        names = ("intervals", "cluster", "n_resamples", "seed")
        parameters |= {name: getattr(question, name) for name in names}
    text = delimited_text(measured, nan="nan")
    write_outputs(place, {place.name: text}, stage="agree", parameters=parameters, inputs=inputs)
